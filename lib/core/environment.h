/* Some values of a replica's environment, the canonical text of its start record
 * (record_environment_canonical), which the store does not check. Pure. */
#pragma once

#include <jansson.h>

/* Owned; NULL: no text, or no JSON object. Then nothing is said. */
json_t *environment_parse(const char *text);
/* A string, borrowed; NULL: not said, or no string. */
const char *environment_text(const json_t *environment, const char *key);
/* A value of any type, but not null, as text: a string as it is, all others as JSON. Owned; NULL:
 * not said. */
char *environment_any_text(const json_t *environment, const char *key);
/* A number; NaN: not said, or no number. */
double environment_number(const json_t *environment, const char *key);

/* Adds where a replica ran, and on what, to the environment of its start record (NULL: none came):
 * the keys that only the launcher knows (docs/contracts/record.md), which override what the replica
 * says. NULL means that the launcher does not know. Owned; NULL if nothing is known. */
char *environment_add(const char *environment_json, const char *node, const char *image_id);
