/* What a definition takes over from the profiles of its systems, so that it is whole without them:
 * in a cluster, and when it is resumed. Pure.
 *
 * A system without a rendezvous gets that of its profile. A role with an entrypoint gets it as its
 * command, and what the system runs (command and args) as its arguments, unless the system has a
 * command for the role itself. A definition that was merged stays as it is. */
#pragma once

struct node;     /* doc/tree.h */
struct profiles; /* spec/profile.h */

/* With `profiles` NULL the shipped ones alone are known. */
void profiles_merge(const struct profiles *profiles, struct node *definition);
