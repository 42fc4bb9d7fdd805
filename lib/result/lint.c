/* Warnings of a result, see lint.h. One function a rule. */
#include "result/lint.h"

#include <stdarg.h>
#include <string.h>

#define MAX_NAMED 5 /* points named in one warning; the rest is counted */

const char *warning_code_to_string(enum warning_code code)
{
    static const char *const names[] = {
        [WARNING_REHEARSAL] = "Rehearsal", [WARNING_SIMULATED] = "Simulated",
        [WARNING_ONE_TRIAL] = "OneTrial",  [WARNING_EFFICIENCY_ABOVE_ONE] = "EfficiencyAboveOne",
        [WARNING_THROTTLED] = "Throttled", [WARNING_MIXED_HARDWARE] = "MixedHardware",
    };
    return names[code];
}

__attribute__((format(printf, 3, 4))) static void warn(struct result *r, enum warning_code code,
                                                       const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct warning w = {.code = code, .message = xvasprintf(fmt, ap)};
    va_end(ap);
    *vec_push(&r->warnings) = w;
}

/* A list of points as text: "point 3", "points 0, 1 and 2", "points 0, 1, 2, 3, 4 and 7 more". */
struct point_list {
    struct buf text;
    size_t n;
    uint32_t last; /* not yet in the text */
};

static void list_add(struct point_list *l, uint32_t point)
{
    if (l->n > 0 && l->n <= MAX_NAMED) {
        buf_printf(&l->text, "%s%u", l->n == 1 ? "" : ", ", l->last);
    }
    l->last = point;
    l->n++;
}

/* Borrowed from the list. */
static const char *list_text(struct point_list *l)
{
    struct buf whole = BUF_INIT;
    if (l->n == 1) {
        buf_printf(&whole, "point %u", l->last);
    } else if (l->n <= MAX_NAMED) {
        buf_printf(&whole, "points %s and %u", buf_cstr(&l->text), l->last);
    } else {
        buf_printf(&whole, "points %s and %zu more", buf_cstr(&l->text), l->n - MAX_NAMED);
    }
    buf_done(&l->text);
    l->text = whole;
    return buf_cstr(&l->text);
}

static void lint_rehearsal(struct result *r)
{
    const struct run_def *def = r->def;
    if (!def->rehearsal) {
        return;
    }
    int64_t most = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        int64_t busy = point_busy_threads(&def->matrix.points[i]);
        if (busy > most) {
            most = busy;
            at = i;
        }
    }
    warn(r, WARNING_REHEARSAL,
         "rehearsal: point %u needs %lld busy threads, but the run had %lld CPUs; compare its "
         "numbers "
         "only with each other",
         at, (long long)most, (long long)def->cpus);
}

static void lint_simulated(struct result *r)
{
    if (r->simulated) {
        warn(r, WARNING_SIMULATED,
             "simulated: fake pods answered; compare its numbers only with each other");
    }
}

static void lint_one_trial(struct result *r)
{
    struct point_list points = {0};
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        if (r->points[i].n_succeeded == 1) {
            list_add(&points, i);
        }
    }
    if (points.n > 0) {
        warn(r, WARNING_ONE_TRIAL, "only one trial at %s: the spread is unknown",
             list_text(&points));
    }
    buf_done(&points.text);
}

static void lint_efficiency(struct result *r)
{
    struct point_list points = {0};
    for (uint32_t i = 0; i < r->def->matrix.n_swept; i++) {
        const struct estimate *e = &r->points[i].efficiency.estimate;
        if (e->known && e->has_interval && e->low > 1) {
            list_add(&points, i);
        }
    }
    if (points.n > 0) {
        warn(r, WARNING_EFFICIENCY_ABOVE_ONE,
             "efficiency is significantly above 1 at %s: point and baseline differ in more than "
             "their number of trainers",
             list_text(&points));
    }
    buf_done(&points.text);
}

/* The replicas of all trials that gave a number, one after another; NULL behind the last. */
struct replica_cursor {
    uint32_t point;
    size_t trial, replica;
};

static const struct replica_result *next_replica(const struct result *r, struct replica_cursor *c)
{
    for (; c->point < r->def->matrix.n_points; c->point++, c->trial = 0) {
        const struct point_result *p = &r->points[c->point];
        for (; c->trial < p->n_trials; c->trial++, c->replica = 0) {
            const struct trial_result *t = &p->trials[c->trial];
            if (t->phase == TRIAL_SUCCEEDED && c->replica < t->n_replicas) {
                return &t->replicas[c->replica++];
            }
        }
    }
    return NULL;
}

static void lint_throttled(struct result *r)
{
    size_t n = 0;
    double worst = 0;
    const struct replica_id *worst_id = NULL;
    struct replica_cursor c = {0};
    for (const struct replica_result *rr; (rr = next_replica(r, &c)) != NULL;) {
        if (rr->has_summary && rr->summary.throttled_ns > 0 && rr->summary.duration_ns > 0) {
            double share = (double)rr->summary.throttled_ns / (double)rr->summary.duration_ns;
            n++;
            if (share > worst) {
                worst = share;
                worst_id = &rr->row->id;
            }
        }
    }
    if (worst_id != NULL) {
        warn(r, WARNING_THROTTLED,
             "%zu %s throttled by a CPU limit; the worst is %s/%u of point %u, trial %u: %.1f%% of "
             "its time",
             n, n == 1 ? "replica was" : "replicas were", role_to_string(worst_id->role),
             worst_id->index, worst_id->attempt.point, worst_id->attempt.trial, 100 * worst);
    }
}

static void lint_hardware(struct result *r)
{
    const char *first = NULL;
    vec_each (struct hardware, h, &r->hardware) {
        if (h->cpu_model == NULL) {
            continue;
        }
        if (first == NULL) {
            first = h->cpu_model;
        } else if (strcmp(first, h->cpu_model) != 0) {
            warn(r, WARNING_MIXED_HARDWARE, "mixed hardware: replicas ran on '%s' and on '%s'",
                 first, h->cpu_model);
            return;
        }
    }
}

void result_lint(struct result *r)
{
    lint_rehearsal(r);
    lint_simulated(r);
    lint_one_trial(r);
    lint_efficiency(r);
    lint_throttled(r);
    lint_hardware(r);
}
