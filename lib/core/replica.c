/* See replica.h. */
#include "core/replica.h"

#include "base/exit_code.h"
#include "base/mem.h"
#include "base/str.h"

bool attempt_id_eq(const struct attempt_id *a, const struct attempt_id *b)
{
    return attempt_id_compare(a, b) == 0;
}

int attempt_id_compare(const struct attempt_id *a, const struct attempt_id *b)
{
    if (a->point != b->point) {
        return a->point < b->point ? -1 : 1;
    }
    if (a->trial != b->trial) {
        return a->trial < b->trial ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

bool replica_id_eq(const struct replica_id *a, const struct replica_id *b)
{
    return attempt_id_eq(&a->attempt, &b->attempt) && a->role == b->role && a->index == b->index;
}

char *replica_name(const char *run, const struct replica_id *id)
{
    return xasprintf("%s-p%ut%ua%u-%s-%u", run, id->attempt.point, id->attempt.trial,
                     id->attempt.number, role_to_string(id->role), id->index);
}

bool replica_state_is_final(enum replica_state state)
{
    return state == REPLICA_SUCCEEDED || state == REPLICA_FAILED || state == REPLICA_LOST;
}

/* Shells and container runtimes report death by signal n as exit code 128 + n. */
static bool is_signal_code(int exit_code)
{
    return exit_code > 128 && exit_code <= 128 + 64;
}

enum failure_class failure_classify_exit(int exit_code, int signal, bool oom_killed)
{
    /* This comes first: a shell may exit with 0 although its child was killed for memory. */
    if (oom_killed) {
        return FAILURE_PERMANENT;
    }
    if (signal != 0 || is_signal_code(exit_code)) {
        return FAILURE_INFRASTRUCTURE;
    }
    switch (exit_code) {
    case 0:
        return FAILURE_NONE;
    case EXIT_WORKER_PEER_LOST:
        return FAILURE_CONSEQUENCE;
    case EXIT_WORKER_RESOURCE:
        return FAILURE_INFRASTRUCTURE;
    default:
        return FAILURE_PERMANENT;
    }
}

/* ---- roles ---- */

const char *const role_names[ROLE_COUNT] = {
    [ROLE_PSERVER] = "pserver",
    [ROLE_TRAINER] = "trainer",
    [ROLE_WORKER] = "worker",
    [ROLE_LAUNCHER] = "launcher",
};

const char *role_to_string(enum role role)
{
    return role_names[role];
}

int role_from_string(const char *s)
{
    return str_index(s, role_names, ROLE_COUNT);
}

enum role role_training(const uint32_t sizes[static ROLE_COUNT])
{
    return sizes[ROLE_WORKER] > 0 ? ROLE_WORKER : ROLE_TRAINER;
}

enum role role_leading(const uint32_t sizes[static ROLE_COUNT])
{
    return sizes[ROLE_LAUNCHER] > 0 ? ROLE_LAUNCHER : role_training(sizes);
}

bool role_leads(enum role role, const uint32_t sizes[static ROLE_COUNT])
{
    return sizes[ROLE_LAUNCHER] > 0 ? role == ROLE_LAUNCHER : role != ROLE_PSERVER;
}

uint32_t member_number(const uint32_t sizes[static ROLE_COUNT], enum role role, uint32_t index)
{
    for (unsigned before = 0; before < (unsigned)role; before++) {
        index += sizes[before];
    }
    return index;
}

uint32_t member_count(const uint32_t sizes[static ROLE_COUNT])
{
    return member_number(sizes, ROLE_LAUNCHER, sizes[ROLE_LAUNCHER]);
}
