/* See run_result.h. */
#include "load/run_result.h"

#include <errno.h>

#include "base/mem.h"
#include "base/vec_walk.h"
#include "core/role.h"
#include "result/result_build.h"
#include "result/trial_figures.h"

void run_result_done(struct run_result *r)
{
    result_free(r->result);
    free_each(r->rows, r->n_rows, attempt_row_done);
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
    const uint64_t n =
        array_sum(def->matrix.points, def->matrix.n_points, p, (uint64_t)member_count(p->replicas));
    return n * (uint64_t)def->spec->repeats;
}

static int add_points(struct store *s, const char *uid, const struct run_def *def,
                      struct run_result *run, enum figures_of of, bool is_small, struct err *err)
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
        if (of == FIGURES_OF_POINTS) {
            result_forget_point(run->result, p);
        }
        for (; at < end; at++) {
            (of == FIGURES_OF_POINTS ? attempt_row_done : drop_texts)(&run->rows[at]);
        }
    }
    return r;
}

/* At once, or of many replicas point by point. */
static int load_rows(struct store *s, const struct run_row *row, const struct run_def *def,
                     enum figures_of of, struct run_result *run, struct err *err)
{
    const bool is_small = count_replicas(def) <= MAX_REPLICAS;
    int r = (is_small ? s->ops->list_attempts : s->ops->list_outcomes)(s, row->uid, &run->rows,
                                                                       &run->n_rows, err);
    run->result = result_begin(def, row->status.phase);
    return r < 0 ? r : add_points(s, row->uid, def, run, of, is_small, err);
}

/* ---- from figures ---- */

struct reading {
    struct figures_reader reader;
    struct run_result *run;
    size_t at; /* both lists have the same order */
};

/* Those of an attempt that has ended since are passed over. */
static int on_figures(void *ctx, const struct attempt_id *id, const struct trial_figures *figures)
{
    struct reading *r = ctx;
    size_t at = r->at;
    while (at < r->run->n_rows && !attempt_id_eq(&r->run->rows[at].id, id)) {
        at++;
    }
    if (at == r->run->n_rows) {
        return 0;
    }
    r->at = at + 1;
    return figures_read(&r->reader, &r->run->rows[at], figures) ? 0 : -EBADMSG;
}

/* -ENOENT: an attempt has no figures; -EBADMSG: they are damaged. */
static int load_figures(struct store *s, const struct run_row *row, const struct run_def *def,
                        enum figures_of of, struct run_result *run, struct err *err)
{
    int r = s->ops->list_outcomes(s, row->uid, &run->rows, &run->n_rows, err);
    run->result = result_begin(def, row->status.phase);
    struct reading reading = {.reader.result = run->result, .run = run};
    if (r >= 0) {
        result_assign_rows(run->result, run->rows, run->n_rows);
        r = s->ops->list_figures(s, row->uid, of == FIGURES_OF_REPLICAS, on_figures, &reading, err);
    }
    if (r >= 0) {
        r = figures_end(&reading.reader) ? 0 : -ENOENT;
    }
    figures_reader_done(&reading.reader);
    return r;
}

int run_result_load(struct store *s, const struct run_row *row, const struct run_def *def,
                    enum figures_of of, struct run_result *ret, struct err *err)
{
    struct run_result run = {0};
    int r = load_figures(s, row, def, of, &run, err);
    if (r == -ENOENT || r == -EBADMSG) { /* the rows are still there, or are damaged, too */
        run_result_done(&run);
        r = load_rows(s, row, def, of, &run, err);
    }
    if (r < 0) {
        run_result_done(&run);
        return r;
    }
    if (of == FIGURES_OF_REPLICAS) {
        result_end(run.result);
    } else {
        result_end_points(run.result);
        result_forget_replicas(run.result);
        free_each(run.rows, run.n_rows, attempt_row_done);
        run.rows = NULL;
        run.n_rows = 0;
    }
    *ret = run;
    return 0;
}
