/* The profiles of other systems: profiles/NAME/profile.yaml in each place of definitions. */
#pragma once

#include "base/exit_code.h"
#include "spec/profile.h"

/* Reads all of them; the first of each name wins. EXIT_OK, or prints which one is wrong. */
enum exit_code profiles_open(struct profiles *ret);

/* Can every system of a run start on this machine? EXIT_OK; or EXIT_LOCAL_RESOURCE after printing,
 * for each that cannot, what is missing and the command that installs it. */
enum exit_code profiles_check(const struct profiles *profiles, const struct spec *spec);
