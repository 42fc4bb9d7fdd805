/* See replicas.h. */
#include "result/result.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "result/phases.h"
#include "stats/stats.h"

#define MIN_ENTRIES 6 /* three in each half, so that one odd step does not decide */

/* ---- times of steps ---- */

/* An entry is the mean of k steps; the last one may stand for fewer. */
static double sum_s(const struct summary *s, const double *us)
{
    double sum = 0;
    uint64_t left = s->steps;
    for (uint32_t i = 0; i < s->series.n; i++) {
        const uint64_t n = left < s->series.k ? left : s->series.k;
        sum += us[i] * (double)n;
        left -= n;
    }
    return sum / 1e6;
}

struct step_times step_times_of(const struct summary *s)
{
    struct step_times t = {.sum_s = NAN, .fall = NAN, .median_ns = NAN};
    if (s == NULL || s->series.n == 0) {
        return t;
    }
    const size_t n = s->series.n, half = n / 2; /* of an odd number, the middle one is left out */
    _cleanup_(freep) double *us = series_decode(&s->series);
    t.sum_s = sum_s(s, us);
    t.median_ns = stats_middle(us, n) * 1e3;
    if (n >= MIN_ENTRIES) {
        t.fall = log(stats_middle(us, half) / stats_middle(us + n - half, half));
    }
    return t;
}

struct step_series step_series_of(const struct summary *s)
{
    struct step_series m = {.k = s->series.k};
    const size_t n = s->series.n, group = (n + STEP_SERIES_MAX - 1) / STEP_SERIES_MAX;
    if (n == 0) {
        return m;
    }
    m.us = series_decode(&s->series);
    m.k *= (uint32_t)group;
    for (size_t i = 0; i < n; i += group) {
        const size_t end = i + group < n ? i + group : n;
        m.us[m.n++] = array_sum(m.us + i, end - i, us, *us) / (double)(end - i);
    }
    return m;
}

void step_series_done(struct step_series *m)
{
    free(m->us);
    *m = (struct step_series){0};
}

/* Sums of all measured steps. A program may say times of any length. */
static double work_ns(enum role role, const struct summary *s)
{
    const int64_t *ns = s->phase_ns;
    return role == ROLE_PSERVER
               ? (double)ns[PHASE_UPDATE]
               : (double)ns[PHASE_DATA] + (double)ns[PHASE_FORWARD] + (double)ns[PHASE_BACKWARD];
}

struct step_times replica_steps(const struct replica_row *r)
{
    return r->is_stored && r->summary != NULL ? r->steps : step_times_of(r->summary);
}

struct replica_speed replica_speed_of(enum role role, const struct summary *s,
                                      const struct step_times *steps)
{
    const double work = s == NULL ? 0 : work_ns(role, s);
    if (work > 0 && s->steps > 0) {
        return (struct replica_speed){SPEED_WORK, work / s->steps};
    }
    if (steps->median_ns > 0) {
        return (struct replica_speed){SPEED_STEP, steps->median_ns};
    }
    return (struct replica_speed){0};
}

struct replica_speed replica_speed(const struct replica_row *r)
{
    const struct step_times steps = replica_steps(r);
    return replica_speed_of(r->id.role, r->summary, &steps);
}

/* ---- gangs ---- */

void speed_gang_init(struct speed_gang *gang, const struct trial_result *t, enum role role)
{
    *gang =
        (struct speed_gang){.members = xnew_array(struct speed_member, trial_count_replicas(t))};
    enum speed_kind kind = SPEED_NONE; /* of the first: what is compared is of one kind */
    trial_each_replica (r, t) {
        const bool is_asked = t->phase == TRIAL_SUCCEEDED && r->id.role == role;
        const struct replica_speed speed = is_asked ? replica_speed(r) : (struct replica_speed){0};
        if (speed.kind != SPEED_NONE && (kind == SPEED_NONE || speed.kind == kind)) {
            kind = speed.kind;
            gang->members[gang->n++] = (struct speed_member){log(speed.step_ns), r};
        }
    }
    qsort(gang->members, gang->n, sizeof(*gang->members), by_double); /* log_ns is first */
}

void speed_gang_done(struct speed_gang *gang)
{
    free(gang->members);
    *gang = (struct speed_gang){0};
}

/* ln of the k-th member's time over the median of the others; there are two members at least. */
static double excess_of(const struct speed_gang *gang, size_t k)
{
    const size_t n = gang->n - 1, low = (n - 1) / 2, high = n / 2;
    const struct speed_member *m = gang->members;
    return m[k].log_ns -
           (m[low < k ? low : low + 1].log_ns + m[high < k ? high : high + 1].log_ns) / 2;
}

