/* Time to accuracy and accuracy after a time, see layout.h: a table of its own, only if the
 * definition asks for it. */
#include <math.h>

#include "report/layout.h"
#include "report/table.h"

/* The best accuracy or loss of the trial whose best was the worst; NaN: not known of one. */
static double least_best(const struct goal *goal, const struct point_result *p)
{
    double least = NAN;
    point_each_trial (t, p) {
        if (t->phase != TRIAL_SUCCEEDED) {
            continue;
        }
        if (t->to_accuracy.state == TARGET_UNKNOWN) {
            return NAN;
        }
        const double best = t->to_accuracy.best;
        least = isnan(least) || goal_is_met(goal, least, best) ? best : least;
    }
    return least;
}

/* MLPerf's score: the mean time without the best and the worst; NaN of fewer than three. */
static double trimmed_mean(const struct point_result *p)
{
    double sum = 0, least = INFINITY, most = 0;
    point_each_trial (t, p) {
        const double s = t->phase == TRIAL_SUCCEEDED ? t->to_accuracy.s : 0;
        sum += s;
        least = s > 0 ? fmin(least, s) : least;
        most = fmax(most, s);
    }
    return p->n_reached < 3 ? NAN : (sum - least - most) / (double)(p->n_reached - 2);
}

/* The columns of time that some point needs. */
struct time_columns {
    bool interval, speedup, speedup_interval, cost, trimmed;
};

static void put_ratios(struct table *t, const struct time_columns *with,
                       const struct point_result *p)
{
    const struct estimate *e = &p->goal->time_efficiency.estimate;
    table_figure(t, "SPEEDUP", &p->goal->time_speedup);
    if (with->speedup_interval) {
        table_interval(t, "95% INTERVAL", &p->goal->time_speedup);
    }
    table_known(t, "EFFICIENCY", e->known, "%.1f%%", 100 * e->value);
    if (with->speedup_interval) {
        layout_put_percents(t, e, 1);
    }
}

static void put_time(struct table *t, const struct goal *goal, const char *title,
                     const struct point_result *p, const struct time_columns *with)
{
    const double best = least_best(goal, p);
    if (!p->goal->time_to_accuracy.estimate.known && !isnan(best)) {
        table_number(t, title, "not reached");
    } else {
        table_figure(t, title, &p->goal->time_to_accuracy);
    }
    if (with->interval) {
        table_interval(t, "95% INTERVAL", &p->goal->time_to_accuracy);
    }
    if (with->trimmed) {
        table_value(t, "TRIMMED MEAN", trimmed_mean(p));
    }
    table_number(t, "REACHED", "%zu/%zu", p->n_reached, p->n_succeeded);
    if (goal->kind == GOAL_LOSS) {
        table_value(t, "BEST", best);
    } else {
        table_known(t, "BEST", !isnan(best), "%.2f%%", 100 * best);
    }
    if (with->speedup) {
        put_ratios(t, with, p);
    }
    if (with->cost) {
        table_figure(t, "COST", &p->goal->time_cost);
        table_interval(t, "95% INTERVAL", &p->goal->time_cost);
    }
}

static void put_after(struct table *t, const char *title, const struct point_result *p,
                      bool with_interval)
{
    const struct estimate *e = &p->goal->accuracy_after_time.estimate;
    table_known(t, title, e->known, "%.2f%%", 100 * e->value);
    if (with_interval) {
        layout_put_percents(t, e, 2);
    }
    table_number(t, "KNOWN", "%zu/%zu", p->n_after, p->n_succeeded);
}

struct table *layout_accuracy(const struct layout *l)
{
    const struct spec *spec = l->result->def->spec;
    if (spec->goal.kind == GOAL_NONE && spec->accuracy_after_s <= 0) {
        return NULL;
    }
    const struct time_columns with = {
        .interval = layout_any_interval(l, GOAL_FIGURE(time_to_accuracy)),
        .speedup = !l->own_baselines,
        .cost = l->result->price != NULL,
        .trimmed = spec_is_imported(spec),
        .speedup_interval = layout_any_interval(l, GOAL_FIGURE(time_speedup)),
    };
    const bool after_interval = layout_any_interval(l, GOAL_FIGURE(accuracy_after_time));
    _cleanup_(freep) char *time = spec->goal.kind == GOAL_LOSS
                                      ? xasprintf("S TO LOSS %.6g", spec->goal.value)
                                      : xasprintf("S TO %.4g%%", 100 * spec->goal.value);
    _cleanup_(freep) char *after = xasprintf("AFTER %.6g S", spec->accuracy_after_s);
    struct table *t = table_new();
    result_each_swept (p, l->result) {
        layout_put_identity(t, l, p->point, !layout_has_words(l));
        if (spec->goal.kind != GOAL_NONE) {
            put_time(t, &spec->goal, time, p, &with);
        }
        if (spec->accuracy_after_s > 0) {
            put_after(t, after, p, after_interval);
        }
        table_end_row(t);
    }
    return t;
}

void layout_accuracy_caption(const struct layout *l, struct buf *out)
{
    const struct spec *spec = l->result->def->spec;
    const char *separator = "";
    if (spec->goal.kind != GOAL_NONE) {
        buf_puts(out, "Time to ");
        goal_format(&spec->goal, out);
        buf_puts(out, ", in seconds");
        if (l->result->price != NULL) {
            buf_printf(out, ", and its cost at %s", l->result->price);
        }
        separator = "; ";
    }
    if (spec->accuracy_after_s > 0) {
        buf_printf(out, "%s%sccuracy after %.6g s", separator, *separator == '\0' ? "A" : "a",
                   spec->accuracy_after_s);
    }
}
