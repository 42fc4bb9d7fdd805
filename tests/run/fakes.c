/* See fakes.h. */
#include "fakes.h"

#include "tests/test.h"
#include "base/str.h"

static int64_t clock_now(void *ctx)
{
    return ((struct fake_clock *)ctx)->now_ms;
}

struct wall_clock fake_clock_get(struct fake_clock *c)
{
    return (struct wall_clock){.unix_ms = clock_now, .ctx = c};
}

static int fault(struct fake_faults *f, const char *call, struct err *err)
{
    f->n_calls++;
    if (f->fail_at == 0 || f->n_calls < f->fail_at || (f->n_calls > f->fail_at && !f->stays)) {
        return 0;
    }
    return err_set_errno(err, f->fail_code, "%s (call %u)", call, f->n_calls);
}

/* ---- launcher ---- */

static struct fake_launcher *launcher_of(struct launcher *l)
{
    return (struct fake_launcher *)l;
}

static void addresses_free(struct fake_launcher *l)
{
    for (int role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < l->n_addresses[role]; i++) {
            free(l->addresses[role][i]);
        }
        free(l->addresses[role]);
        l->addresses[role] = NULL;
        l->n_addresses[role] = 0;
    }
}

static int fake_prepare(struct launcher *launcher, const struct gang_spec *gang,
                        struct gang_addresses *ret, struct err *err)
{
    struct fake_launcher *l = launcher_of(launcher);
    if (l->prepare_code != 0) {
        int code = l->prepare_code;
        l->prepare_code = 0;
        return err_set_errno(err, code, "reserve a port");
    }
    addresses_free(l);
    l->is_probed = gang->is_probed;
    *ret = (struct gang_addresses){0};
    for (int role = 0; role < ROLE_COUNT; role++) {
        l->n_addresses[role] = gang->replicas[role];
        l->addresses[role] = xnew_array(char *, gang->replicas[role] + 1);
        for (uint32_t i = 0; i < gang->replicas[role]; i++) {
            l->addresses[role][i] = xasprintf("127.0.0.1:%u", 1000 * (role + 1) + i);
        }
        ret->of_role[role] = l->addresses[role];
    }
    return 0;
}

static struct fake_member *find_id(struct fake_launcher *l, const struct replica_id *id)
{
    vec_each (struct fake_member, m, &l->members) {
        if (replica_id_eq(&m->seen.id, id)) {
            return m;
        }
    }
    return NULL;
}

static int fake_create(struct launcher *launcher, const struct replica_spec *spec, struct err *err)
{
    struct fake_launcher *l = launcher_of(launcher);
    if (l->create_code != 0) {
        int code = l->create_code;
        l->create_code = 0;
        return err_set_errno(err, code, "start 'benchworker': exec");
    }
    assert_null(find_id(l, &spec->id)); /* reconcile() never asks twice */
    const char *listen = NULL;
    for (char **e = spec->envp; *e != NULL; e++) {
        listen = str_has_prefix(*e, "BENCHD_LISTEN=") ? *e : listen;
    }
    assert_non_null(listen);
    *vec_push(&l->members) = (struct fake_member){
        .seen = {.id = spec->id,
                 .state = REPLICA_RUNNING,
                 .exit_code = -1,
                 .started_unix_ms = l->store == NULL ? 0 : l->store->clock->now_ms},
        .argv0 = xstrdup(spec->argv[0]),
        .listen = xstrdup(listen),
    };
    l->n_created++;
    return 0;
}

static bool is_cut_short(const struct fake_store *s, const struct replica_id *id)
{
    return s->status.has_current && s->status.is_cut_short &&
           attempt_id_eq(&s->status.current, &id->attempt);
}

static bool has_row(const struct fake_store *s, const struct replica_id *id)
{
    vec_each (struct attempt_row, row, &s->rows) {
        if (attempt_id_eq(&row->id, &id->attempt)) {
            return true;
        }
    }
    return false;
}

static void fake_remove(struct launcher *launcher, const struct replica_id *id, bool leaves_pod)
{
    struct fake_launcher *l = launcher_of(launcher);
    l->n_forgotten += leaves_pod;
    struct fake_member *m = find_id(l, id);
    if (m != NULL) {
        if (l->store != NULL && m->seen.state != REPLICA_RUNNING && !has_row(l->store, id) &&
            !is_cut_short(l->store, id)) {
            fail_msg("%s/%u is removed before its row is kept", role_to_string(id->role),
                     id->index);
        }
        free(m->argv0);
        free(m->listen);
        *m = l->members.items[--l->members.len];
        l->n_removed++;
    }
}

