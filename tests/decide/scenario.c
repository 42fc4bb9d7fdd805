/* See scenario.h. */
#include "scenario.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/record.h"
#include "failure_names.h"

static int read_id(const char *s, struct replica_id *ret, int *ret_len)
{
    *ret_len = 0;
    return sscanf(s, "p%" SCNu32 "t%" SCNu32 "a%" SCNu32 "%n", &ret->attempt.point,
                  &ret->attempt.trial, &ret->attempt.number, ret_len) == 3;
}

static int read_member(const char *s, enum role *ret_role, uint32_t *ret_index)
{
    char role[16];
    if (sscanf(s, "%15[a-z]/%" SCNu32, role, ret_index) != 2) {
        return 0;
    }
    const int r = role_from_string(role);
    *ret_role = (enum role)r;
    return r >= 0;
}

/* Cuts ": text" off; NULL if there is none. */
static char *cut_text(char *line)
{
    char *colon = strstr(line, ": ");
    if (colon == NULL) {
        return NULL;
    }
    *colon = '\0';
    return colon + 2;
}

static int read_policy(const char *args, struct spec *spec)
{
    char on_failure[16];
    if (sscanf(args,
               "%15s maxFailedTrials=%" SCNd64 " backoffLimit=%" SCNd64
               " activeDeadlineSeconds=%" SCNd64,
               on_failure, &spec->failure_policy.max_failed_trials, &spec->run_policy.backoff_limit,
               &spec->run_policy.active_deadline_s) != 4) {
        return 0;
    }
    const char *invalid = strstr(args, " invalidRepeats=");
    if (invalid != NULL &&
        sscanf(invalid, " invalidRepeats=%" SCNd64, &spec->run_policy.invalid_repeats) != 1) {
        return 0;
    }
    static const char *const names[] = {
        [ON_FAILURE_RETRY] = "Retry", [ON_FAILURE_SKIP] = "Skip", [ON_FAILURE_STOP] = "Stop"};
    for (int i = 0; i < 3; i++) {
        if (str_eq(names[i], on_failure)) {
            spec->failure_policy.on_trial_failure = (enum on_trial_failure)i;
            return 1;
        }
    }
    return 0;
}

static int read_status(char *args, struct run_status *s)
{
    char phase[32];
    char *message = cut_text(args);
    if (message == NULL ||
        sscanf(args, "%31s %63s %" SCNu32 "/%" SCNu32 " done %" SCNu32 " failed", phase, s->reason,
               &s->trials_done, &s->trials_total, &s->trials_failed) != 5) {
        return 0;
    }
    s->phase = (enum run_phase)run_phase_from_string(phase);
    snprintf(s->message, sizeof(s->message), "%s", message);
    for (int i = 0; i < LANES_MAX; i++) {
        char key[16];
        snprintf(key, sizeof(key), i == 0 ? " current " : " lane%d ", i);
        const char *of = strstr(args, key);
        struct replica_id id;
        int len;
        if (of != NULL && !read_id(of + strlen(key), &id, &len)) {
            return 0;
        }
        if (of != NULL) {
            s->lanes[i] =
                (struct run_lane){true, id.attempt, str_has_prefix(of + strlen(key) + len, " cut")};
        }
    }
    const char *at = strstr(args, "started ");
    if (at == NULL || sscanf(at, "started %" SCNd64, &s->started_unix_ms) != 1) {
        return 0;
    }
    at = strstr(args, " ended "); /* "Suspended " is none */
    return at == NULL || sscanf(at, " ended %" SCNd64, &s->ended_unix_ms) == 1;
}

/* "p0t0a0 Succeeded x=99.5", "p0t0a1 Void: trainer/1: vanished" */
static int read_row(char *args, struct attempt_row *row, double *throughput)
{
    struct replica_id id;
    int len;
    row->error = cut_text(args);
    if (!read_id(args, &id, &len)) {
        return 0;
    }
    char *figure = strstr(args + len + 1, " x=");
    *throughput = NAN;
    if (figure != NULL) {
        *figure = '\0';
        if (sscanf(figure + 1, "x=%lf", throughput) != 1) {
            return 0;
        }
    }
    const int outcome = attempt_outcome_from_string(args + len + 1);
    row->id = id.attempt;
    row->outcome = (enum attempt_outcome)outcome;
    return outcome >= 0;
}

static int read_word(const char *word, struct observed_replica *r)
{
    static const char *const states[] = {"Pending", "Running", "Succeeded", "Failed", "Lost"};
    for (int i = 0; i < 5; i++) {
        if (str_eq(word, states[i])) {
            r->state = (enum replica_state)i;
            return 1;
        }
    }
    for (int i = 0; i <= FAILURE_PERMANENT; i++) {
        if (str_eq(word, failure_names[i])) {
            r->failure = (enum failure_class)i;
            return 1;
        }
    }
    if (str_eq(word, "summary")) {
        static const struct summary usable = {.samples = 1, .duration_ns = 1};
        r->summary = &usable;
        return 1;
    }
    if (str_eq(word, "noisy")) {
        static const struct summary noisy = {
            .samples = 1, .duration_ns = 1, .noise = {{1000, 1000}, {880, 1000}, 0, 0}};
        r->summary = &noisy;
        return 1;
    }
    if (str_eq(word, "no-samples")) {
        static const struct summary empty = {.duration_ns = 1};
        r->summary = &empty;
        return 1;
    }
    if (str_has_prefix(word, "blames=")) {
        r->has_blamed = true;
        return read_member(word + strlen("blames="), &r->blamed_role, &r->blamed_index);
    }
    return sscanf(word, "exit=%d", &r->exit_code) == 1 ||
           sscanf(word, "ended=%" SCNd64, &r->ended_unix_ms) == 1;
}

