/* How one gang is judged: a gang is written as one word a member, "pserver/0=run". */
#include "tests/test.h"
#include "core/record.h"
#include "decide/policy_attempt.h"

#include "base/str.h"

#define NOW 100000

static const struct summary usable = {.samples = 1, .duration_ns = 1}, empty = {.duration_ns = 1},
                            of_job = {.samples = 1, .duration_ns = 1, .source.is_job = true},
                            job_empty = {.duration_ns = 1, .source.is_job = true};

/* clang-format off */
static const struct {
    const char *word;
    struct observed_replica replica;
} words[] = {
    {"wait", {.state = REPLICA_PENDING}},
    {"run", {.state = REPLICA_RUNNING}},
    {"read", {.state = REPLICA_RUNNING, .has_exited = true}},
    {"unready", {.state = REPLICA_RUNNING, .message = "node 'n4' is not ready"}},
    {"done", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW, .summary = &usable}},
    {"done-10s", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW - 10000, .summary = &usable}},
    {"job", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW, .summary = &of_job}},
    {"job-empty", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW, .summary = &job_empty}},
    {"mute", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW}},
    {"empty", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW, .summary = &empty}},
    {"damaged", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW,
                 .message = "damaged record: 'steps' is missing"}},
    {"logged", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW, .has_log_rule = true, .summary = &usable}},
    {"missed", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW, .has_log_rule = true,
                .message = "no line matched\nthe last 5 lines:\n"}},
    {"unread", {.state = REPLICA_SUCCEEDED, .ended_unix_ms = NOW,
                .message = "it printed no record\nthe last 5 lines:\n"}},
    {"killed", {.state = REPLICA_FAILED, .failure = FAILURE_INFRASTRUCTURE, .exit_code = -1,
                .ended_unix_ms = NOW - 500, .message = "killed by signal 9"}},
    {"bad", {.state = REPLICA_FAILED, .failure = FAILURE_PERMANENT, .exit_code = 10,
             .ended_unix_ms = NOW - 100}},
    {"lacks", {.state = REPLICA_FAILED, .failure = FAILURE_INFRASTRUCTURE, .exit_code = 13, .ended_unix_ms = NOW - 100,
               .message = "libcuda.so.1: cannot open shared object file: No such file or directory"}},
    {"lacks-module", {.state = REPLICA_FAILED, .failure = FAILURE_PERMANENT, .exit_code = 1, .ended_unix_ms = NOW - 100,
                      .message = "exit code 1\nModuleNotFoundError: No module named 'torch'"}},
    {"bad-first", {.state = REPLICA_FAILED, .failure = FAILURE_PERMANENT, .exit_code = 10,
                   .ended_unix_ms = NOW - 900}},
    {"bad-then", {.state = REPLICA_FAILED, .failure = FAILURE_PERMANENT, .exit_code = 10,
                  .ended_unix_ms = NOW - 500}},
    {"bad-3s", {.state = REPLICA_FAILED, .failure = FAILURE_PERMANENT, .exit_code = 10,
                .ended_unix_ms = NOW - 3000}},
    {"lost", {.state = REPLICA_LOST}},
    {"left", {.state = REPLICA_FAILED, .failure = FAILURE_CONSEQUENCE, .exit_code = 11,
              .ended_unix_ms = NOW, .has_blamed = true, .blamed_role = ROLE_TRAINER,
              .blamed_index = 1, .message = "silent for 6 s"}},
    {"left-1s", {.state = REPLICA_FAILED, .failure = FAILURE_CONSEQUENCE, .exit_code = 11,
                 .ended_unix_ms = NOW - 1000, .has_blamed = true, .blamed_role = ROLE_PSERVER,
                 .message = "reset"}},
    {"left-3s", {.state = REPLICA_FAILED, .failure = FAILURE_CONSEQUENCE, .exit_code = 11,
                 .ended_unix_ms = NOW - 3000, .has_blamed = true, .blamed_role = ROLE_PSERVER,
                 .message = "reset"}},
    {"left-mute", {.state = REPLICA_FAILED, .failure = FAILURE_CONSEQUENCE, .exit_code = 11,
                   .ended_unix_ms = NOW - 5000}},
};
/* clang-format on */

