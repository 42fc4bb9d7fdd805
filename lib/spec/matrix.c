/* From a spec to its points, see matrix.h. The steps of matrix_expand: list the combinations, leave
 * out the excluded ones, make the points of every system, find or add the baseline of each. */
#include "spec/matrix.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "spec/spec.h"
#include "spec/profile.h"

struct expansion {
    const struct spec *spec;
    struct diags *diags;
    VEC(struct params) combinations;
    VEC(struct point) points;
    uint64_t excluding;                                         /* as in struct matrix */
    bool bad_count[ROLE_COUNT], has_bad_devices, has_bad_batch; /* noted already */
    bool has_bad_require;
    const struct point *judged; /* by the requirements */
};

#define complain(e, path, ...) diags_add((e)->diags, ((struct mark){0}), path, __VA_ARGS__)

/* The number under that key (taken) in `index`, a map of keys that were put. A new key gets
 * `value`; *ret_new says whether it is one. */
static uint32_t index_put(json_t *index, char *key_take, uint32_t value, bool *ret_new)
{
    _cleanup_(freep) char *key = key_take;
    const json_t *found = json_object_get(index, key);
    *ret_new = found == NULL;
    if (found == NULL) {
        (void)json_object_set_new(index, key, json_integer(value)); /* a key is ASCII */
        return value;
    }
    return (uint32_t)json_integer_value(found);
}

/* Owned. In JSON 1 and "1" differ. */
static char *params_key(const struct params *params)
{
    json_auto_t *json = params_to_json(params);
    return json_dumps(json, JSON_COMPACT);
}

/* All that distinguishes one point from another. Owned. */
static char *point_key(const struct point *p)
{
    struct buf key = BUF_INIT;
    buf_printf(&key, "%u %d", p->system, (int)p->exchange);
    for (int role = 0; role < ROLE_COUNT; role++) {
        buf_printf(&key, " %u", p->replicas[role]);
    }
    _cleanup_(freep) char *params = params_key(&p->params);
    buf_puts(&key, params);
    return buf_take(&key);
}

/* Requirements may leave few of many points. */
static bool check_size(struct expansion *e)
{
    size_t n = e->spec->systems.len;
    const struct sweep *sweep = &e->spec->sweep;
    const size_t most = sweep->require.len > 0 ? MATRIX_MAX_COMBINATIONS : MATRIX_MAX_POINTS;
    if (sweep->kind == SWEEP_GRID) {
        vec_each (const struct axis, axis, &sweep->axes) {
            n = n > most ? n : n * axis->values.len;
        }
    }
    if (n > most) {
        complain(e, "spec.sweep", "sweep fewer values, or split the benchmark",
                 "the sweep has more than %zu points", most);
        return false;
    }
    return true;
}

/* Every combination of the axes, the last name fastest. */
static void list_grid(struct expansion *e)
{
    const struct sweep *sweep = &e->spec->sweep;
    size_t n = sweep->axes.len > 0;
    vec_each (const struct axis, axis, &sweep->axes) {
        n *= axis->values.len;
    }
    for (size_t at = 0; at < n; at++) {
        struct params *params = vec_push(&e->combinations);
        *params = (struct params){0};
        for (size_t i = sweep->axes.len, rest = at; i-- > 0;) {
            const struct axis *axis = &sweep->axes.items[i];
            params_set(params, axis->name, &axis->values.items[rest % axis->values.len]);
            rest /= axis->values.len;
        }
    }
}

static void list_combinations(struct expansion *e)
{
    if (e->spec->sweep.kind == SWEEP_GRID) {
        list_grid(e);
    }
    vec_each (const struct params, it, &e->spec->sweep.points) {
        params_copy(it, vec_push(&e->combinations));
    }
}

static void check_duplicates(struct expansion *e)
{
    json_auto_t *index = json_object();
    for (size_t i = 0; i < e->combinations.len; i++) {
        bool is_new;
        const uint32_t first =
            index_put(index, params_key(&e->combinations.items[i]), (uint32_t)i, &is_new);
        if (!is_new) {
            _cleanup_(freep) char *path = xasprintf("spec.sweep.points[%zu]", i);
            complain(e, path, "remove one of the two", "point %zu is a duplicate of point %u", i,
                     first);
        }
    }
}

