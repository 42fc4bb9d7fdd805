/* Packing in another thread: the loop goes on, and nothing is lost or used after its end. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include <uv.h>

#include "tests/test.h"
#include "base/buf.h"
#include "run/attempt_packer.h"
#include "run/reconcile_pass.h"

/* ---- a store that packs when the test says so, and a launcher with logs ---- */

struct packed_logs {
    pthread_t by;
    struct buf text; /* of all logs */
};

static struct {
    sem_t may_pack;
    int code; /* of the next pack */
} fake;
static atomic_uint n_packed, n_freed;

static int fake_pack(const struct replica_log *logs, size_t n_logs, struct packed_logs **ret,
                     struct err *err)
{
    while (sem_wait(&fake.may_pack) < 0) {
    }
    if (fake.code != 0) {
        return err_set(err, fake.code, "it is too much");
    }
    struct packed_logs *p = xnew(struct packed_logs);
    p->by = pthread_self();
    for (size_t i = 0; i < n_logs; i++) {
        buf_append(&p->text, logs[i].data, logs[i].len);
    }
    n_packed++;
    *ret = p;
    return 0;
}

static void fake_free(struct packed_logs *p)
{
    if (p != NULL) {
        n_freed++;
        buf_done(&p->text);
        free(p);
    }
}

static char *fake_take(struct launcher *l, const struct replica_id *id)
{
    (void)l;
    return xasprintf("log %u\n", id->index);
}

struct world {
    uv_loop_t loop;
    uv_timer_t timer;
    struct attempt_packer *packer;
    unsigned n_told, n_ticks;
};

static void on_packed(void *ctx)
{
    ((struct world *)ctx)->n_told++;
}

static void world_open(struct world *w)
{
    static const struct store_ops store_ops = {.pack_logs = fake_pack, .free_packed = fake_free};
    static const struct launcher_ops launcher_ops = {.take_log = fake_take};
    static struct store store = {&store_ops};
    static struct launcher launcher = {.ops = &launcher_ops};
    memset(&fake, 0, sizeof(fake));
    n_packed = n_freed = 0;
    assert_int_equal(sem_init(&fake.may_pack, 0, 0), 0);
    *w = (struct world){0};
    assert_int_equal(uv_loop_init(&w->loop), 0);
    assert_int_equal(uv_timer_init(&w->loop, &w->timer), 0);
    w->timer.data = w;
    w->packer = attempt_packer_new(&w->loop, &launcher, &store, on_packed, w);
    assert_non_null(w->packer);
}

static void world_close(struct world *w)
{
    attempt_packer_free(w->packer);
    uv_close((uv_handle_t *)&w->timer, NULL);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    assert_int_equal(n_freed, n_packed);
}

static const struct attempt_id first = {0, 1, 2}, second = {0, 1, 3};

/* With two logs, which the launcher still has. */
static void start(struct world *w, const struct attempt_id *id)
{
    struct attempt_output output = {.row.id = *id};
    for (uint32_t i = 0; i < 2; i++) {
        *vec_push(&output.logs) =
            (struct replica_log){{*id, ROLE_TRAINER, i}, "lent: not to be read", 6};
    }
    attempt_packer_start(w->packer, &output);
}

static void on_tick(uv_timer_t *timer)
{
    struct world *w = timer->data;
    if (++w->n_ticks == 3) {
        (void)sem_post(&fake.may_pack);
        (void)uv_timer_stop(timer);
    }
}

TEST(the_loop_goes_on)
{
    _cleanup_(world_close) struct world w;
    struct attempt_output *output;
    struct packed_logs *packed;
    world_open(&w);
    assert_false(attempt_packer_has(w.packer, &first));
    start(&w, &first);
    assert_true(attempt_packer_has(w.packer, &first));
    assert_false(attempt_packer_has(w.packer, &second));
    assert_int_equal(attempt_packer_get(w.packer, &first, &output, &packed, NULL), -EAGAIN);
    assert_int_equal(uv_timer_start(&w.timer, on_tick, 1, 1), 0);
    assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0); /* it ends: the third tick lets it pack */
    assert_int_equal(w.n_told, 1);
    assert_int_equal(attempt_packer_get(w.packer, &first, &output, &packed, NULL), 0);
    assert_false(pthread_equal(packed->by, pthread_self()));
    assert_string_equal(buf_cstr(&packed->text), "log 0\nlog 1\n");
    assert_int_equal(output->logs.len, 2);
    assert_memory_equal(output->logs.items[1].data, "log 1\n", 6);
    attempt_packer_drop(w.packer, &first);
    assert_false(attempt_packer_has(w.packer, &first));
}

/* Each is there until it is dropped: its logs are nowhere else. What nobody wants any more ends by
 * itself. */
TEST(several_at_once)
{
    struct world w;
    struct attempt_output *output;
    struct packed_logs *packed;
    world_open(&w);
    start(&w, &first);
    start(&w, &second);
    assert_true(attempt_packer_has(w.packer, &first) && attempt_packer_has(w.packer, &second));
    attempt_packer_drop(w.packer, &first);
    assert_false(attempt_packer_has(w.packer, &first));
    start(&w, &first);
    for (int i = 0; i < 3; i++) {
        (void)sem_post(&fake.may_pack);
    }
    assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(w.n_told, 2);
    assert_int_equal(attempt_packer_get(w.packer, &second, &output, &packed, NULL), 0);
    assert_true(attempt_id_eq(&output->row.id, &second));
    assert_int_equal(attempt_packer_get(w.packer, &first, &output, &packed, NULL), 0);
    assert_true(attempt_id_eq(&output->row.id, &first));
    attempt_packer_drop(w.packer, &second);
    assert_true(attempt_packer_has(w.packer, &first));
    start(&w, &second); /* it packs yet when all is freed */
    reconcile_pass_done(&(struct reconcile_pass){.packer = w.packer});
    w.packer = NULL;
    (void)sem_post(&fake.may_pack);
    world_close(&w);
    assert_int_equal(n_packed, 4);
    assert_int_equal(w.n_told, 2);
}

TEST(an_error_is_passed_on)
{
    _cleanup_(world_close) struct world w;
    struct attempt_output *output;
    struct packed_logs *packed;
    struct err err = {0};
    world_open(&w);
    fake.code = E2BIG;
    start(&w, &first);
    (void)sem_post(&fake.may_pack);
    assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(attempt_packer_get(w.packer, &first, &output, &packed, &err), -E2BIG);
    assert_string_equal(err.msg, "it is too much");
}

/* Then the loop does it. */
TEST(who_cannot_take_logs)
{
    static const struct store_ops store_ops = {.pack_logs = fake_pack, .free_packed = fake_free};
    static const struct launcher_ops launcher_ops;
    struct store store = {&store_ops};
    struct launcher launcher = {.ops = &launcher_ops};
    assert_null(attempt_packer_new(NULL, &launcher, &store, on_packed, NULL));
}
