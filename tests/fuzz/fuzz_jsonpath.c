/* A condition of any bytes, up to the first NUL, over a document: nothing is read beyond it, an
 * error has a text, and an accepted condition gives the same answer twice. */
#include "fuzz.h"

#include "doc/json_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char document[] =
        "{\"a\":[{\"b\":1,\"c\":\"x\"},{\"b\":2.5,\"d\":null},[1,[2,[3]]]],"
        "\"b\":{\"c\":true,\"e.f\":\"y\"},\"name\":\"n\"}";
    struct err err = {0};
    char *text = xstrndup((const char *)data, size);
    const int r = json_condition_check(text, &err);
    must(r == 0 || r == -EINVAL, "another return value");
    must((r < 0) == (err.code != 0 && err.msg[0] != '\0'), "an error without words");
    if (r == 0) {
        _cleanup_(json_decrefp) json_t *root = json_loads(document, 0, NULL);
        const bool holds = json_condition_holds(text, root);
        must(holds == json_condition_holds(text, root), "another answer");
    }
    free(text);
    return 0;
}
