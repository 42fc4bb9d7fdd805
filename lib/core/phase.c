/* See phase.h. */
#include "core/phase.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "core/record.h"

static const char *const trial_phases[] = {
    [TRIAL_PENDING] = "Pending",
    [TRIAL_RUNNING] = "Running",
    [TRIAL_SUCCEEDED] = "Succeeded",
    [TRIAL_FAILED] = "Failed",
    [TRIAL_METRICS_UNAVAILABLE] = "MetricsUnavailable",
};

const char *const run_phase_names[RUN_PHASE_COUNT] = {
    [RUN_PENDING] = "Pending",
    [RUN_QUEUED] = "Queued",
    [RUN_RUNNING] = "Running",
    [RUN_SUCCEEDED] = "Succeeded",
    [RUN_PARTIALLY_FAILED] = "PartiallyFailed",
    [RUN_FAILED] = "Failed",
    [RUN_CANCELLED] = "Cancelled",
    [RUN_SUSPENDED] = "Suspended",
};

const char *const attempt_outcome_names[ATTEMPT_OUTCOME_COUNT] = {
    [ATTEMPT_SUCCEEDED] = "Succeeded", [ATTEMPT_VOID] = "Void",
    [ATTEMPT_FAILED] = "Failed",       [ATTEMPT_METRICS_UNAVAILABLE] = "MetricsUnavailable",
    [ATTEMPT_INVALID] = "Invalid",
};

static const char *const threshold_verdicts[] = {
    [THRESHOLD_PASSED] = "Passed",
    [THRESHOLD_FAILED] = "Failed",
    [THRESHOLD_UNKNOWN] = "Unknown",
};

const char *trial_phase_to_string(enum trial_phase phase)
{
    return trial_phases[phase];
}

const char *run_phase_to_string(enum run_phase phase)
{
    return run_phase_names[phase];
}

int run_phase_from_string(const char *s)
{
    return str_index(s, run_phase_names, RUN_PHASE_COUNT);
}

bool run_phase_is_final(enum run_phase phase)
{
    return phase == RUN_SUCCEEDED || phase == RUN_PARTIALLY_FAILED || phase == RUN_FAILED ||
           phase == RUN_CANCELLED;
}

bool point_is_given_up(uint32_t n_succeeded, uint32_t n_failed)
{
    return n_failed > 0 && n_succeeded == 0;
}

const char *threshold_verdict_to_string(enum threshold_verdict verdict)
{
    return threshold_verdicts[verdict];
}

int threshold_verdict_from_string(const char *s)
{
    return str_index(s, threshold_verdicts, COUNT_OF(threshold_verdicts));
}

bool attempt_outcome_decides(enum attempt_outcome outcome)
{
    return outcome != ATTEMPT_VOID && outcome != ATTEMPT_INVALID;
}

const char *attempt_outcome_to_string(enum attempt_outcome outcome)
{
    return attempt_outcome_names[outcome];
}

int attempt_outcome_from_string(const char *s)
{
    return str_index(s, attempt_outcome_names, ATTEMPT_OUTCOME_COUNT);
}

void attempt_row_drop_replicas(struct attempt_row *row)
{
    vec_each (struct replica_row, r, &row->replicas) {
        free(r->failure);
        summary_free(r->summary);
        environment_done(&r->environment);
        json_decref(r->reading);
    }
    vec_done(&row->replicas);
}

void attempt_row_done(struct attempt_row *row)
{
    attempt_row_drop_replicas(row);
    free(row->error);
    row->error = NULL;
}

static bool matches(int64_t wanted, uint32_t number)
{
    return wanted < 0 || wanted == number;
}

bool attempt_wanted_matches(const struct attempt_wanted *wanted, const struct attempt_id *id)
{
    return matches(wanted->point, id->point) && matches(wanted->trial, id->trial) &&
           matches(wanted->number, id->number);
}

const struct attempt_row *attempt_rows_find(const struct attempt_row *rows, size_t n,
                                            const struct attempt_wanted *wanted)
{
    const struct attempt_row *found = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct attempt_id *id = &rows[i].id;
        if (attempt_wanted_matches(wanted, id) &&
            (found == NULL || (found->id.point == id->point && found->id.trial == id->trial))) {
            found = &rows[i];
        }
    }
    return found;
}

const struct replica_row *attempt_row_find_replica(const struct attempt_row *row, int role,
                                                   int64_t index)
{
    uint32_t sizes[ROLE_COUNT] = {0};
    vec_each (const struct replica_row, replica, &row->replicas) {
        sizes[replica->id.role]++;
    }
    vec_each (const struct replica_row, replica, &row->replicas) {
        const bool is_of_role =
            role < 0 ? role_leads(replica->id.role, sizes) : (int)replica->id.role == role;
        if (is_of_role && replica->id.index == (index < 0 ? 0 : index)) {
            return replica;
        }
    }
    return NULL;
}

/* Where `text` names the replica: not trainer/1 in trainer/12. NULL: nowhere. */
static const char *find_name(const char *text, const struct replica_id *id)
{
    char name[32];
    const size_t len =
        (size_t)snprintf(name, sizeof(name), "%s/%u", role_to_string(id->role), id->index);
    const char *at = strstr(text, name);
    while (at != NULL && ascii_is_digit(at[len])) {
        at = strstr(at + len, name);
    }
    return at;
}

const struct replica_row *attempt_row_find_culprit(const struct attempt_row *row)
{
    const struct replica_row *named = NULL, *said = NULL, *ended = NULL;
    const char *first = NULL;
    vec_each (const struct replica_row, rep, &row->replicas) {
        const char *at = row->error == NULL ? NULL : find_name(row->error, &rep->id);
        if (at != NULL && (first == NULL || at < first)) {
            first = at;
            named = rep;
        }
        said = said == NULL && rep->failure != NULL ? rep : said;
        ended = ended == NULL && rep->exit_code != 0 ? rep : ended;
    }
    return named != NULL ? named : said != NULL ? said : ended;
}

bool run_status_is_imported(const struct run_status *status)
{
    return strcmp(status->reason, RUN_REASON_IMPORTED) == 0;
}

static bool lanes_eq(const struct run_lane *a, const struct run_lane *b)
{
    bool is_same = true;
    for (size_t i = 0; i < LANES_MAX; i++) {
        is_same = is_same && a[i].has_current == b[i].has_current &&
                  attempt_id_eq(&a[i].current, &b[i].current) &&
                  a[i].is_cut_short == b[i].is_cut_short;
    }
    return is_same;
}

const struct run_lane *run_status_find(const struct run_status *status, const struct attempt_id *id)
{
    return array_find(status->lanes, LANES_MAX, it,
                      it->has_current && attempt_id_eq(&it->current, id));
}

bool run_status_eq(const struct run_status *a, const struct run_status *b)
{
    return a->phase == b->phase && strcmp(a->reason, b->reason) == 0 &&
           strcmp(a->message, b->message) == 0 && a->trials_done == b->trials_done &&
           a->trials_failed == b->trials_failed && a->trials_total == b->trials_total &&
           lanes_eq(a->lanes, b->lanes) && a->started_unix_ms == b->started_unix_ms &&
           a->ended_unix_ms == b->ended_unix_ms;
}
