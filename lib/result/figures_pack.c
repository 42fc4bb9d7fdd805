/* See figures_pack.h.
 *
 * Both parts begin with u8 FIGURES_FORMAT and their texts (columns.h); then
 *   points    u32 points, u8 simulated; for each point its CPUs (bits), u32 m, columns of its m
 *             trials that have ended, a column of how many values each key of its machines has, a
 *             column of these
 *   replicas  u32 n, n x kind of machine; u32 n, a column of the n different step times; for each
 *             point u32 m, columns of its m trials, columns of all their replicas, a column of the
 *             trials' step times
 * A column of step times has their indices: as they are written with two bytes, there are few
 * different ones. */
#include "result/figures_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "result/columns.h"
#include "result/figures_format.h"
#include "result/result_parts.h"

void figures_bytes_done(struct figures_bytes *b)
{
    buf_done(&b->points);
    buf_done(&b->replicas);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* A column while it is collected. */
struct column {
    VEC(uint64_t) list;
};

static void column_end(struct column *c, struct buf *out)
{
    columns_put(out, c->list.items, c->list.len);
    vec_done(&c->list);
}

/* In front of what follows them. */
static void put_part(struct columns_texts *texts, struct buf *body, struct buf *ret)
{
    columns_put_number(ret, FIGURES_FORMAT, 1);
    columns_texts_end(texts, ret);
    buf_append(ret, body->data, body->len);
    buf_done(body);
}

/* ---- points ---- */

static uint64_t unit_index(const char *unit)
{
    uint64_t i = 0;
    while (i + 1 < SUMMARY_UNIT_COUNT && !str_eq(result_unit_name((enum summary_unit)i), unit)) {
        i++;
    }
    return i;
}

#define TRIAL_COLUMNS 17
static void put_trials(const struct point_result *p, struct columns_texts *texts, struct buf *out)
{
    struct column columns[TRIAL_COLUMNS] = {0};
    uint32_t n = 0;
    for (size_t i = 0; i < p->n_trials; i++) {
        const struct trial_result *t = &p->trials[i];
        if (!t->has_ended) {
            continue;
        }
        n++;
        const uint64_t values[TRIAL_COLUMNS] = {
            t->trial,
            t->attempt,
            t->outcome,
            t->phase,
            t->throughput.estimate.known,
            bits_of(t->throughput.estimate.value),
            unit_index(t->throughput.unit),
            columns_texts_add(texts, t->error),
            columns_texts_add(texts, t->details),
            t->evaluations_k,
            t->evaluations_from,
            t->to_accuracy.state,
            bits_of(t->to_accuracy.s),
            bits_of(t->to_accuracy.best),
            t->after.state,
            bits_of(t->after.accuracy),
            bits_of(t->others_share),
        };
        for (size_t k = 0; k < TRIAL_COLUMNS; k++) {
            *vec_push(&columns[k].list) = values[k];
        }
    }
    columns_put_number(out, n, 4);
    for (size_t k = 0; k < TRIAL_COLUMNS; k++) {
        column_end(&columns[k], out);
    }
}

static void put_machines(const struct machines *m, struct columns_texts *texts, struct buf *out)
{
    struct column counts = {0}, values = {0};
    for (size_t k = 0; k < MACHINE_KEY_COUNT; k++) {
        *vec_push(&counts.list) = m->values[k].list.len;
        vec_each (char *const, text, &m->values[k].list) {
            *vec_push(&values.list) = columns_texts_add(texts, *text);
        }
    }
    column_end(&counts, out);
    column_end(&values, out);
}

static void pack_points(const struct result *r, struct buf *ret)
{
    const uint32_t n = r->def->matrix.n_points;
    struct columns_texts texts = {0};
    struct buf body = BUF_INIT;
    columns_put_number(&body, n, 4);
    columns_put_number(&body, r->simulated, 1);
    for (uint32_t i = 0; i < n; i++) {
        columns_put_number(&body, bits_of(r->points[i].cpus), 8);
        put_trials(&r->points[i], &texts, &body);
        put_machines(&r->points[i].machines, &texts, &body);
    }
    put_part(&texts, &body, ret);
}

/* ---- replicas ---- */

/* All different step times, sorted by their bits. */
struct times {
    VEC(uint64_t) list;
};

static int by_bits(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void collect_times(const struct result *r, struct times *times)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        for (size_t j = 0; j < r->points[i].n_trials; j++) {
            const struct step_series *s = &r->points[i].trials[j].steps;
            for (size_t k = 0; k < s->n; k++) {
                *vec_push(&times->list) = bits_of(s->us[k]);
            }
        }
    }
    if (times->list.len == 0) {
        return;
    }
    qsort(times->list.items, times->list.len, sizeof(uint64_t), by_bits);
    size_t n = 1;
    for (size_t i = 1; i < times->list.len; i++) {
        if (times->list.items[i] != times->list.items[n - 1]) {
            times->list.items[n++] = times->list.items[i];
        }
    }
    times->list.len = n;
}