/* "trainer/0=run trainer/1=done": members in order, "-" for none. */
static size_t read_members(const char *text, struct observed_replica *ret)
{
    char copy[256];
    size_t n = 0;
    snprintf(copy, sizeof(copy), "%s", text);
    char *save = NULL;
    for (char *m = strtok_r(copy, " ", &save); m != NULL; m = strtok_r(NULL, " ", &save)) {
        char role[16], word[16];
        unsigned index;
        if (sscanf(m, "%15[a-z]/%u=%15s", role, &index, word) != 3) {
            continue;
        }
        for (size_t i = 0; i < N_ROWS(words); i++) {
            if (str_eq(words[i].word, word)) {
                ret[n] = words[i].replica;
                ret[n].id.role = (enum role)role_from_string(role);
                ret[n++].id.index = index;
            }
        }
    }
    return n;
}

TEST(verdicts)
{
    /* clang-format off */
    static const struct {
        const char *name;
        uint32_t size[ROLE_COUNT]; /* pservers, trainers, workers, launchers */
        const char *members;
        enum missing_means missing;
        const char *end; /* NULL: alive */
        const char *error;
        int64_t recheck_ms;
    } rows[] = {
        {"all wait", {1, 1, 0}, "pserver/0=wait trainer/0=wait", 0, NULL, "", 0},
        {"one of two trainers done", {0, 2, 0}, "trainer/0=done trainer/1=run", 0, NULL, "", 0},
        {"all done", {1, 1, 0}, "pserver/0=done trainer/0=done", 0, "Well", "", 0},
        {"pserver needs no summary", {1, 1, 0}, "pserver/0=mute trainer/0=done", 0, "Well", "", 0},
        {"pserver was done first", {1, 1, 0}, "pserver/0=done trainer/0=run", 0, NULL, "", 0},
        {"pserver lingers", {1, 1, 0}, "pserver/0=run trainer/0=done", 0, NULL, "", 10000},
        {"grace counts from the last trainer", {1, 2, 0},
         "pserver/0=run trainer/0=done-10s trainer/1=done", 0, NULL, "", 10000},
        {"the last trainer, not the last in order", {1, 2, 0},
         "pserver/0=run trainer/0=done trainer/1=done-10s", 0, NULL, "", 10000},
        {"pserver stays", {1, 1, 0}, "pserver/0=run trainer/0=done-10s", 0, "Well", "", 0},
        {"pserver killed after the trainers", {1, 1, 0}, "pserver/0=killed trainer/0=done", 0,
         "Infrastructure", "pserver/0: killed by signal 9", 0},
        {"mute trainer", {0, 2, 0}, "trainer/0=done trainer/1=mute", 0, "NoSummary",
         "trainer/1: succeeded but wrote no summary", 0},
        {"mute worker", {0, 0, 1}, "worker/0=mute", 0, "NoSummary",
         "worker/0: succeeded but wrote no summary", 0},
        {"one trainer speaks for all", {0, 3, 0}, "trainer/0=mute trainer/1=job trainer/2=mute", 0, "Well", "", 0},
        {"its summary cannot be used", {0, 2, 0}, "trainer/0=mute trainer/1=job-empty", 0, "NoSummary",
         "trainer/0: succeeded but wrote no summary", 0},
        {"a summary without samples", {0, 2, 0}, "trainer/0=empty trainer/1=done", 0, "NoSummary",
         "trainer/0: succeeded but wrote a summary that is refused: 'samples' is 0", 0},
        {"a pserver's has none", {1, 1, 0}, "pserver/0=empty trainer/0=done", 0, "Well", "", 0},
        {"a damaged record instead", {0, 1, 0}, "trainer/0=damaged", 0, "NoSummary",
         "trainer/0: succeeded but wrote no summary; damaged record: 'steps' is missing", 0},
        {"no line matched its rule", {0, 1, 0}, "trainer/0=missed", 0, "NoSummary",
         "trainer/0: no line matched", 0},
        {"another one's lines did", {0, 2, 0}, "trainer/0=logged trainer/1=missed", 0, "NoSummary",
         "trainer/1: no line matched, but trainer/0 printed figures; where one trainer prints for all, add 'scope: Each' "
         "to the line of the rule ('scope: Job' if its figure is of all together)", 0},
        {"it has no rule", {0, 1, 0}, "trainer/0=unread", 0, "NoSummary",
         "trainer/0: succeeded but wrote no summary; it printed no record", 0},
        {"a launcher leads: workers need not end", {0, 0, 2, 1},
         "worker/0=run worker/1=run launcher/0=done", 0, "Well", "", 0},
        {"nor have figures", {0, 0, 1, 1}, "worker/0=mute launcher/0=done", 0, "Well", "", 0},
        {"a worker that fails after its launcher", {0, 0, 2, 1},
         "worker/0=run worker/1=killed launcher/0=done", 0, "Well", "", 0},
        {"nor one that is gone", {0, 0, 1, 1}, "worker/0=- launcher/0=done", MISSING_VANISHED, "Well", "", 0},
        {"while the launcher's log is read", {0, 0, 1, 1}, "worker/0=killed launcher/0=read", 0, NULL, "", 0},
        {"a launcher must", {0, 0, 1, 1}, "worker/0=done launcher/0=mute", 0, "NoSummary",
         "launcher/0: succeeded but wrote no summary", 0},
        {"a worker that ends before its launcher", {0, 0, 2, 1},
         "worker/0=done worker/1=run launcher/0=run", 0, NULL, "", 0},
        {"a launcher that failed waits for a cause", {0, 0, 1, 1}, "worker/0=run launcher/0=bad", 0,
         NULL, "", 2900},
        {"not for ever", {0, 0, 1, 1}, "worker/0=run launcher/0=bad-3s", 0, "Permanent",
         "launcher/0: exit code 10", 0},
        {"not where nobody is left", {0, 0, 1, 1}, "worker/0=done launcher/0=bad", 0, "Permanent",
         "launcher/0: exit code 10", 0},
        {"a worker that failed is the cause, first or not", {0, 0, 1, 1},
         "worker/0=killed launcher/0=bad-first", 0, "Infrastructure",
         "worker/0: killed by signal 9", 0},
        {"a worker that is lost is the cause", {0, 0, 1, 1}, "worker/0=lost launcher/0=bad-first", 0,
         "Infrastructure", "worker/0: vanished", 0},
        {"killed", {0, 2, 0}, "trainer/0=run trainer/1=killed", 0, "Infrastructure",
         "trainer/1: killed by signal 9", 0},
        {"permanent", {0, 2, 0}, "trainer/0=run trainer/1=bad", 0, "Permanent",
         "trainer/1: exit code 10", 0},
        {"a library is missing", {0, 0, 1}, "worker/0=lacks", 0, "Lacking",
         "worker/0: libcuda.so.1: cannot open shared object file: No such file or directory", 0},
        {"a module is missing", {0, 0, 1}, "worker/0=lacks-module", 0, "Lacking",
         "worker/0: exit code 1 ModuleNotFoundError: No module named 'torch'", 0},
        {"the first failure is the cause", {0, 2, 0}, "trainer/0=bad trainer/1=killed", 0,
         "Infrastructure", "trainer/1: killed by signal 9", 0},
        {"the first failure is the cause, permanent", {0, 2, 0},
         "trainer/0=killed trainer/1=bad-first", 0, "Permanent", "trainer/1: exit code 10", 0},
        {"at the same time a permanent one explains more", {0, 2, 0},
         "trainer/0=killed trainer/1=bad-then", 0, "Permanent", "trainer/1: exit code 10", 0},
        {"without a time comes last", {0, 2, 0}, "trainer/0=lost trainer/1=bad", 0, "Permanent",
         "trainer/1: exit code 10", 0},
        {"without a time comes last, here too", {0, 2, 0}, "trainer/0=bad trainer/1=lost", 0,
         "Permanent", "trainer/0: exit code 10", 0},
        {"lost", {0, 2, 0}, "trainer/0=lost trainer/1=run", 0, "Infrastructure",
         "trainer/0: vanished", 0},
        {"a survivor is never the cause", {1, 2, 0},
         "pserver/0=bad trainer/0=left-1s trainer/1=left", 0, "Permanent",
         "pserver/0: exit code 10", 0},
        {"a survivor waits for the cause", {0, 2, 0}, "trainer/0=left trainer/1=run", 0, NULL, "",
         3000},
        {"a second later it still waits", {1, 1, 0}, "pserver/0=run trainer/0=left-1s", 0, NULL, "",
         2000},
        {"three seconds later its word counts", {1, 1, 0}, "pserver/0=run trainer/0=left-3s", 0,
         "Infrastructure", "pserver/0: lost, reported by trainer/0: reset", 0},
        {"what is known of the lost one", {1, 1, 0}, "pserver/0=unready trainer/0=left-3s", 0,
         "Infrastructure",
         "pserver/0: node 'n4' is not ready; lost, reported by trainer/0: reset", 0},
        {"it may come back", {1, 1, 0}, "pserver/0=unready trainer/0=run", 0, NULL, "", 0},
        {"survivors only", {0, 2, 0}, "trainer/0=left trainer/1=left", 0, "Infrastructure",
         "trainer/1: lost, reported by trainer/0: silent for 6 s", 0},
        {"the first survivor speaks", {1, 1, 0}, "pserver/0=left trainer/0=left-1s", 0,
         "Infrastructure", "pserver/0: lost, reported by trainer/0: reset", 0},
        {"a cut link: whom most name is lost, not whom the one that is cut off names first", {1, 2, 0},
         "pserver/0=left trainer/0=left trainer/1=left-3s", 0, "Infrastructure",
         "trainer/1: lost, reported by pserver/0: silent for 6 s", 0},
        {"of as many the one that was named first", {1, 3, 0},
         "pserver/0=run trainer/0=left-3s trainer/1=run trainer/2=left", 0, "Infrastructure",
         "pserver/0: lost, reported by trainer/0: reset", 0},
        {"who succeeded does not speak", {0, 2, 0}, "trainer/0=done-10s trainer/1=left-mute", 0,
         "Infrastructure", "trainer/1: lost a peer: exit code 11", 0},
        {"who names somebody speaks, not who names nobody", {1, 2, 0},
         "pserver/0=left-mute trainer/0=left trainer/1=run", 0, "Infrastructure",
         "trainer/1: lost, reported by trainer/0: silent for 6 s", 0},
        {"a survivor that names nobody", {0, 2, 0}, "trainer/0=left-mute trainer/1=run", 0,
         "Infrastructure", "trainer/0: lost a peer: exit code 11", 0},
        {"missing, not created", {0, 2, 0}, "trainer/0=run", MISSING_NOT_CREATED, NULL, "", 0},
        {"missing, and one has ended", {0, 2, 0}, "trainer/0=done", MISSING_NOT_CREATED,
         "Infrastructure", "trainer/1: was not created before another replica ended", 0},
        {"missing, all had been created", {1, 2, 0}, "pserver/0=run trainer/1=run",
         MISSING_VANISHED, "Infrastructure", "trainer/0: vanished", 0},
        {"a vanished one comes before its survivors", {0, 2, 0}, "trainer/0=left-1s",
         MISSING_VANISHED, "Infrastructure", "trainer/1: vanished", 0},
        {"a known failure comes before a vanished one", {0, 2, 0}, "trainer/0=bad",
         MISSING_VANISHED, "Permanent", "trainer/0: exit code 10", 0},
        {"cancelling: only whole gangs are judged", {0, 2, 0}, "trainer/0=bad", MISSING_UNDECIDED,
         NULL, "", 0},
        {"cancelling: a whole gang is", {0, 1, 0}, "trainer/0=bad", MISSING_UNDECIDED, "Permanent",
         "trainer/0: exit code 10", 0},
    };
    /* clang-format on */
    static const char *const ends[] = {
        [ATTEMPT_END_WELL] = "Well",
        [ATTEMPT_END_NO_SUMMARY] = "NoSummary",
        [ATTEMPT_END_INFRASTRUCTURE] = "Infrastructure",
        [ATTEMPT_END_PERMANENT] = "Permanent",
        [ATTEMPT_END_TIMED_OUT] = "TimedOut",
        [ATTEMPT_END_LACKING] = "Lacking",
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct observed_replica members[8] = {0};
        const struct gang gang = {
            .members = members,
            .n_members = read_members(rows[i].members, members),
            .size = rows[i].size,
            .missing = rows[i].missing,
        };
        struct attempt_verdict v;
        attempt_judge(&gang, NOW, &v);
        assert_string_equal(v.has_ended ? ends[v.end] : "alive",
                            rows[i].end != NULL ? rows[i].end : "alive");
        assert_string_equal(v.error, rows[i].error);
        assert_int_equal(v.recheck_unix_ms == 0 ? 0 : v.recheck_unix_ms - NOW, rows[i].recheck_ms);
    }
}

