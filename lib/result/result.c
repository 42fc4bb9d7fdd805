/* What follows from a result as it is, see result.h. */
#include "result/result.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "result/number.h"

const struct summary *replica_summary(const struct replica_row *r)
{
    static const struct summary none;
    return r->summary == NULL ? &none : r->summary;
}

size_t trial_count_replicas(const struct trial_result *t)
{
    return t->row == NULL ? 0 : t->row->replicas.len;
}

double trial_most(const struct trial_result *t, int role, double (*of)(const struct replica_row *r))
{
    double most = NAN;
    trial_each_replica (r, t) {
        if (role < 0 || (int)r->id.role == role) {
            most = fmax(most, of(r)); /* passes NaN over */
        }
    }
    return most;
}

struct estimate point_median(const struct point_result *p, of_trial_fn *of, size_t *ret_n_known)
{
    _cleanup_(freep) double *values = xnew_array(double, p->n_trials);
    size_t n = 0;
    point_each_success (t, p) {
        values[n] = of(t, point_leading_role(p->point));
        n += !isnan(values[n]);
    }
    *ret_n_known = n;
    return n == p->n_succeeded ? stats_median(values, n) : (struct estimate){0};
}

bool result_find_node(const struct result *r, const char *name, size_t *ret)
{
    return vec_search(&r->nodes, it, strcmp(it->name, name), ret);
}

const char *result_node_name(const struct result *r, const char *name)
{
    size_t at;
    return name != NULL && result_find_node(r, name, &at) ? r->nodes.items[at].name : NULL;
}

bool trial_is_decided(const struct trial_result *t)
{
    return t->has_ended && attempt_outcome_decides(t->outcome);
}

bool point_result_is_given_up(const struct point_result *p)
{
    uint32_t n_succeeded = 0, n_failed = 0;
    point_each_trial (t, p) {
        n_succeeded += trial_is_decided(t) && t->outcome == ATTEMPT_SUCCEEDED;
        n_failed += trial_is_decided(t) && t->outcome != ATTEMPT_SUCCEEDED;
    }
    return point_is_given_up(n_succeeded, n_failed);
}

const struct trial_result *point_typical_trial(const struct point_result *p)
{
    const struct trial_result *best = NULL;
    double distance = INFINITY;
    point_each_success (t, p) {
        const double d = fabs(t->throughput - p->throughput.estimate.value);
        if (!isnan(t->throughput) && d < distance) {
            best = t;
            distance = d;
        }
    }
    return best;
}

bool point_result_is_complete(const struct point_result *p)
{
    const size_t n_decided = array_sum(p->trials, p->n_trials, t, (size_t)trial_is_decided(t));
    return p->n_succeeded >= p->n_required && p->n_succeeded >= n_decided;
}

uint32_t result_count_trials(const struct result *r)
{
    return (uint32_t)array_sum(r->points, r->def->matrix.n_points, p, p->n_trials);
}

const char *result_unit(const struct result *r, bool *ret_is_mixed)
{
    const char *unit = NULL;
    *ret_is_mixed = false;
    result_each_swept (p, r) {
        const struct figure *f = &p->throughput;
        if (f->estimate.known) {
            unit = unit == NULL ? f->unit : unit;
            *ret_is_mixed = *ret_is_mixed || !str_eq(unit, f->unit);
        }
    }
    return unit == NULL ? r->points[0].throughput.unit : unit;
}

static const char batches[] = "batches/s";

const char *result_shown_unit(const struct result *r, bool *ret_is_mixed)
{
    const char *unit = result_unit(r, ret_is_mixed);
    const bool is_shown = r->def->spec->unit == UNIT_OF_BATCHES && str_eq(unit, "samples/s");
    return is_shown ? batches : unit;
}

double figure_shown_value(const struct figure *f, double value)
{
    return f->batch > 0 ? value / (double)f->batch : value;
}

struct figure figure_shown(const struct figure *f)
{
    struct figure shown = *f;
    struct estimate *e = &shown.estimate;
    e->value = figure_shown_value(f, e->value);
    e->low = figure_shown_value(f, e->low);
    e->high = figure_shown_value(f, e->high);
    shown.unit = f->batch > 0 ? batches : f->unit;
    shown.batch = 0;
    return shown;
}

const struct point_result *result_baseline(const struct result *r, const struct point_result *p)
{
    return p->point->baseline_excluded ? NULL : &r->points[p->point->baseline_index];
}

/* "pytorch, 1 trainer, no pserver, batch_size 16": the system is named if there are several. */
static void describe_replicas(const struct result *r, const struct point *point, struct buf *out)
{
    if (r->def->spec->systems.len > 1) {
        buf_printf(out, "%s, ", r->def->spec->systems.items[point->system].name);
    }
    const enum role role = point_training_role(point);
    const uint32_t trainers = point->replicas[role];
    const uint32_t servers = point->replicas[ROLE_PSERVER];
    buf_printf(out, "%u %s%s", trainers, role_to_string(role), trainers == 1 ? "" : "s");
    if (servers > 0) {
        buf_printf(out, ", %u pserver%s", servers, servers == 1 ? "" : "s");
    } else if (role == ROLE_TRAINER) {
        buf_puts(out, ", no pserver");
    }
    if (point->batch_size > 0) {
        buf_printf(out, ", batch_size %lld", (long long)point->batch_size);
    }
    if (point->threads != 1) {
        buf_printf(out, ", threads %lld", (long long)point->threads);
    }
    vec_each (const struct param, it, &point->params.list) {
        if (!param_is_point_field(r->def->spec, it->name)) {
            buf_printf(out, ", %s ", it->name);
            value_format(&it->value, out);
        }
    }
}

void result_describe_baseline(const struct result *r, const struct point_result *p, struct buf *out)
{
    const struct point_result *base = &r->points[p->point->baseline_index];
    buf_printf(out, "%s, point %u: ", baseline_kind_names[r->def->spec->baseline.kind],
               base->point->index);
    describe_replicas(r, base->point, out);
    buf_puts(out, ": ");
    if (!base->throughput.estimate.known) {
        buf_puts(out, "not measured");
        return;
    }
    const struct figure x = figure_shown(&base->throughput);
    number_format(x.estimate.value, out);
    buf_printf(out, " %s", x.unit);
}
