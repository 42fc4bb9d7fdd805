/* See compare_parts.h. */
#include "compare/compare_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "result/pivot.h"
#include "spec/system_template.h"

static const struct system *system_of_name(const struct spec *spec, const char *name)
{
    return vec_find(&spec->systems, s, str_eq(s->name, name));
}

/* Refuses two runs if what was measured, or how, differs: a in the base, b in the candidate. */
static int refuse(const struct result *base, const struct result *candidate, const char *what,
                  const char *a, const char *b, const char **ret_fix, struct err *err)
{
    if (str_eq(a, b)) {
        return 0;
    }
    *ret_fix = "compare runs that were measured in the same way, or sweep both values in one run";
    return err_set(err, EINVAL,
                   "run/%s and run/%s do not compare: %s is %s in the one and %s in the other",
                   base->def->name, candidate->def->name, what, a, b);
}

static char *exchange_text(const struct system *s)
{
    char mode[EXCHANGE_MODE_TEXT_MAX];
    exchange_mode_text(&s->exchange.mode, mode);
    return xasprintf("%s %s %s", mode, exchange_wire_names[s->exchange.wire],
                     exchange_transport_names[s->exchange.transport]);
}

/* Systems of one name that exchange otherwise are other systems. */
static int check_exchanges(const struct result *base, const struct result *candidate,
                           const char **ret_fix, struct err *err)
{
    int r = 0;
    vec_each (const struct system, s, &base->def->spec->systems) {
        const struct system *other = system_of_name(candidate->def->spec, s->name);
        if (other != NULL && r == 0) {
            _cleanup_(freep) char *a = exchange_text(s);
            _cleanup_(freep) char *b = exchange_text(other);
            r = refuse(base, candidate, "exchange", a, b, ret_fix, err);
        }
    }
    return r;
}

/* How a run was measured, if that makes it another experiment. */
enum { OF_COMPUTE, OF_LINK, OF_LANES, OF_REHEARSAL, WAYS };
static const char *const way_names[WAYS] = {
    [OF_COMPUTE] = "spec.workload.compute",
    [OF_LINK] = "spec.workload.link",
    [OF_LANES] = "the number of trials at a time (benchctl run --parallel)",
    [OF_REHEARSAL] = "rehearsal (fewer CPUs than busy threads)",
};

static void put_ways(const struct run_def *def, char ret[WAYS][LINK_TEXT_MAX])
{
    text_put(ret[OF_COMPUTE], LINK_TEXT_MAX, "%s", compute_names[def->spec->workload.compute]);
    link_text(&def->spec->workload.link, ret[OF_LINK]);
    text_put(ret[OF_LANES], LINK_TEXT_MAX, "%u", run_options_lanes(&def->options));
    text_put(ret[OF_REHEARSAL], LINK_TEXT_MAX, "%s", def->rehearsal ? "true" : "false");
}

int compare_check_kind(const struct result *base, const struct result *candidate,
                       const char **ret_fix, struct err *err)
{
    const bool is_base = base->simulated;
    if (is_base || candidate->simulated) {
        *ret_fix = "run it where containers really start, and compare that run";
        return err_set(err, EINVAL,
                       "run/%s is simulated and cannot be %s: its pods were fake, so its numbers "
                       "compare only with each other",
                       (is_base ? base : candidate)->def->name,
                       is_base ? "the base of a comparison" : "compared with a real one");
    }
    char a[WAYS][LINK_TEXT_MAX], b[WAYS][LINK_TEXT_MAX];
    put_ways(base->def, a);
    put_ways(candidate->def, b);
    int r = check_exchanges(base, candidate, ret_fix, err);
    for (int i = 0; i < WAYS && r == 0; i++) {
        r = refuse(base, candidate, way_names[i], a[i], b[i], ret_fix, err);
    }
    return r;
}

/* ---- points ---- */

/* Has `b` every parameter of `a` that says something of its own, with its value? */
static bool has_params_of(const struct spec *spec_a, const struct point *a, const struct point *b)
{
    return vec_all(&a->params.list, p,
                   param_is_point_field(spec_a, p->name) || params_has(&b->params, p));
}

static bool is_same_point(const struct comparison *c, const struct point *a, const struct point *b)
{
    const struct spec *spec_a = c->base->def->spec, *spec_b = c->candidate->def->spec;
    const struct exchange x = point_exchange(spec_a, a), y = point_exchange(spec_b, b);
    return a->worker_batch == b->worker_batch && a->threads == b->threads &&
           a->server_threads == b->server_threads &&
           str_eq(point_exchange_name(spec_a, a), point_exchange_name(spec_b, b)) &&
           x.wire == y.wire && exchange_mode_eq(&x.mode, &y.mode) && x.transport == y.transport &&
           memcmp(a->replicas, b->replicas, sizeof(a->replicas)) == 0 &&
           link_eq(&a->link, &b->link) &&
           str_eq(spec_a->systems.items[a->system].name, spec_b->systems.items[b->system].name) &&
           has_params_of(spec_a, a, b) && has_params_of(spec_b, b, a);
}

