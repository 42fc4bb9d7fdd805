/* What `benchctl try` concludes from outputs: the texts of programs with the times at which their
 * lines arrive, without a program. */
#include "def_fixture.h"

#include <math.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/try/try.h"

#define STEP_NS INT64_C(40000000)
#define N_STEPS 60

/* A definition of one point with so many workers; `log` may be NULL. A negative batch is that of
 * the whole job. */
static struct run_def *make_job(const char *profile, unsigned n, int batch, const char *log)
{
    _cleanup_(freep) char *batch_size = batch == 0 ? xstrdup("")
                                        : batch < 0
                                            ? xasprintf("batchSize: %d, batchScope: Job, ", -batch)
                                            : xasprintf("batchSize: %d, ", batch);
    _cleanup_(freep) char *text = xasprintf(
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: tiny}\nspec:\n"
        "  systems:\n  - name: x\n    profile: %s\n    command: [x]\n%s%s%s"
        "  workload: {model: x, %sexchange: {kind: AllReduce}}\n"
        "  sweep: {grid: {workers: [%u]}}\n  roles: {worker: {replicas: {from: workers}}}\n"
        "  measure: {warmupSteps: 10, steps: 100}\n",
        profile, log == NULL ? "" : "    log: ", log == NULL ? "" : log, log == NULL ? "" : "\n",
        batch_size, n);
    return make_def_of(text, 0);
}

static struct run_def *make_workers(unsigned n, int batch, const char *log)
{
    return make_job("none", n, batch, log);
}

/* Returns whether enough is known with this part of an output. */
static bool print(struct try_trial *seen, uint32_t index, const char *part, int64_t t_ms)
{
    const struct replica_id id = {.role = ROLE_WORKER, .index = index};
    const struct replica_text text = {false, part, strlen(part), t_ms * 1000000};
    return try_take_text(seen, &id, &text);
}

/* ---- programs ---- */

/* "{r}" of a line becomes the number. */
static void put_line(struct buf *out, const char *line, const char *const keys[],
                     const double values[], size_t n)
{
    for (const char *c = line; *c != '\0'; c++) {
        bool is_key = false;
        for (size_t i = 0; i < n && !is_key; i++) {
            is_key = str_has_prefix(c, keys[i]);
            if (is_key) {
                buf_printf(out, i == 0 ? "%.0f" : "%.2f", values[i]);
                c += strlen(keys[i]) - 1;
            }
        }
        if (!is_key) {
            buf_putc(out, *c);
        }
    }
    buf_putc(out, '\n');
}

/* A program with `batch` samples a step of each process; of one batch for all if is_global. A line
 * that begins with "0:" is of worker 0 alone. */
struct program {
    const char *line;
    int batch;
    bool is_global;
};

static void run_program(const struct program *p, struct try_trial *seen)
{
    static const char *const keys[] = {"{i}", "{r}", "{rw}", "{ms}"};
    const bool is_only = str_has_prefix(p->line, "0:");
    const double speed = p->is_global ? seen->n : 1, step_s = STEP_NS / 1e9 / speed;
    for (unsigned i = 0; i < N_STEPS; i++) {
        /* Steps differ a little, so that there is an interval. */
        const double own_s = step_s * (1 + 0.01 * (i % 3));
        const double rate = p->batch / own_s;
        const double values[] = {i, rate, rate * seen->n, own_s * 1000};
        static int64_t t_ns;
        t_ns = i == 0 ? INT64_C(1000000000) : t_ns + (int64_t)(own_s * 1e9);
        for (uint32_t k = 0; k < (is_only ? 1 : seen->n); k++) {
            _cleanup_(buf_done) struct buf line = BUF_INIT;
            put_line(&line, p->line + (is_only ? 2 : 0), keys, values, 4);
            const struct replica_id id = {.role = ROLE_WORKER, .index = k};
            const struct replica_text text = {false, line.data, line.len, t_ns};
            (void)try_take_text(seen, &id, &text);
        }
    }
}

/* One worker and two, as `benchctl try --write` reads them. */
struct pair {
    struct program program;
    int batch_size; /* of the definition */
    struct try_trial seen[2];
    struct try_rule rule;
    struct buf said;
};

