/* See attempt_packer.h. Edge file: uses libuv's threads. */
#include "run/attempt_packer.h"

#include <errno.h>

#include <uv.h>

#include "base/mem.h"

struct job {
    uv_work_t work;
    struct attempt_packer *owner; /* NULL: dropped, and freed when it has ended */
    struct job *next;
    const struct store_ops *ops; /* static: the store may be closed when the job ends */
    struct attempt_output output;
    bool is_done;
    /* Of the other thread, until is_done. */
    struct packed_logs *packed;
    int r;
    struct err err;
};

struct attempt_packer {
    uv_loop_t *loop;
    struct launcher *launcher;
    const struct store_ops *ops;
    void (*on_packed)(void *ctx);
    void *ctx;
    struct job *jobs; /* a list; owned */
};

static void job_free(struct job *j)
{
    j->ops->free_packed(j->packed);
    attempt_output_done(&j->output);
    free(j);
}

static void work(uv_work_t *request)
{
    struct job *j = request->data;
    j->r = j->ops->pack_logs(j->output.logs.items, j->output.logs.len, &j->packed, &j->err);
}

static void on_worked(uv_work_t *request, int status)
{
    (void)status; /* nothing cancels it */
    struct job *j = request->data;
    j->is_done = true;
    if (j->owner == NULL) {
        job_free(j);
    } else {
        j->owner->on_packed(j->owner->ctx);
    }
}

struct attempt_packer *attempt_packer_new(struct uv_loop_s *loop, struct launcher *launcher,
                                          struct store *store, void (*on_packed)(void *ctx),
                                          void *ctx)
{
    if (launcher->ops->take_log == NULL || store->ops->pack_logs == NULL) {
        return NULL;
    }
    struct attempt_packer *p = xnew(struct attempt_packer);
    *p = (struct attempt_packer){loop, launcher, store->ops, on_packed, ctx, NULL};
    return p;
}

static struct job **find(struct attempt_packer *p, const struct attempt_id *id)
{
    struct job **at = &p->jobs;
    while (*at != NULL && !attempt_id_eq(&(*at)->output.row.id, id)) {
        at = &(*at)->next;
    }
    return at;
}

static void drop(struct job *j)
{
    if (j->is_done) {
        job_free(j);
    } else {
        j->owner = NULL;
    }
}

void attempt_packer_drop(struct attempt_packer *p, const struct attempt_id *id)
{
    struct job **at = find(p, id), *j = *at;
    *at = j->next;
    drop(j);
}

void attempt_packer_free(struct attempt_packer *p)
{
    for (struct job *j = p == NULL ? NULL : p->jobs, *next; j != NULL; j = next) {
        next = j->next;
        drop(j);
    }
    free(p);
}

void attempt_packer_start(struct attempt_packer *p, struct attempt_output *output_take)
{
    struct job *j = xnew(struct job);
    *j = (struct job){.owner = p, .next = p->jobs, .ops = p->ops, .output = *output_take};
    vec_each (struct replica_log, log, &j->output.logs) {
        log->data = p->launcher->ops->take_log(p->launcher, &log->id);
    }
    j->output.owns_logs = true;
    j->work.data = j;
    p->jobs = j;
    (void)uv_queue_work(p->loop, &j->work, work, on_worked); /* fails without a callback only */
}

bool attempt_packer_has(struct attempt_packer *p, const struct attempt_id *id)
{
    return *find(p, id) != NULL;
}

int attempt_packer_get(struct attempt_packer *p, const struct attempt_id *id,
                       struct attempt_output **ret, struct packed_logs **ret_packed,
                       struct err *err)
{
    struct job *j = *find(p, id);
    if (!j->is_done) {
        return -EAGAIN;
    }
    if (j->r < 0) {
        if (err != NULL) {
            *err = j->err;
        }
        return j->r;
    }
    *ret = &j->output;
    *ret_packed = j->packed;
    return 0;
}
