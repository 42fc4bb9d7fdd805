/* Ports of an attempt, see local_gang.h.
 *
 * A port is found by binding port 0 on the loopback address. It stays bound, but never listens
 * and so leaves no TIME_WAIT, until its owner starts. Another program may take it in the moment
 * between: the replica then exits with 13, which voids the attempt, and the next attempt gets
 * new ports. */
#include "run/processes/local_gang.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/member_number.h"
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
        (void)close(fd); /* nothing was written */
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
    const int fd = memfd_create("benchd-arena", MFD_CLOEXEC);
    g->arena_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, CHILD_FD_MIN);
    const int code = errno;
    if (fd >= 0) {
        (void)close(fd); /* empty */
    }
    return g->arena_fd < 0 ? err_set_errno(err, code, "memory that the trainers share") : 0;
}

int local_gang_network(const struct local_gang *g, enum role role, uint32_t index)
{
    return g->links == NULL ? -1 : links_fd(g->links, member_number(g->spec.replicas, role, index));
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
            char **address = &g->addresses.of_role[role][i];
            if (has_links) {
                *address = links_address(member_number(spec->replicas, role, i));
                continue;
            }
            r = reserve_port(&g->reserved[role][i], address, err);
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
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        uint32_t n = spec->replicas[role];
        g->addresses.of_role[role] = xnew_array(char *, n + 1);
        g->reserved[role] = xnew_array(int, n + 1);
        g->members[role] = xnew_array(struct process *, n + 1);
        for (uint32_t i = 0; i < n; i++) {
            g->reserved[role][i] = -1;
        }
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

void local_gang_release_port(struct local_gang *g, enum role role, uint32_t index)
{
    if (index < g->spec.replicas[role] && g->reserved[role][index] >= 0) {
        (void)close(g->reserved[role][index]); /* nothing was written */
        g->reserved[role][index] = -1;
    }
}

void local_gang_free(struct local_gang *g)
{
    if (g == NULL) {
        return;
    }
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < g->spec.replicas[role]; i++) {
            local_gang_release_port(g, role, i);
            free(g->addresses.of_role[role][i]);
        }
        free(g->addresses.of_role[role]);
        free(g->reserved[role]);
        free(g->members[role]);
    }
    links_free(g->links); /* those of members that still run stay until they end */
    if (g->arena_fd >= 0) {
        (void)close(g->arena_fd); /* the members that still run keep what they have mapped */
    }
    free(g);
}
