/* The local launcher: replicas as child processes of this program. Edge file: event loop, random,
 * signals. docs/run.md is its page.
 *
 * The launcher owns the gangs, one for each attempt that has members, and the processes. A removed
 * process leaves its gang at once and stays in `dying` until it is reaped. New processes wait for
 * that, so that no measurement shares its CPUs with the remains of another attempt. The SIGCHLD
 * handle is referenced while a child is alive, which keeps the loop running. */
#include "run/processes/processes.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/texts.h"
#include "core/replica.h"
#include "core/summary.h"
#include "host/identity.h"
#include "run/processes/cpus.h"
#include "run/processes/local_gang.h"
#include "run/processes/process.h"
#include "run/processes/child.h"
#include "run/processes/sampler.h"

#define DEFAULT_LOG_MAX_BYTES ((size_t)64 << 20)
#define GANG_LOG_MAX_BYTES ((size_t)512 << 20) /* shared by the members of an attempt */
#define EMULATED_RENDEZVOUS_S 600
#define FREE_TIMEOUT_NS (INT64_C(4) * 1000000000)

struct processes {
    struct launcher base;
    uv_loop_t *loop;
    uv_signal_t sigchld;
    struct sampler *sampler;
    char *benchworker; /* owned */
    char node[HOST_NAME_MAX + 1];
    size_t log_max_bytes;
    unsigned char secret[CHILD_SECRET_SIZE];
    struct cpu cpus[CPU_SETSIZE]; /* usable ones, in the order of cpus_spread */
    uint32_t n_cpus;
    VEC(struct local_gang *) gangs;
    VEC(struct process *) dying;   /* removed, not reaped */
    VEC(struct process *) waiting; /* created, started when none is dying; borrowed */
};

static void drop_gang(struct processes *l, struct local_gang *g)
{
    struct local_gang **place = vec_find(&l->gangs, it, *it == g);
    if (place != NULL) {
        *place = l->gangs.items[--l->gangs.len];
    }
    local_gang_free(g);
}

static struct local_gang *find_gang(const struct processes *l, const struct attempt_id *attempt)
{
    return vec_find_item(&l->gangs, g, attempt_id_eq(&g->spec.attempt, attempt));
}

static struct process **member_slot(const struct processes *l, const struct replica_id *id,
                                    struct local_gang **ret_gang)
{
    struct local_gang *g = find_gang(l, &id->attempt);
    if (g == NULL || id->index >= g->spec.replicas[id->role]) {
        return NULL;
    }
    *ret_gang = g;
    return &g->members[member_number(g->spec.replicas, id->role, id->index)];
}

static int processes_prepare(struct launcher *launcher, const struct gang_spec *spec,
                             struct gang_addresses *ret, struct err *err)
{
    struct processes *l = (struct processes *)launcher;
    struct local_gang *g = find_gang(l, &spec->attempt);
    if (g == NULL) {
        for (size_t i = l->gangs.len; i > 0; i--) {
            if (l->gangs.items[i - 1]->n_members == 0) {
                drop_gang(l, l->gangs.items[i - 1]);
            }
        }
        int r = local_gang_new(spec, &g, err);
        if (r < 0) {
            return r;
        }
        *vec_push(&l->gangs) = g;
    }
    *ret = g->addresses;
    return 0;
}

static bool has_arena(const struct local_gang *g, enum role role)
{
    return g->arena_fd >= 0 && (role == ROLE_TRAINER || role == ROLE_WORKER);
}

/* Where the first trainer is pinned; -1: unknown. */
static int first_cpu(const struct processes *l)
{
    return l->n_cpus > 0 ? l->cpus[0].cpu : -1;
}

static bool is_one_command(char *const *a, char *const *b)
{
    while (*a != NULL && *b != NULL && str_eq(*a, *b)) {
        a++;
        b++;
    }
    return *a == *b; /* both have ended */
}

/* The members of a gang mostly have one command, of which the files are read once. */
static json_t *identity_in(const struct local_gang *g, const char *path, char *const *argv)
{
    const struct process *like =
        array_find_item(g->members, member_count(g->spec.replicas), m,
                        m != NULL && m->identity != NULL && is_one_command(m->argv, argv));
    return like != NULL ? json_incref(like->identity) : identity_of(path, argv);
}

