/* Where a replica ran, and on what: keys of the environment that the store keeps of it
 * (docs/contracts/record.md). The replica's start record says most of them; the launcher adds what
 * only it knows. Pure. */
#pragma once

/* The environment of a start record (NULL: none came) with the launcher's keys, which override what
 * the replica says; NULL: the launcher does not know. Owned; NULL if nothing is known. */
char *placement_add(const char *environment_json, const char *node, const char *image_id);