static uint64_t time_index(const struct times *times, double us)
{
    const uint64_t bits = bits_of(us);
    const uint64_t *found =
        bsearch(&bits, times->list.items, times->list.len, sizeof(bits), by_bits);
    return (uint64_t)(found - times->list.items);
}

static void put_gangs(const struct point_result *p, const struct times *times, struct buf *out)
{
    struct column n_replicas = {0}, n_times = {0}, k = {0}, series = {0};
    uint32_t n = 0;
    for (size_t i = 0; i < p->n_trials; i++) {
        const struct trial_result *t = &p->trials[i];
        if (!t->has_ended) {
            continue;
        }
        n++;
        *vec_push(&n_replicas.list) = t->n_replicas;
        *vec_push(&n_times.list) = t->steps.n;
        *vec_push(&k.list) = t->steps.k;
        for (size_t j = 0; j < t->steps.n; j++) {
            *vec_push(&series.list) = time_index(times, t->steps.us[j]);
        }
    }
    columns_put_number(out, n, 4);
    column_end(&n_replicas, out);
    column_end(&n_times, out);
    column_end(&k, out);
    column_end(&series, out);
}

#define ROW_COLUMNS 5
static void put_row(const struct replica_row *row, struct column columns[static ROW_COLUMNS])
{
    const uint64_t values[ROW_COLUMNS] = {row->id.index, row->id.role, (uint32_t)row->exit_code,
                                          (uint32_t)row->signal, row->log_bytes};
    for (size_t k = 0; k < ROW_COLUMNS; k++) {
        *vec_push(&columns[k].list) = values[k];
    }
}

static void put_texts(const struct replica_result *r, struct columns_texts *texts,
                      struct column columns[static FIGURES_TEXT_COUNT])
{
    const char *const values[FIGURES_TEXT_COUNT] = {
        [FIGURES_FAILURE] = r->row->failure,
        [FIGURES_NODE] = r->node,
        [FIGURES_RULE] = r->summary.source.rule,
        [FIGURES_METHOD] = r->summary.source.method,
    };
    for (size_t k = 0; k < FIGURES_TEXT_COUNT; k++) {
        *vec_push(&columns[k].list) = columns_texts_add(texts, values[k]);
    }
}

static void put_replicas(const struct point_result *p, struct columns_texts *texts, struct buf *out)
{
    const size_t n_columns = figures_column_count();
    struct column rows[ROW_COLUMNS] = {0}, names[FIGURES_TEXT_COUNT] = {0};
    _cleanup_(freep) struct column *columns = xnew_array(struct column, n_columns);
    for (size_t i = 0; i < p->n_trials; i++) {
        const struct trial_result *t = &p->trials[i];
        for (size_t j = 0; j < t->n_replicas; j++) {
            put_row(t->replicas[j].row, rows);
            put_texts(&t->replicas[j], texts, names);
            for (size_t k = 0; k < n_columns; k++) {
                *vec_push(&columns[k].list) = figures_column_get(&t->replicas[j], k);
            }
        }
    }
    for (size_t k = 0; k < ROW_COLUMNS; k++) {
        column_end(&rows[k], out);
    }
    for (size_t k = 0; k < FIGURES_TEXT_COUNT; k++) {
        column_end(&names[k], out);
    }
    for (size_t k = 0; k < n_columns; k++) {
        column_end(&columns[k], out);
    }
}

static void put_hardware(const struct result *r, struct columns_texts *texts, struct buf *out)
{
    columns_put_number(out, r->hardware.len, 4);
    vec_each (const struct hardware, h, &r->hardware) {
        const char *const values[] = {h->cpu_model, h->blas_core, h->kernel, h->build, h->source};
        for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
            columns_put_number(out, columns_texts_add(texts, values[k]), 4);
        }
        columns_put_number(out, h->n_replicas, 8);
    }
}

static void pack_replicas(const struct result *r, struct buf *ret)
{
    struct columns_texts texts = {0};
    struct times times = {0};
    struct buf body = BUF_INIT;
    put_hardware(r, &texts, &body);
    collect_times(r, &times);
    columns_put_number(&body, times.list.len, 4);
    columns_put(&body, times.list.items, times.list.len);
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        put_gangs(&r->points[i], &times, &body);
        put_replicas(&r->points[i], &texts, &body);
    }
    vec_done(&times.list);
    put_part(&texts, &body, ret);
}

static size_t count_replicas(const struct result *r)
{
    size_t n = 0;
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        for (size_t j = 0; j < r->points[i].n_trials; j++) {
            n += r->points[i].trials[j].n_replicas;
        }
    }
    return n;
}

void figures_pack(const struct result *r, bool has_replicas, struct figures_bytes *ret)
{
    struct figures_bytes bytes = {0};
    pack_points(r, &bytes.points);
    if (has_replicas && count_replicas(r) <= FIGURES_MAX_REPLICAS) {
        pack_replicas(r, &bytes.replicas);
    }
    *ret = bytes;
}
