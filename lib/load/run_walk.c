/* See run_walk.h. */
#include "load/run_walk.h"

#include <assert.h>
#include <errno.h>

#include "base/mem.h"
#include "result/result_json.h"

void run_walk_done(struct run_walk *w)
{
    if (w->read != NULL) {
        free_each(w->read, w->n, attempt_row_done);
    }
    w->read = NULL;
    w->list = NULL;
    w->n = w->next = 0;
}

/* What has ended since is left out, as if it had not. */
static int read_point(struct run_walk *w, const struct attempt_row *known, size_t n_known,
                      struct err *err)
{
    const struct attempt_wanted wanted = {known[0].id.point, -1, -1};
    size_t n_read;
    const int r = w->store->ops->list_wanted(w->store, w->uid, &wanted, &w->read, &n_read, err);
    for (size_t i = 0; r >= 0 && i < n_read; i++) {
        if (w->n < n_known && attempt_id_eq(&w->read[i].id, &known[w->n].id)) {
            const struct attempt_row row = w->read[i];
            w->read[i] = (struct attempt_row){0};
            w->read[w->n++] = row;
        } else {
            attempt_row_done(&w->read[i]);
        }
    }
    w->list = w->read;
    const bool is_whole = w->n == n_known;
    if (r >= 0 && !is_whole) {
        return err_set(err, ENOENT, "point %u: an attempt is not there any more",
                       known[0].id.point);
    }
    return r;
}

int run_walk_to(struct run_walk *w, uint32_t point, struct err *err)
{
    assert(w->at == 0 || w->rows[w->at - 1].id.point < point); /* they rise */
    run_walk_done(w);
    while (w->at < w->n_rows && w->rows[w->at].id.point < point) {
        w->at++;
    }
    const struct attempt_row *known = w->rows + w->at;
    size_t n = 0;
    for (; w->at < w->n_rows && w->rows[w->at].id.point == point; w->at++) {
        n++;
    }
    if (w->store != NULL && n > 0) {
        return read_point(w, known, n, err);
    }
    w->list = known;
    w->n = n;
    return 0;
}

int run_walk_next(struct run_walk *w, const struct attempt_row **ret, struct err *err)
{
    int r = 0;
    if (w->next == w->n && w->at < w->n_rows) {
        r = run_walk_to(w, w->rows[w->at].id.point, err);
    }
    if (r < 0 || w->next == w->n) {
        run_walk_done(w);
        return r;
    }
    *ret = &w->list[w->next++];
    return 1;
}

int run_walk_point(struct run_walk *w, const struct result *r, uint32_t point,
                   struct point_result *ret, struct err *err)
{
    const int code = run_walk_to(w, point, err);
    if (code >= 0) {
        *ret = point_open(&r->points[point], w->list, w->n);
    }
    return code;
}

int run_walk_put_json(struct run_walk *walk, const struct result *r, struct buf *out,
                      struct err *err)
{
    struct json_out w = {.out = out};
    int code = 0;
    result_json_begin(&w, r);
    for (uint32_t i = 0; code >= 0 && i < r->def->matrix.n_points; i++) {
        struct point_result p;
        if ((code = run_walk_point(walk, r, i, &p, err)) >= 0) {
            result_json_add(&w, &p);
            point_close(&p);
        }
    }
    if (code >= 0) {
        result_json_end(&w, r);
    }
    return code;
}
