/* Which summaries can be used, and what is said of the others. */
#include "summary_fixture.h"

#include <errno.h>

#define LINE(type, index, rest)                                                                    \
    "{\"benchd\":1,\"type\":\"" type "\",\"role\":\"trainer\",\"index\":" index                    \
    ",\"attempt\":2," rest "}"
#define SUMMARY(rest) LINE("summary", "1", rest)

static const struct replica_id id = {{3, 1, 2}, ROLE_TRAINER, 1};

TEST(what_can_be_used)
{
    static const struct {
        const char *line;
        const char *why; /* the trainer has no throughput */
    } rows[] = {
        {SUMMARY("\"samples\":32,\"duration_ns\":800000000,\"steps\":8"), NULL},
        {SUMMARY("\"samples\":32,\"duration_ns\":800000000,\"steps\":8,"
                 "\"series\":{\"k\":1,\"n\":1,\"min\":0,\"data\":\"AAA=\"}"),
         NULL},
        {NULL, "wrote no summary"},
        {SUMMARY("\"samples\":0,\"duration_ns\":5,\"steps\":8"),
         "wrote a summary that is refused: 'samples' is 0"},
        {SUMMARY("\"samples\":5,\"duration_ns\":0,\"steps\":8"),
         "wrote a summary that is refused: 'duration_ns' is 0"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct summary *s = summary_of(&id, rows[i].line);
        assert_int_equal(summary_is_usable(s), rows[i].why == NULL);
        if (rows[i].why != NULL) {
            _cleanup_(freep) char *why = summary_explain(s);
            assert_string_equal(why, rows[i].why);
        }
        summary_free(s);
    }
}

TEST(throughput)
{
    const struct summary s = {.samples = 32, .duration_ns = 800000000};
    assert_null(summary_fault(&s));
    assert_true(summary_throughput(&s) > 39.999999 && summary_throughput(&s) < 40.000001);
}
