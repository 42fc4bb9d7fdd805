/* Numbers and texts as bytes that compress well: similar numbers are next to each other. Used by
 * figures_pack.c and figures_unpack.c. Pure.
 *
 *   number  little-endian, of as many bytes as its reader asks for
 *   column  u8 width, 0 to 8; then the lowest bytes of all n numbers, then their second bytes, ...
 *           (`width` of them): the high bytes of like numbers are alike, and only the last ones of
 *           a time cannot be compressed
 *   texts   u32 n; n x (u32 length, bytes); a reference to a text is its index + 1, and 0 is NULL
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"

void columns_put_number(struct buf *out, uint64_t value, size_t n_bytes);
void columns_put(struct buf *out, const uint64_t *values, size_t n);

/* Texts while they are collected, each once. Zero-initialised is empty. */
struct columns_texts {
    json_t *index; /* owned */
    struct buf bytes;
    uint32_t n;
};
/* A reference to it; NULL is fine. */
uint32_t columns_texts_add(struct columns_texts *t, const char *text);
/* Writes them to `out` and empties the list. */
void columns_texts_end(struct columns_texts *t, struct buf *out);

/* What is left to read. All functions below return false, and read nothing, where bytes
 * are missing or wrong. */
struct columns_reader {
    const unsigned char *at, *end;
};
bool columns_get_number(struct columns_reader *r, size_t n_bytes, uint64_t *ret);
/* A number of at most `max`. */
bool columns_get_count(struct columns_reader *r, size_t n_bytes, uint64_t max, size_t *ret);
/* Fills `values`, which has room for n. */
bool columns_get(struct columns_reader *r, uint64_t *values, size_t n);

/* Texts as they are read: borrowed from one block. */
struct columns_list {
    char **items; /* owned; [0] is NULL, so that a reference is an index */
    char *block;  /* owned */
    size_t n;     /* with [0] */
};
bool columns_get_texts(struct columns_reader *r, struct columns_list *ret);
void columns_list_done(struct columns_list *list);
