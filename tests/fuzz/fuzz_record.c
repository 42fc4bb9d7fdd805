/* record_read on any bytes: it never reads beyond them, and what it accepts, it writes and reads
 * again as the same record. */
#include "fuzz.h"

#include "base/buf.h"
#include "core/record.h"

static void write_again(struct buf *out, const struct record *r)
{
    switch (r->type) {
    case RECORD_START:
        record_write_start(out, &r->who, r->start.environment);
        break;
    case RECORD_STEP:
        record_write_step(out, &r->who, &r->step);
        break;
    case RECORD_SUMMARY:
        record_write_summary(out, &r->who, &r->summary);
        break;
    case RECORD_ERROR:
        record_write_error(out, &r->who, r->error.code, r->error.peer, r->error.message);
        break;
    }
}

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
    write_again(&line, &first);
    if (line.len <= 64 * 1024) { /* escapes may make a start record longer than it was */
        must(record_read(line.data, line.len, &second, &err) == 1, "its own line is refused");
        write_again(&again, &second);
        must(line.len == again.len && memcmp(line.data, again.data, line.len) == 0,
             "written twice, not the same");
        record_done(&second);
    }
    record_done(&first);
    return 0;
}
