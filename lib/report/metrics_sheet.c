/* Metrics of a point (core/metric_set.h), see layout.h: a table of its own, if a trial has others
 * than those that each gang has. */
#include "report/layout.h"
#include "report/table.h"

#include "base/str.h"
#include "base/vec_walk.h"

const struct figure *metric_of_point(const struct point_result *p, const char *name)
{
    static const struct figure unknown = {.unit = ""};
    const struct point_metric *m = vec_find(&p->metrics, it, str_eq(it->name, name));
    return m == NULL ? &unknown : &m->figure;
}

void metric_names_add(struct words_names *names, const struct result *r)
{
    result_each_point (p, r) {
        vec_each (const struct point_metric, m, &p->metrics) {
            words_add_name(names, m->name);
        }
    }
}

static void put_metric(struct table *t, const char *name, const struct figure *f,
                       bool with_interval)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    if (str_eq(f->unit, "ratio") && f->estimate.known) {
        buf_printf(&text, "%.1f%%", 100 * f->estimate.value);
    } else {
        figure_format(f, &text);
    }
    table_named(t, name, buf_cstr(&text));
    if (with_interval && str_eq(f->unit, "ratio")) {
        layout_put_percents(t, &f->estimate, 1);
    } else if (with_interval) {
        table_interval(t, "95% INTERVAL", f);
    }
}

struct table *layout_metrics(const struct layout *l)
{
    struct words_names names = {0};
    metric_names_add(&names, l->result);
    static const char *const of_any[] = {METRIC_SHARED, METRIC_START_SPREAD, NULL};
    struct table *t = vec_any(&names, it, !str_is_one_of(*it, of_any)) ? table_new() : NULL;
    result_each_swept (p, l->result) {
        if (t != NULL) {
            layout_put_identity(t, l, p->point, !layout_has_words(l));
            vec_each (const char *, name, &names) {
                put_metric(
                    t, *name, metric_of_point(p, *name),
                    swept_any(l->result, q, metric_of_point(q, *name)->estimate.has_interval));
            }
            table_end_row(t);
        }
    }
    vec_done(&names);
    return t;
}