static void pair_read(struct pair *p, int i, const char *log)
{
    struct run_def *const old = p->seen[i].def;
    p->seen[i].def = make_workers(i + 1, p->batch_size, log);
    try_read(&p->seen[i]);
    run_def_free(old);
}

/* Returns whether the scope is known. */
static bool pair_learn(struct pair *p, const char *log)
{
    _cleanup_(buf_done) struct buf found = BUF_INIT, text = BUF_INIT;
    for (int i = 0; i < 2; i++) {
        try_trial_init(&p->seen[i], make_workers(i + 1, p->batch_size, log), 10);
        run_program(&p->program, &p->seen[i]);
    }
    if (log == NULL) {
        if (try_find_rule(&p->seen[0], p->seen[0].list, INT64_MAX, &p->rule.text) == 0) {
            fail_msg("no rule for '%s'", p->program.line);
        }
        try_rule_put(&p->rule, &found);
    }
    for (int i = 0; i < 2; i++) {
        pair_read(p, i, log == NULL ? buf_cstr(&found) : log);
    }
    if (!try_learn_scope(&p->seen[0], &p->seen[1], &p->rule, &p->said)) {
        return false;
    }
    try_learn_warmup(&p->seen[0], &p->rule, &p->said);
    try_rule_put(&p->rule, &text);
    for (int i = 0; i < 2 && text.len > 0; i++) {
        pair_read(p, i, buf_cstr(&text));
    }
    return true;
}

static void pair_done(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        try_trial_done(&p->seen[i]);
    }
    buf_done(&p->rule.text);
    buf_done(&p->said);
}

/* ---- the scope ---- */