static int read_replica(char *args, struct observed_replica *r)
{
    int len;
    r->message = cut_text(args);
    if (!read_id(args, &r->id, &len)) {
        return 0;
    }
    char *save = NULL;
    char *word = strtok_r(args + len, " ", &save);
    if (word == NULL || !read_member(word, &r->id.role, &r->id.index)) {
        return 0;
    }
    while ((word = strtok_r(NULL, " ", &save)) != NULL) {
        if (!read_word(word, r)) {
            return 0;
        }
    }
    return 1;
}

static int read_point(const char *args, struct test_run *run)
{
    uint32_t n[ROLE_COUNT];
    if (sscanf(args, "pservers=%" SCNu32 " trainers=%" SCNu32 " workers=%" SCNu32, &n[0], &n[1],
               &n[2]) != 3) {
        return 0;
    }
    test_run_add_point(run, n[0], n[1], n[2]);
    return 1;
}

/* "3", "3..10 halfWidth=0.02" */
static int read_repeats(const char *args, struct spec *spec, uint32_t *repeats)
{
    const int n = sscanf(args, "%" SCNd64 "..%" SCNu32 " halfWidth=%lf", &spec->min_repeats,
                         repeats, &spec->stop.half_width_ratio);
    spec->stop.is_set = n == 3;
    return n == 3 || sscanf(args, "%" SCNu32, repeats) == 1;
}

static int read_wait(char *args, struct run_wait *wait)
{
    const char *text = cut_text(args);
    if (sscanf(args, "%63s after %" SCNd64, wait->reason, &wait->before_ms) < 1) {
        return 0;
    }
    wait->is_partial = strstr(args, " partial") != NULL;
    snprintf(wait->text, sizeof(wait->text), "%s", text != NULL ? text : "");
    return text != NULL;
}

static int read_line(char *line, struct scenario *s, uint32_t *repeats)
{
    char *args = strchr(line, ' ');
    if (line[0] == '\0' || line[0] == '#') {
        return 1;
    }
    if (str_eq(line, "cancel")) {
        s->observed.request = REQUEST_CANCEL;
        return 1;
    }
    if (str_eq(line, "suspend")) {
        s->observed.request = REQUEST_SUSPEND;
        return 1;
    }
    if (args == NULL) {
        return 0;
    }
    *args++ = '\0';
    if (str_eq(line, "point")) {
        return read_point(args, &s->run);
    } else if (str_eq(line, "repeats")) {
        return read_repeats(args, &s->run.spec, repeats);
    } else if (str_eq(line, "lanes")) {
        return sscanf(args, "%" SCNu32, &s->run.def.options.trials) == 1;
    } else if (str_eq(line, "policy")) {
        return read_policy(args, &s->run.spec);
    } else if (str_eq(line, "status")) {
        return read_status(args, &s->observed.status);
    } else if (str_eq(line, "wait")) {
        return read_wait(args, &s->observed.wait);
    } else if (str_eq(line, "row") && s->n_rows < SCENARIO_MAX) {
        s->n_rows++;
        return read_row(args, &s->rows[s->n_rows - 1], &s->throughputs[s->n_rows - 1]);
    } else if (str_eq(line, "replica") && s->observed.n_replicas < SCENARIO_MAX) {
        return read_replica(args, &s->replicas[s->observed.n_replicas++]);
    }
    return str_eq(line, "now") && sscanf(args, "%" SCNd64, &s->observed.now_unix_ms) == 1;
}

const char *scenario_read(char *text, struct scenario *ret)
{
    *ret = (struct scenario){0};
    test_run_init(&ret->run);
    uint32_t repeats = 1;
    for (char *line = text, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (str_eq(line, "plan")) {
            test_run_set_repeats(&ret->run, repeats);
            ret->observed.def = &ret->run.def;
            ret->observed.replicas = ret->replicas;
            attempt_history_init(&ret->history, &ret->run.def);
            for (size_t i = 0; i < ret->n_rows; i++) {
                const struct attempt_row *row = &ret->rows[i];
                attempt_history_add(
                    &ret->history,
                    &(struct history_row){row->id, row->outcome, row->error, ret->throughputs[i]});
            }
            ret->observed.history = &ret->history;
            ret->expected = next != NULL ? next : "";
            return NULL;
        }
        if (!read_line(line, ret, &repeats)) {
            return line;
        }
    }
    return "no line 'plan'";
}