static void start_process(struct processes *l, struct process *p)
{
    struct local_gang *g = find_gang(l, &p->id.attempt);
    bool is_trusted = str_eq(p->argv[0], "benchworker");
    _cleanup_(freep) char *path = NULL;
    struct err err;
    int r = child_find_program(is_trusted ? l->benchworker : p->argv[0],
                               child_env_get(p->envp, "PATH"), &path, &err);
    if (r < 0) {
        process_fail_start(p, -r, err.msg);
        return;
    }
    p->identity = is_trusted ? NULL : identity_in(g, path, p->argv);
    if (g->spec.is_probed && !g->noise.has_begun) {
        gang_noise_begin(&g->noise, first_cpu(l));
    }
    if (!g->is_sampled && !g->spec.is_emulated) {
        g->is_sampled = true;
        sampler_begin(l->sampler);
    }
    const uint32_t *sizes = g->spec.replicas;
    const bool meets = sizes[ROLE_TRAINER] + sizes[ROLE_WORKER] > 1 && g->links == NULL;
    sampler_choose(l->sampler, child_env_get(p->envp, "CUDA_VISIBLE_DEVICES"),
                   meets ? child_env_get(p->envp, "MASTER_PORT") : NULL);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    struct cpu_range range;
    bool is_pinned = cpus_for_member(&g->spec, l->n_cpus, p->id.role, p->id.index, &range);
    struct buf list = BUF_INIT;
    for (uint32_t i = 0; is_pinned && i < range.count; i++) {
        CPU_SET(l->cpus[range.first + i].cpu, &cpus);
        buf_printf(&list, "%s%d", i > 0 ? "," : "", l->cpus[range.first + i].cpu);
    }
    p->cpus = is_pinned ? buf_take(&list) : NULL;
    const uint32_t member = member_number(g->spec.replicas, p->id.role, p->id.index);
    fd_close(&g->reserved[member]); /* its process binds it */
    process_start(p, &(struct child_params){
                         .path = path,
                         .argv = p->argv,
                         .envp = p->envp,
                         .is_supervised = !is_trusted,
                         .cpus = is_pinned ? &cpus : NULL,
                         .secret = l->secret,
                         .arena_fd = has_arena(g, p->id.role) ? g->arena_fd : -1,
                         .network_fd = local_gang_network(g, member),
                     });
    if (p->is_alive) {
        uv_ref((uv_handle_t *)&l->sigchld);
    }
    if (p->is_alive && !is_trusted && g->is_sampled) { /* benchworker counts for itself */
        sampler_watch(l->sampler, p->child.pid, p->cpus);
    }
}

double processes_unmet_s(const struct launcher *launcher)
{
    return sampler_unmet_s(((const struct processes *)launcher)->sampler);
}

void processes_look(struct launcher *launcher)
{
    sampler_look(((const struct processes *)launcher)->sampler);
}

static size_t log_max_bytes(const struct processes *l, const struct gang_spec *gang)
{
    const size_t n = member_count(gang->replicas);
    const size_t share = GANG_LOG_MAX_BYTES / (n > 0 ? n : 1);
    return share < l->log_max_bytes ? share : l->log_max_bytes;
}

/* Many emulated trainers share few CPUs while they start, and one computes for all. */
static char **build_env(const struct local_gang *g, enum role role, char *const *contract)
{
    char secret_fd[48], arena_fd[48], rendezvous_s[48];
    (void)snprintf(secret_fd, sizeof(secret_fd), "BENCHD_SECRET_FD=%d", CHILD_SECRET_FD);
    (void)snprintf(arena_fd, sizeof(arena_fd), "BENCHD_ARENA_FD=%d", CHILD_ARENA_FD);
    (void)snprintf(rendezvous_s, sizeof(rendezvous_s), "BENCHD_RENDEZVOUS_S=%d",
                   EMULATED_RENDEZVOUS_S);
    char *extra[4] = {secret_fd};
    size_t n = 1;
    if (g->spec.is_emulated) {
        extra[n++] = rendezvous_s;
    }
    if (has_arena(g, role)) {
        extra[n++] = arena_fd;
    }
    return child_env_build(contract, extra);
}

static int processes_create(struct launcher *launcher, const struct replica_spec *spec,
                            struct err *err)
{
    struct processes *l = (struct processes *)launcher;
    const struct replica_id *id = &spec->id;
    struct local_gang *g;
    struct process **slot = member_slot(l, id, &g);
    if (slot == NULL || spec->argv == NULL || spec->argv[0] == NULL) {
        return err_set(err, EINVAL, "create %s/%u: %s", role_to_string(id->role), id->index,
                       slot == NULL ? "the attempt was not prepared" : "the command is empty");
    }
    if (*slot != NULL) {
        return 0;
    }
    *slot = process_new(l->loop, launcher, id, str_list_dup(spec->argv),
                        build_env(g, id->role, spec->envp), l->node, log_max_bytes(l, &g->spec),
                        &spec->log);
    g->n_members++;
    if (l->dying.len > 0) {
        *vec_push(&l->waiting) = *slot;
    } else {
        start_process(l, *slot);
    }
    return 0;
}