TEST(the_scope_is_that_of_the_words_or_of_the_pace)
{
    static const struct {
        const char *line, *scope; /* "?": a question; "": the default */
    } rows[] = {
        {"0:step {i} took {ms} ms/step", "Each"},
        {"0:step {i}, {rw} frames/s", "Job"},
        {"0:step {i}, {r} img/s/gpu", "Each"},
        {"0:step {i}: {r} img/s per device", "Each"},
        {"0:step {i}: {r} img/s", "?"},
        {"0:step {i}: {rw} img/s (all workers)", "Job"},
        {"step {i}: {r} img/s", ""},
        {"step {i}: {rw} img/s", "Job"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (int batch_size = 0; batch_size <= 32; batch_size += 32) {
            _cleanup_(pair_done) struct pair p = {.program = {rows[i].line, 32, false},
                                                  .batch_size = batch_size};
            const bool is_known = pair_learn(&p, NULL);
            const char *scope = p.rule.scope == NULL ? "" : p.rule.scope;
            assert_string_equal(is_known ? scope : "?", rows[i].scope);
            if (is_known && !(batch_size == 0 && strstr(rows[i].line, "ms/step") != NULL)) {
                const double true_rate = 32 / (STEP_NS / 1e9 * 1.01);
                assert_near(rows[i].line, true_rate, p.seen[0].rate, 0.02);
                assert_near(rows[i].line, 2 * true_rate, p.seen[1].rate, 0.02);
            }
            if (!is_known) {
                assert_non_null(strstr(buf_cstr(&p.said),
                                       "1 of 2 workers prints figures, and nothing shows of what:\n"
                                       "  1 worker, line 60: step 59: "));
                assert_non_null(strstr(buf_cstr(&p.said), "  2 workers, line 60: step 59: "));
                assert_non_null(strstr(buf_cstr(&p.said), "scope: Each, pattern: "));
                assert_non_null(strstr(buf_cstr(&p.said), "scope: Job, pattern: "));
                assert_int_equal(batch_size > 0,
                                 strstr(buf_cstr(&p.said), "write 'batchScope: Job'") != NULL);
            }
        }
    }
}

/* Where all workers divide one batch, only the program's author knows. A step time that halves is a
 * question, too. */
TEST(a_global_batch_is_no_scaling)
{
    _cleanup_(pair_done) struct pair steps = {
        .program = {"0:iter {i}: time {ms} ms/step", 32, true}};
    assert_false(pair_learn(&steps, NULL));
    assert_non_null(strstr(buf_cstr(&steps.said), "scope: Job, unit: steps, "));
}

/* The rate of all is right, and batchSize is not the batch of each. */
TEST(a_global_batch_of_a_job_says_what_to_write)
{
    static const char rule[] =
        "{lines: [{kind: Step, scope: Job, pattern: '(?<rate>) samples/s'}]}";
    static const struct program program = {"0:iter {i}: total {r} samples/s", 32, true};
    const char *const logs[] = {NULL, rule};
    for (size_t i = 0; i < COUNT_OF(logs); i++) {
        _cleanup_(pair_done) struct pair p = {.program = program, .batch_size = 32};
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        assert_true(pair_learn(&p, logs[i]));
        assert_true(p.seen[0].has_figure);
        assert_false(p.seen[1].has_figure);
        try_put_figure(&p.seen[1], &out);
        assert_non_null(
            strstr(buf_cstr(&out),
                   "\nby rate and pace a step of all together has 32 samples, and as many of each "
                   "worker by batchSize; write 'batchScope: Job' if all have one batch\n"));
        for (int n = logs[i] == NULL ? 0 : -32; n <= 0; n += 32) { /* the advice works */
            _cleanup_(pair_done) struct pair other = {.program = program, .batch_size = n};
            assert_true(pair_learn(&other, logs[i]));
            assert_true(other.seen[1].has_figure);
            assert_near("a batch of all", 32 / (STEP_NS / 2e9 * 1.01), other.seen[1].rate, 0.02);
        }
    }
}

/* ---- what is printed ---- */

/* The rate above is the sum, and the verdict is that of the replica that is the least certain. */
TEST(the_verdict_of_a_sum_is_that_of_one_replica)
{
    _cleanup_(try_trial_done) struct try_trial seen;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    try_trial_init(&seen, make_workers(2, 32, "torch-ddp"), 10);
    const struct program program = {"0:step {i}: {r} img/s", 32, false};
    run_program(&program, &seen);
    for (int i = 0; i < N_STEPS; i++) { /* all at once */
        const struct replica_id id = {.role = ROLE_WORKER, .index = 1};
        _cleanup_(freep) char *line = xasprintf("step %d: 100 img/s\n", i);
        const struct replica_text text = {false, line, strlen(line), STEP_NS};
        (void)try_take_text(&seen, &id, &text);
    }
    try_read(&seen);
    try_put_figure(&seen, &out);
    assert_non_null(strstr(buf_cstr(&out), " samples/s by the rule torch-ddp "));
    assert_non_null(strstr(buf_cstr(&out), "\n  of these, worker/1 alone:\n  lines: "));
    assert_non_null(strstr(buf_cstr(&out), "\n  verdict: 100 samples/s; one witness: "));
}

/* ---- when a trial has enough ---- */

static bool step(struct try_trial *seen, uint32_t index, int64_t t_ms)
{
    const struct replica_id id = {.role = ROLE_WORKER, .index = index};
    const struct record record = {.type = RECORD_STEP, .step = {.t_ns = t_ms * 1000000}};
    return try_take_record(seen, &id, &record);
}

/* How many steps of 100 ms of worker 0 end the trial of two; 0: none of a hundred. */
static int steps_of(const char *log, bool both)
{
    _cleanup_(try_trial_done) struct try_trial seen;
    try_trial_init(&seen, make_workers(2, 32, log), 10);
    for (int i = 1; i <= 100; i++) {
        bool is_enough = step(&seen, 0, 100 * i);
        is_enough = (both && step(&seen, 1, 100 * i)) || is_enough;
        if (is_enough) {
            return i;
        }
    }
    return 0;
}

TEST(a_trial_ends_when_its_pace_is_known)
{
    static const char job[] = "{lines: [{kind: Step, scope: Job, pattern: '(?<rate>) x'}]}";
    static const char each[] = "{lines: [{kind: Step, pattern: '(?<rate>) x'}]}";
    static const char end[] =
        "{end: over, lines: [{kind: Step, scope: Job, pattern: '(?<rate>) x'}]}";
    const int both = steps_of(each, true), alone = steps_of(each, false);
    assert_in_range(both, 20, 26);                /* ten of the warm-up, ten measured, and 1.3 s */
    assert_int_equal(steps_of(job, false), both); /* one speaks for all */
    assert_in_range(alone, 31, 42);               /* the other one may keep its lines in a buffer */
    assert_int_equal(steps_of(end, true), 0);     /* it is read whole, or it was cut short */
    assert_int_equal(steps_of(NULL, true), 0);    /* records end by themselves */
}

/* After how many seconds lines of 200 ms end a trial without a rule. */
static int seconds_of(const char *line)
{
    _cleanup_(try_trial_done) struct try_trial seen;
    try_trial_init(&seen, make_workers(1, 32, NULL), 10);
    for (int i = 0; i < 150; i++) {
        _cleanup_(freep) char *part = xasprintf("step %d: %s\n", i, line);
        if (print(&seen, 0, part, 1000 + 200 * i)) {
            return i / 5;
        }
    }
    return 0;
}

TEST(a_rule_that_ships_is_found_early)
{
    assert_in_range(seconds_of("160 img/s"), 5, 7);
    assert_in_range(seconds_of("160 frames/s"), 20, 25);
}

/* In which epoch a trial of Keras ends. Its bars have the mean since their epoch began, and the
 * first one compiles. */
static int epoch_of(const char *log, struct try_trial *seen)
{
    int64_t t_ms = 1000;
    try_trial_init(seen, make_workers(1, 32, log), 10);
    for (int epoch = 1; epoch <= 3; epoch++) {
        const int64_t began_ms = t_ms;
        (void)print(seen, 0, "Epoch 1/3\n", t_ms);
        for (int i = 1; i <= 45; i++) {
            t_ms += epoch == 1 && i == 1 ? 9000 : 40;
            _cleanup_(freep) char *bar =
                xasprintf("%d/45 ━━━ 8s %lldms/step - accuracy: 0.1 - loss: 2.3\n", i,
                          (long long)(t_ms - began_ms) / i);
            if (print(seen, 0, bar, t_ms) || (log != NULL && step(seen, 0, t_ms))) {
                return epoch;
            }
        }
    }
    return 0;
}

TEST(a_mean_is_waited_for_until_its_pace_agrees)
{
    const char *const logs[] = {"keras", NULL};
    for (size_t i = 0; i < COUNT_OF(logs); i++) {
        _cleanup_(try_trial_done) struct try_trial seen;
        assert_in_range(epoch_of(logs[i], &seen), 2, 3);
        try_read(&seen);
        assert_int_equal(seen.has_figure, logs[i] != NULL);
        if (seen.has_figure) {
            assert_near("a later epoch", 32 / 0.04, seen.rate, 0.02);
        }
    }
}

/* ---- one line of the whole run ---- */

#define BAR "Epoch 0/0  ━━━━━━ 100/100 0:00:01 • 0:00:00 50.00it/s v_num: 3.000\n"
#define BAR_OF_EACH "{lines: [{kind: Summary, pattern: '/100 .* (?<step_rate>)it/s'}]}"

TEST(a_rule_that_states_whole_runs_is_found)
{
    static const struct {
        const char *output, *rule;
    } rows[] = {
        {"CPU speed:\n    events per second:   602.42\n", "sysbench"},
        {"Elapsed time: 5 s\n", ""}, /* which may be a limit that the command sets */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(try_trial_done) struct try_trial seen;
        _cleanup_(buf_done) struct buf rule = BUF_INIT;
        try_trial_init(&seen, make_workers(1, 0, NULL), 10);
        (void)print(&seen, 0, rows[i].output, 1000);
        assert_int_equal(try_find_rule(&seen, seen.list, INT64_MAX, &rule),
                         rows[i].rule[0] != '\0');
        assert_string_equal(buf_cstr(&rule), rows[i].rule);
    }
}

TEST(a_single_numbered_line_is_a_summary)
{
    struct try_rule rule = {.is_summary = true, .scope = "Each"};
    _cleanup_(buf_done) struct buf out = BUF_INIT, said = BUF_INIT;
    _cleanup_(try_trial_done) struct try_trial seen;
    buf_puts(&rule.text, "{lines: [{kind: Step, pattern: '(?<step>)/.* (?<step_rate>)it/s'}]}");
    try_rule_put(&rule, &out);
    assert_string_equal(buf_cstr(&out), "{lines: [{kind: Summary, scope: Each, pattern: "
                                        "'(?<step>)/.* (?<step_rate>)it/s'}]}");
    try_trial_init(&seen, make_workers(1, 32, buf_cstr(&out)), 10);
    (void)print(&seen, 0, "100/100 50.00it/s\n", 1000);
    try_read(&seen);
    assert_true(seen.has_figure);
    assert_near("the whole run", 50 * 32, seen.rate, 0.02);
    try_learn_warmup(&seen, &rule, &said);
    assert_string_equal(buf_cstr(&said),
                        "warm-up: it is in the figure: the line is of the whole run\n");
    buf_done(&rule.text);
}

TEST(workers_that_did_not_meet_are_copies)
{
    static const struct {
        const char *profile, *rule;
        uint32_t printing;
        bool is_unmet, is_copies;
    } rows[] = {
        {"torchrun", "lightning", 1, false, false}, {"torchrun", "lightning", 2, false, false},
        {"torchrun", "lightning", 1, true, true},   {"torchrun", "lightning", 2, true, true},
        {"torchrun", BAR_OF_EACH, 2, true, true},   {"none", "lightning", 2, false, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(try_trial_done) struct try_trial seen;
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        try_trial_init(&seen, make_job(rows[i].profile, 2, 0, rows[i].rule), 10);
        for (uint32_t k = 0; k < rows[i].printing; k++) {
            (void)print(&seen, k, BAR, 1000);
        }
        seen.is_unmet = rows[i].is_unmet;
        try_read(&seen);
        try_put_figure(&seen, &out);
        assert_true(seen.has_figure);
        assert_int_equal(strstr(buf_cstr(&out), "independent copies") != NULL, rows[i].is_copies);
    }
}

/* ---- the file ---- */

TEST(what_is_written_is_the_rule_alone)
{
    static const char head[] =
        "kind: Benchmark\nspec:\n  systems:\n  - name: sh\n    command: [x]\n";
    static const char tail[] = "  - name: other\n    log: mpi\n  # log: x\n  workload: {}\n";
    static const struct {
        const char *old, *wanted; /* NULL: refused */
    } rows[] = {
        {"    # log: x\n", "    log: torch-ddp\n"},
        {"    log: keras  # a comment\n", "    log: torch-ddp  # a comment\n"},
        {"    log: keras\n", "    log: torch-ddp\n"},
        {"    log:\n      lines:\n      - {kind: Step, pattern: x}\n", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(freep) char *text = xasprintf("%s%s%s", head, rows[i].old, tail);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        unsigned line;
        assert_int_equal(try_put_log(text, strlen(text), "sh", "torch-ddp", &out, &line),
                         rows[i].wanted != NULL);
        if (rows[i].wanted != NULL) {
            _cleanup_(freep) char *wanted = xasprintf("%s%s%s", head, rows[i].wanted, tail);
            assert_string_equal(buf_cstr(&out), wanted);
            assert_int_equal(line, 6);
        }
    }
    _cleanup_(freep) char *text = xasprintf("%s%s", head, tail);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    unsigned line;
    assert_true(try_put_log(text, strlen(text), "sh", "torch-ddp", &out, &line));
    assert_string_equal(
        buf_cstr(&out),
        "kind: Benchmark\nspec:\n  systems:\n  - name: sh\n    log: torch-ddp\n    command: [x]\n"
        "  - name: other\n    log: mpi\n  # log: x\n  workload: {}\n");
    assert_int_equal(line, 5);
    static const char flow[] = "spec: {systems: [{name: sh, command: [x]}]}\n";
    buf_clear(&out);
    assert_false(try_put_log(flow, strlen(flow), "sh", "torch-ddp", &out, &line));
}
