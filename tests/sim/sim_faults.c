/* What goes wrong: a plan that is drawn from the seed before the first step, so that a fault can be
 * left out without changing when the others come. See FAULT_KINDS in sim.h. */
#include "sim.h"

#include "base/splitmix.h"
#include "base/str.h"

#define FIRST_S 2
#define LAST_S 120
#define LAST_LATE_S 400
#define LAST_SOON_S 45
#define BLIND_S 60 /* a new process lists, where versions went back */
#define FAULTS_USUAL 12
#define CLOCK_STEP_MAX_S 7200

static const char *const names[] = {
#define X(name, text) [FAULT_##name] = text,
    FAULT_KINDS(X)
#undef X
};

/* What people do, and the ends of processes, come more often than the rest. */
static const enum fault_kind wishes[] = {FAULT_CANCEL, FAULT_SUSPEND, FAULT_SUSPEND,
                                         FAULT_DELETE, FAULT_DELETE,  FAULT_ERASE};
static const enum fault_kind ends[] = {FAULT_CRASH, FAULT_CRASH_AT_WRITE, FAULT_RESTART,
                                       FAULT_FREEZE};
#define ONE_OF(state, list) (list)[below(state, sizeof(list) / sizeof((list)[0]))]

/* How long each lasts at most, in seconds, usually and one time in four; what `n` is
 * drawn from, 1..n_max. */
static const struct {
    unsigned length_s, n_max, long_s;
} limits[FAULT_KIND_COUNT] = {
    [FAULT_CRASH] = {0, 1},
    [FAULT_CRASH_AT_WRITE] = {0, 12},
    [FAULT_RESTART] = {0, 1},
    [FAULT_FREEZE] = {40, 1},
    [FAULT_REFUSE] = {20, 1, 400},
    [FAULT_SILENCE] = {120, 1},
    [FAULT_LOSE_ANSWERS] = {20, 4},
    [FAULT_ERROR_500] = {20, 3},
    [FAULT_ERROR_429] = {20, 3},
    [FAULT_ERROR_403] = {8, 3},
    [FAULT_ERROR_STATUS] = {60, 1, 400},
    [FAULT_WEBHOOK] = {90, 1, 400},
    [FAULT_QUOTA] = {90, 4, 400},
    [FAULT_NO_ROOM] = {20, 3},
    [FAULT_CUT_WATCHES] = {0, 1},
    [FAULT_SLOW_WATCHES] = {30, 1},
    [FAULT_COMPACT] = {0, 1},
    [FAULT_SLOW_GARBAGE] = {200, 1},
    [FAULT_SLOW_NODES] = {60, 1},
    [FAULT_NODE_LOST] = {60, 1},
    [FAULT_KILL_CONTAINER] = {0, 3},
    [FAULT_DELETE_POD] = {0, 1},
    [FAULT_FORCE_DELETE_POD] = {0, 1},
    [FAULT_EVICT_POD] = {0, 1},
    [FAULT_PREEMPT] = {0, 2},
    [FAULT_GATE] = {90, 1, 400},
    [FAULT_FULL] = {90, 2, 400},
    [FAULT_STEP_CLOCK] = {0, 2 * CLOCK_STEP_MAX_S},
    [FAULT_RIVAL] = {120, 2},
    [FAULT_DISK_FULL] = {20, 1, 600},
    [FAULT_DISK_BUSY] = {10, 1},
    [FAULT_DISK_BAD_RUN] = {60, 8},
    [FAULT_CANCEL] = {0, 8},
    [FAULT_SUSPEND] = {60, 8},
    [FAULT_DELETE] = {0, 12},
    [FAULT_ERASE] = {0, 8},
    [FAULT_DROP_KINDS] = {SIM_UNDELETE_S / 2, 2},
    [FAULT_RESTORE] = {90, 2},
    [FAULT_STARVE] = {60, 1},
};

/* What is found only where it comes together, or alone and for long. */
static const struct {
    enum fault_kind kinds[2];
    size_t n;
    bool is_slow;
} together[] = {
    {{FAULT_WEBHOOK}, 1, false},
    {{FAULT_QUOTA}, 1, false},
    {{FAULT_NO_ROOM, FAULT_CRASH}, 2, false},
    {{FAULT_DISK_FULL}, 1, false},
    {{FAULT_SLOW_GARBAGE, FAULT_DELETE}, 2, true},
    {{FAULT_SUSPEND, FAULT_CRASH}, 2, true},
    {{FAULT_COMPACT, FAULT_CANCEL}, 2, true},
    {{FAULT_RESTORE}, 1, false},
    {{FAULT_RESTORE, FAULT_RESTART}, 2, false},
    {{FAULT_LOSE_ANSWERS, FAULT_CANCEL}, 2, false},
    {{FAULT_DROP_KINDS, FAULT_CRASH}, 2, false},
    {{FAULT_FULL, FAULT_CRASH}, 2, false},
    {{FAULT_GATE, FAULT_PREEMPT}, 2, true},
};

