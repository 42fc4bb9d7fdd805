/* The members of a gang as numbers: counted role by role, by index in a role. Pure. */
#pragma once

#include <stdint.h>

#include "core/role.h"

uint32_t member_number(const uint32_t sizes[static ROLE_COUNT], enum role role, uint32_t index);
/* How many members it has. */
uint32_t member_count(const uint32_t sizes[static ROLE_COUNT]);
