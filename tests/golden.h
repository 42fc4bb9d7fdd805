/* Golden files in tests: whole texts that are compared byte for byte. With BENCHD_GOLDEN_UPDATE=1
 * golden_check rewrites the file instead; the diff is then for a person to judge. */
#pragma once

#include "tests/test.h"
#include "base/buf.h"

static inline char *golden_path(const char *name)
{
    const char *root = getenv("BENCHD_SOURCE_DIR");
    return xasprintf("%s/%s", root == NULL ? "." : root, name);
}

/* The whole file, owned. `name` is relative to the source tree. */
static inline char *golden_read(const char *name)
{
    _cleanup_(freep) char *path = golden_path(name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        fail_msg("golden file '%s' cannot be read", path);
    }
    struct buf text = BUF_INIT;
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0) {
        buf_append(&text, chunk, n);
    }
    fclose(f);
    return buf_take(&text);
}

static inline void golden_check(const char *name, const char *actual)
{
    if (getenv("BENCHD_GOLDEN_UPDATE") != NULL) {
        _cleanup_(freep) char *path = golden_path(name);
        FILE *f = fopen(path, "wb");
        if (f == NULL || fwrite(actual, 1, strlen(actual), f) != strlen(actual) || fclose(f) != 0) {
            fail_msg("golden file '%s' cannot be written", path);
        }
        return;
    }
    _cleanup_(freep) char *expected = golden_read(name);
    if (strcmp(expected, actual) != 0) {
        const char *a = expected, *b = actual; /* cmocka prints 1,023 characters */
        for (size_t n; n = strcspn(a, "\n") + 1, strncmp(a, b, n) == 0; a += n, b += n) {
        }
        fail_msg("%s differs (BENCHD_GOLDEN_UPDATE=1 rewrites it), first in this line.\n"
                 "--- expected\n%.400s\n--- actual\n%.400s",
                 name, a, b);
    }
}
