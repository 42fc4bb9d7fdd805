/* The roles of a replica.
 *
 * A launcher starts the program in its gang's other replicas (mpirun) and prints what comes of it.
 * A gang has one or none. Where there is one, it leads: its end is the attempt's end, its figures
 * are the attempt's figures, and all others are servers, which need not end (sshd). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum role {
    ROLE_PSERVER,
    ROLE_TRAINER,
    ROLE_WORKER,
    ROLE_LAUNCHER, /* last: created when the others are */
};
#define ROLE_COUNT 4

extern const char *const role_names[ROLE_COUNT];
const char *role_to_string(enum role role); /* "pserver", "trainer", "worker", "launcher" */
int role_from_string(const char *s);        /* enum role, or -EINVAL */
/* The role that has the attempt's figures in a gang of these sizes: a launcher, else workers, else
 * trainers. */
enum role role_leading(const uint32_t sizes[static ROLE_COUNT]);
/* Does a role of a gang of these sizes end the attempt and have its figures? */
bool role_leads(enum role role, const uint32_t sizes[static ROLE_COUNT]);

/* The members of a gang as numbers: counted role by role, by index in a role. */
uint32_t member_number(const uint32_t sizes[static ROLE_COUNT], enum role role, uint32_t index);
uint32_t member_count(const uint32_t sizes[static ROLE_COUNT]); /* how many it has */