static void forget_waiting(struct processes *l, const struct process *p)
{
    struct process **place = vec_find(&l->waiting, it, *it == p);
    if (place != NULL) {
        vec_remove(&l->waiting, (size_t)(place - l->waiting.items));
    }
}

static void processes_remove(struct launcher *launcher, const struct replica_id *id,
                             bool leaves_pod)
{
    (void)leaves_pod; /* a process leaves nothing */
    struct processes *l = (struct processes *)launcher;
    struct local_gang *g;
    struct process **slot = member_slot(l, id, &g);
    if (slot == NULL || *slot == NULL) {
        return;
    }
    struct process *p = *slot;
    *slot = NULL;
    forget_waiting(l, p);
    process_end(p);
    p->is_removed = true;
    if (p->is_alive) {
        *vec_push(&l->dying) = p;
    } else {
        process_close(p);
    }
    if (--g->n_members == 0) {
        drop_gang(l, g);
    }
}

/* Have all that train ended well, so that no member of the gang computes? */
static bool has_trained(const struct local_gang *g)
{
    const uint32_t *sizes = g->spec.replicas;
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; role_leads(role, sizes) && i < sizes[role]; i++) {
            const struct process *p = g->members[member_number(sizes, role, i)];
            if (p == NULL || p->state != REPLICA_SUCCEEDED) {
                return false;
            }
        }
    }
    return true;
}

/* What the devices did in the measured steps of `p`, and for each sample of the job. */
static void add_telemetry(const struct processes *l, const struct local_gang *g,
                          const struct process *p, struct metrics *ret)
{
    int64_t from_ns, to_ns, from_other_ns, to_other_ns;
    double throughput, job = 0;
    if (!process_measured(p, &from_ns, &to_ns, &throughput)) {
        return;
    }
    metrics_set(ret, METRIC_UNMET, sampler_unmet_s(l->sampler));
    sampler_end(l->sampler, from_ns, to_ns, ret);
    for (uint32_t i = 0; i < member_count(g->spec.replicas); i++) {
        const struct process *m = g->members[i];
        const bool leads = m != NULL && role_leads(m->id.role, g->spec.replicas);
        if (leads && process_measured(m, &from_other_ns, &to_other_ns, &throughput)) {
            job = m->end.summary->source.is_job ? throughput : job + throughput;
        }
    }
    const double samples = job * (double)(to_ns - from_ns) / 1e9;
    metrics_set(ret, "energy_sample_j", metrics_get(ret, "energy_j") / samples);
}

/* How long `p` ran and waited for CPUs in its measured steps. The first one counts for those that
 * have no summary, too. */
static void add_counts(const struct processes *l, const struct local_gang *g, struct process *p,
                       bool is_first)
{
    int64_t from_ns, to_ns;
    double throughput;
    if (!process_measured(p, &from_ns, &to_ns, &throughput)) {
        return;
    }
    struct cpu_count sum = sampler_count(l->sampler, p->child.pid, from_ns, to_ns);
    for (uint32_t i = 0; is_first && i < member_count(g->spec.replicas); i++) {
        const struct process *m = g->members[i];
        if (m == NULL || m->end.summary != NULL) {
            continue;
        }
        const struct cpu_count other = sampler_count(l->sampler, m->child.pid, from_ns, to_ns);
        sum.is_known = sum.is_known && other.is_known;
        sum.run_ns += other.run_ns;
        sum.wait_ns += other.wait_ns;
        /* Pinned ones have CPUs of their own, but for the workers of a launcher (cpus.h). */
        if (m->cpus != NULL && (p->id.role != ROLE_LAUNCHER || m->id.role == ROLE_PSERVER)) {
            sum.cpus.busy_ns += other.cpus.busy_ns;
            sum.cpus.steal_ns += other.cpus.steal_ns;
        }
    }
    summary_add_counts(p->end.summary,
                       &(struct noise){.busy_ns = sum.cpus.busy_ns,
                                       .steal_ns = sum.cpus.steal_ns,
                                       .cpu_run_ns = sum.is_known ? sum.run_ns : 0,
                                       .cpu_wait_ns = sum.wait_ns},
                       sum.throttling.time_ns);
}

/* The summaries carry what this launcher saw, and the first one of a replica that trains has the
 * probes: its node stands for all, as that of trainer 0 of benchworker. */
