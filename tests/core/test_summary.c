/* Which summaries can be used, and what is said of the others. */
#include "tests/test.h"
#include "core/summary.h"

#include <errno.h>

#define LINE(type, index, rest)                                                                    \
    "{\"benchd\":1,\"type\":\"" type "\",\"role\":\"trainer\",\"index\":" index                    \
    ",\"attempt\":2," rest "}"
#define SUMMARY(rest) LINE("summary", "1", rest)

TEST(what_can_be_used)
{
    static const struct {
        const char *name, *line;
        int read, usable; /* what the two functions return */
        const char *why;  /* of the last one */
    } rows[] = {
        {"as it should be", SUMMARY("\"samples\":32,\"duration_ns\":800000000,\"steps\":8"), 0, 0,
         ""},
        {"with a series",
         SUMMARY("\"samples\":32,\"duration_ns\":800000000,\"steps\":8,"
                 "\"series\":{\"k\":1,\"n\":1,\"min\":0,\"data\":\"AAA=\"}"),
         0, 0, ""},
        {"none", NULL, -ENODATA, -ENODATA, "wrote no summary"},
        {"no samples", SUMMARY("\"samples\":0,\"duration_ns\":5,\"steps\":8"), 0, -EPROTO,
         "wrote a summary that is refused: 'samples' is 0"},
        {"no time", SUMMARY("\"samples\":5,\"duration_ns\":0,\"steps\":8"), 0, -EPROTO,
         "wrote a summary that is refused: 'duration_ns' is 0"},
        {"a field is missing", SUMMARY("\"samples\":5,\"steps\":8"), -EPROTO, -EPROTO,
         "wrote a summary that is refused: record: 'duration_ns' is missing"},
        {"no record", "loss 2.3", -EPROTO, -EPROTO,
         "wrote a summary that is refused: it is not a record"},
        {"another record", LINE("error", "1", "\"code\":1,\"peer\":null,\"message\":\"x\""),
         -EPROTO, -EPROTO, "wrote a summary that is refused: it is another record"},
        {"another replica's", LINE("summary", "0", "\"samples\":5,\"duration_ns\":5,\"steps\":8"),
         -EPROTO, -EPROTO, "wrote a summary that is refused: it is from trainer/0 of attempt 2"},
    };
    const struct replica_id id = {{3, 1, 2}, ROLE_TRAINER, 1};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct summary s = {0};
        struct err err = {0};
        assert_int_equal(summary_read(rows[i].line, &id, &s, NULL), rows[i].read);
        summary_done(&s);
        s = (struct summary){.steps = 99};
        assert_int_equal(summary_read_usable(rows[i].line, &id, &s, &err), rows[i].usable);
        assert_string_equal(err.msg, rows[i].why);
        assert_int_equal(s.steps, rows[i].usable == 0 ? 8 : 99); /* written only on success */
    }
}

TEST(throughput)
{
    const struct summary s = {.samples = 32, .duration_ns = 800000000};
    assert_null(summary_fault(&s));
    assert_true(summary_throughput(&s) > 39.999999 && summary_throughput(&s) < 40.000001);
}
