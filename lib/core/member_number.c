/* See member_number.h. */
#include "core/member_number.h"

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