static void end_attempt(const struct processes *l, struct local_gang *g)
{
    const uint32_t *sizes = g->spec.replicas;
    const uint32_t n = member_count(sizes), from = member_number(sizes, ROLE_TRAINER, 0);
    if (g->has_ended || !has_trained(g)) {
        return;
    }
    g->has_ended = true;
    struct process *first =
        array_find_item(g->members + from, n - from, p, p != NULL && p->end.summary != NULL);
    if (first == NULL) {
        return;
    }
    struct metrics metrics = {0};
    add_telemetry(l, g, first, &metrics);
    metrics_merge(&first->end.summary->metrics, &metrics);
    metrics_done(&metrics);
    for (uint32_t i = 0; i < n; i++) {
        if (g->members[i] != NULL) {
            add_counts(l, g, g->members[i], g->members[i] == first);
        }
    }
    if (g->noise.has_begun) {
        gang_noise_end(&g->noise, first_cpu(l));
        noise_add_seen(&first->end.summary->noise, &g->noise.seen);
    }
}

/* Have the programs made the steps after which benchd ends them? */
static bool has_made_steps(const struct local_gang *g)
{
    bool is_each = true;
    for (uint32_t i = 0; i < member_count(g->spec.replicas); i++) {
        const struct process *p = g->members[i];
        if (p != NULL && !role_leads(p->id.role, g->spec.replicas)) {
            continue;
        }
        const enum log_reader_steps steps =
            p == NULL || p->log == NULL ? LOG_STEPS_TOO_FEW : log_reader_steps(p->log);
        if (steps == LOG_STEPS_ENOUGH_FOR_ALL) {
            return true;
        }
        is_each = is_each && steps == LOG_STEPS_ENOUGH;
    }
    return is_each;
}

static void processes_end_after_steps(struct launcher *launcher)
{
    struct processes *l = (struct processes *)launcher;
    vec_each (struct local_gang *, it, &l->gangs) {
        struct local_gang *g = *it;
        const bool is_over = has_made_steps(g);
        for (uint32_t i = 0; is_over && i < member_count(g->spec.replicas); i++) {
            struct process *p = g->members[i];
            const bool leads = p != NULL && role_leads(p->id.role, g->spec.replicas);
            if (leads && p->state == REPLICA_RUNNING) {
                process_complete(p);
            }
        }
        end_attempt(l, g);
    }
}

static int processes_observe(struct launcher *launcher, struct observed_replica **ret,
                             size_t *ret_n, struct err *err)
{
    (void)err; /* everything is known here */
    struct processes *l = (struct processes *)launcher;
    VEC(struct observed_replica) list = {0};
    vec_each (struct local_gang *, g, &l->gangs) {
        for (uint32_t i = 0; i < member_count((*g)->spec.replicas); i++) {
            if ((*g)->members[i] != NULL) {
                process_observe((*g)->members[i], vec_push(&list));
            }
        }
    }
    *ret = list.items;
    *ret_n = list.len;
    return 0;
}

static int processes_collect(struct launcher *launcher, const struct replica_id *id,
                             struct replica_output *ret, struct err *err)
{
    struct processes *l = (struct processes *)launcher;
    struct local_gang *g;
    struct process **slot = member_slot(l, id, &g);
    if (slot == NULL || *slot == NULL) {
        return err_set(err, ENOENT, "collect %s/%u: no such replica", role_to_string(id->role),
                       id->index);
    }
    process_output(*slot, ret);
    return 0;
}

static char *processes_take_log(struct launcher *launcher, const struct replica_id *id)
{
    struct local_gang *g;
    return capture_take(&(*member_slot((struct processes *)launcher, id, &g))->capture);
}

static bool reap(struct processes *l, struct process *p)
{
    if (process_is_reapable(p)) {
        sampler_watch_end(l->sampler, p->child.pid);
    }
    return process_reap(p);
}

static void reap_dying(struct processes *l)
{
    for (size_t i = l->dying.len; i > 0; i--) {
        struct process *p = l->dying.items[i - 1];
        if (reap(l, p)) {
            process_close(p);
            l->dying.items[i - 1] = l->dying.items[--l->dying.len];
        }
    }
}

/* Starts the waiting processes if none is dying. True: at least one was started. */
static bool start_waiting(struct processes *l)
{
    if (l->dying.len > 0 || l->waiting.len == 0) {
        return false;
    }
    vec_each (struct process *, p, &l->waiting) {
        start_process(l, *p);
    }
    l->waiting.len = 0;
    return true;
}