static bool is_excluded(struct expansion *e, const struct params *params)
{
    bool found = false;
    for (size_t k = 0; k < e->spec->sweep.exclude.len; k++) {
        if (params_contain(params, &e->spec->sweep.exclude.items[k])) {
            e->excluding |= UINT64_C(1) << k; /* a definition has at most 64 */
            found = true;
        }
    }
    return found;
}

static void apply_excludes(struct expansion *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->combinations.len; i++) {
        if (is_excluded(e, &e->combinations.items[i])) {
            params_done(&e->combinations.items[i]);
        } else {
            e->combinations.items[kept++] = e->combinations.items[i];
        }
    }
    e->combinations.len = kept;
    if (kept == 0) {
        complain(e, "spec.sweep.exclude", "exclude fewer points", "the exclusions leave no point");
    }
}

static const struct exchange *exchange_of(const struct expansion *e, uint32_t system)
{
    return &e->spec->systems.items[system].exchange;
}

static bool has_role(const struct expansion *e, uint32_t system, enum role role)
{
    return spec_system_has_role(e->spec, &e->spec->systems.items[system], role);
}

/* The number at these parameters. What is not one is noted once, and 0. */
static uint32_t count(struct expansion *e, enum role role, const char *key,
                      const struct replicas *count, const struct params *params, int64_t least,
                      int64_t most, bool *is_noted)
{
    if (count->from == NULL) {
        return (uint32_t)count->value;
    }
    const struct value *v = params_get(params, count->from);
    if (v != NULL && v->is_int && v->i >= least && v->i <= most) {
        return (uint32_t)v->i;
    }
    if (*is_noted) {
        return 0;
    }
    *is_noted = true;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    if (v != NULL) {
        value_format(v, &text);
    }
    _cleanup_(freep) char *path = xasprintf("spec.roles.%s.%s", role_to_string(role), key);
    complain(e, path, "correct the sweep",
             "'%s' is '%s' in at least one point; it must be a whole number from %lld to %lld",
             count->from, buf_cstr(&text), (long long)least, (long long)most);
    return 0;
}

static uint32_t count_replicas(struct expansion *e, uint32_t system, enum role role,
                               const struct params *params)
{
    int64_t least = role != ROLE_PSERVER || exchange_of(e, system)->kind == EXCHANGE_PSERVER;
    const int most = spec_is_imported(e->spec) ? SPEC_MAX_IMPORTED : SPEC_MAX_REPLICAS;
    return has_role(e, system, role) ? count(e, role, "replicas", &e->spec->roles[role].replicas,
                                             params, least, most, &e->bad_count[role])
                                     : 0;
}

static uint32_t count_devices(struct expansion *e, struct point *p)
{
    const enum role role = point_training_role(p);
    const struct replicas *given = &e->spec->roles[role].devices;
    const bool is_given = given->from != NULL || given->value > 0;
    _cleanup_(freep) char *wrong = NULL;
    const int64_t asked = devices_of_template(e->spec, &e->spec->systems.items[p->system], role,
                                              &p->params, &p->has_slices, &wrong);
    const int64_t each =
        is_given ? count(e, role, "devices", given, &p->params, 1, DEVICES_MAX, &e->has_bad_devices)
                 : asked;
    if (wrong != NULL && !e->has_bad_devices) {
        e->has_bad_devices = true;
        complain(e, wrong, "write how many devices a replica gets, or correct the sweep",
                 "a limit of accelerators must be a whole number from 0 to %d in all points",
                 DEVICES_MAX);
    }
    return e->has_bad_devices ? 0 : p->replicas[role] * (uint32_t)each;
}

/* A count in a point's parameters, where a swept name holds it. */
static void set_count(struct params *params, const char *name, int64_t count)
{
    if (name != NULL && params_get(params, name) != NULL) {
        struct value value = {.is_int = true, .i = count};
        params_set(params, name, &value);
    }
}

/* Does the system take a number of replicas from that name? */
static bool takes_count(const struct expansion *e, uint32_t system, const char *name)
{
    return array_any(e->spec->roles, ROLE_COUNT, it,
                     has_role(e, system, (enum role)(it - e->spec->roles)) &&
                         str_eq_or_null(it->replicas.from, name));
}

/* Numbers of replicas that the system has none of are 0. A declared name may
 * mean more: it stays. */
static void clear_unused_counts(struct expansion *e, uint32_t system, struct params *params)
{
    for (int role = 0; role < ROLE_COUNT; role++) {
        const char *from = e->spec->roles[role].replicas.from;
        if (from != NULL && builtin_find(from) != NULL && !takes_count(e, system, from)) {
            set_count(params, from, 0);
        }
    }
}

