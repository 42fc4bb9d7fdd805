/* Allocation that cannot fail, see mem.h. */
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *must(void *ptr, size_t size)
{
    if (ptr == NULL && size != 0) {
        (void)fprintf(stderr, "fatal: out of memory (%zu bytes)\n", size); /* about to abort */
        abort();
    }
    return ptr;
}

void *xmalloc(size_t size)
{
    return must(malloc(size), size);
}

void *xcalloc(size_t count, size_t size)
{
    return must(calloc(count, size), count != 0 ? size : 0);
}

void *xrealloc(void *ptr, size_t size)
{
    return must(realloc(ptr, size), size);
}

void *xreallocarray(void *ptr, size_t count, size_t size)
{
    return must(reallocarray(ptr, count, size), count != 0 ? size : 0);
}

char *xstrdup(const char *s)
{
    return xstrndup(s, strlen(s));
}

char *xstrdup_or_null(const char *s)
{
    return s == NULL ? NULL : xstrdup(s);
}

void *xmemdup(const void *data, size_t len)
{
    return data == NULL ? NULL : memcpy(xmalloc(len), data, len);
}

char *xstrndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = xmalloc(len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *xvasprintf(const char *fmt, va_list ap)
{
    char *s = NULL;
    if (vasprintf(&s, fmt, ap) < 0) {
        (void)must(NULL, 1);
    }
    return s;
}

char *xasprintf(const char *fmt, ...)
{
    return xasprintf_rest(fmt);
}

void fd_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}
