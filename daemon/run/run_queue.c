/* See run_queue.h. */
#include "daemon/run/run_queue.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "decide/policy_wait.h"

/* ---- who is there ---- */

void run_queue_done(struct run_queue *q)
{
    vec_each (struct run *, it, &q->runs) {
        run_free(*it);
    }
    vec_done(&q->runs);
    vec_done(&q->by_uid);
    vec_free(&q->resting);
}

/* The place of `uid`, or where it belongs. */
static bool find_busy(const struct run_queue *q, const char *uid, size_t *ret)
{
    return vec_search(&q->by_uid, run, strcmp((*run)->uid, uid), ret);
}

static bool find_resting(const struct run_queue *q, const char *uid, size_t *ret)
{
    return vec_search(&q->resting, run, strcmp((*run)->uid, uid), ret);
}

struct run *run_queue_find(const struct run_queue *q, const char *uid)
{
    size_t at;
    return find_busy(q, uid, &at) ? q->by_uid.items[at] : NULL;
}

bool run_queue_is_resting(const struct run_queue *q, const char *uid)
{
    size_t at;
    return find_resting(q, uid, &at);
}

struct run *run_queue_active(const struct run_queue *q)
{
    return vec_find_item(&q->runs, run, run_is_driven(run));
}

void run_queue_add(struct run_queue *q, struct run *run_take)
{
    size_t at;
    if (find_resting(q, run_take->uid, &at)) {
        free(q->resting.items[at]);
        vec_remove(&q->resting, at);
    }
    *vec_push(&q->runs) = run_take;
    (void)find_busy(q, run_take->uid, &at);
    *vec_insert(&q->by_uid, at) = run_take;
}

/* Takes the i-th run out of the queue; it lives on. */
static void take_out(struct run_queue *q, size_t i)
{
    size_t at;
    (void)find_busy(q, q->runs.items[i]->uid, &at); /* it is there */
    vec_remove(&q->by_uid, at);
    q->runs.items[i] = q->runs.items[--q->runs.len];
}

/* The disk or the file's place, and not one run's rows, name or definition. */
static bool is_of_the_whole_store(int r)
{
    return r == -ENOSPC || r == -EIO || r == -EROFS || r == -EACCES || r == -EPERM;
}

/* Takes the answer `r` of a function of `run`: only an error of the whole store is passed on. */
static int contain(struct run *run, int r, const struct err *why, struct err *err)
{
    if (r >= 0) {
        return 0;
    }
    if (is_of_the_whole_store(r)) {
        return err_set(err, -r, "run '%s': %s", run->name, why->msg);
    }
    run_park(run, why);
    if (run->parking.n_times > RUN_PARK_TIMES_MAX) {
        run_give_up(run, why);
    }
    return 0;
}

