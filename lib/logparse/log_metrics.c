/* See parser_internal.h. */
#include "logparse/parser_internal.h"

#include <math.h>

#define VERSION_MAX 100 /* bytes */

static const struct {
    enum log_group group;
    const char *name;
    double unit;
    bool is_time; /* added up over the whole log */
} rows[] = {
    {LOG_TFLOPS, "logged_tflops", 1, false},         {LOG_MFU, "logged_mfu", 1, false},
    {LOG_MFU_PERCENT, "logged_mfu", 1e-2, false},    {LOG_ENERGY_J, "logged_energy_j", 1, false},
    {LOG_POWER_W, "logged_power_w", 1, false},       {LOG_EVALUATION_S, "evaluation_s", 1, true},
    {LOG_EVALUATION_MS, "evaluation_s", 1e-3, true}, {LOG_CHECKPOINT_S, "checkpoint_s", 1, true},
    {LOG_CHECKPOINT_MS, "checkpoint_s", 1e-3, true},
};

static void add(struct log_metrics *m, const struct log_values *v, enum log_group group,
                double weight)
{
    m->sum[group] += weight * v->number[group];
    m->weight[group] += weight;
}

/* Several processes say the same time, so the first one speaks for all. */
void log_metrics_pause(struct log_metrics *m, const struct log_values *v, int64_t rank)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const enum log_group group = rows[i].group;
        if (v->has[group] && rows[i].is_time) {
            m->rank[group] = m->weight[group] > 0 ? m->rank[group] : rank;
            add(m, v, group, m->rank[group] == rank);
        }
    }
}

/* Of their devices each says its own. A line counts like its steps. */
void log_metrics_add(struct log_metrics *m, const struct log_values *v, double steps)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (v->has[rows[i].group] && !rows[i].is_time) {
            add(m, v, rows[i].group, fmax(steps, 1)); /* also of NaN */
        }
    }
}

double log_metrics_paused_s(const struct log_metrics *m)
{
    return m->sum[LOG_EVALUATION_S] + m->sum[LOG_EVALUATION_MS] / 1e3 + m->sum[LOG_CHECKPOINT_S] +
           m->sum[LOG_CHECKPOINT_MS] / 1e3;
}

void log_metrics_put(const struct log_metrics *m, struct metrics *ret)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const enum log_group group = rows[i].group;
        const double sum = rows[i].unit * m->sum[group];
        if (m->weight[group] > 0 && rows[i].is_time) { /* a log may have both groups of a time */
            metrics_add(ret, rows[i].name, sum);
        } else if (m->weight[group] > 0) {
            metrics_set(ret, rows[i].name, sum / m->weight[group]);
        }
    }
}

void log_versions_keep(struct log_parser *p, const char *line, size_t len)
{
    struct log_reading *r = &p->reading;
    struct log_match m;
    vec_each (const struct log_version, it, &p->params.rule->versions) {
        const bool is_said = log_matcher_run(p->matcher, it->pattern, line, len, &m) > 0 &&
                             m.len[LOG_VERSION] <= VERSION_MAX;
        json_t *text = is_said ? json_stringn(m.text[LOG_VERSION], m.len[LOG_VERSION]) : NULL;
        if (text != NULL) {
            r->versions = r->versions == NULL ? json_object() : r->versions;
            (void)json_object_set_new(r->versions, it->name, text); /* it is UTF-8 */
        }
    }
}
