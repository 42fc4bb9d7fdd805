/* See role.h. */
#include "core/role.h"

#include "base/str.h"

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

enum role role_leading(const uint32_t sizes[static ROLE_COUNT])
{
    return sizes[ROLE_LAUNCHER] > 0 ? ROLE_LAUNCHER
           : sizes[ROLE_WORKER] > 0 ? ROLE_WORKER
                                    : ROLE_TRAINER;
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