bool compare_is_measured(const struct compared_point *p)
{
    return p->base->throughput.estimate.known && p->candidate->throughput.estimate.known;
}

/* By an axis: what one point has on it is the only difference. All points of a sweep have the same
 * parameters, with values of their own. */
static bool is_pair(const struct comparison *c, const struct point *a, const struct point *b)
{
    return c->axis == NULL ? is_same_point(c, a, b)
                           : (axis_is_system(c->axis) || a->system == b->system) &&
                                 a->is_baseline == b->is_baseline &&
                                 vec_all(&a->params.list, p,
                                         str_eq(p->name, c->axis) || params_has(&b->params, p));
}

struct side {
    VEC(const struct point_result *) list;
};

/* All points of a run, or those with a value of the axis. */
static struct side side_of(const struct comparison *c, const struct result *r, const char *value)
{
    struct side side = {0};
    result_each_point (p, r) {
        _cleanup_(freep) char *own = c->axis == NULL ? NULL : axis_value(r, c->axis, p->point);
        if (c->axis == NULL || (own != NULL && str_eq(own, value))) {
            *vec_push(&side.list) = p;
        }
    }
    return side;
}

void compare_match(struct comparison *c)
{
    struct side base = side_of(c, c->base, c->axis_base);
    struct side candidate = side_of(c, c->candidate, c->axis_candidate);
    const size_t n = candidate.list.len;
    _cleanup_(freep) bool *taken = xnew_array(bool, n);
    size_t next = 0; /* a sweep lists both sides in the same order: look there first */
    vec_each (const struct point_result *const, a, &base.list) {
        size_t tried = 0, at = next;
        while (tried < n &&
               (taken[at] || !is_pair(c, (*a)->point, candidate.list.items[at]->point))) {
            at = (at + 1) % n;
            tried++;
        }
        if (tried == n) {
            *vec_push(&c->only_base) = *a;
            continue;
        }
        taken[at] = true;
        next = (at + 1) % n;
        struct compared_point *pair = vec_push(&c->points);
        *pair = (struct compared_point){.base = *a, .candidate = candidate.list.items[at]};
        c->n_measured += compare_is_measured(pair);
    }
    for (size_t i = 0; i < n; i++) {
        if (!taken[i]) {
            *vec_push(&c->only_candidate) = candidate.list.items[i];
        }
    }
    vec_done(&base.list);
    vec_done(&candidate.list);
}

struct comparison *compare_begin(const struct result *base, const struct result *candidate)
{
    struct comparison *c = xnew(struct comparison);
    c->base = base;
    c->candidate = candidate;
    compare_match(c);
    return c;
}

/* ---- statistics that both kinds of comparison have ---- */

static double *p_at(const struct comparison *c, size_t point, size_t offset)
{
    return (double *)((char *)&c->points.items[point] + offset);
}

/* Beyond the first runs a level is chosen from those that say how runs vary, so they look more
 * alike than they are: with this factor replays name 1% of equal runs slower (bench/alarms.c). */
#define CHOSEN_LEVEL_FACTOR 1.3

double compare_adjust(const struct comparison *c, size_t offset, double whole)
{
    _cleanup_(freep) double *tested = xnew_array(double, c->points.len);
    size_t n = 0;
    for (size_t i = 0; i < c->points.len; i++) {
        if (!isnan(*p_at(c, i, offset))) {
            tested[n++] = *p_at(c, i, offset);
        }
    }
    const double chosen = c->n_base_runs > RUN_SPREAD_MIN_RUNS ? CHOSEN_LEVEL_FACTOR : 1;
    const double share = chosen * (n > 1 ? 5 : 1);
    paired_adjust(tested, n, tested);
    for (size_t i = 0, k = 0; i < c->points.len; i++) {
        double *p = p_at(c, i, offset);
        *p = isnan(*p) ? NAN : fmin(1, share * tested[k++]);
    }
    return n > 1 && !isnan(whole) ? fmin(1, chosen * 1.25 * whole) : NAN;
}

enum change compare_judge_log(const struct comparison *c, double difference, double p_adjusted,
                              double alpha, enum change none)
{
    const double ratio = exp(difference);
    if (p_adjusted > COMPARE_ALPHA || fmax(ratio, 1 / ratio) < 1 + c->threshold_ratio) {
        return none;
    }
    return p_adjusted > alpha ? CHANGE_INCONCLUSIVE : ratio > 1 ? CHANGE_FASTER : CHANGE_SLOWER;
}

/* ---- differences ---- */

static void add_difference(struct comparison *c, const char *what, char *base_take,
                           char *candidate_take)
{
    if (str_eq(base_take, candidate_take)) {
        free(base_take);
        free(candidate_take);
        return;
    }
    *vec_push(&c->differences) = (struct difference){what, base_take, candidate_take};
}

static void merge_machines(const struct comparison *c, struct machines *base,
                           struct machines *candidate)
{
    vec_each (const struct compared_point, p, &c->points) {
        machines_merge(base, p->base->machines);
        machines_merge(candidate, p->candidate->machines);
    }
}