/* Of two servers' and trainers' gangs: started and last output, in seconds before now; -1: none. */
TEST(limits)
{
    /* clang-format off */
    static const struct {
        const char *name;
        int64_t timeout_s, stall_s;
        int started_s[3], output_s[3]; /* pserver/0, trainer/0, trainer/1 */
        const char *error;             /* NULL: alive */
        int64_t recheck_ms;
    } rows[] = {
        {"no limits", 0, 0, {900, 900, 900}, {900, 900, 900}, NULL, 0},
        {"in time", 60, 0, {90, 90, 50}, {0, 0, 0}, NULL, 10000},
        {"from the last start", 60, 0, {90, 60, 90}, {0, 0, 0},
         "trainer/0: still running after 60 s (runPolicy.trialTimeoutSeconds)", 0},
        {"one has not started", 60, 0, {90, 90, -1}, {0, 0, 0}, NULL, 0},
        {"talks", 0, 30, {90, 90, 90}, {90, 90, 20}, NULL, 10000},
        {"all are silent", 0, 30, {90, 90, 90}, {0, 30, 40},
         "trainer/0: no output for 30 s (runPolicy.stallSeconds)", 0},
        {"only one is seen", 0, 30, {90, 90, 90}, {-1, -1, 31},
         "trainer/1: no output for 30 s (runPolicy.stallSeconds)", 0},
        {"none is seen", 0, 30, {90, 90, 90}, {90, -1, -1}, NULL, 0},
        {"one has not started yet, the other waits for it", 0, 30, {90, 90, -1}, {90, 90, -1}, NULL,
         0},
        {"the nearer limit is looked at first", 60, 30, {50, 50, 50}, {25, 25, 25}, NULL, 5000},
        {"both: the trial's", 60, 30, {90, 90, 90}, {90, 90, 90},
         "trainer/0: still running after 60 s (runPolicy.trialTimeoutSeconds)", 0},
    };
    /* clang-format on */
    static const uint32_t size[ROLE_COUNT] = {1, 2, 0};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct observed_replica members[3] = {{.id.role = ROLE_PSERVER},
                                              {.id.role = ROLE_TRAINER},
                                              {.id = {.role = ROLE_TRAINER, .index = 1}}};
        for (int k = 0; k < 3; k++) {
            const int start = rows[i].started_s[k], output = rows[i].output_s[k];
            members[k].state = start < 0 ? REPLICA_PENDING : REPLICA_RUNNING;
            members[k].started_unix_ms = start < 0 ? 0 : NOW - start * 1000;
            members[k].output_unix_ms = output < 0 ? 0 : NOW - output * 1000;
        }
        const struct gang gang = {.members = members,
                                  .n_members = 3,
                                  .size = size,
                                  .timeout_s = rows[i].timeout_s,
                                  .stall_s = rows[i].stall_s};
        struct attempt_verdict v;
        attempt_judge(&gang, NOW, &v);
        assert_int_equal(v.has_ended, rows[i].error != NULL);
        assert_string_equal(v.error, rows[i].error == NULL ? "" : rows[i].error);
        assert_int_equal(v.recheck_unix_ms == 0 ? 0 : v.recheck_unix_ms - NOW, rows[i].recheck_ms);
        if (v.has_ended) {
            assert_int_equal(v.end, ATTEMPT_END_TIMED_OUT);
        }
    }
}

