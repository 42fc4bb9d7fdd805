/* A network of one attempt on this machine with links of the requested rate: each replica has a
 * network namespace with one interface, and a bridge in a namespace of its own connects them. Both
 * ends of a replica's link are shaped (tbf), so the rate holds in each direction; a delay is
 * netem's. Needs root, and the programs ip and tc. Edge file: namespaces, child processes.
 *
 *     replica's namespace            the bridge's namespace
 *     eth0 10.77.0.1/16 <--- veth ---> l0 \
 *     eth0 10.77.0.2/16 <--- veth ---> l1 -- bridge
 *
 * The namespaces have no name: they are open descriptors of this process and the replicas' own, and
 * the kernel removes them, with all that is in them, when the last of these has ended, whatever
 * ended it. So nothing is left over, and nothing must be found again. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "core/link.h"

struct links;

#define LINKS_PORT 7164 /* free in every namespace */
#define LINKS_MAX 1000  /* a bridge has 1,023 ports; each replica has an entry for each other */

/* `n` replicas with such a link. -EINVAL: more than LINKS_MAX; -EPERM: not root; -ENOENT: ip or tc
 * is missing; -EOPNOTSUPP: this kernel cannot delay (no netem) or shape (no tbf). */
int links_new(const struct link *link, uint32_t n, struct links **ret, struct err *err);
void links_free(struct links *l);
/* Can this process make such links? As links_new, of one replica. */
int links_try(const struct link *link, struct err *err);
/* Of replica i: its namespace (borrowed), for setns. */
int links_fd(const struct links *l, uint32_t i);
/* Its address, HOST:PORT. Owned. */
char *links_address(uint32_t i);
