/* Rendezvous: the variables by which the processes of a system find each other, as data of a
 * profile or of a system (docs/profiles.md has the vocabulary). Pure.
 *
 * A value is text with placeholders: "${index}", "${training-1}", "${training.host}",
 * "${pserver.addresses|json}". They are checked when they are read, and filled in for each replica.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/replica.h"

struct diags; /* doc/diag.h */
struct place; /* doc/reader.h */

enum rendezvous_replicas { RENDEZVOUS_ALL, RENDEZVOUS_FIRST, RENDEZVOUS_REST };
#define RENDEZVOUS_REPLICAS_COUNT 3

struct rendezvous_var {
    char *name, *value;                /* owned */
    bool roles[ROLE_COUNT];            /* the roles that get it */
    enum rendezvous_replicas replicas; /* of these roles */
    bool with[ROLE_COUNT];             /* only at points that have replicas of all of these */
};
struct rendezvous {
    VEC(struct rendezvous_var) vars; /* of one name the last that applies counts */
};

/* Reads the list `rendezvous` of a map; every problem is noted. */
void rendezvous_read(struct diags *diags, const struct place *map, struct rendezvous *ret);
void rendezvous_done(struct rendezvous *rendezvous);

/* One replica in its gang; all borrowed. */
struct rendezvous_member {
    enum role role;
    uint32_t index;
    const char *run;
    const uint32_t *replicas;    /* by role */
    char *const *const *of_role; /* addresses by role and index; a list may be NULL: not known */
    const char *listen;          /* "host:port" that it binds */
};
bool rendezvous_applies(const struct rendezvous_var *var, const struct rendezvous_member *member);
/* Owned. What is not known is left empty. */
char *rendezvous_value(const struct rendezvous_var *var, const struct rendezvous_member *member);
/* Does the value need the addresses of a role? The first such role goes to *ret_role. `skip`: a
 * role that does not count, or -1. Of the member, role, index and replicas must be known. */
bool rendezvous_needs_addresses(const struct rendezvous_var *var,
                                const struct rendezvous_member *member, int skip,
                                enum role *ret_role);
