/* docs/contracts/golden/frame.txt, of which a line is a name and bytes in hexadecimal. */
#pragma once

#include "tests/test.h"

/* The bytes of the line of that name. */
static inline size_t golden(const char *name, uint8_t *ret, size_t max)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/docs/contracts/golden/frame.txt",
                   getenv("BENCHD_SOURCE_DIR"));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char line[4096];
    size_t n = 0, name_len = strlen(name);
    while (fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, name, name_len) != 0 || line[name_len] != ' ') {
            continue;
        }
        for (const char *p = line + name_len + 1; p[0] != '\n' && p[0] != '\0'; p += 2) {
            unsigned byte;
            assert_int_equal(sscanf(p, "%2x", &byte), 1);
            assert_true(n < max);
            ret[n++] = (uint8_t)byte;
        }
    }
    (void)fclose(f);
    assert_true(n > 0);
    return n;
}
