/* Where a replica ran, and on what: what its start record says and its launcher adds
 * (docs/contracts/record.md). Pure. */
#pragma once

#include <jansson.h>

/* Most replicas have a host, node and clock of their own; all else is the same for many. */
struct environment {
    json_t *facts; /* an object of any content; shared, so never changed; NULL: nothing is known */
    char *host, *node; /* owned; NULL: not said */
    double cpu_mhz;    /* 0: not said */
};
/* What the object of a start record says (borrowed; NULL: none came). `node` and `image_id` are
 * what only the launcher knows, which overrides it; NULL: it does not know. */
struct environment environment_of(const json_t *record, const char *node, const char *image_id);
struct environment environment_copy(const struct environment *e); /* NULL: nothing is known */
void environment_done(struct environment *e);
/* One object again. Owned; NULL if nothing is known. */
json_t *environment_to_json(const struct environment *e);

/* Owned; NULL: no text, or no JSON object. record_environment_canonical writes it. */
json_t *environment_parse(const char *text);
/* Of an object. A string, borrowed; NULL: not said, or no string. */
const char *environment_text(const json_t *facts, const char *key);
/* A value of any type, but not null, as text: a string as it is, all others as JSON. Owned; NULL:
 * not said. */
char *environment_value_text(const json_t *value);
/* A number; NaN: not said, or no number. */
double environment_number(const json_t *facts, const char *key);
