/* See noise.h. */
#include "result/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "core/environment.h"
#include "core/summary.h"
#include "stats/stats.h"

#define CPU_MAX 65535

struct probed { /* a trial and what its replica found */
    uint32_t point, trial;
    const char *node; /* borrowed; "": not said */
    const struct noise *noise;
};

const struct replica_row *trial_prober(const struct trial_result *t)
{
    trial_each_replica (r, t) {
        const struct noise *n = &replica_summary(r)->noise;
        if (n->before.spins_per_s > 0 || n->after.spins_per_s > 0) {
            return r;
        }
    }
    return NULL;
}

static double steal_ratio(const struct replica_row *r)
{
    const struct noise *n = &replica_summary(r)->noise;
    return n->busy_ns >= NOISE_STEAL_MIN_BUSY_NS ? (double)n->steal_ns / (double)n->busy_ns : NAN;
}

static double wait_ratio(const struct replica_row *r)
{
    const struct noise *n = &replica_summary(r)->noise;
    const double ran = (double)n->cpu_run_ns, waited = (double)n->cpu_wait_ns;
    return ran > 0 ? waited / (waited + ran) : NAN;
}

/* What is compared: probes of one node by the same program. The launcher's machine is idle, while
 * the others of its gang are on a trainer's machine. */
static int by_prober(const void *a, const void *b)
{
    const struct probed *x = a, *y = b;
    const int order = strcmp(x->node, y->node);
    return order != 0 ? order : x->noise->by_launcher - y->noise->by_launcher;
}

void trial_noise_collect(const struct result *r, struct trial_result *t)
{
    const struct replica_row *prober = trial_prober(t);
    const double steal = trial_most(t, -1, steal_ratio), wait = trial_most(t, -1, wait_ratio);
    if (prober != NULL || !isnan(steal) || !isnan(wait)) {
        t->noise = xnew(struct trial_noise);
        *t->noise = (struct trial_noise){.steal_ratio = steal, .wait_ratio = wait};
    }
    if (prober != NULL) {
        t->noise->probed = prober->summary->noise;
        t->noise->node =
            t->phase == TRIAL_SUCCEEDED ? result_node_name(r, prober->environment.node) : NULL;
    }
}

/* Owned. */
static struct probed *collect(const struct result *r, size_t *ret_n)
{
    static const struct trial_noise nothing;
    struct probed *list = xnew_array(struct probed, result_count_trials(r));
    *ret_n = 0;
    result_each_point (p, r) {
        point_each_success (t, p) {
            const struct trial_noise *n = t->noise == NULL ? &nothing : t->noise;
            list[(*ret_n)++] = (struct probed){p->point->index, t->trial,
                                               n->node == NULL ? "" : n->node, &n->probed};
        }
    }
    qsort(list, *ret_n, sizeof(*list), by_prober);
    return list;
}

static double figure_of(const struct noise *n, enum noise_kind kind, bool is_after)
{
    const struct noise_probe *p = is_after ? &n->after : &n->before;
    return (double)(kind == NOISE_CLOCK ? p->spins_per_s : p->copy_bytes_per_s);
}

/* Of all probes; NaN: too few to say. */
static double median_of(const struct probed *list, size_t n, enum noise_kind kind)
{
    _cleanup_(freep) double *values = xnew_array(double, 2 * n);
    size_t n_values = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        const double value = figure_of(list[i / 2].noise, kind, i % 2 == 1);
        if (value > 0) {
            values[n_values++] = value;
        }
    }
    return n_values < 2 * NOISE_MIN_TRIALS ? NAN : stats_median(values, n_values).value;
}

static void take_worse(struct noisy_trial *worst, enum noise_kind kind, bool is_after,
                       double change)
{
    static const double bounds[] = {
        [NOISE_CLOCK] = NOISE_CLOCK_BOUND,
        [NOISE_COPY] = NOISE_COPY_BOUND,
        [NOISE_STEAL] = NOISE_STEAL_BOUND,
        [NOISE_OTHERS] = NOISE_OTHERS_BOUND,
    };
    const double times_bound = fabs(change) / bounds[kind]; /* NaN: never above */
    if (times_bound > worst->times_bound) {
        worst->kind = kind;
        worst->is_after = is_after;
        worst->change = change;
        worst->times_bound = times_bound;
    }
}

