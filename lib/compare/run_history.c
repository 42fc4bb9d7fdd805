/* See run_history.h. */
#include "compare/run_history.h"

#include <math.h>

#include "base/mem.h"
#include "compare/compare_parts.h"

void run_history_explain(struct run_history_change *change, const struct result *before,
                         const struct result *after)
{
    struct comparison *c = compare_begin(before, after);
    compare_differences(c);
    vec_each (struct difference, d, &c->differences) {
        *vec_push(&change->differences) = *d; /* its texts are ours now */
    }
    vec_done(&c->differences);
    comparison_free(c);
    if (change->differences.len == 0 &&
        !json_equal(before->def->spec->definition, after->def->spec->definition)) { /* as a whole */
        *vec_push(&change->differences) =
            (struct difference){"definition", xstrdup("one"), xstrdup("another")};
    }
}

static double mean_of(const double *logs, size_t from, size_t to)
{
    return array_sum(logs + from, to - from, it, *it) / (double)(to - from);
}

void run_history_begin(struct run_history *h, const struct result *newest, const uint32_t *point)
{
    bool is_mixed;
    *h = (struct run_history){.newest = newest,
                              .has_point = point != NULL,
                              .point = point == NULL ? 0 : *point,
                              .unit = result_shown_unit(newest, &is_mixed)};
}

void run_history_add(struct run_history *h, const struct run_history_run *run)
{
    const struct run_def *def = run->result->def;
    const double log_value =
        compare_mean_log(h->newest, run->result, h->has_point ? &h->point : NULL);
    const struct run_def *newest = h->newest->def;
    if (isnan(log_value) || spec_is_imported(def->spec) != spec_is_imported(newest->spec) ||
        run_options_lanes(&def->options) != run_options_lanes(&newest->options)) {
        *vec_push(&h->skipped) = xstrdup(run->name);
        return;
    }
    *vec_push(&h->entries) = (struct run_history_entry){
        .name = xstrdup(run->name),
        .uid = xstrdup(run->uid),
        .benchmark = xstrdup(def->spec->name),
        .created_unix_ms = run->created_unix_ms,
        .is_rehearsal = def->rehearsal,
        .is_imported = spec_is_imported(def->spec),
        .value = exp(log_value),
        .log_value = log_value,
    };
}

void run_history_end(struct run_history *h)
{
    struct change_points found;
    _cleanup_(freep) double *logs = xnew_array(double, h->entries.len);
    for (size_t i = 0; i < h->entries.len; i++) {
        logs[i] = h->entries.items[i].log_value;
    }
    change_points_find(logs, h->entries.len, CHANGE_POINTS_ALPHA, &found);
    size_t from = 0;
    for (size_t i = 0; i < found.list.len; i++) {
        const struct change_point *p = &found.list.items[i];
        const size_t to = i + 1 < found.list.len ? p[1].at : h->entries.len;
        struct run_history_change change = {
            .at = p->at,
            .p = p->p,
            .ratio = exp(mean_of(logs, p->at, to) - mean_of(logs, from, p->at)),
        };
        *vec_push(&h->changes) = change;
        for (size_t k = p->at; k < h->entries.len; k++) {
            h->entries.items[k].level = i + 1;
        }
        from = p->at;
    }
    change_points_done(&found);
}

void run_history_done(struct run_history *h)
{
    vec_each (struct run_history_entry, e, &h->entries) {
        free(e->name);
        free(e->uid);
        free(e->benchmark);
    }
    vec_done(&h->entries);
    vec_free(&h->skipped);
    vec_each (struct run_history_change, change, &h->changes) {
        vec_done_each(&change->differences, difference_done);
    }
    vec_done(&h->changes);
}