static struct fault_plan plan;

static uint32_t below(uint64_t *state, uint32_t n)
{
    return splitmix_below(state, n);
}

static enum fault_kind any_kind(uint64_t *state)
{
    switch (below(state, 6)) {
    case 0:
        return ONE_OF(state, wishes);
    case 1:
        return ONE_OF(state, ends);
    default:
        return (enum fault_kind)below(state, FAULT_DRAWN_COUNT);
    }
}

static struct fault any_fault(uint64_t *state, enum fault_kind kind, unsigned last_s)
{
    const bool is_long = limits[kind].long_s > 0 && below(state, 4) == 0;
    const uint32_t length_ms = (is_long ? limits[kind].long_s : limits[kind].length_s) * 1000;
    return (struct fault){
        .kind = kind,
        .at_ns = (FIRST_S * 1000 + (int64_t)below(state, (last_s - FIRST_S) * 1000)) * SIM_MS,
        .length_ns = length_ms == 0 ? 0 : (100 + (int64_t)below(state, length_ms)) * SIM_MS,
        .n = 1 + below(state, limits[kind].n_max),
    };
}

static void draw_together(uint64_t *state, struct fault_plan *ret)
{
    const uint32_t k = below(state, sizeof(together) / sizeof(together[0]));
    ret->is_slow = together[k].is_slow;
    for (size_t i = 0; i < together[k].n; i++) {
        const enum fault_kind kind = together[k].kinds[i];
        const unsigned longest_s =
            limits[kind].long_s > 0 ? limits[kind].long_s : limits[kind].length_s;
        struct fault f = any_fault(state, kind, LAST_SOON_S);
        if (longest_s > 0) {
            f.length_ns = (1 + longest_s / 4 + below(state, longest_s * 3 / 4 + 1)) * SIM_S;
        }
        f.at_ns += i > 0 ? ret->list[0].at_ns : 0;
        ret->list[ret->n++] = f;
    }
}

/* What a world is for happens in it. */
static void add_own(uint64_t seed, struct fault_plan *ret)
{
    uint64_t state = seed ^ UINT64_C(0x2545f4914f6cdd1d);
    if (sim_has_deadline(seed)) {
        ret->list[ret->n] = any_fault(&state, FAULT_QUOTA, LAST_SOON_S);
        ret->list[ret->n].n = 1;
        ret->list[ret->n++].length_ns = (60 + below(&state, 300)) * SIM_S;
    } else if (sim_has_bad_disk(seed)) {
        ret->list[ret->n++] = any_fault(&state, FAULT_DISK_BUSY, LAST_SOON_S);
        ret->list[ret->n++] = any_fault(&state, FAULT_DISK_BUSY, LAST_S);
    } else if (sim_is_impatient(seed)) {
        ret->list[ret->n++] = any_fault(&state, FAULT_FULL, LAST_SOON_S);
    } else if (sim_has_queue(seed)) {
        ret->list[ret->n] = any_fault(&state, FAULT_PREEMPT, LAST_SOON_S);
        ret->list[ret->n++].n = 2;
        ret->list[ret->n++] = any_fault(&state, FAULT_GATE, LAST_S);
    } else if (sim_loses_nodes(seed)) {
        ret->list[ret->n++] = any_fault(&state, FAULT_EVICT_POD, LAST_SOON_S);
    }
    if (sim_is_starved(seed)) {
        ret->list[ret->n++] = any_fault(&state, FAULT_STARVE, LAST_SOON_S);
        ret->list[ret->n++] = any_fault(&state, FAULT_STARVE, LAST_S);
    }
    if (sim_prints(seed)) { /* a part of a gang has no place; in the middle of a log */
        ret->list[ret->n] = any_fault(&state, FAULT_FULL, LAST_SOON_S);
        ret->list[ret->n].n = 2;
        ret->list[ret->n++].length_ns = (20 + below(&state, 100)) * SIM_S;
        ret->list[ret->n++] = any_fault(&state, FAULT_CRASH, LAST_S);
        ret->list[ret->n++] = any_fault(&state, FAULT_CRASH, LAST_S);
    }
}

