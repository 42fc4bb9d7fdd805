/* See archive_store.h. */
#include "load/archive_store.h"

#include <errno.h>

#include "base/mem.h"
#include "load/archive_run.h"

/* ---- out of the store ---- */

static int add_log(struct store *s, const char *uid, const struct replica_id *id, struct archive *a,
                   struct err *err)
{
    _cleanup_(freep) char *text = NULL;
    size_t len = 0;
    const int r = s->ops->get_log(s, uid, id, &text, &len, err);
    return r >= 0         ? archive_run_add_log(a, id, &(struct buf){.data = text, .len = len}, err)
           : r == -ENOENT ? 0 /* it printed nothing */
                          : r;
}

int archive_store_pack(struct store *s, const char *uid, const char *near, struct buf *out,
                       struct err *err)
{
    struct run_row row = {0};
    struct loaded_run run = {0};
    _cleanup_(archive_done) struct archive a = {0};
    int r = s->ops->get_run(s, uid, &row, err);
    r = r < 0 ? r : loaded_run_read(s, &row, &run, err);
    struct replica_ids with_log = {0};
    r = r < 0 ? r : archive_run_new(&run, near, &a, &with_log, err);
    loaded_run_done(&run); /* compression needs memory, too */
    vec_each (const struct replica_id, id, &with_log.list) {
        r = r < 0 ? r : add_log(s, uid, id, &a, err);
    }
    vec_done(&with_log.list);
    return r < 0 ? r : archive_write(&a, out, err);
}

/* ---- into the store ---- */

struct ready { /* what save_attempt takes of one attempt */
    struct trial_terms terms;
    VEC(struct replica_log) logs; /* borrowed */
    struct packed_attempt *packed;
};

static int make_ready(const struct store_ops *ops, const struct archive *a,
                      const struct loaded_run *run, const struct attempt_row *row, size_t *at,
                      struct ready *ret, struct err *err)
{
    ret->terms = run_def_terms(run->def, row->id.point);
    vec_each (const struct replica_row, replica, &row->replicas) {
        const struct buf *text = archive_run_next_log(a, &replica->id, at);
        if (text != NULL) {
            *vec_push(&ret->logs) = (struct replica_log){replica->id, text->data, text->len};
        }
    }
    return ops->pack_attempt(row, &ret->terms, ret->logs.items, ret->logs.len, &ret->packed, err);
}

static int put_all(struct store *s, const struct loaded_run *run, const struct ready *ready,
                   struct err *err)
{
    int r = s->ops->put_run(s, &run->row, err);
    for (size_t i = 0; i < run->n_rows && r >= 0; i++) {
        r = s->ops->save_attempt(s, run->row.uid, &run->rows[i], &ready[i].terms,
                                 ready[i].logs.items, ready[i].logs.len, ready[i].packed, err);
    }
    for (size_t i = 0; i < run->n_events && r >= 0; i++) {
        r = s->ops->add_event(s, run->row.uid, &run->events[i], err);
    }
    return r;
}

/* What takes long is done before others have to wait. */
int archive_store_put(struct store *s, const struct archive *a, const struct loaded_run *run,
                      struct err *err)
{
    _cleanup_(freep) struct ready *ready = xnew_array(struct ready, run->n_rows);
    size_t at = 0;
    int r = 0;
    for (size_t i = 0; i < run->n_rows && r >= 0; i++) {
        r = make_ready(s->ops, a, run, &run->rows[i], &at, &ready[i], err);
    }
    if (r >= 0 && (r = s->ops->begin_write(s, err)) >= 0) {
        r = s->ops->end_write(s, put_all(s, run, ready, err), err);
    }
    for (size_t i = 0; i < run->n_rows; i++) {
        s->ops->free_packed(ready[i].packed);
        vec_done(&ready[i].logs);
    }
    return r;
}
