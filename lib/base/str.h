/* String predicates and distances. Nothing here allocates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool str_eq(const char *a, const char *b);
bool str_eq_or_null(const char *a, const char *b); /* also if both are NULL */
bool str_has_prefix(const char *s, const char *prefix);
bool str_has_suffix(const char *s, const char *suffix);
/* The letters of ASCII are equal to their capitals, in every locale. */
bool str_eq_nocase(const char *a, const char *b);
bool str_eq_nocase_n(const char *a, const char *b, size_t n);      /* at most their first n bytes */
const char *str_find_nocase(const char *text, const char *wanted); /* NULL if it is not there */
/* `list` ends with NULL. */
bool str_is_one_of(const char *s, const char *const *list);
/* Which of n texts it is; -EINVAL: none. */
int str_index(const char *s, const char *const *list, size_t n);
/* The same of a text that does not end after its len bytes. */
int str_index_n(const char *s, size_t len, const char *const *list, size_t n);

/* FNV-1a: for names of what differs, not against attacks. */
uint64_t str_hash(const char *data, size_t len);
/* Edit distance with neighbour swaps (optimal string alignment); SIZE_MAX if a string is
 * longer than 64 bytes. */
size_t str_distance(const char *a, const char *b);

/* The only closest candidate within distance 2 of `word`, or NULL. */
const char *str_suggest(const char *word, const char *const *candidates, size_t n);