/* The trials of one node that the same program probed. */
static void judge_probed(const struct result *r, const struct probed *list, size_t n,
                         struct noisy_trials *ret)
{
    const double medians[] = {[NOISE_CLOCK] = median_of(list, n, NOISE_CLOCK),
                              [NOISE_COPY] = median_of(list, n, NOISE_COPY)};
    for (size_t i = 0; i < n; i++) {
        const struct trial_result *t = &r->points[list[i].point].trials[list[i].trial];
        struct noisy_trial worst = {.point = list[i].point, .trial = list[i].trial};
        for (int k = 0; k < 4; k++) {
            const enum noise_kind kind = k / 2 == 0 ? NOISE_CLOCK : NOISE_COPY;
            const bool is_after = k % 2 == 1;
            if (figure_of(list[i].noise, NOISE_CLOCK, is_after) > 0) { /* it was probed */
                const double value = figure_of(list[i].noise, kind, is_after);
                take_worse(&worst, kind, is_after, value / medians[kind] - 1);
            }
        }
        take_worse(&worst, NOISE_STEAL, false, t->noise == NULL ? NAN : t->noise->steal_ratio);
        take_worse(&worst, NOISE_OTHERS, false, t->others_share);
        if (worst.times_bound > 1) {
            *vec_push(&ret->list) = worst;
        }
    }
}

static int worst_first(const void *a, const void *b)
{
    const struct noisy_trial *x = a, *y = b;
    return x->times_bound != y->times_bound
               ? (x->times_bound < y->times_bound) - (x->times_bound > y->times_bound)
           : x->point != y->point ? (x->point > y->point) - (x->point < y->point)
                                  : (x->trial > y->trial) - (x->trial < y->trial);
}

void noisy_trials_find(const struct result *r, struct noisy_trials *ret)
{
    *ret = (struct noisy_trials){0};
    size_t n = 0;
    _cleanup_(freep) struct probed *list = collect(r, &n);
    for (size_t from = 0, to = 0; from < n; from = to) {
        while (to < n && by_prober(&list[from], &list[to]) == 0) {
            to++;
        }
        judge_probed(r, list + from, to - from, ret);
    }
    array_sort(ret->list.items, ret->list.len, sizeof(ret->list.items[0]), worst_first);
}

void noisy_trials_done(struct noisy_trials *n)
{
    vec_done(&n->list);
}

void noisy_trial_describe(const struct noisy_trial *t, struct buf *out)
{
    const double percent = 100 * fabs(t->change);
    buf_printf(out, "trial %u of point %u: ", t->trial, t->point);
    if (t->kind == NOISE_STEAL) {
        buf_printf(out, "the hypervisor took %.0f%% of the time in which its CPUs had work",
                   percent);
        return;
    }
    if (t->kind == NOISE_OTHERS) {
        buf_printf(out, "other programs took %.0f%% of its speed: its threads waited for CPUs",
                   percent);
        return;
    }
    const char *when = t->is_after ? "in the probe after it" : "in the probe before it";
    if (t->change <= -1) {
        buf_printf(out, "the machine was too busy for one copy %s", when);
        return;
    }
    buf_printf(out, "%s %.0f%% %s the run's median %s",
               t->kind == NOISE_CLOCK ? "clock" : "memory copies", percent,
               t->change < 0 ? "below" : "above", when);
}

/* ==== what other programs took ==== */

/* ---- who shares CPUs ---- */

/* Takes "4" or "4-7" and the comma after it from *list. */
static bool take_range(const char **list, int64_t *ret_from, int64_t *ret_to)
{
    const size_t len = strcspn(*list, ","), first = strcspn(*list, "-,");
    _cleanup_(freep) char *from = xstrndup(*list, first);
    _cleanup_(freep) char *to =
        first < len ? xstrndup(*list + first + 1, len - first - 1) : xstrdup(from);
    *list += len + ((*list)[len] == ',');
    return parse_i64_in(from, 0, CPU_MAX, ret_from) == 0 &&
           parse_i64_in(to, *ret_from, CPU_MAX, ret_to) == 0;
}

bool cpu_lists_meet(const char *a, const char *b)
{
    if (a == NULL || b == NULL || *a == '\0' || *b == '\0') {
        return true;
    }
    while (*a != '\0') {
        int64_t a_from, a_to, b_from, b_to;
        if (!take_range(&a, &a_from, &a_to)) {
            return true;
        }
        for (const char *rest = b; *rest != '\0';) {
            if (!take_range(&rest, &b_from, &b_to) || (a_from <= b_to && b_from <= a_to)) {
                return true;
            }
        }
    }
    return false;
}