static int fake_observe(struct launcher *launcher, struct observed_replica **ret, size_t *ret_n,
                        struct err *err)
{
    struct fake_launcher *l = launcher_of(launcher);
    l->n_observes++;
    int r = fault(l->faults, "observe", err);
    if (r < 0) {
        return r;
    }
    *ret = xnew_array(struct observed_replica, l->members.len + 1);
    *ret_n = l->members.len;
    for (size_t i = 0; i < l->members.len; i++) {
        (*ret)[i] = l->members.items[i].seen;
    }
    return 0;
}

static const struct summary usable = {.samples = 1000, .duration_ns = 1000000000, .steps = 2};

static int fake_collect(struct launcher *launcher, const struct replica_id *id,
                        struct replica_output *ret, struct err *err)
{
    struct fake_launcher *l = launcher_of(launcher);
    struct fake_member *m = find_id(l, id);
    l->n_collects++;
    if (m == NULL) {
        return err_set(err, ENOENT, "not there");
    }
    if (l->is_fetching) {
        return -EAGAIN;
    }
    l->summary = usable;
    if (l->throughput != NULL) {
        l->summary.duration_ns = (int64_t)(1e12 / l->throughput(id));
    }
    *ret = (struct replica_output){.log = "hello\n",
                                   .log_len = 6,
                                   .exit_code = m->seen.exit_code,
                                   .failure = m->seen.message,
                                   .summary = m->seen.summary == NULL ? NULL : &l->summary,
                                   .is_simulated = l->is_simulated};
    return 0;
}

static bool fake_is_settling(const struct launcher *launcher, const struct attempt_id *attempt)
{
    (void)attempt; /* of all alike */
    return ((const struct fake_launcher *)launcher)->is_settling;
}

static void fake_launcher_free(struct launcher *launcher)
{
    (void)launcher; /* embedded in a test */
}

static bool fake_stop_creating(struct launcher *launcher)
{
    launcher_of(launcher)->n_stopped++;
    return !launcher_of(launcher)->is_settling;
}

static bool fake_is_removing(const struct launcher *launcher)
{
    return ((const struct fake_launcher *)launcher)->is_removing;
}

static void fake_wait(const struct launcher *launcher, struct run_wait *ret)
{
    *ret = ((const struct fake_launcher *)launcher)->wait;
}

static const struct launcher_ops launcher_ops = {
    fake_prepare,       fake_create,      fake_remove,        fake_observe,     fake_collect,
    fake_launcher_free, fake_is_settling, fake_stop_creating, fake_is_removing, fake_wait};

void fake_launcher_init(struct fake_launcher *l, struct fake_faults *faults,
                        const struct fake_store *store)
{
    *l = (struct fake_launcher){.base.ops = &launcher_ops, .faults = faults, .store = store};
}

void fake_launcher_done(struct fake_launcher *l)
{
    l->store = NULL;
    while (l->members.len > 0) {
        struct replica_id id = l->members.items[0].seen.id;
        fake_remove(&l->base, &id, false);
    }
    vec_done(&l->members);
    addresses_free(l);
}

struct fake_member *fake_launcher_find(struct fake_launcher *l, enum role role, uint32_t index)
{
    vec_each (struct fake_member, m, &l->members) {
        if (m->seen.id.role == role && m->seen.id.index == index) {
            return m;
        }
    }
    fail_msg("no %s/%u", role_to_string(role), index);
    return NULL;
}

void fake_launcher_succeed(struct fake_launcher *l, int64_t now_ms)
{
    vec_each (struct fake_member, m, &l->members) {
        if (m->seen.state == REPLICA_RUNNING) {
            m->seen.state = REPLICA_SUCCEEDED;
            m->seen.exit_code = 0;
            m->seen.ended_unix_ms = now_ms;
            m->seen.summary = m->seen.id.role != ROLE_PSERVER ? &usable : NULL;
        }
    }
}

void fake_launcher_fail(struct fake_launcher *l, enum role role, uint32_t index, int exit_code,
                        int signal, const char *message, int64_t now_ms)
{
    struct observed_replica *r = &fake_launcher_find(l, role, index)->seen;
    r->state = REPLICA_FAILED;
    r->failure = failure_classify_exit(exit_code, signal, false);
    r->exit_code = signal != 0 ? -1 : exit_code;
    r->ended_unix_ms = now_ms;
    r->message = message;
}

/* ---- store ---- */

static int store_call(struct fake_store *s, const char *call, struct err *err)
{
    s->clock->now_ms += s->late_ms;
    return fault(s->faults, call, err);
}

static struct attempt_row row_dup(const struct attempt_row *row)
{
    struct attempt_row copy = *row;
    copy.error = xstrdup_or_null(row->error);
    copy.replicas = (__typeof__(copy.replicas)){0};
    vec_each (struct replica_row, r, &row->replicas) {
        struct replica_row *to = vec_push(&copy.replicas);
        *to = *r;
        to->failure = xstrdup_or_null(r->failure);
        to->summary = summary_copy(r->summary);
        to->environment = environment_copy(&r->environment);
        to->reading = json_incref(r->reading);
    }
    return copy;
}