static void set_worker_batch(const struct spec *spec, struct point *p)
{
    const uint32_t n = point_training_replicas(p);
    const bool is_shared = spec->workload.batch_scope == BATCH_OF_JOB && n > 0;
    p->worker_batch = is_shared ? p->batch_size / n : p->batch_size;
}

static void check_batch(struct expansion *e, const struct point *p)
{
    const uint32_t n = point_training_replicas(p);
    if (e->spec->workload.batch_scope == BATCH_OF_JOB && p->worker_batch * n != p->batch_size &&
        !e->has_bad_batch) {
        e->has_bad_batch = true;
        complain(e, "spec.workload.batchScope", "write a batch that each number of them divides",
                 "the batch of the job is %lld, which %u %ss do not divide evenly",
                 (long long)p->batch_size, n, role_to_string(point_training_role(p)));
    }
    const bool is_native = str_eq(e->spec->systems.items[p->system].profile, PROFILE_NATIVE);
    if (is_native && p->batch_size > NATIVE_BATCH_MAX && !e->has_bad_batch) {
        e->has_bad_batch = true;
        complain(e, "spec.workload.batchSize", "write a smaller batch",
                 "benchworker takes at most %d samples in a step", NATIVE_BATCH_MAX);
    }
}

/* Takes the parameters. */
static struct point make_point(struct expansion *e, uint32_t system, struct params params_take)
{
    const struct workload *w = &e->spec->workload;
    clear_unused_counts(e, system, &params_take);
    const struct value *batch_size = params_get(&params_take, "batch_size");
    const struct value *threads = params_get(&params_take, "threads");
    const struct value *link = params_get(&params_take, "link");
    struct point point = {
        .system = system,
        .params = params_take,
        .batch_size = batch_size != NULL ? batch_size->i : w->batch_size,
        .threads = threads != NULL ? threads->i : w->threads,
        .exchange = exchange_of(e, system)->kind,
        .server_threads = exchange_of(e, system)->server_threads,
        .link = w->link,
    };
    if (link != NULL) {
        (void)link_parse(link->s, &point.link); /* read before */
    }
    for (int role = 0; role < ROLE_COUNT; role++) {
        point.replicas[role] = count_replicas(e, system, (enum role)role, &point.params);
    }
    point.devices = count_devices(e, &point);
    set_worker_batch(e->spec, &point);
    return point;
}

/* A text counts as its first place in the lists of the sweep, one after the other by name: in equal
 * lists it has equal places. One that reads as a number does not count:
 * it may be a number that was quoted. */
static bool place_of(const struct sweep *sweep, const struct value *v, int64_t *ret)
{
    int64_t number, place = 0;
    vec_each (const struct axis, axis, &sweep->axes) {
        vec_each (const struct value, it, &axis->values) {
            if (value_eq(it, v)) {
                *ret = place;
                return parse_i64(v->s, &number) < 0;
            }
            place++;
        }
    }
    return false; /* of a point that is written out */
}

static bool value_of(const void *ctx, const char *name, int64_t *ret)
{
    const struct expansion *e = ctx;
    const struct point *p = e->judged;
    const struct value *v = params_get(&p->params, name);
    if (v == NULL) {
        *ret = p->devices;
        return str_eq(name, "devices") && p->devices > 0;
    }
    *ret = v->i;
    return v->is_int || place_of(&e->spec->sweep, v, ret);
}

/* Does the point satisfy all of sweep.require? */
static bool is_allowed(struct expansion *e, const struct point *p)
{
    e->judged = p;
    for (size_t i = 0; i < e->spec->sweep.require.len && !e->has_bad_devices; i++) {
        int64_t is_true = 0;
        struct err err;
        if (expression_eval(e->spec->sweep.require.items[i], value_of, e, &is_true, &err) < 0) {
            _cleanup_(freep) char *path = xasprintf("spec.sweep.require[%zu]", i);
            if (!e->has_bad_require) {
                complain(e, path,
                         "compare swept numbers, such as 'tp * pp <= 8'; devices is known where "
                         "roles.*.devices or the template says it",
                         "%s", err.msg);
            }
            e->has_bad_require = true;
            return true;
        }
        if (!is_true) {
            return false;
        }
    }
    return true;
}

