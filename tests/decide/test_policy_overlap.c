/* Whether replicas measured together, from the times that are known of them. */
#include "tests/test.h"

#include <math.h>

#include "core/record.h"
#include "decide/policy_attempt.h"
#include "decide/policy_overlap.h"

/* One replica that leads, in seconds since the first date: what its container and its log say, and
 * what the launcher saw. 0 where nothing is known. */
struct shown {
    double started, finished, seen, ended, from, to, asked;
    const char *node;
};

static int64_t ms_of(double s)
{
    return s == 0 ? 0 : 1000000 + (int64_t)(s * 1000);
}

static const struct summary usable = {.samples = 1, .duration_ns = 1};

static struct observed_replica replica_of(const struct shown *s, uint32_t index)
{
    return (struct observed_replica){
        .id = {.role = ROLE_WORKER, .index = index},
        .state = s->ended > 0  ? REPLICA_SUCCEEDED
                 : s->seen > 0 ? REPLICA_RUNNING
                               : REPLICA_PENDING,
        .summary = &usable,
        .started_unix_ms = ms_of(s->started),
        .finished_unix_ms = ms_of(s->finished),
        .seen_unix_ms = ms_of(s->seen),
        .ended_unix_ms = ms_of(s->ended),
        .measured_from_unix_ms = ms_of(s->from),
        .measured_to_unix_ms = ms_of(s->to),
        .asked_unix_ms = ms_of(s->asked),
        .node = s->node,
    };
}

#define N(node_) .node = node_, .asked = 1

TEST(gangs)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct shown workers[2]; /* in any order */
        const char *end;         /* of the attempt; NULL: alive */
        double spread, shared;   /* NAN: not known */
    } rows[] = {
        {"together, by dates", {{10, 60, 10.5, 60.5, N("a")}, {10, 60, 10.6, 60.6, N("b")}}, "Well", 0, 1},
        {"dates of a second: no more is missing than they say",
         {{10, 11, 10.5, 11.5, N("a")}, {11, 11, 11.4, 11.6, N("a")}}, "Well", 1, 1},
        {"half of the time", {{10, 60, 10.5, 60.5, N("a")}, {40, 90, 40.5, 90.5, N("b")}}, "Well", 30, 20.999 / 49.001},
        {"a full node: one after the other", {{10, 14, 10.5, 14.5, N("a")}, {15, 19, 15.5, 19.5, N("a")}}, "NoRoom", 5, NAN},
        {"the late one is the first by index", {{15, 19, 15.5, 19.5, N("a")}, {10, 14, 10.5, 14.5, N("a")}}, "NoRoom", 5, NAN},
        {"it is not waited for the end of the late one", {{10, 14, 10.5, 14.5, N("a")}, {15, 0, 15.5, 0, N("a")}}, "NoRoom", 5, NAN},
        {"the late one has not begun", {{10, 14, 10.5, 14.5, N("a")}, {0, 0, 0, 0, N(NULL)}}, NULL, NAN, NAN},
        {"within the same second", {{10, 14, 10.5, 14.5, N("a")}, {14, 19, 15.5, 19.5, N("a")}}, "Well", 4, 0.999 / 4.001},
        {"a slow image on another node", {{10, 14, 10.5, 14.5, N("a")}, {16, 19, 16.5, 19.5, N("b")}}, "NoRoom", 6, NAN},
        {"clocks that differ: both were seen to run", {{10, 14, 14.5, 19.5, N("a")}, {16, 19, 14.6, 19.5, N("b")}}, "Well", 6, 0},
        {"but not by that much", {{10, 14, 14.5, 29.5, N("a")}, {20, 29, 14.6, 29.5, N("b")}}, "NoRoom", 10, NAN},
        {"both had ended when they were first seen", {{10, 14, 90, 90, N("a")}, {16, 19, 89.9, 89.9, N("b")}}, "NoRoom", 6, NAN},
        {"a late kubelet: seen late, and dated well", {{10, 20, 10.5, 20.5, N("a")}, {10, 20, 25.5, 25.5, N("b")}}, "Well", 0, 1},
        {"pods of a Job, one after another", {{10, 14, 10.5, 14.5, N("a")}, {16, 19, 16.5, 19.5, .node = "a", .asked = 15}}, "Infrastructure", 6, NAN},
        {"both run, on two machines", {{10, 0, 10.5, 0, N("a")}, {12, 0, 12.5, 0, N("b")}}, NULL, 2, NAN},
        {"processes", {{10, 0, 10, 60}, {10.2, 0, 10.2, 60.1}}, "Well", 0.2, 49.8 / 50},
        {"processes, one after another", {{10, 0, 10, 14}, {14.1, 0, 14.1, 18}}, "Infrastructure", 4.1, NAN},
        {"a worker that measures early", {{10, 0, 10, 60, 11, 20}, {10, 0, 10, 60, 30, 59}}, "Infrastructure", 0, NAN},
        {"lines that were buffered", {{10, 0, 10, 60, 59.9, 60}, {10, 0, 10, 62, 61.9, 62}}, "Well", 0, 50. / 52},
        {"its last line is known", {{10, 0, 10, 60, 0, 20}, {30, 0, 30, 60}}, "Infrastructure", 20, NAN},
        {"measured steps count, not what is around them", {{10, 0, 10, 90, 50, 60}, {20, 0, 20, 61, 50, 60}}, "Well", 10, 1},
        {"those of the first worker", {{10, 90, 10, 90, 50, 60, N("a")}, {20, 61, 20, 61, N("b")}}, "Well", 10, 1},
        {"one that began in the middle of them", {{10, 90, 10, 90, 50, 60, N("a")}, {55, 70, 55, 71, N("b")}}, "Well", 45, 0.5},
        {"lines of two machines, within their clocks", {{10, 60, 10, 60, 11, 20, N("a")}, {10, 60, 10, 60, 24, 50, N("b")}}, "Well", 0, 0},
        {"beyond them", {{10, 60, 10, 60, 11, 20, N("a")}, {10, 60, 10, 60, 26, 50, N("b")}}, "Infrastructure", 0, NAN},
        {"of one machine", {{10, 60, 10, 60, 11, 20, N("a")}, {10, 60, 10, 60, 21, 50, N("a")}}, "Infrastructure", 0, NAN},
        {"simulated", {{10, 14, 0, 14.5, N("a")}, {15, 19, 0, 19.5, N("a")}}, "Well", 5, NAN},
    };
    /* clang-format on */
    static const char *const ends[] = {[ATTEMPT_END_WELL] = "Well",
                                       [ATTEMPT_END_NO_ROOM] = "NoRoom",
                                       [ATTEMPT_END_INFRASTRUCTURE] = "Infrastructure"};
    static const uint32_t sizes[ROLE_COUNT] = {[ROLE_WORKER] = 2};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        const struct observed_replica members[2] = {replica_of(&rows[i].workers[0], 0),
                                                    replica_of(&rows[i].workers[1], 1)};
        struct attempt_verdict v;
        struct overlap o;
        attempt_judge(&(struct gang){.members = members, .n_members = 2, .size = sizes}, 1100000,
                      &v);
        overlap_find(members, 2, &members[0].id.attempt, sizes, &o);
        assert_string_equal(v.has_ended ? ends[v.end] : "alive",
                            rows[i].end == NULL ? "alive" : rows[i].end);
        assert_true(isnan(rows[i].spread) ? isnan(o.start_spread_s)
                                          : fabs(rows[i].spread - o.start_spread_s) < 1e-9);
        assert_true(isnan(rows[i].shared) ? isnan(o.shared_ratio)
                                          : fabs(rows[i].shared - o.shared_ratio) < 1e-9);
        assert_int_equal(o.is_whole, rows[i].end != NULL && strcmp(rows[i].end, "Well") == 0);
    }
}