void compare_machines(struct comparison *c)
{
    _cleanup_(machines_done) struct machines base = {0}, candidate = {0};
    merge_machines(c, &base, &candidate);
    for (size_t k = 0; k < MACHINE_KEYS_COMPARED; k++) {
        if (!machines_are_same(&base, &candidate, k)) {
            *vec_push(&c->differences) = (struct difference){
                machine_key_name(k), machines_join(&base, k), machines_join(&candidate, k)};
        }
    }
}

int compare_check_transports(const struct comparison *c, const char **ret_fix, struct err *err)
{
    _cleanup_(machines_done) struct machines base = {0}, candidate = {0};
    merge_machines(c, &base, &candidate);
    if (base.values[MACHINE_TRANSPORT].list.len == 0 ||
        candidate.values[MACHINE_TRANSPORT].list.len == 0) {
        return 0;
    }
    _cleanup_(freep) char *a = machines_join(&base, MACHINE_TRANSPORT);
    _cleanup_(freep) char *b = machines_join(&candidate, MACHINE_TRANSPORT);
    return refuse(c->base, c->candidate, "the transport that replicas used", a, b, ret_fix, err);
}

static char *cpus_text(int64_t cpus)
{
    return cpus == 0 ? xstrdup("unknown") : xasprintf("%lld", (long long)cpus);
}

static char *dataset_text(const struct workload *w)
{
    return w->dataset_path == NULL ? xstrdup(workload_dataset_name(w))
                                   : xasprintf("%s %s", workload_dataset_name(w), w->dataset_path);
}

/* What a trace says in few words; "none" where the trainers compute. Owned. */
static char *trace_difference(const struct workload *w)
{
    if (w->compute == COMPUTE_REAL) {
        return xstrdup("none");
    }
    _cleanup_(freep) char *text = trace_text(&w->trace);
    uint32_t hash = 2166136261u; /* FNV-1a: distinguishes traces of equal length */
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    }
    return xasprintf("%zu layers, %.1f ms, jitter %g (%08" PRIx32 ")", w->trace.layers.len,
                     (double)trace_step_ns(&w->trace) / 1e6, w->trace.jitter_ratio, hash);
}

static void compare_profiles(struct comparison *c)
{
    vec_each (const struct system, s, &c->base->def->spec->systems) {
        const struct system *other = system_of_name(c->candidate->def->spec, s->name);
        if (other != NULL) {
            add_difference(c, "profile", xasprintf("%s by %s", s->name, s->profile),
                           xasprintf("%s by %s", s->name, other->profile));
        }
    }
}

/* Templates make pods; processes of one machine do not read them. */
static void compare_templates(struct comparison *c)
{
    static const char *const what[ROLE_COUNT] = {
        [ROLE_PSERVER] = "pserver template",
        [ROLE_TRAINER] = "trainer template",
        [ROLE_WORKER] = "worker template",
        [ROLE_LAUNCHER] = "launcher template",
    };
    const struct run_def *a = c->base->def, *b = c->candidate->def;
    for (enum role role = 0; a->cpus == 0 && b->cpus == 0 && role < ROLE_COUNT; role++) {
        add_difference(c, what[role], template_hash(a->spec->roles[role].template),
                       template_hash(b->spec->roles[role].template));
    }
}

static const char *origin_of(const struct result *r)
{
    return spec_is_imported(r->def->spec) ? "read from old logs" : "measured";
}

/* A log says nothing of its machine, so two of the same may still differ. */
static void compare_origins(struct comparison *c)
{
    if (spec_is_imported(c->base->def->spec) || spec_is_imported(c->candidate->def->spec)) {
        *vec_push(&c->differences) = (struct difference){"figures", xstrdup(origin_of(c->base)),
                                                         xstrdup(origin_of(c->candidate))};
    }
}

void compare_differences(struct comparison *c)
{
    const struct run_def *a = c->base->def, *b = c->candidate->def;
    add_difference(c, "model", xstrdup(a->spec->workload.model), xstrdup(b->spec->workload.model));
    add_difference(c, "data set", dataset_text(&a->spec->workload),
                   dataset_text(&b->spec->workload));
    compare_profiles(c);
    add_difference(c, "trace", trace_difference(&a->spec->workload),
                   trace_difference(&b->spec->workload));
    add_difference(c, "warm-up steps", xasprintf("%lld", (long long)a->spec->warmup_steps),
                   xasprintf("%lld", (long long)b->spec->warmup_steps));
    add_difference(c, "steps", xasprintf("%lld", (long long)a->spec->steps),
                   xasprintf("%lld", (long long)b->spec->steps));
    add_difference(c, "CPUs given", cpus_text(a->cpus), cpus_text(b->cpus));
    compare_templates(c);
    compare_machines(c);
    compare_origins(c);
}

void difference_done(struct difference *d)
{
    free(d->base);
    free(d->candidate);
}

void comparison_free(struct comparison *c)
{
    if (c == NULL) {
        return;
    }
    vec_done(&c->points);
    vec_done(&c->only_base);
    vec_done(&c->only_candidate);
    vec_done_each(&c->differences, difference_done);
    free(c->axis_base);
    free(c->axis_candidate);
    free(c);
}
