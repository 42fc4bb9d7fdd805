/* For whoever decodes JSON of an object into facts: a struct in one block with the texts that it
 * points to. The texts are put twice: first without a place, which counts them, then into the
 * block. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct fact_texts {
    char *at;   /* of the next one; NULL: they are only counted */
    size_t len; /* of all, with their ends */
};

/* The text in its place; while it is counted, the text itself. "" and NULL need no place. */
const char *fact_put(struct fact_texts *t, const char *text);

/* The text of that key, borrowed; "": absent, or not a string. */
const char *fact_text(const json_t *object, const char *key);
/* The first item of a list whose text of that key is `text`, borrowed; NULL: none. */
const json_t *fact_find(const json_t *list, const char *key, const char *text);
/* The text of that key, put. */
const char *fact_put_text(struct fact_texts *t, const json_t *object, const char *key);
/* The RFC 3339 date of that key, in milliseconds since 1970; 0: absent, or not a date. */
int64_t fact_date(const json_t *object, const char *key);