static bool shares(const struct cpu_user *a, const struct cpu_user *b)
{
    const bool is_one_node = a->node == NULL || b->node == NULL || strcmp(a->node, b->node) == 0;
    return is_one_node && cpu_lists_meet(a->cpus, b->cpus);
}

/* The group of each user, by the lowest index in it: a user that shares with a member of a
 * group is in that group. */
static void find_groups(const struct cpu_user *users, size_t n, size_t *ret_group)
{
    for (size_t i = 0; i < n; i++) {
        ret_group[i] = i;
        for (size_t j = 0; j < i; j++) {
            const size_t joined = ret_group[j], own = ret_group[i];
            if (joined == own || !shares(&users[i], &users[j])) {
                continue;
            }
            const size_t lower = joined < own ? joined : own, higher = joined + own - lower;
            for (size_t k = 0; k <= i; k++) {
                ret_group[k] = ret_group[k] == higher ? lower : ret_group[k];
            }
        }
    }
}

/* ---- what they lost ---- */

static bool is_known(const struct cpu_user *u, double duration_ns)
{
    return u->cpu_ns > 0 && u->noise.cpu_run_ns > 0 && u->noise.busy_ns > 0 &&
           u->noise.busy_ns > u->noise.steal_ns &&
           (double)u->throttled_ns < OTHERS_CPU_THROTTLED * duration_ns;
}

static double share_of_group(const struct cpu_user *users, size_t n, const size_t *group,
                             size_t which, double duration_ns)
{
    double ran = 0, waited = 0, busy = 0, steal = 0;
    bool has_leader = false;
    for (size_t i = 0; i < n; i++) {
        has_leader = has_leader || (group[i] == which && users[i].leads);
    }
    for (size_t i = 0; i < n; i++) {
        const struct cpu_user *u = &users[i];
        if (group[i] != which) {
            continue;
        }
        const double part = /* of what it counted, that of the measured steps */
            u->leads ? 1 : fmin(1, (double)u->cpu_ns / (double)u->noise.cpu_run_ns);
        ran += (double)u->cpu_ns;
        waited += part * (double)u->noise.cpu_wait_ns;
        if ((u->leads || !has_leader) && part * (double)u->noise.busy_ns > busy) {
            busy = part * (double)u->noise.busy_ns;
            steal = part * (double)u->noise.steal_ns;
        }
    }
    const double others_ran = fmax(0, busy - steal - ran);
    const double lost = fmin(waited, others_ran) + steal * fmin(1, ran / (busy - steal));
    return lost / fmax(duration_ns, ran + lost);
}

double others_cpu_share(const struct cpu_user *users, size_t n)
{
    double duration_ns = 0, most = n > 0 ? 0 : NAN;
    for (size_t i = 0; i < n; i++) {
        duration_ns = fmax(duration_ns, (double)users[i].duration_ns);
    }
    _cleanup_(freep) size_t *group = xnew_array(size_t, n);
    find_groups(users, n, group);
    for (size_t i = 0; i < n; i++) {
        if (!is_known(&users[i], duration_ns)) {
            return NAN;
        }
        if (group[i] == i) {
            most = fmax(most, share_of_group(users, n, group, i, duration_ns));
        }
    }
    return most;
}

double others_cpu_of_trial(const struct trial_result *t, enum role leading)
{
    _cleanup_(freep) struct cpu_user *users = xnew_array(struct cpu_user, trial_count_replicas(t));
    size_t n = 0;
    bool by_launcher = false, is_one_mute = false;
    trial_each_replica (r, t) {
        const struct noise *noise = &replica_summary(r)->noise;
        if (r->summary == NULL) {
            is_one_mute = true;
            continue;
        }
        if (noise->cpu_run_ns <= 0) {
            return NAN;
        }
        by_launcher |= noise->by_launcher;
        users[n++] = (struct cpu_user){
            .node = r->environment.node,
            .cpus = environment_text(r->environment.facts, "cpuset"),
            .leads = r->id.role == leading || noise->by_launcher,
            .duration_ns = r->summary->duration_ns,
            .cpu_ns = r->summary->cpu_ns,
            .throttled_ns = r->summary->throttled_ns,
            .noise = *noise,
        };
    }
    /* The launcher's counts are also those of replicas without a summary. */
    return is_one_mute && !by_launcher ? NAN : others_cpu_share(users, n);
}
