/* A growable byte buffer with an optional hard limit.
 *
 * buf_append and buf_printf abort when memory is gone: for our own text. For bytes from
 * outside set a limit with buf_init and use buf_try_append, which returns -E2BIG. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* NULL, or NUL-terminated after len bytes */
    size_t len;
    size_t cap;
    size_t max; /* 0: no limit */
    /* Of a long text: takes what buf_spill gives it, or says that it cannot. NULL: all stays. */
    bool (*take)(void *ctx, const void *data, size_t len);
    void *ctx;
};

#define BUF_INIT ((struct buf){0})
/* For buf_put_percent. */
#define BUF_ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);  /* frees the storage; b is empty and usable again */
void buf_clear(struct buf *b); /* keeps the storage */
/* For the maker of a long text, now and then: gives away what there is, if it is much; or all. */
#define BUF_SPILL_BYTES ((size_t)1 << 20)
void buf_spill(struct buf *b);
void buf_spill_all(struct buf *b);
void buf_trim(struct buf *b); /* gives back the storage that is not used */
void buf_append(struct buf *b, const void *data, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
/* Foreign text as UTF-8: '?' replaces each invalid byte. At most `max` bytes, cut between
 * characters. */
void buf_put_utf8(struct buf *b, const char *s, size_t max);
/* Each byte that is not in `plain` as %XX. */
void buf_put_percent(struct buf *b, const char *s, const char *plain);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* 0, or -E2BIG if the result would be longer than max (then b is unchanged). */
int buf_try_append(struct buf *b, const void *data, size_t len);
/* Borrowed, never NULL, valid until the next change. */
const char *buf_cstr(const struct buf *b);
/* The text as an owned string; b is empty afterwards. */
char *buf_take(struct buf *b);