TEST(the_words_say_who_measured_when)
{
    static const struct shown workers[2] = {{10, 14, 10.5, 14.5, N("a")},
                                            {16, 19, 16.5, 19.5, N("a")}};
    static const uint32_t sizes[ROLE_COUNT] = {[ROLE_WORKER] = 2};
    const struct observed_replica members[2] = {replica_of(&workers[0], 0),
                                                replica_of(&workers[1], 1)};
    struct overlap o;
    overlap_find(members, 2, &members[0].id.attempt, sizes, &o);
    assert_string_equal(o.words, "worker/1: measured from 6.0 s on and worker/0 until 5.0 s (since "
                                 "the first start), so they did not measure together");
}

/* Servers may outlive their trainers, and the replicas that a launcher uses are servers. */
TEST(who_does_not_lead_is_not_asked)
{
    static const struct shown shown[2] = {{10, 14, 10.5, 14.5, N("a")},
                                          {16, 19, 16.5, 19.5, N("a")}};
    static const uint32_t sizes[ROLE_COUNT] = {[ROLE_WORKER] = 1, [ROLE_LAUNCHER] = 1};
    struct observed_replica members[2] = {replica_of(&shown[0], 0), replica_of(&shown[1], 0)};
    members[1].id.role = ROLE_LAUNCHER;
    struct overlap o;
    overlap_find(members, 2, &members[0].id.attempt, sizes, &o);
    assert_null(o.late);
    assert_true(o.is_whole);
    assert_true(o.start_spread_s == 6);
    assert_true(isnan(o.shared_ratio));
    overlap_find(members, 2, &(struct attempt_id){.number = 1}, sizes, &o);
    assert_false(o.is_whole); /* nothing is seen of it */
}
