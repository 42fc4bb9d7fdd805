/* See run_result.h. */
#include "load/run_result.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "result/figures_unpack.h"
#include "result/figures_version.h"

static void rows_done(struct attempt_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        attempt_row_done(&rows[i]);
    }
    free(rows);
}

void run_result_done(struct run_result *r)
{
    result_free(r->result);
    rows_done(r->rows, r->n_rows);
    *r = (struct run_result){0};
}

/* ---- from rows ---- */

/* What a row's replicas say is in the result now. */
static void drop_texts(struct attempt_row *row)
{
    vec_each (struct replica_row, rep, &row->replicas) {
        free(rep->summary_json);
        free(rep->environment_json);
        rep->summary_json = rep->environment_json = NULL;
    }
}

/* The replicas of one point's attempts, into rows that were read without: all attempts that these
 * are, in their order. One that has ended since is left out, as if it had not. */
static int read_point(struct store *s, const char *uid, uint32_t point, struct attempt_row *rows,
                      size_t n_rows, struct err *err)
{
    struct attempt_row *full = NULL;
    size_t n = 0, at = 0;
    const struct attempt_wanted wanted = {point, -1, -1};
    int r = s->ops->list_wanted(s, uid, &wanted, &full, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        size_t same = at;
        while (same < n_rows && !attempt_id_eq(&rows[same].id, &full[i].id)) {
            same++;
        }
        if (same < n_rows) {
            attempt_row_done(&rows[same]);
            rows[same] = full[i];
            full[i] = (struct attempt_row){0};
            at = same + 1;
        }
        attempt_row_done(&full[i]);
    }
    free(full);
    return r;
}

/* Texts of so many replicas may be in memory at a time: 2.5 kB each, with a hundred step times. */
#define MAX_REPLICAS 2000

static uint64_t count_replicas(const struct run_def *def)
{
    uint64_t n = 0;
    for (uint32_t p = 0; p < def->matrix.n_points; p++) {
        for (enum role role = 0; role < ROLE_COUNT; role++) {
            n += def->matrix.points[p].replicas[role];
        }
    }
    return n * (uint64_t)def->spec->repeats;
}

static int add_points(struct store *s, const char *uid, const struct run_def *def,
                      struct run_result *run, bool is_small, struct err *err)
{
    int r = 0;
    for (uint32_t p = 0, at = 0; p < def->matrix.n_points && r >= 0; p++) {
        size_t end = at;
        while (end < run->n_rows && run->rows[end].id.point == p) {
            end++;
        }
        r = is_small ? 0 : read_point(s, uid, p, run->rows + at, end - at, err);
        if (r >= 0) {
            result_add_point(run->result, p, run->rows + at, end - at);
        }
        if (!run->has_replicas) {
            result_forget_point(run->result, p);
        }
        for (; at < end; at++) {
            drop_texts(&run->rows[at]);
            if (!run->has_replicas) {
                attempt_row_done(&run->rows[at]);
            }
        }
    }
    return r;
}

/* At once, or of many replicas point by point. Frees the replicas at the end if they are too many
 * to be kept and were not asked for. */
static int load_rows(struct store *s, const struct run_row *row, const struct run_def *def,
                     enum figures_of of, struct run_result *ret, struct err *err)
{
    const uint64_t n_replicas = count_replicas(def);
    const bool is_small = n_replicas <= MAX_REPLICAS;
    const bool keeps_replicas = of == FIGURES_OF_REPLICAS || n_replicas <= FIGURES_MAX_REPLICAS;
    struct run_result run = {.is_from_rows = true, .has_replicas = keeps_replicas};
    int r = (is_small ? s->ops->list_attempts : s->ops->list_outcomes)(s, row->uid, &run.rows,
                                                                       &run.n_rows, err);
    if (r < 0) {
        return r;
    }
    run.result = result_begin(def, row->status.phase);
    r = add_points(s, row->uid, def, &run, is_small, err);
    if (r < 0) {
        run_result_done(&run);
        return r;
    }
    (keeps_replicas ? result_end : result_end_points)(run.result);
    *ret = run;
    return 0;
}

static void forget_replicas(struct run_result *run)
{
    result_forget_replicas(run->result);
    rows_done(run->rows, run->n_rows);
    run->rows = NULL;
    run->n_rows = 0;
    run->has_replicas = false;
}

/* ---- from stored figures ---- */

