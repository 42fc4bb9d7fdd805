/* Ports of an attempt, see local_gang.h.
 *
 * A port is found by binding port 0 on the loopback address. It stays bound, but never listens
 * and so leaves no TIME_WAIT, until its owner starts. Another program may take it in the moment
 * between: the replica then exits with 13, which voids the attempt, and the next attempt gets
 * new ports. */
#include "run/processes/local_gang.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "core/replica.h"
#include "host/probe.h"
#include "run/processes/child.h"
#include "run/processes/links.h"

static int reserve_port(int *ret_fd, char **ret_address, struct err *err)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return err_set_errno(err, errno, "reserve a port");
    }
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(sa);
    if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
        getsockname(fd, (struct sockaddr *)&sa, &len) < 0) {
        int r = err_set_errno(err, errno, "reserve a port on 127.0.0.1");
        fd_close(&fd);
        return r;
    }
    *ret_fd = fd;
    *ret_address = xasprintf("127.0.0.1:%u", ntohs(sa.sin_port));
    return 0;
}

static int open_arena(struct local_gang *g, struct err *err)
{
    if (!g->spec.is_emulated) {
        return 0;
    }
    g->arena_fd = memfd_create("benchd-arena", MFD_CLOEXEC);
    const int r = g->arena_fd < 0 ? -errno : child_raise_fd(&g->arena_fd);
    return r < 0 ? err_set_errno(err, -r, "memory that the trainers share") : 0;
}

int local_gang_network(const struct local_gang *g, uint32_t member)
{
    return g->links == NULL ? -1 : links_fd(g->links, member);
}

/* An address for each: a port of this machine, or one at the end of its link. */
static int make_addresses(struct local_gang *g, struct err *err)
{
    const struct gang_spec *spec = &g->spec;
    const bool has_links = spec->link.bits_per_s > 0;
    int r = has_links ? links_new(&spec->link, member_count(spec->replicas), &g->links, err) : 0;
    if (r < 0) {
        return r;
    }
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < spec->replicas[role]; i++) {
            const uint32_t member = member_number(spec->replicas, role, i);
            char **address = &g->addresses.of_role[role][i];
            if (has_links) {
                *address = links_address(member);
                continue;
            }
            r = reserve_port(&g->reserved[member], address, err);
            if (r < 0) {
                return err_wrap(err, r, "%s/%u", role_to_string(role), i);
            }
        }
    }
    return 0;
}

int local_gang_new(const struct gang_spec *spec, struct local_gang **ret, struct err *err)
{
    struct local_gang *g = xnew(struct local_gang);
    g->spec = *spec;
    g->arena_fd = -1;
    const uint32_t n = member_count(spec->replicas);
    g->reserved = xnew_array(int, n);
    g->members = xnew_array(struct process *, n);
    for (uint32_t i = 0; i < n; i++) {
        g->reserved[i] = -1;
    }
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        g->addresses.of_role[role] = xnew_array(char *, spec->replicas[role]);
    }
    int r = make_addresses(g, err);
    r = r < 0 ? r : open_arena(g, err);
    if (r < 0) {
        local_gang_free(g);
        return r;
    }
    *ret = g;
    return 0;
}

void local_gang_free(struct local_gang *g)
{
    if (g == NULL) {
        return;
    }
    for (uint32_t i = 0; i < member_count(g->spec.replicas); i++) {
        fd_close(&g->reserved[i]);
    }
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < g->spec.replicas[role]; i++) {
            free(g->addresses.of_role[role][i]);
        }
        free(g->addresses.of_role[role]);
    }
    free(g->reserved);
    free(g->members);
    links_free(g->links);   /* those of members that still run stay until they end */
    fd_close(&g->arena_fd); /* they keep what they have mapped */
    free(g);
}

/* ---- noise ---- */

/* The thread has its CPUs back before it starts a child. Where the kernel refuses, it
 * probes wherever it is. */
static void probe(int cpu, struct noise_probe *ret)
{
    cpu_set_t ours, one;
    const bool is_moved = cpu >= 0 && sched_getaffinity(0, sizeof(ours), &ours) == 0;
    if (is_moved) {
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof(one), &one);
    }
    const struct probe_limits limits = probe_limits_of("");
    probe_run(&limits, ret);
    if (is_moved) {
        (void)sched_setaffinity(0, sizeof(ours), &ours); /* they were ours */
    }
}

void gang_noise_begin(struct gang_noise *n, int cpu)
{
    n->has_begun = true;
    probe(cpu, &n->seen.before);
}

void gang_noise_end(struct gang_noise *n, int cpu)
{
    probe(cpu, &n->seen.after);
}
