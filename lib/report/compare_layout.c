/* See layout.h. */

#include <math.h>

#include "report/layout.h"

/* ---- which points are they ---- */

struct point_words compare_words_of(const struct comparison *c)
{
    struct point_words words = {.spec = c->base->def->spec};
    vec_each (const struct compared_point, p, &c->points) {
        words_add_differences(&words, c->points.items[0].base->point, p->base->point);
    }
    return words;
}

/* ---- the table ---- */

bool compare_layout_trials(const struct comparison *c, size_t *ret_base, size_t *ret_candidate)
{
    const struct compared_point *first = &c->points.items[0];
    if (!vec_all(&c->points, p,
                 p->base->n_succeeded == first->base->n_succeeded &&
                     p->candidate->n_succeeded == first->candidate->n_succeeded)) {
        return false;
    }
    *ret_base = first->base->n_succeeded;
    *ret_candidate = first->candidate->n_succeeded;
    return true;
}

/* Columns that not every table has. */
struct extras {
    bool interval, trials;
};

bool compare_layout_any_interval(const struct comparison *c)
{
    return vec_any(&c->points, p, p->ratio.estimate.has_interval);
}

static void put_figures(struct table *t, const struct figure *base, const struct figure *candidate,
                        const struct figure *ratio, const struct extras *with)
{
    table_figure(t, "BASE", base);
    table_figure(t, "CANDIDATE", candidate);
    table_figure(t, "RATIO", ratio);
    if (with->interval) {
        table_interval(t, "95% INTERVAL", ratio);
    }
}

static void put_point(struct table *t, const struct compared_point *p, const struct extras *with)
{
    put_figures(t, &p->base->throughput, &p->candidate->throughput, &p->ratio, with);
    if (p->p_adjusted < 0.001) {
        table_number(t, "P", "<0.001");
    } else {
        table_known(t, "P", !isnan(p->p_adjusted), "%.3f", p->p_adjusted);
    }
    if (with->trials) {
        table_number(t, "TRIALS", "%zu+%zu", p->base->n_succeeded, p->candidate->n_succeeded);
    }
    table_text(t, "CHANGE", "%s", change_names[p->change]);
    table_end_row(t);
}

static void put_geomean(struct table *t, const struct comparison *c, size_t n_identity,
                        const struct extras *with)
{
    table_cell(t, "geomean");
    for (size_t i = 1; i < n_identity; i++) {
        table_cell(t, "%s", "");
    }
    put_figures(t, &c->geomean_base, &c->geomean_candidate, &c->geomean_ratio, with);
    for (int i = 0; i < 2 + with->trials; i++) { /* no P, no trials, no verdict */
        table_cell(t, "%s", "");
    }
}

struct table *compare_layout_table(const struct comparison *c, bool by_index)
{
    struct point_words words = compare_words_of(c);
    const size_t n_words = words.systems + words.names.len;
    const bool numbered = by_index || n_words == 0;
    size_t n_base, n_candidate;
    const struct extras with = {
        .interval = compare_layout_any_interval(c),
        .trials = !compare_layout_trials(c, &n_base, &n_candidate),
    };
    struct table *t = table_new();
    if (by_index) {
        table_set_gap(t, TABLE_TIGHT_GAP);
    }
    vec_each (const struct compared_point, p, &c->points) {
        if (numbered) {
            table_number(t, "POINT", "%u", p->base->point->index);
        } else {
            layout_put_words(t, &words, p->base->point);
        }
        put_point(t, p, &with);
    }
    if (c->n_measured > 1) {
        put_geomean(t, c, numbered ? 1 : n_words, &with);
    }
    vec_done(&words.names);
    return t;
}