/* A quarter of the worlds have faults of all kinds. In the others a promise is held against what is
 * simple: people alone, one kind of fault, or those of `together`. */
static void draw_plan(uint64_t seed, struct fault_plan *ret)
{
    enum { PEOPLE_ALONE = 1, ONE_KIND, TOGETHER, SHAPES };
    uint64_t state = seed ^ UINT64_C(0x9e3779b97f4a7c15);
    *ret = (struct fault_plan){.n_runs = 1 + below(&state, 3)};
    const unsigned last_s = below(&state, 4) == 0 ? LAST_LATE_S : LAST_S;
    const uint32_t shape = below(&state, SHAPES);
    const enum fault_kind the_kind = (enum fault_kind)below(&state, FAULT_DRAWN_COUNT);
    if (shape == TOGETHER) {
        draw_together(&state, ret);
        return;
    }
    ret->n = shape == ONE_KIND ? 1 + below(&state, 2) : below(&state, FAULTS_USUAL + 1);
    for (size_t i = 0; i < ret->n; i++) {
        const enum fault_kind kind = shape == PEOPLE_ALONE ? ONE_OF(&state, wishes)
                                     : shape == ONE_KIND   ? the_kind
                                                           : any_kind(&state);
        ret->list[i] = any_fault(&state, kind, last_s);
    }
}

void fault_draw_plan(uint64_t seed, struct fault_plan *ret)
{
    draw_plan(seed, ret);
    add_own(seed, ret);
}

void fault_print(const struct fault *f, struct buf *out)
{
    buf_printf(out, "%.3f s: %s", (double)f->at_ns / 1e9, names[f->kind]);
    if (f->length_ns > 0) {
        buf_printf(out, " for %.3f s", (double)f->length_ns / 1e9);
    }
    if (limits[f->kind].n_max > 1) {
        buf_printf(out, ", n=%u", f->n);
    }
}

bool fault_is_on(enum fault_kind kind, const struct fault **ret)
{
    for (size_t i = 0; i < plan.n; i++) {
        const struct fault *f = &plan.list[i];
        if (f->kind == kind && !f->is_dropped && sim.now_ns >= f->at_ns &&
            sim.now_ns < f->at_ns + f->length_ns) {
            if (ret != NULL) {
                *ret = f;
            }
            return true;
        }
    }
    return false;
}

bool fault_was_on(enum fault_kind kind, int64_t ago_ns)
{
    for (size_t i = 0; i < plan.n; i++) {
        const struct fault *f = &plan.list[i];
        if (f->kind == kind && !f->is_dropped && sim.now_ns >= f->at_ns &&
            sim.now_ns < f->at_ns + f->length_ns + ago_ns) {
            return true;
        }
    }
    return false;
}

/* ---- quiet times ---- */

static int64_t end_of(const struct fault *f)
{
    return f->at_ns + f->length_ns + (f->kind == FAULT_RESTORE ? BLIND_S * SIM_S : 0);
}

static bool is_wish(enum fault_kind kind)
{
    return kind == FAULT_CANCEL || kind == FAULT_SUSPEND || kind == FAULT_DELETE ||
           kind == FAULT_ERASE;
}

int64_t fault_last_ns(enum fault_kind but, bool is_wish_one)
{
    int64_t last_ns = sim.begin_ns;
    for (size_t i = 0; i < plan.n; i++) {
        const struct fault *f = &plan.list[i];
        const bool counts = f->kind != but && f->kind != FAULT_SLOW_GARBAGE &&
                            (is_wish_one || !is_wish(f->kind)) && !f->is_dropped;
        const int64_t end_ns = end_of(f);
        const int64_t at_ns = end_ns < sim.now_ns ? end_ns : sim.now_ns;
        if (counts && f->at_ns <= sim.now_ns && at_ns > last_ns) {
            last_ns = at_ns;
        }
    }
    return last_ns;
}

/* ---- those that are moments ---- */

static struct sim_pod *any_pod(const struct fault *f)
{
    VEC(struct sim_pod *) known = {0};
    for (size_t i = 0; i < node_count(); i++) {
        if (node_get(i)->object != NULL && !node_get(i)->container.has_ended) {
            *vec_push(&known) = node_get(i);
        }
    }
    struct sim_pod *p =
        known.len == 0 ? NULL : known.items[(size_t)(f->at_ns / SIM_MS) % known.len];
    vec_done(&known);
    return p;
}

