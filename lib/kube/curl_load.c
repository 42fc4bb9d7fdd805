/* See curl_load.h. Edge file: loads a library.
 *
 * Options and what they are set to: libcurl's functions with an ellipsis take one argument, an
 * integer or a pointer of the size of a register (curl_off_t, long and pointers are, where this is
 * built), so that one pointer passes all of them on. */
#define CURL_DISABLE_TYPECHECK 1 /* its macros have the names of functions that are defined here */
#include "kube/curl_load.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>

#include <curl/curl.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

/* The ABI has had this name since 2006. */
#define SONAME "libcurl.so.4"

static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *),
              "an argument of each type fits a register");

/* What the program loads, for tools that look for what it needs (packaging/linked.py). */
__attribute__((used, section(".note.dlopen"))) static const char note[] =
    "[{\"soname\":[\"" SONAME "\"],\"feature\":\"kube\",\"priority\":\"required\"}]";

#define FUNCTIONS(X)                                                                               \
    X(easy_cleanup)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_pause)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_strerror)                                                                               \
    X(free)                                                                                        \
    X(getdate)                                                                                     \
    X(global_init)                                                                                 \
    X(multi_add_handle)                                                                            \
    X(multi_assign)                                                                                \
    X(multi_cleanup)                                                                               \
    X(multi_info_read)                                                                             \
    X(multi_init)                                                                                  \
    X(multi_remove_handle)                                                                         \
    X(multi_setopt)                                                                                \
    X(multi_socket_action)                                                                         \
    X(multi_strerror)                                                                              \
    X(slist_append)                                                                                \
    X(slist_free_all)                                                                              \
    X(url)                                                                                         \
    X(url_cleanup)                                                                                 \
    X(url_get)                                                                                     \
    X(url_set)

#define MEMBER(name) __typeof__(curl_##name) *name;
static struct {
    FUNCTIONS(MEMBER)
} curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct err failure; /* code 0: it is loaded */

static void load(void)
{
    void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)err_set(&failure, ELIBACC, "libcurl cannot be loaded: %s", dlerror());
        return;
    }
#define FIND(name)                                                                                 \
    if (failure.code == 0 && (curl.name = dlsym(library, "curl_" #name)) == NULL) {                \
        (void)err_set(&failure, ELIBACC,                                                           \
                      SONAME " has no function curl_" #name "; 7.85 or newer is needed");          \
    }
    FUNCTIONS(FIND)
}

int kube_curl_load(struct err *err)
{
    (void)pthread_once(&once, load); /* fails for a damaged argument alone */
    return failure.code == 0 ? 0 : err_set(err, failure.code, "%s", failure.msg);
}

/* ---- what begins something ---- */

CURLcode curl_global_init(long flags)
{
    return kube_curl_load(NULL) < 0 ? CURLE_FAILED_INIT : curl.global_init(flags);
}

CURLU *curl_url(void)
{
    return kube_curl_load(NULL) < 0 ? NULL : curl.url();
}

/* ---- what may follow a failure: NULL is nothing ---- */

void curl_free(void *p)
{
    if (p != NULL) {
        curl.free(p);
    }
}

void curl_url_cleanup(CURLU *url)
{
    if (url != NULL) {
        curl.url_cleanup(url);
    }
}

void curl_slist_free_all(struct curl_slist *list)
{
    if (list != NULL) {
        curl.slist_free_all(list);
    }
}

/* ---- handles; what takes one comes after ---- */

CURL *curl_easy_init(void)
{
    return kube_curl_load(NULL) < 0 ? NULL : curl.easy_init();
}

void curl_easy_cleanup(CURL *easy)
{
    curl.easy_cleanup(easy);
}

CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    va_list ap;
    va_start(ap, option);
    void *value = va_arg(ap, void *);
    va_end(ap);
    return curl.easy_setopt(easy, option, value);
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
    va_list ap;
    va_start(ap, info);
    void *into = va_arg(ap, void *);
    va_end(ap);
    return curl.easy_getinfo(easy, info, into);
}

CURLcode curl_easy_pause(CURL *easy, int bits)
{
    return curl.easy_pause(easy, bits);
}

const char *curl_easy_strerror(CURLcode code)
{
    return curl.easy_strerror(code);
}

time_t curl_getdate(const char *text, const time_t *unused)
{
    return curl.getdate(text, unused);
}

CURLM *curl_multi_init(void)
{
    return kube_curl_load(NULL) < 0 ? NULL : curl.multi_init();
}

CURLMcode curl_multi_cleanup(CURLM *multi)
{
    return curl.multi_cleanup(multi);
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy)
{
    return curl.multi_add_handle(multi, easy);
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy)
{
    return curl.multi_remove_handle(multi, easy);
}

CURLMcode curl_multi_assign(CURLM *multi, curl_socket_t fd, void *data)
{
    return curl.multi_assign(multi, fd, data);
}

CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
    return curl.multi_info_read(multi, left);
}

CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...)
{
    va_list ap;
    va_start(ap, option);
    void *value = va_arg(ap, void *);
    va_end(ap);
    return curl.multi_setopt(multi, option, value);
}

CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t fd, int events, int *running)
{
    return curl.multi_socket_action(multi, fd, events, running);
}

const char *curl_multi_strerror(CURLMcode code)
{
    return curl.multi_strerror(code);
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
    return kube_curl_load(NULL) < 0 ? NULL : curl.slist_append(list, text);
}

/* Headers of curl 8 have a const here, those of 7 have none: a name of its own fits both. */
CURLUcode url_get(CURLU *url, CURLUPart part, char **into,
                  unsigned int flags) __asm__("curl_url_get");
CURLUcode url_get(CURLU *url, CURLUPart part, char **into, unsigned int flags)
{
    return curl.url_get(url, part, into, flags);
}

CURLUcode curl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned int flags)
{
    return curl.url_set(url, part, text, flags);
}
