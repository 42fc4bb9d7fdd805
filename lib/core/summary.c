/* See summary.h. */
#include "core/summary.h"

#include <errno.h>
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