int run_queue_drop_deleted(struct run_queue *q, struct err *err)
{
    for (size_t i = q->runs.len; i > 0; i--) {
        struct run *run = q->runs.items[i - 1];
        if (!run->asked.is_gone || run_is_parked(run)) {
            continue;
        }
        struct err why = {0};
        /* Its pods go first: the next run must not share their CPUs. */
        if (run->life == LIFE_DRIVEN) {
            (void)run_steer(run, &why); /* a driver that is asked cannot fail */
            continue;
        }
        if (run->life == LIFE_DONE) {
            (void)run_stop(run, &why); /* nothing depends on how it ended */
        }
        int r = run_drop_deleted(run, &why);
        if (r == 0) {
            take_out(q, i - 1);
            run_free(run);
            continue;
        }
        r = contain(run, r, &why, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* How many more definitions may be read. */
static int count_room(const struct run_queue *q)
{
    int n_room = RUN_QUEUE_READ_MAX;
    vec_each (struct run *, it, &q->runs) {
        n_room -= run_life_is_read((*it)->life);
    }
    return n_room;
}

/* The part of a round that one turn of the loop does. */
struct slice {
    int64_t began_ns; /* of CPU time */
    unsigned n_runs, n_round;
    int n_room;
    const struct run *lacks_room; /* one that waits for room; NULL: none */
    const struct run *left;       /* one for the next turn; NULL: none */
    bool has_left_new;
};

static void leave(struct slice *s, const struct run *run)
{
    s->left = run;
    s->has_left_new = s->has_left_new || !run->is_seen;
}

/* For work that began at `began_ns` of CPU time. */
static bool is_turn_over(const struct run_queue *q, int64_t began_ns)
{
    const int64_t now_ns = clock_thread_cpu_ns();
    return now_ns - q->turn_cpu_ns >= RUN_QUEUE_TURN_NS && now_ns - began_ns >= RUN_QUEUE_LEAST_NS;
}

static int accept(struct slice *s, struct run *run, struct err *err)
{
    const struct kube_object *object = kube_cache_get(run->env->runs, run->name);
    const bool was_read = run_life_is_read(run->life);
    const int r = object == NULL ? 0 : run_accept(run, object->facts, s->n_room > 0, err);
    s->n_room += was_read - run_life_is_read(run->life);
    return r;
}

/* It is new or may be accepted, and it is its turn. */
static bool takes_turn(struct slice *s, struct run *run)
{
    const bool is_due = !run->is_seen || run_may_accept(run);
    if (!is_due || run->n_round == s->n_round) {
        return false;
    }
    if (run->is_seen && run->life == LIFE_WAITING && !run->asked.cancel && s->n_room <= 0) {
        s->lacks_room = run;
        return false;
    }
    if (s->n_runs == RUN_QUEUE_SLICE) {
        leave(s, run);
        return false;
    }
    s->n_runs++;
    run->n_round = s->n_round;
    run->is_seen = true;
    return true;
}

int run_queue_accept(struct run_queue *q, struct err *err)
{
    struct slice slice = {
        .began_ns = clock_thread_cpu_ns(), .n_round = q->n_rounds + 1, .n_room = count_room(q)};
    vec_each (struct run *, it, &q->runs) {
        struct run *run = *it;
        if (run->asked.is_gone || run_is_parked(run)) {
            continue;
        }
        struct err why = {0};
        if (run->env->is_store_full) { /* its pods can go all the same */
            (void)(run_is_driven(run) ? run_steer(run, &why) : 0);
            continue;
        }
        if (!run_is_driven(run) && is_turn_over(q, slice.began_ns)) {
            leave(&slice, run);
            continue;
        }
        int r = takes_turn(&slice, run) && run_may_accept(run) ? accept(&slice, run, &why) : 0;
        r = r < 0 || !run->is_seen ? r : run_steer(run, &why);
        r = contain(run, r, &why, err);
        if (r < 0) {
            return r;
        }
    }
    if (slice.left != NULL || (slice.lacks_room != NULL && slice.n_room > 0)) {
        run_wake(slice.left ?: slice.lacks_room);
    }
    q->n_rounds += slice.left == NULL;
    return slice.has_left_new;
}

static int by_turn(const void *pa, const void *pb)
{
    const struct run *a = *(struct run *const *)pa, *b = *(struct run *const *)pb;
    const bool a_runs = wait_is_under_way(&a->status), b_runs = wait_is_under_way(&b->status);
    if (a_runs != b_runs) {
        return a_runs ? -1 : 1;
    }
    const int r = strcmp(a->created, b->created);
    return r != 0 ? r : strcmp(a->name, b->name);
}

static int start(struct run *run, struct err *err)
{
    int r = run_start(run, err);
    return r < 0 ? r : run_steer(run, err); /* it may be cancelled or suspended already */
}

int run_queue_advance(struct run_queue *q, struct err *err)
{
    struct run *active = run_queue_active(q);
    struct err why = {0};
    if (active != NULL && active->life == LIFE_DONE) {
        int r = contain(active, run_stop(active, &why), &why, err);
        if (r < 0) {
            return r;
        }
    }
    if (q->runs.len > 0) {
        qsort(q->runs.items, q->runs.len, sizeof(q->runs.items[0]), by_turn);
    }
    for (size_t i = 0; run_queue_active(q) == NULL && i < q->runs.len; i++) {
        if (run_is_due(q->runs.items[i])) {
            int r = contain(q->runs.items[i], start(q->runs.items[i], &why), &why, err);
            if (r < 0) {
                return r;
            }
        }
    }
    return 0;
}

/* While the store is full, none is looked at that is new, but what it waits for is known. One that
 * was accepted before keeps the status that it has. */
static bool may_publish(const struct run *run)
{
    const struct kube_object *object = kube_cache_get(run->env->runs, run->name);
    const struct bmr_facts *facts = object == NULL ? NULL : object->facts;
    return run->is_seen ||
           (run->env->is_store_full && facts != NULL && facts->phase == RUN_PENDING);
}

bool run_queue_publish(struct run_queue *q)
{
    const int64_t began_ns = clock_thread_cpu_ns();
    unsigned n_sent = 0;
    bool is_over = false;
    vec_each (struct run *, it, &q->runs) {
        if (!is_over && may_publish(*it)) {
            const bool is_sent = run_publish(*it);
            n_sent += is_sent;
            is_over = is_sent && (n_sent == RUN_QUEUE_SLICE || is_turn_over(q, began_ns));
        }
        run_expire(*it);
    }
    return is_over;
}

/* ---- rest ---- */

static int64_t expires_unix_ms(const struct run *run)
{
    const int64_t ttl_s = run_ttl_s(run);
    return ttl_s < 0 ? INT64_MAX : run->status.ended_unix_ms + ttl_s * 1000;
}

/* Whatever happens to it next begins with an event of its object, or with its expiry. */
static bool may_rest(const struct run *run)
{
    const bool is_over = run->life == LIFE_PAST ||
                         (run->life == LIFE_ENDED && run->verdict.is_judged && run_is_settled(run));
    return is_over && !run_ended_lately(run) && !run->asked.is_gone && !run->asked.is_deleting &&
           run->publication.call == NULL && run->expiry.state == EXPIRY_NOT_DUE &&
           expires_unix_ms(run) > clock_steady_unix_ms();
}

static void add_resting(struct run_queue *q, const char *uid, const char *name,
                        int64_t expires_unix_ms)
{
    const size_t uid_size = strlen(uid) + 1, name_size = strlen(name) + 1;
    struct resting_run *r = xmalloc(sizeof(*r) + uid_size + name_size);
    r->expires_unix_ms = expires_unix_ms;
    memcpy(r->uid, uid, uid_size);
    memcpy(r->uid + uid_size, name, name_size);
    r->name = r->uid + uid_size;
    size_t at;
    (void)find_resting(q, uid, &at); /* it is not there */
    *vec_insert(&q->resting, at) = r;
    if (q->resting.len == 1 || expires_unix_ms < q->next_expiry_unix_ms) {
        q->next_expiry_unix_ms = expires_unix_ms;
    }
}

static void put_to_rest(struct run_queue *q, size_t i)
{
    struct run *run = q->runs.items[i];
    add_resting(q, run->uid, run->name, expires_unix_ms(run));
    take_out(q, i);
    run_free(run);
}

void run_queue_add_ended(struct run_queue *q, const struct bmr_facts *f)
{
    add_resting(q, f->uid, f->name, f->ttl_s < 0 ? INT64_MAX : f->ended_unix_ms + f->ttl_s * 1000);
}

/* As after a restart: its object is all that is needed. */
static void wake_one(struct run_queue *q, const struct run_env *env, const struct resting_run *r)
{
    const struct kube_object *object = kube_cache_get(env->runs, r->name);
    if (object != NULL) {
        run_queue_add(q, run_new(env, object->facts));
    }
}

void run_queue_wake(struct run_queue *q, const struct run_env *env, char *const *uids, size_t n)
{
    size_t at;
    for (size_t i = 0; i < n; i++) {
        if (find_resting(q, uids[i], &at)) {
            wake_one(q, env, q->resting.items[at]);
        }
    }
}

void run_queue_restored(struct run_queue *q, const struct run_env *env, const char *uid)
{
    struct run **place = vec_find(&q->runs, it, str_eq((*it)->uid, uid));
    if (place != NULL && (*place)->life == LIFE_PAST) {
        put_to_rest(q, (size_t)(place - q->runs.items));
    }
    run_queue_wake(q, env, (char *const *)&uid, 1);
}

static void wake_expired(struct run_queue *q, const struct run_env *env)
{
    const int64_t now_unix_ms = clock_steady_unix_ms();
    if (now_unix_ms < q->next_expiry_unix_ms) {
        return;
    }
    q->next_expiry_unix_ms = INT64_MAX;
    for (size_t i = q->resting.len; i > 0; i--) {
        const struct resting_run *r = q->resting.items[i - 1];
        if (r->expires_unix_ms <= now_unix_ms) {
            wake_one(q, env, r);
        } else if (r->expires_unix_ms < q->next_expiry_unix_ms) {
            q->next_expiry_unix_ms = r->expires_unix_ms;
        }
    }
}

void run_queue_rest(struct run_queue *q, const struct run_env *env)
{
    for (size_t i = q->runs.len; i > 0; i--) {
        if (may_rest(q->runs.items[i - 1])) {
            put_to_rest(q, i - 1);
        }
    }
    wake_expired(q, env);
}

/* ---- who is next ---- */

int run_queue_has_open(const struct run_queue *q, struct store *s, const char *ns, struct err *err)
{
    _cleanup_(texts_done) struct texts uids = {0};
    const int r = s->ops->list_open(s, ns, INT64_MAX, &uids, err);
    return r < 0 ? r : !vec_any(&uids.list, uid, run_queue_find(q, *uid) == NULL);
}
