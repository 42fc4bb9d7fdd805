/* The profiles of foreign systems: profiles/NAME/profile.yaml in each place of definitions. */
#pragma once

#include "base/exit_code.h"
#include "spec/profile.h"

/* Reads all of them; a name that was found first counts. EXIT_OK, or says which one is wrong. */
enum exit_code profiles_open(struct profiles *ret);

/* Can every system of a run start on this machine? EXIT_OK; or says of each that cannot what is
 * missing and the command that installs it (EXIT_LOCAL_RESOURCE), before anything starts. */
enum exit_code profiles_check(const struct profiles *profiles, const struct spec *spec);
