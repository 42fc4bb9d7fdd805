/* See layout.h. */
#include "report/layout.h"

#include "base/str.h"
#include "result/catalogue.h"

void layout_init(struct layout *l, const struct result *r)
{
    *l = (struct layout){.result = r, .words.spec = r->def->spec, .own_baselines = true};
    l->unit = result_shown_unit(r, &l->mixed_units);
    const struct point *first = r->points[0].point;
    result_each_swept (p, r) {
        words_add_differences(&l->words, first, p->point);
        l->own_baselines = l->own_baselines && p->point->baseline_index == p->point->index;
    }
}

void layout_done(struct layout *l)
{
    vec_done(&l->words.names);
}

bool layout_follows_system(const struct layout *l, const char *name)
{
    const uint32_t n = l->result->def->matrix.n_swept;
    result_each_swept (p, l->result) {
        /* All swept points have the same names (spec_load sees to it), so `name` is in both. */
        const struct point_result *first =
            array_find(l->result->points, n, q, q->point->system == p->point->system);
        if (!value_eq(params_get(&first->point->params, name),
                      params_get(&p->point->params, name))) {
            return false;
        }
    }
    return true;
}

/* ---- in words ---- */

bool layout_has_words(const struct layout *l)
{
    return l->words.systems || l->words.names.len > 0;
}

void layout_describe_point(const struct layout *l, uint32_t point, struct buf *out)
{
    words_put_point(&l->words, l->result->points[point].point, "all", out);
}

void layout_describe_place(const struct layout *l, uint32_t point, struct buf *out)
{
    buf_printf(out, "point %u", point);
    if (l->result->points[point].point->is_baseline) {
        buf_puts(out, " (baseline)");
    } else if (layout_has_words(l)) {
        buf_puts(out, " (");
        layout_describe_point(l, point, out);
        buf_putc(out, ')');
    }
}

void layout_describe_run(const struct layout *l, struct buf *out)
{
    const struct run_def *def = l->result->def;
    const struct spec *spec = def->spec;
    const uint32_t n_swept = def->matrix.n_swept, n_added = def->matrix.n_points - n_swept;
    if (!l->words.systems) {
        buf_printf(out, "%s; ", spec->systems.items[l->result->points[0].point->system].label);
    }
    vec_each (struct param, p, &l->result->points[0].point->params.list) {
        if (!words_has_name(&l->words.names, p->name)) {
            words_put_value(p->name, &p->value, out);
            buf_puts(out, "; ");
        }
    }
    if (spec->workload.batch_scope == BATCH_OF_JOB) {
        buf_puts(out, "a batch is of the whole job; ");
    }
    if (spec->workload.compute == COMPUTE_EMULATED) {
        buf_printf(out, "emulated %s, %.6g ms a step; ", matrix_training_words(&def->matrix).many,
                   (double)trace_step_ns(&spec->workload.trace) / 1e6);
    }
    buf_printf(out, "%u point%s", n_swept, plural(n_swept));
    if (n_added > 0) {
        buf_printf(out, " and %u for the baseline", n_added);
    }
    if (spec->stop.is_set) {
        buf_printf(out, "; %lld to %lld trials each, for an interval within %.3g%%",
                   (long long)spec->min_repeats, (long long)spec->repeats,
                   100 * spec->stop.half_width_ratio);
    } else {
        buf_printf(out, "; %lld trial%s each", (long long)spec->repeats,
                   plural((uint64_t)spec->repeats));
    }
    if (spec->ends_after_steps) {
        buf_printf(out, ", which end the programs after %lld measured step%s",
                   (long long)spec->steps, plural((uint64_t)spec->steps));
    } else if (vec_any(&spec->systems, system, system->log == NULL)) {
        /* A system whose log is read runs as many as its program wants; a note says how many. */
        buf_printf(out, ", of %lld step%s after %lld warm-up step%s", (long long)spec->steps,
                   plural((uint64_t)spec->steps), (long long)spec->warmup_steps,
                   plural((uint64_t)spec->warmup_steps));
    }
}

/* ---- metrics ---- */

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
