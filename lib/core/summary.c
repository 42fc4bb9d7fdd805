/* See summary.h. */
#include "core/summary.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define NS_PER_S 1e9

const char *summary_fault(const struct summary *s)
{
    return s->samples == 0 ? "'samples' is 0" : s->duration_ns <= 0 ? "'duration_ns' is 0" : NULL;
}

double summary_throughput(const struct summary *s)
{
    return (double)s->samples / ((double)s->duration_ns / NS_PER_S);
}

bool noise_is_known(const struct noise *n)
{
    return n->before.spins_per_s > 0 || n->after.spins_per_s > 0 || n->busy_ns > 0 ||
           n->cpu_run_ns > 0;
}

static int refuse(struct err *err, const char *why)
{
    return err_set(err, EPROTO, SUMMARY_REFUSED ": %s", why);
}

/* A summary counts only for the replica that it names. */
static int check_owner(const struct record *record, const struct replica_id *id, struct err *err)
{
    const struct record_who *who = &record->who;
    if (record->type != RECORD_SUMMARY) {
        return refuse(err, "it is another record");
    }
    if (who->role != id->role || who->index != id->index || who->attempt != id->attempt.number) {
        return err_set(err, EPROTO, SUMMARY_REFUSED ": it is from %s/%u of attempt %u",
                       role_to_string(who->role), who->index, who->attempt);
    }
    return 0;
}

int summary_read(const char *line, const struct replica_id *id, struct summary *ret,
                 struct err *err)
{
    if (line == NULL) {
        return err_set(err, ENODATA, SUMMARY_MISSING);
    }
    struct record record;
    struct err why = {0};
    int r = record_read(line, strlen(line), &record, &why);
    if (r <= 0) {
        return refuse(err, r == 0 ? "it is not a record" : why.msg);
    }
    r = check_owner(&record, id, err);
    if (r < 0) {
        record_done(&record);
        return r;
    }
    *ret = record.summary;
    return 0;
}

int summary_read_usable(const char *line, const struct replica_id *id, struct summary *ret,
                        struct err *err)
{
    struct summary s;
    const int r = summary_read(line, id, &s, err);
    if (r < 0) {
        return r;
    }
    summary_done(&s);
    if (summary_fault(&s) != NULL) {
        return refuse(err, summary_fault(&s));
    }
    *ret = s;
    return 0;
}

/* ---- the throughput of a trial ---- */

struct figures {
    double sum, job_sum; /* of those that lead; of summaries of the whole job */
    uint32_t n, n_job;
    enum summary_unit unit, job_unit; /* of those that lead; of the whole job */
    bool is_mixed;
};

static void add(struct figures *f, const struct replica_row *row, enum role leading,
                uint32_t n_leading)
{
    struct summary s;
    if (row->id.role == ROLE_PSERVER ||
        summary_read_usable(row->summary_json, &row->id, &s, NULL) < 0) {
        return;
    }
    const double x = summary_throughput(&s);
    if (s.source.is_job) {
        f->job_sum += x;
        f->job_unit = s.source.unit;
        f->n_job++;
    }
    if (row->id.role == leading && row->id.index < n_leading) {
        f->is_mixed |= f->n > 0 && f->unit != s.source.unit;
        f->unit = s.source.unit;
        f->sum += x;
        f->n++;
    }
}

static struct figures figures_of(const struct attempt_row *row,
                                 const uint32_t sizes[static ROLE_COUNT])
{
    const enum role leading = role_leading(sizes);
    struct figures f = {0};
    for (size_t i = 0; i < row->replicas.len && row->outcome == ATTEMPT_SUCCEEDED; i++) {
        add(&f, &row->replicas.items[i], leading, sizes[leading]);
    }
    return f;
}

double throughput_of_attempt(const struct attempt_row *row, const uint32_t sizes[static ROLE_COUNT])
{
    const struct figures f = figures_of(row, sizes);
    const uint32_t n_leading = sizes[role_leading(sizes)];
    if (f.n_job > 0) {
        return f.job_sum / f.n_job;
    }
    return f.n == n_leading && n_leading > 0 && !f.is_mixed ? f.sum : NAN;
}

enum summary_unit throughput_unit_of_attempt(const struct attempt_row *row,
                                             const uint32_t sizes[static ROLE_COUNT])
{
    const struct figures f = figures_of(row, sizes);
    return f.n_job > 0 ? f.job_unit : f.unit;
}
