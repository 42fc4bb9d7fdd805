/* What benchd reports of an API server that fails, and when it gives up: one row a look. */
#include "tests/test.h"
#include "daemon/api_health.h"

#define S_NS INT64_C(1000000000)
#define MAX_LOOKS 6

static const struct err away = {EHOSTUNREACH, "no connection"}, refused = {EACCES, "HTTP 403"},
                        slow = {ETIMEDOUT, "no answer"};

struct look {
    int64_t at_s;
    const struct err *watch_error, *lease_error;
    enum { NO_LISTS = 0, SYNCED = 1, LEADER = 2, FOLLOWER = 4, PAGE = 8 } flags;
    const char *advice; /* F failure, R recovery, W waiting for the Lease, X give up */
};

static const struct {
    const char *name;
    struct look looks[MAX_LOOKS]; /* the last is the one without advice */
} rows[] = {
    {"a good start",
     {{0, NULL, NULL, NO_LISTS, ""},
      {1, NULL, NULL, SYNCED, ""},
      {2, NULL, NULL, SYNCED | LEADER, ""},
      {9999, NULL, NULL, SYNCED | LEADER, ""}}},
    {"nobody answers",
     {{0, NULL, NULL, NO_LISTS, ""},
      {59, NULL, NULL, NO_LISTS, ""},
      {60, NULL, NULL, NO_LISTS, "X"}}},
    {"lists of many pages: no failure, however long",
     {{59, NULL, NULL, PAGE, ""},
      {118, NULL, NULL, PAGE, ""},
      {177, NULL, NULL, NO_LISTS, ""},
      {178, NULL, NULL, NO_LISTS, "X"}}},
    {"pages that are asked for in vain",
     {{1, &away, NULL, PAGE, "F"}, {59, &away, NULL, PAGE, ""}, {60, &away, NULL, PAGE, "X"}}},
    {"an error that lasts is reported once and is fatal after a minute",
     {{1, &away, NULL, NO_LISTS, "F"},
      {59, &away, NULL, NO_LISTS, ""},
      {60, &away, NULL, NO_LISTS, "X"}}},
    {"a refusal is fatal after ten seconds",
     {{1, &refused, NULL, NO_LISTS, "F"},
      {9, &refused, NULL, NO_LISTS, ""},
      {10, &refused, NULL, NO_LISTS, "X"}}},
    {"a refused Lease too, though the lists came",
     {{1, NULL, &refused, SYNCED, "F"}, {10, NULL, &refused, SYNCED, "X"}}},
    {"another error, and the same of another source, are news",
     {{1, &away, NULL, NO_LISTS, "F"},
      {2, &slow, NULL, NO_LISTS, "F"},
      {3, &slow, &slow, NO_LISTS, ""},
      {4, NULL, &slow, NO_LISTS, "F"},
      {5, NULL, NULL, NO_LISTS, "R"},
      {6, &slow, NULL, NO_LISTS, "F"}}},
    {"after the start nothing is fatal",
     {{1, NULL, NULL, SYNCED | LEADER, ""},
      {2, &refused, &refused, SYNCED | LEADER, "F"},
      {9999, &refused, &refused, SYNCED, ""},
      {10000, NULL, NULL, SYNCED | LEADER, "R"}}},
    {"another benchd holds the Lease: no failure, however long",
     {{1, NULL, NULL, FOLLOWER, "W"},
      {9999, NULL, NULL, FOLLOWER, ""},
      {10000, NULL, NULL, SYNCED | LEADER, ""},
      {10001, NULL, NULL, SYNCED | FOLLOWER, "W"}}},
    {"waiting is reported again after a failure",
     {{1, NULL, NULL, FOLLOWER, "W"},
      {2, NULL, &away, FOLLOWER, "F"},
      {3, NULL, NULL, FOLLOWER, "RW"}}},
    {"a failure before the work began is timed from when all was well",
     {{50, NULL, NULL, FOLLOWER, "W"},
      {51, NULL, &away, FOLLOWER, "F"},
      {109, NULL, &away, FOLLOWER, ""},
      {110, NULL, &away, FOLLOWER, "X"}}},
};

TEST(each_look)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct api_health h;
        uint64_t n_pages = 0;
        api_health_init(&h, 1000 * S_NS);
        for (size_t k = 0; k < MAX_LOOKS && rows[i].looks[k].advice != NULL; k++) {
            const struct look *look = &rows[i].looks[k];
            n_pages += (look->flags & PAGE) != 0;
            const struct api_advice a = api_health_look(
                &h, &(struct api_facts){.now_ns = (1000 + look->at_s) * S_NS,
                                        .watch_error = look->watch_error,
                                        .lease_error = look->lease_error,
                                        .is_synced = (look->flags & SYNCED) != 0,
                                        .n_pages = n_pages,
                                        .is_leader = (look->flags & LEADER) != 0,
                                        .is_held_by_another = (look->flags & FOLLOWER) != 0});
            char got[5] = "";
            size_t n = 0;
            if (a.report != API_SILENT) {
                got[n++] = a.report == API_REPORT_FAILURE ? 'F' : 'R';
            }
            if (a.must_report_waiting) {
                got[n++] = 'W';
            }
            if (a.must_give_up) {
                got[n++] = 'X';
            }
            const struct err *failure =
                look->watch_error != NULL ? look->watch_error : look->lease_error;
            if (strcmp(got, look->advice) != 0 || a.failure != failure) {
                fail_msg("row '%s', second %d: expected '%s', got '%s'", rows[i].name,
                         (int)look->at_s, look->advice, got);
            }
        }
    }
}
