/* The roles of a replica. */
#pragma once

enum role {
    ROLE_PSERVER,
    ROLE_TRAINER,
    ROLE_WORKER,
};
#define ROLE_COUNT 3

const char *role_to_string(enum role role); /* "pserver", "trainer", "worker" */
int role_from_string(const char *s);        /* enum role, or -EINVAL */