/* Combinations that differ in numbers only that a system does not use are one point of it. */
static void make_points(struct expansion *e)
{
    json_auto_t *index = json_object();
    for (uint32_t system = 0; system < e->spec->systems.len; system++) {
        vec_each (const struct params, it, &e->combinations) {
            struct params params;
            params_copy(it, &params);
            struct point point = make_point(e, system, params);
            bool is_new;
            (void)index_put(index, point_key(&point), 0, &is_new);
            if (is_new && is_allowed(e, &point)) {
                *vec_push(&e->points) = point;
            } else {
                params_done(&point.params);
            }
        }
    }
    if (e->points.len == 0) {
        complain(e, "spec.sweep.require", "require less, or sweep other values",
                 "the requirements leave no point");
    }
}

/* One trainer without a server, or one worker, all else as in `p`. */
static struct point single_node_of(struct expansion *e, const struct point *p)
{
    const enum role role = point_training_role(p);
    struct point b = *p;
    params_copy(&p->params, &b.params);
    set_count(&b.params, e->spec->roles[ROLE_PSERVER].replicas.from, 0);
    set_count(&b.params, e->spec->roles[role].replicas.from, 1);
    memset(b.replicas, 0, sizeof(b.replicas));
    b.replicas[role] = 1;
    set_worker_batch(e->spec, &b);
    b.devices = p->devices / (p->replicas[role] > 0 ? p->replicas[role] : 1);
    b.replicas[ROLE_LAUNCHER] = p->replicas[ROLE_LAUNCHER];
    if (p->replicas[ROLE_PSERVER] > 0) {
        b.server_threads = 0;
        b.exchange = EXCHANGE_NONE; /* its servers are gone; a single worker has no peers */
    }
    return b;
}

static struct point baseline_of(struct expansion *e, const struct point *p)
{
    if (e->spec->baseline.kind == BASELINE_SINGLE_NODE) {
        return single_node_of(e, p);
    }
    struct params params;
    params_copy(&p->params, &params);
    vec_each (const struct param, it, &e->spec->baseline.where.list) {
        params_set(&params, it->name, &it->value);
    }
    return make_point(e, p->system, params);
}

/* Gives every swept point its baseline: a swept point that is one, or one added once. An exclusion
 * wins: what it leaves out is not run as a baseline either. */
static void find_baselines(struct expansion *e)
{
    uint32_t n_swept = (uint32_t)e->points.len;
    json_auto_t *index = json_object();
    bool is_new;
    for (uint32_t i = 0; i < n_swept; i++) {
        (void)index_put(index, point_key(&e->points.items[i]), i, &is_new); /* no duplicates */
    }
    for (uint32_t i = 0; i < n_swept; i++) {
        struct point baseline = baseline_of(e, &e->points.items[i]);
        if (is_excluded(e, &baseline.params) || !is_allowed(e, &baseline)) {
            e->points.items[i].baseline_index = i;
            e->points.items[i].baseline_excluded = true;
            params_done(&baseline.params);
            continue;
        }
        uint32_t n = (uint32_t)e->points.len;
        uint32_t at = index_put(index, point_key(&baseline), n, &is_new);
        e->points.items[i].baseline_index = at;
        if (is_new) {
            baseline.is_baseline = true;
            baseline.baseline_index = at;
            *vec_push(&e->points) = baseline;
        } else {
            params_done(&baseline.params);
        }
    }
    if (e->points.len > MATRIX_MAX_POINTS) {
        complain(e, "spec.sweep", "sweep fewer values, or split the benchmark",
                 "the sweep and its baseline have more than %d points", MATRIX_MAX_POINTS);
    }
}

int matrix_expand(const struct spec *spec, struct matrix *ret, struct diags *diags)
{
    struct diags found = {0};
    struct expansion e = {.spec = spec, .diags = &found};
    uint32_t n_swept = 0;
    if (check_size(&e)) {
        list_combinations(&e);
        check_duplicates(&e);
        apply_excludes(&e);
    }
    if (found.list.len == 0) {
        make_points(&e);
        n_swept = (uint32_t)e.points.len;
    }
    if (found.list.len == 0) {
        find_baselines(&e);
    }
    vec_each (const struct point, p, &e.points) {
        check_batch(&e, p);
    }
    vec_done_each(&e.combinations, params_done);
    struct matrix matrix = {e.points.items, (uint32_t)e.points.len, n_swept, e.excluding};
    const bool has_devices = vec_all(&e.points, it, it->devices > 0);
    for (uint32_t i = 0; i < matrix.n_points; i++) {
        matrix.points[i].index = i;
        matrix.points[i].devices = has_devices ? matrix.points[i].devices : 0;
    }
    if (found.list.len > 0) {
        matrix_done(&matrix);
        diags_move(diags, &found);
        return -EINVAL;
    }
    *ret = matrix;
    return 0;
}