static bool reap_members(struct processes *l, bool *ret_is_alive)
{
    bool any = false, is_alive = false;
    vec_each (struct local_gang *, g, &l->gangs) {
        for (uint32_t i = 0; i < member_count((*g)->spec.replicas); i++) {
            struct process *p = (*g)->members[i];
            any = (p != NULL && reap(l, p)) || any;
            is_alive = (p != NULL && p->is_alive) || is_alive;
        }
    }
    *ret_is_alive = is_alive;
    return any;
}

static void on_sigchld(uv_signal_t *handle, int signum)
{
    (void)signum; /* SIGCHLD, the only one asked for */
    struct processes *l = handle->data;
    bool is_alive;
    bool is_changed = reap_members(l, &is_alive);
    vec_each (struct local_gang *, g, &l->gangs) {
        end_attempt(l, *g);
    }
    reap_dying(l);
    if (!is_alive && l->dying.len == 0) {
        uv_unref((uv_handle_t *)handle); /* no child is left */
    }
    is_changed = start_waiting(l) || is_changed;
    if (is_changed && l->base.on_change != NULL) {
        l->base.on_change(l->base.ctx);
    }
}

static void on_sigchld_closed(uv_handle_t *handle)
{
    struct processes *l = handle->data;
    vec_done(&l->gangs);
    vec_done(&l->dying);
    vec_done(&l->waiting);
    free(l->benchworker);
    free(l);
}

/* Removes every member of every gang. */
static void remove_all(struct processes *l)
{
    while (l->gangs.len > 0) {
        struct local_gang *g = l->gangs.items[0];
        struct gang_spec spec = g->spec;
        for (enum role role = 0; role < ROLE_COUNT; role++) {
            for (uint32_t i = 0; i < spec.replicas[role] && l->gangs.len > 0; i++) {
                struct replica_id id = {spec.attempt, role, i};
                processes_remove(&l->base, &id, false);
            }
        }
        if (l->gangs.len > 0 && l->gangs.items[0] == g) {
            drop_gang(l, g); /* it was prepared and never had a member */
        }
    }
}

static void processes_free(struct launcher *launcher)
{
    struct processes *l = (struct processes *)launcher;
    if (l == NULL) {
        return;
    }
    l->base.on_change = NULL;
    l->base.on_record = NULL;
    l->base.on_output = NULL;
    remove_all(l);
    vec_each (struct process *, p, &l->dying) {
        child_signal(&(*p)->child, CHILD_KILL); /* all first, so that they end side by side */
    }
    int64_t deadline_ns = clock_monotonic_ns() + FREE_TIMEOUT_NS;
    vec_each (struct process *, p, &l->dying) {
        process_wait(*p, deadline_ns);
        process_close(*p);
    }
    explicit_bzero(l->secret, sizeof(l->secret));
    sampler_close(l->sampler);
    uv_close((uv_handle_t *)&l->sigchld, on_sigchld_closed);
}

static const struct launcher_ops ops = {
    .prepare = processes_prepare,
    .create = processes_create,
    .remove = processes_remove,
    .observe = processes_observe,
    .collect = processes_collect,
    .take_log = processes_take_log,
    .end_after_steps = processes_end_after_steps,
    .free = processes_free,
};

int processes_new(const struct processes_params *params, struct launcher **ret, struct err *err)
{
    struct processes *l = xnew(struct processes);
    l->base.ops = &ops;
    l->loop = params->loop;
    l->benchworker = xstrdup(params->benchworker);
    l->log_max_bytes = params->log_max_bytes != 0 ? params->log_max_bytes : DEFAULT_LOG_MAX_BYTES;
    l->n_cpus = host_cpus_usable(l->cpus, CPU_SETSIZE);
    if (gethostname(l->node, sizeof(l->node) - 1) < 0) {
        text_put(l->node, sizeof(l->node), "localhost");
    }
    int r = 0;
    if (getrandom(l->secret, sizeof(l->secret), 0) != (ssize_t)sizeof(l->secret)) {
        r = err_set_errno(err, errno, "generate the run's secret");
    } else if ((r = uv_signal_init(l->loop, &l->sigchld)) < 0) {
        r = err_set_errno(err, -r, "watch for SIGCHLD");
    }
    if (r < 0) {
        free(l->benchworker);
        free(l);
        return r;
    }
    l->sigchld.data = l;
    r = uv_signal_start(&l->sigchld, on_sigchld, SIGCHLD);
    uv_unref((uv_handle_t *)&l->sigchld);
    if (r < 0) {
        (void)err_set_errno(err, -r, "watch for SIGCHLD");
        uv_close((uv_handle_t *)&l->sigchld, on_sigchld_closed);
        return r;
    }
    l->sampler = sampler_new(l->loop);
    *ret = &l->base;
    return 0;
}