static int unpack(struct store *s, const struct run_row *row, const struct run_def *def,
                  enum figures_of of, const struct stored_figures *stored, struct run_result *ret,
                  struct err *err)
{
    struct run_result run = {.has_replicas = of == FIGURES_OF_REPLICAS};
    const struct figures_bytes bytes = {
        .points = {.data = stored->points, .len = stored->points_len},
        .replicas = {.data = stored->replicas, .len = stored->replicas_len},
    };
    int r;
    if (of == FIGURES_OF_POINTS) {
        r = figures_unpack_points(def, row->status.phase, &bytes, &run.result, err);
    } else {
        r = s->ops->list_outcomes(s, row->uid, &run.rows, &run.n_rows, err);
        r = r < 0 ? r
                  : figures_unpack(def, row->status.phase, &bytes, run.rows, run.n_rows,
                                   &run.result, err);
    }
    if (r < 0) {
        run_result_done(&run);
        return r;
    }
    *ret = run;
    return 0;
}

/* -ENOENT if none exist that this program can read. */
static int load_figures(struct store *s, const struct run_row *row, const struct run_def *def,
                        enum figures_of of, struct run_result *ret, struct err *err)
{
    struct stored_figures stored = {0};
    if (!run_phase_is_final(row->status.phase) || figures_version()[0] == '\0') {
        return -ENOENT;
    }
    int r = s->ops->get_figures(s, row->uid, figures_version(), of == FIGURES_OF_REPLICAS, &stored,
                                err);
    if (r >= 0) {
        r = unpack(s, row, def, of, &stored, ret, err);
        stored_figures_done(&stored);
    }
    return r == -EBADMSG ? -ENOENT : r; /* the rows are still there */
}

int run_result_load(struct store *s, const struct run_row *row, const struct run_def *def,
                    enum figures_of of, struct run_result *ret, struct err *err)
{
    int r = load_figures(s, row, def, of, ret, err);
    if (r == -ENOENT && (r = load_rows(s, row, def, of, ret, err)) >= 0 &&
        of == FIGURES_OF_POINTS) {
        forget_replicas(ret);
    }
    return r;
}

/* ---- storing them ---- */

void run_figures_done(struct run_figures *f)
{
    figures_bytes_done(&f->bytes);
}

int run_figures_put(struct store *s, const char *uid, const struct run_figures *f, struct err *err)
{
    if (figures_version()[0] == '\0') {
        return 0;
    }
    const struct stored_figures stored = {
        .points = f->bytes.points.data,
        .points_len = f->bytes.points.len,
        .replicas = f->bytes.replicas.data,
        .replicas_len = f->bytes.replicas.len,
    };
    return s->ops->put_figures(s, uid, figures_version(), &f->source, &stored, err);
}

static void pack(const struct run_row *row, const struct run_result *run, struct run_figures *ret)
{
    *ret = (struct run_figures){.source = {row->incarnation, (int64_t)run->n_rows}};
    figures_pack(run->result, run->has_replicas, &ret->bytes);
}

int run_result_load_and_keep(struct store *s, const struct run_row *row, const struct run_def *def,
                             enum figures_of of, struct run_result *ret, struct err *err)
{
    int r = load_figures(s, row, def, of, ret, err);
    if (r != -ENOENT) {
        return r;
    }
    if ((r = load_rows(s, row, def, of, ret, err)) < 0) {
        return r;
    }
    if (run_phase_is_final(row->status.phase)) {
        struct run_figures f;
        pack(row, ret, &f);
        (void)run_figures_put(s, row->uid, &f, NULL); /* then the rows are read again next time */
        run_figures_done(&f);
    }
    if (of == FIGURES_OF_POINTS) {
        forget_replicas(ret);
    }
    return 0;
}

int run_figures_make(struct store *s, const struct run_row *row, const struct run_def *def,
                     struct run_figures *ret, struct result **ret_result, struct err *err)
{
    struct run_result run;
    const int r = load_rows(s, row, def, FIGURES_OF_POINTS, &run, err);
    if (r < 0) {
        return r;
    }
    pack(row, &run, ret);
    forget_replicas(&run);
    *ret_result = run.result;
    return 0;
}

int run_figures_keep(struct store *s, const char *uid, struct err *err)
{
    struct run_row row;
    struct run_def *def = NULL;
    struct run_result run = {0};
    int r = s->ops->get_run(s, uid, &row, err);
    if (r < 0) {
        return r;
    }
    r = store_load_run_def(&row, &def, err);
    r = r < 0 ? r : run_result_load_and_keep(s, &row, def, FIGURES_OF_POINTS, &run, err);
    run_result_done(&run);
    run_def_free(def);
    run_row_done(&row);
    return r;
}