/* The time that benchd takes to read a log to its end is not the trial's. */
TEST(who_has_exited_is_not_late)
{
    static const uint32_t size[ROLE_COUNT] = {0, 2, 0};
    struct observed_replica members[2] = {
        {.id.role = ROLE_TRAINER, .started_unix_ms = NOW - 90000, .output_unix_ms = NOW - 40000},
        {.id = {.role = ROLE_TRAINER, .index = 1}}}; /* so short that nobody saw it run */
    members[0].state = members[1].state = REPLICA_RUNNING;
    members[0].has_exited = members[1].has_exited = true;
    const struct gang gang = {
        .members = members, .n_members = 2, .size = size, .timeout_s = 60, .stall_s = 30};
    struct attempt_verdict v;
    for (int i = 0; i < 2; i++) {
        members[1].started_unix_ms = i * (NOW - 90000);
        attempt_judge(&gang, NOW, &v);
        assert_false(v.has_ended);
        assert_int_equal(v.recheck_unix_ms, 0);
    }
    members[1].started_unix_ms = 0;
    members[0].has_exited = false; /* the other does not stand for it */
    attempt_judge(&gang, NOW, &v);
    assert_string_equal(v.error,
                        "trainer/0: still running after 60 s (runPolicy.trialTimeoutSeconds)");
}