static void happen_to_pod(const struct fault *f)
{
    static const int codes[] = {1, 137, 139};
    struct sim_pod *p = any_pod(f);
    if (p == NULL) {
        return;
    }
    promise_excuse(p->run_uid, &p->id.attempt, names[f->kind]);
    switch (f->kind) {
    case FAULT_KILL_CONTAINER:
        node_end(p, codes[f->n - 1]);
        break;
    case FAULT_EVICT_POD:
        if (sim_loses_nodes(sim.seed)) {
            node_delete(p);
        } else {
            node_evict(p);
        }
        break;
    case FAULT_PREEMPT:
        if (f->n != 2 || !queue_preempts(p)) {
            node_preempt(p, f->n == 2);
        }
        break;
    case FAULT_DELETE_POD:
        server_delete(p->object, CASCADE_BACKGROUND);
        break;
    default:
        server_remove(p->object);
        break;
    }
}

static void resume(void *ctx)
{
    user_suspend(ctx, false);
}

static void happen_to_run(const struct fault *f)
{
    struct sim_run *r = user_get(f->n % user_count());
    if (r->uid == NULL) {
        return;
    }
    if (f->kind == FAULT_CANCEL) {
        user_cancel(r);
    } else if (f->kind == FAULT_DELETE) {
        user_delete(r, (enum sim_cascade)(f->n % CASCADE_COUNT));
    } else if (f->kind == FAULT_ERASE) {
        user_erase(r);
    } else {
        user_suspend(r, true);
        sim_after(f->length_ns, resume, r);
    }
}

static void restore_kinds(void *ctx)
{
    const struct fault *f = ctx;
    server_restore_kinds(f->n == 2);
}

static void restore(void *ctx)
{
    const struct fault *f = ctx;
    sim_trace("fault: the backup is restored");
    server_restore(f->n == 1);
    if (!fault_is_on(FAULT_DROP_KINDS, NULL)) {
        server_restore_kinds(false); /* a backup without them: people apply them again */
    }
}

static void happen(void *ctx)
{
    const struct fault *f = ctx;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    fault_print(f, &text);
    sim_trace("fault: %s", names[f->kind]);
    switch (f->kind) {
    case FAULT_CRASH:
        process_crash();
        break;
    case FAULT_CRASH_AT_WRITE:
        process_crash_at_write(f->n);
        break;
    case FAULT_RESTART:
        process_terminate();
        break;
    case FAULT_FREEZE:
        process_freeze(f->length_ns);
        break;
    case FAULT_REFUSE:
    case FAULT_CUT_WATCHES:
        network_cut();
        break;
    case FAULT_COMPACT:
        server_compact();
        network_cut();
        break;
    case FAULT_STEP_CLOCK:
        sim.wall_off_ns += ((int64_t)f->n - CLOCK_STEP_MAX_S) * SIM_S;
        sim.has_stepped = true;
        break;
    case FAULT_RIVAL:
        user_rival(f->length_ns, f->n == 1);
        break;
    case FAULT_KILL_CONTAINER:
    case FAULT_DELETE_POD:
    case FAULT_FORCE_DELETE_POD:
    case FAULT_EVICT_POD:
    case FAULT_PREEMPT:
        happen_to_pod(f);
        break;
    case FAULT_CANCEL:
    case FAULT_SUSPEND:
    case FAULT_DELETE:
    case FAULT_ERASE:
        happen_to_run(f);
        break;
    case FAULT_NODE_LOST:
        node_excuse_all(names[f->kind]);
        break;
    case FAULT_RESTORE:
        server_back_up();
        sim_after(f->length_ns, restore, ctx);
        break;
    case FAULT_DROP_KINDS:
        server_drop_kinds();
        sim_after(f->length_ns, restore_kinds, ctx);
        break;
    default:
        break; /* a window */
    }
}

void fault_begin(const struct fault_plan *given)
{
    plan = *given;
    sim.faults_end_ns = sim.now_ns;
    for (size_t i = 0; i < plan.n; i++) {
        struct fault *f = &plan.list[i];
        if (!f->is_dropped) {
            f->at_ns += sim.now_ns;
            sim_at(f->at_ns, happen, f);
            const int64_t end_ns = end_of(f);
            sim.faults_end_ns = end_ns > sim.faults_end_ns ? end_ns : sim.faults_end_ns;
        }
    }
}
