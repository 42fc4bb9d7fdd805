/* The server's address, see client_server.h. Edge file: libcurl's URL parser. */
#include "kube/client_server.h"

#include <arpa/inet.h>
#include <string.h>

#include <curl/curl.h>

#include "base/mem.h"
#include "base/str.h"

static void cut_slash(char *url)
{
    const size_t len = strlen(url);
    if (len > 0 && url[len - 1] == '/') {
        url[len - 1] = '\0';
    }
}

static bool is_loopback(const char *host)
{
    struct in_addr address;
    return str_eq(host, "localhost") || str_eq(host, "[::1]") ||
           (inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

int client_server(const struct kube_config *config, char **ret_base_url, char **ret_connect_to,
                  bool *ret_is_here, struct err *err)
{
    CURLU *url = curl_url();
    char *host = NULL, *port = NULL, *named = NULL;
    int r = -EINVAL;
    if (url != NULL && curl_url_set(url, CURLUPART_URL, config->server, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        r = 0;
    }
    if (r == 0 && config->tls_server_name != NULL) {
        r = curl_url_set(url, CURLUPART_HOST, config->tls_server_name, 0) == CURLUE_OK &&
                    curl_url_get(url, CURLUPART_URL, &named, 0) == CURLUE_OK
                ? 0
                : -EINVAL;
    }
    if (r == 0) {
        *ret_base_url = xstrdup(named == NULL ? config->server : named);
        *ret_connect_to = named == NULL ? NULL : xasprintf("::%s:%s", host, port);
        cut_slash(*ret_base_url);
        *ret_is_here = is_loopback(host);
    } else {
        (void)err_set(err, EINVAL, "'%s' is not the URL of a server; expected https://HOST:PORT",
                      config->server);
    }
    curl_free(host);
    curl_free(port);
    curl_free(named);
    curl_url_cleanup(url);
    return r;
}

static bool set_default_port(CURLU *url, const char *scheme)
{
    char *port = NULL;
    if (curl_url_get(url, CURLUPART_PORT, &port, 0) == CURLUE_OK) {
        curl_free(port);
        return true;
    }
    const char *const usual = str_eq(scheme, "http")    ? "80"
                              : str_eq(scheme, "https") ? "443"
                                                        : "1080";
    return curl_url_set(url, CURLUPART_PORT, usual, 0) == CURLUE_OK;
}

int client_proxy(const struct kube_config *config, char **ret, struct err *err)
{
    *ret = NULL;
    if (config->proxy_url == NULL) {
        return 0;
    }
    CURLU *url = curl_url();
    char *scheme = NULL, *text = NULL;
    bool is_ok = url != NULL &&
                 curl_url_set(url, CURLUPART_URL, config->proxy_url, CURLU_NON_SUPPORT_SCHEME) ==
                     CURLUE_OK &&
                 curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                 set_default_port(url, scheme) &&
                 curl_url_set(url, CURLUPART_SCHEME, str_eq(scheme, "socks5") ? "socks5h" : scheme,
                              CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
                 curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK;
    if (is_ok) {
        *ret = xstrdup(text);
    }
    curl_free(scheme);
    curl_free(text);
    curl_url_cleanup(url);
    /* The URL is not quoted: it may hold a password. */
    return is_ok ? 0 : err_set(err, EINVAL, "proxy-url is not a URL; expected http://HOST:PORT");
}
