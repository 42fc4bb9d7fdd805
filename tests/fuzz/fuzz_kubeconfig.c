/* kube_config_parse on any bytes: it never reads beyond them, a failure has words, and what it
 * accepts has a server. */
#include "fuzz.h"

#include "kube/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kube_config c;
    struct err err = {0};
    char *text = malloc(size + 1); /* a file is read with a NUL behind it */
    must(text != NULL, "no memory");
    memcpy(text, data, size);
    text[size] = '\0';
    const struct kube_config_text one = {"/f/config", text, size};
    const int r = kube_config_parse(&one, 1, NULL, &c, &err);
    free(text);
    must(r == 0 || r == -EINVAL, "another return value");
    must((r < 0) == (err.code != 0 && strncmp(err.msg, "/f/config:", 10) == 0),
         "an error without words");
    if (r == 0) {
        must(strncmp(c.server, "http", 4) == 0 && c.context != NULL, "no server");
        must((c.cert_pem == NULL && c.cert_file == NULL) ==
                 (c.key_pem == NULL && c.key_file == NULL),
             "half a client certificate");
        kube_config_done(&c);
    }
    return 0;
}
