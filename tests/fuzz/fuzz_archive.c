/* archive_read on any bytes, and on any tar: it never reads beyond them, a failure has words, and
 * what it accepts has a digest and names that members have. */
#include "fuzz.h"

#include <zstd.h>

#include "store/archive.h"

#define MAX_BYTES ((size_t)1 << 20)

static void check(const void *data, size_t size)
{
    struct archive a;
    struct err err = {0};
    const int r = archive_read(data, size, MAX_BYTES, &a, &err);
    must(r == 0 || r == -EPROTO || r == -E2BIG || r == -EPROTONOSUPPORT, "another return value");
    must((r < 0) == (err.code != 0 && err.msg[0] != '\0'), "an error without words");
    if (r == 0) {
        for (size_t i = 0; i < a.members.len; i++) {
            must(archive_name_is_good(a.members.items[i].name), "a name that no member has");
        }
        must(a.run != NULL && a.program != NULL && strlen(a.digest) == 64, "half an archive");
        archive_done(&a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size);
    /* A mutation of what is compressed rarely gets beyond the frame: here the bytes are the tar. */
    const size_t cap = ZSTD_compressBound(size);
    void *packed = malloc(cap);
    must(packed != NULL, "no memory");
    const size_t len = ZSTD_compress(packed, cap, data, size, 1);
    must(!ZSTD_isError(len), "it cannot be compressed");
    check(packed, len);
    free(packed);
    return 0;
}
