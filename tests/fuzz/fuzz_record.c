/* record_read on any bytes: it never reads beyond them, and what it accepts, it writes and reads
 * again as the same record. */
#include "fuzz.h"

#include "base/buf.h"
#include "tests/core/record_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct record first, second;
    struct err err = {0};
    const int r = record_read((const char *)data, size, &first, &err);
    must(r == 1 || r == 0 || r == -EPROTO, "another return value");
    must((r == -EPROTO) == (err.code == EPROTO && err.msg[0] != '\0'), "an error without words");
    if (r != 1) {
        return 0;
    }
    if (first.type == RECORD_SUMMARY) {
        must(first.summary.series.n <= SUMMARY_MAX_SERIES, "a series too long");
        must((first.summary.series.n == 0) == (first.summary.series.data == NULL),
             "a series unsaid");
    }
    _cleanup_(buf_done) struct buf line = BUF_INIT, again = BUF_INIT;
    record_write_again(&first, &line);
    if (line.len <= 64 * 1024) { /* escapes may make a start record longer than it was */
        must(record_read(line.data, line.len, &second, &err) == 1, "its own line is refused");
        record_write_again(&second, &again);
        must(line.len == again.len && memcmp(line.data, again.data, line.len) == 0,
             "written twice, not the same");
        record_done(&second);
    }
    record_done(&first);
    return 0;
}