bool matrix_has(const struct matrix *m, const struct params *where)
{
    return array_any(m->points, m->n_swept, it, params_contain(&it->params, where));
}

void matrix_done(struct matrix *m)
{
    for (uint32_t i = 0; i < m->n_points; i++) {
        params_done(&m->points[i].params);
    }
    free(m->points);
    *m = (struct matrix){0};
}

void matrix_describe_unbased(const struct matrix *m, struct buf *out)
{
    const struct point *first = array_find(m->points, m->n_swept, p, p->baseline_excluded);
    const uint32_t n = array_sum(m->points, m->n_swept, p, (uint32_t)p->baseline_excluded);
    if (first != NULL) {
        buf_printf(out,
                   "Point %" PRIu32 " has no speedup and no efficiency: the sweep "
                   "leaves out its baseline",
                   (uint32_t)(first - m->points));
    }
    if (n > 1) {
        buf_printf(out, "; the same holds for %" PRIu32 " more", n - 1);
    }
}

const char *point_exchange_name(const struct spec *spec, const struct point *point)
{
    return exchange_name(&spec->systems.items[point->system].exchange, point->exchange);
}

struct exchange point_exchange(const struct spec *spec, const struct point *point)
{
    struct exchange exchange = spec->systems.items[point->system].exchange;
    if (point->exchange != EXCHANGE_PSERVER) {
        exchange.wire = EXCHANGE_WIRE_FP32;
        exchange.mode = EXCHANGE_MODE_SYNC;
    }
    if (point->exchange == EXCHANGE_NONE || point->exchange == EXCHANGE_OTHER) {
        exchange.transport = EXCHANGE_TRANSPORT_AUTO;
    }
    exchange.kind = point->exchange;
    exchange.server_threads = point->server_threads;
    return exchange;
}

struct training_words matrix_training_words(const struct matrix *m)
{
    static const struct training_words words[] = {{"trainer", "trainers"},
                                                  {"worker", "workers"},
                                                  {"trainer or worker", "trainers or workers"}};
    const uint32_t n_workers =
        array_sum(m->points, m->n_points, p, (uint32_t)(point_training_role(p) == ROLE_WORKER));
    return words[n_workers == 0 ? 0 : n_workers == m->n_points ? 1 : 2];
}

enum role point_training_role(const struct point *point)
{
    return role_training(point->replicas);
}

enum role point_leading_role(const struct point *point)
{
    return role_leading(point->replicas);
}

uint32_t point_training_replicas(const struct point *point)
{
    return point->replicas[point_training_role(point)];
}

uint32_t point_size(const struct point *point)
{
    return point->devices > 0 ? point->devices : point_training_replicas(point);
}

const char *point_size_word(const struct point *point)
{
    return point->devices > 0 ? "device" : role_to_string(point_training_role(point));
}

struct training_words matrix_size_words(const struct matrix *m)
{
    return m->n_points > 0 && m->points[0].devices > 0
               ? (struct training_words){"device", "devices"}
               : matrix_training_words(m);
}

uint32_t point_pods(const struct point *point)
{
    return array_sum(point->replicas, ROLE_COUNT, n, *n) - point->replicas[ROLE_LAUNCHER];
}

int64_t point_busy_threads(const struct point *point)
{
    const int64_t training = (int64_t)point->replicas[ROLE_TRAINER] + point->replicas[ROLE_WORKER];
    const int64_t server_threads = point->server_threads > 0 ? point->server_threads : 1;
    return training * point->threads + point->replicas[ROLE_PSERVER] * server_threads;
}

const struct point *matrix_busiest(const struct matrix *m)
{
    const struct point *busiest = m->points;
    for (uint32_t i = 1; i < m->n_points; i++) {
        if (point_busy_threads(&m->points[i]) > point_busy_threads(busiest)) {
            busiest = &m->points[i];
        }
    }
    return busiest;
}

bool param_is_replicas(const struct spec *spec, const char *name)
{
    return array_any(spec->roles, ROLE_COUNT, it, str_eq_or_null(it->replicas.from, name));
}

bool param_is_point_field(const struct spec *spec, const char *name)
{
    return param_is_replicas(spec, name) || str_eq(name, "batch_size") || str_eq(name, "threads");
}
