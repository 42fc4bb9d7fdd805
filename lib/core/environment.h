/* Some values of a replica's environment, the canonical text of its start record
 * (record_environment_canonical), which the store does not check. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Values by key: calls `each` with those that are said. Of a value that is no string its JSON, with
 * `any`; else it is not said. A text that is not JSON says nothing. */
typedef void (*environment_text_fn)(void *ctx, size_t key, const char *text, size_t len);
void environment_each_text(const char *text, const char *const *keys, size_t n, bool any,
                           environment_text_fn each, void *ctx);
/* As owned copies; NULL: not said. Strings only. */
void environment_texts(const char *text, const char *const *keys, size_t n, char **ret);
/* A number; NaN: not said, or no number. */
double environment_number(const char *text, const char *key);
