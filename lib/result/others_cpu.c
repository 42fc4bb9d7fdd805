/* See others_cpu.h. */
#include "result/others_cpu.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "core/environment.h"

#define CPU_MAX 65535

/* ---- who shares CPUs ---- */

/* Takes "4" or "4-7" and the comma after it from *list. */
static bool take_range(const char **list, int64_t *ret_from, int64_t *ret_to)
{
    const size_t len = strcspn(*list, ","), first = strcspn(*list, "-,");
    _cleanup_(freep) char *from = xstrndup(*list, first);
    _cleanup_(freep) char *to =
        first < len ? xstrndup(*list + first + 1, len - first - 1) : xstrdup(from);
    *list += len + ((*list)[len] == ',');
    return parse_i64_in(from, 0, CPU_MAX, ret_from) == 0 &&
           parse_i64_in(to, *ret_from, CPU_MAX, ret_to) == 0;
}

bool cpu_lists_meet(const char *a, const char *b)
{
    if (a == NULL || b == NULL || *a == '\0' || *b == '\0') {
        return true;
    }
    while (*a != '\0') {
        int64_t a_from, a_to, b_from, b_to;
        if (!take_range(&a, &a_from, &a_to)) {
            return true;
        }
        for (const char *rest = b; *rest != '\0';) {
            if (!take_range(&rest, &b_from, &b_to) || (a_from <= b_to && b_from <= a_to)) {
                return true;
            }
        }
    }
    return false;
}

static bool shares(const struct cpu_user *a, const struct cpu_user *b)
{
    const bool is_one_node = a->node == NULL || b->node == NULL || strcmp(a->node, b->node) == 0;
    return is_one_node && cpu_lists_meet(a->cpus, b->cpus);
}

/* The group of each user, by the lowest index in it: a user that shares with a member of a
 * group is in that group. */
static void find_groups(const struct cpu_user *users, size_t n, size_t *ret_group)
{
    for (size_t i = 0; i < n; i++) {
        ret_group[i] = i;
        for (size_t j = 0; j < i; j++) {
            const size_t joined = ret_group[j], own = ret_group[i];
            if (joined == own || !shares(&users[i], &users[j])) {
                continue;
            }
            const size_t lower = joined < own ? joined : own, higher = joined + own - lower;
            for (size_t k = 0; k <= i; k++) {
                ret_group[k] = ret_group[k] == higher ? lower : ret_group[k];
            }
        }
    }
}

/* ---- what they lost ---- */

static bool is_known(const struct cpu_user *u, double duration_ns)
{
    return u->cpu_ns > 0 && u->noise.cpu_run_ns > 0 && u->noise.busy_ns > 0 &&
           u->noise.busy_ns > u->noise.steal_ns &&
           (double)u->throttled_ns < OTHERS_CPU_THROTTLED * duration_ns;
}

/* The part of what a replica counted that belongs to the measured steps. */
static double measured_part(const struct cpu_user *u)
{
    return u->leads ? 1 : fmin(1, (double)u->cpu_ns / (double)u->noise.cpu_run_ns);
}

static double share_of_group(const struct cpu_user *users, size_t n, const size_t *group,
                             size_t which, double duration_ns)
{
    double ran = 0, waited = 0, busy = 0, steal = 0;
    bool has_leader = false;
    for (size_t i = 0; i < n; i++) {
        has_leader = has_leader || (group[i] == which && users[i].leads);
    }
    for (size_t i = 0; i < n; i++) {
        const struct cpu_user *u = &users[i];
        if (group[i] != which) {
            continue;
        }
        const double part = measured_part(u);
        ran += (double)u->cpu_ns;
        waited += part * (double)u->noise.cpu_wait_ns;
        if ((u->leads || !has_leader) && part * (double)u->noise.busy_ns > busy) {
            busy = part * (double)u->noise.busy_ns;
            steal = part * (double)u->noise.steal_ns;
        }
    }
    const double others_ran = fmax(0, busy - steal - ran);
    const double lost = fmin(waited, others_ran) + steal * fmin(1, ran / (busy - steal));
    return lost / fmax(duration_ns, ran + lost);
}

double others_cpu_share(const struct cpu_user *users, size_t n)
{
    double duration_ns = 0, most = n > 0 ? 0 : NAN;
    for (size_t i = 0; i < n; i++) {
        duration_ns = fmax(duration_ns, (double)users[i].duration_ns);
    }
    _cleanup_(freep) size_t *group = xnew_array(size_t, n);
    find_groups(users, n, group);
    for (size_t i = 0; i < n; i++) {
        if (!is_known(&users[i], duration_ns)) {
            return NAN;
        }
        if (group[i] == i) {
            most = fmax(most, share_of_group(users, n, group, i, duration_ns));
        }
    }
    return most;
}

double others_cpu_of_trial(const struct trial_result *t, enum role leading)
{
    _cleanup_(freep) struct cpu_user *users = xnew_array(struct cpu_user, trial_count_replicas(t));
    size_t n = 0;
    trial_each_replica (r, t) {
        if (replica_summary(r)->noise.cpu_run_ns <= 0) {
            return NAN; /* as of all other systems */
        }
        users[n++] = (struct cpu_user){
            .node = r->environment.node,
            .cpus = environment_text(r->environment.facts, "cpuset"),
            .leads = r->id.role == leading,
            .duration_ns = r->summary->duration_ns,
            .cpu_ns = r->summary->cpu_ns,
            .throttled_ns = r->summary->throttled_ns,
            .noise = r->summary->noise,
        };
    }
    return others_cpu_share(users, n);
}