static int fake_save_attempt(struct store *store, const char *uid, const struct attempt_row *row,
                             const struct trial_terms *terms, const struct replica_log *logs,
                             size_t n_logs, const struct packed_logs *packed, struct err *err)
{
    assert_true(terms->n_leading > 0);
    (void)uid;
    (void)packed;
    struct fake_store *s = (struct fake_store *)store;
    int r = store_call(s, "save attempt", err);
    if (r < 0) {
        return r;
    }
    if (has_row(s, &(struct replica_id){row->id, ROLE_PSERVER, 0})) {
        fail_msg("p%ut%ua%u is saved twice", row->id.point, row->id.trial, row->id.number);
    }
    for (size_t i = 0; i < n_logs; i++) {
        s->log_bytes += logs[i].len;
    }
    s->n_logs += (unsigned)n_logs;
    *vec_push(&s->rows) = row_dup(row);
    return 0;
}

/* As the store has them: without their replicas. */
static int fake_list_outcomes(struct store *store, const char *uid, struct attempt_row **ret,
                              size_t *ret_n, struct err *err)
{
    (void)uid;
    struct fake_store *s = (struct fake_store *)store;
    int r = store_call(s, "list outcomes", err);
    if (r < 0) {
        return r;
    }
    *ret = xnew_array(struct attempt_row, s->rows.len + 1);
    *ret_n = s->rows.len;
    for (size_t i = 0; i < s->rows.len; i++) {
        const struct attempt_row *row = &s->rows.items[i];
        (*ret)[i] = (struct attempt_row){.id = row->id,
                                         .outcome = row->outcome,
                                         .started_unix_ms = row->started_unix_ms,
                                         .ended_unix_ms = row->ended_unix_ms,
                                         .error = row->error == NULL ? NULL : xstrdup(row->error)};
    }
    return 0;
}

static int fake_list_wanted(struct store *store, const char *uid,
                            const struct attempt_wanted *wanted, struct attempt_row **ret,
                            size_t *ret_n, struct err *err)
{
    (void)uid;
    struct fake_store *s = (struct fake_store *)store;
    int r = store_call(s, "list wanted", err);
    if (r < 0) {
        return r;
    }
    *ret = xnew_array(struct attempt_row, s->rows.len + 1);
    *ret_n = 0;
    for (size_t i = 0; i < s->rows.len; i++) {
        if (attempt_wanted_matches(wanted, &s->rows.items[i].id)) {
            (*ret)[(*ret_n)++] = row_dup(&s->rows.items[i]);
        }
    }
    return 0;
}

static int fake_put_status(struct store *store, const char *uid, const struct run_status *status,
                           struct err *err)
{
    (void)uid;
    struct fake_store *s = (struct fake_store *)store;
    int r = store_call(s, "put status", err);
    if (r == 0) {
        s->status = *status;
        s->n_status++;
    }
    return r;
}

static int fake_add_event(struct store *store, const char *uid, const struct event_row *row,
                          struct err *err)
{
    (void)uid;
    struct fake_store *s = (struct fake_store *)store;
    int r = store_call(s, "add event", err);
    if (r == 0) {
        s->n_events++;
        s->n_preempted += str_eq(row->reason, PREEMPTED_EVENT);
        (void)snprintf(s->last_note, sizeof(s->last_note), "%s", row->note);
    }
    return r;
}

static int fake_list_events(struct store *store, const char *uid, struct event_row **ret,
                            size_t *ret_n, struct err *err)
{
    (void)uid;
    struct fake_store *s = (struct fake_store *)store;
    int r = store_call(s, "list events", err);
    *ret_n = r == 0 ? s->n_preempted : 0;
    *ret = xnew_array(struct event_row, *ret_n + 1);
    for (size_t i = 0; i < *ret_n; i++) {
        (*ret)[i] = (struct event_row){.reason = xstrdup(PREEMPTED_EVENT), .note = xstrdup("")};
    }
    return r;
}

static const struct store_ops store_ops = {
    /* what the driver may call, and nothing else */
    .put_status = fake_put_status,       .save_attempt = fake_save_attempt,
    .list_outcomes = fake_list_outcomes, .list_wanted = fake_list_wanted,
    .add_event = fake_add_event,         .list_events = fake_list_events,
};

void fake_store_init(struct fake_store *s, struct fake_faults *faults, struct fake_clock *clock)
{
    *s = (struct fake_store){.base.ops = &store_ops, .faults = faults, .clock = clock};
}

void fake_store_done(struct fake_store *s)
{
    vec_each (struct attempt_row, row, &s->rows) {
        attempt_row_done(row);
    }
    vec_done(&s->rows);
}