/* ---- lines ---- */

/* A replica under way: values of its trials. Those of a point are by role and index. */
struct gathering {
    struct replica_line line;
    VEC(double) work_ns;
    VEC(double) excess;
    double phases_ns, exchange_ns, throttled_ns, measured_ns; /* sums */
    /* of it, the time in which throttling was looked for: a log says nothing of it */
    double watched_ns;
};
struct gatherings {
    VEC(struct gathering) list;
};

/* Makes it where none exists; borrowed until the next one is made. */
static struct gathering *find(struct gatherings *all, enum role role, uint32_t index)
{
    size_t at;
    if (!vec_search(&all->list, it,
                    it->line.role != role ? (int)it->line.role - (int)role
                                          : (it->line.index > index) - (it->line.index < index),
                    &at)) {
        *vec_insert(&all->list, at) = (struct gathering){.line = {.role = role, .index = index}};
    }
    return &all->list.items[at];
}

static void take_summary(struct gathering *g, const struct replica_row *r)
{
    const struct summary *s = r->summary;
    if (s == NULL) {
        return;
    }
    g->line.n_trials++;
    g->line.n_steps += s->steps;
    g->measured_ns += (double)s->duration_ns;
    g->throttled_ns += (double)s->throttled_ns;
    g->watched_ns += s->source.rule == NULL ? (double)s->duration_ns : 0;
    for (int k = 0; k < PHASE_COUNT; k++) {
        g->phases_ns += (double)s->phase_ns[k];
        g->exchange_ns += phase_is_own((enum phase)k) ? 0 : (double)s->phase_ns[k];
    }
    const struct replica_speed speed = replica_speed(r);
    if (speed.kind == SPEED_WORK) {
        *vec_push(&g->work_ns) = speed.step_ns;
    }
}

/* How each member compares with the others of its role in a trial. */
static void take_gang(struct gatherings *all, const struct trial_result *t, enum role role)
{
    _cleanup_(speed_gang_done) struct speed_gang gang;
    speed_gang_init(&gang, t, role);
    for (size_t k = 0; k < gang.n && gang.n > 1; k++) {
        struct gathering *g = find(all, role, gang.members[k].replica->id.index);
        *vec_push(&g->excess) = expm1(excess_of(&gang, k));
        g->line.n_compared++;
        g->line.n_slowest += k + 1 == gang.n;
    }
}

static struct replica_line finish(struct gathering *g, uint32_t point)
{
    struct replica_line line = g->line;
    line.point = point;
    line.work_ns = stats_middle(g->work_ns.items, g->work_ns.len);
    line.excess = stats_middle(g->excess.items, g->excess.len);
    line.exchange = g->phases_ns > 0 && g->measured_ns > 0 ? g->exchange_ns / g->measured_ns : NAN;
    line.throttled = g->watched_ns > 0 ? g->throttled_ns / g->watched_ns : NAN;
    vec_done(&g->work_ns);
    vec_done(&g->excess);
    return line;
}

void replica_lines_add(struct result *r, const struct point_result *p)
{
    struct gatherings all = {0};
    point_each_replica (it, p) {
        struct gathering *g = find(&all, it->id.role, it->id.index);
        const char *node = result_node_name(r, it->environment.node);
        g->line.n_nodes += node != NULL && (g->line.node == NULL || !str_eq(g->line.node, node));
        g->line.node = node == NULL ? g->line.node : node;
        take_summary(g, it);
    }
    point_each_trial (t, p) {
        for (int role = 0; role < ROLE_COUNT; role++) {
            take_gang(&all, t, (enum role)role);
        }
    }
    vec_each (struct gathering, g, &all.list) {
        *vec_push(&r->lines.list) = finish(g, p->point->index);
    }
    vec_done(&all.list);
}

/* ---- figures of a trial ---- */

double straggler_share(const struct trial_result *t, enum role leading)
{
    double most = 0, work = 0, step = 0;
    size_t n = 0;
    trial_each_replica (r, t) {
        const struct replica_speed speed = replica_speed(r);
        if (r->id.role == leading && speed.kind == SPEED_WORK) {
            most = fmax(most, speed.step_ns);
            work += speed.step_ns;
            step += (double)r->summary->duration_ns / r->summary->steps;
            n++;
        }
    }
    return n < 2 || step <= 0 ? NAN : ((double)n * most - work) / step;
}

static double rss_mib(const struct replica_row *r)
{
    const uint64_t bytes = replica_summary(r)->max_rss_bytes;
    return bytes > 0 ? (double)bytes / (1 << 20) : NAN;
}

double peak_memory(const struct trial_result *t, enum role leading)
{
    return trial_most(t, (int)leading, rss_mib);
}
