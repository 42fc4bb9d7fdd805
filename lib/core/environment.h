/* Some values of a replica's environment, the canonical text of its start record
 * (record_environment_canonical), which the store does not check. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/json_scan.h"

enum environment_kind {
    ENVIRONMENT_NONE, /* it has no such key, or null */
    ENVIRONMENT_TEXT,
    ENVIRONMENT_WHOLE, /* a whole number, in its one spelling */
    ENVIRONMENT_REAL,  /* another number */
};
struct environment_value {
    enum environment_kind kind;
    struct json_span span; /* borrowed from the text */
};

/* Values by key; `keys` are sorted by byte. False: the text is not plain JSON (json_scan.h) with
 * sorted keys and without objects, lists, true and false; jansson may still read it. */
bool environment_scan(const char *text, const char *const *keys, size_t n,
                      struct environment_value *ret);

/* The same of any text: calls `each` with those that are said. Of a value that is no string its
 * JSON, with `any`; else it is not said. A text that is not JSON says nothing. */
typedef void (*environment_text_fn)(void *ctx, size_t key, const char *text, size_t len);
void environment_each_text(const char *text, const char *const *keys, size_t n, bool any,
                           environment_text_fn each, void *ctx);
/* As owned copies; NULL: not said. Strings only. */
void environment_texts(const char *text, const char *const *keys, size_t n, char **ret);
/* A number; NaN: not said, or no number. */
double environment_number(const char *text, const char *key);
