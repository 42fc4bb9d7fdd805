/* Growable byte buffer, see buf.h. */
#include "base/buf.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static void reserve(struct buf *b, size_t more)
{
    size_t need = b->len + more + 1;
    if (need <= b->cap) {
        return;
    }
    size_t cap = b->cap == 0 ? 64 : b->cap;
    while (cap < need) {
        cap *= 2;
    }
    b->data = xrealloc(b->data, cap);
    b->cap = cap;
}

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_done(struct buf *b)
{
    free(b->data);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->data != NULL) {
        b->data[0] = '\0';
    }
}

void buf_spill_all(struct buf *b)
{
    if (b->take != NULL && b->len > 0 && b->take(b->ctx, b->data, b->len)) {
        buf_clear(b);
    }
}

void buf_spill(struct buf *b)
{
    if (b->len >= BUF_SPILL_BYTES) {
        buf_spill_all(b);
    }
}

void buf_trim(struct buf *b)
{
    if (b->data != NULL && b->cap > b->len + 1) {
        b->cap = b->len + 1;
        b->data = xrealloc(b->data, b->cap);
    }
}

void buf_append(struct buf *b, const void *data, size_t len)
{
    reserve(b, len);
    if (len != 0) {
        memcpy(b->data + b->len, data, len);
    }
    b->len += len;
    b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
    buf_append(b, &c, 1);
}

void buf_put_utf8(struct buf *b, const char *s, size_t max)
{
    for (size_t used = 0; *s != '\0';) {
        const size_t len = utf8_length(s);
        const size_t step = len == 0 ? 1 : len;
        if (step > max - used) {
            return;
        }
        buf_append(b, len == 0 ? "?" : s, step);
        used += step;
        s += step;
    }
}

void buf_put_percent(struct buf *b, const char *s, const char *plain)
{
    for (; *s != '\0'; s++) {
        if (strchr(plain, *s) != NULL) {
            buf_putc(b, *s);
        } else {
            buf_printf(b, "%%%02X", (unsigned char)*s);
        }
    }
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    char *s = xasprintf_rest(fmt);
    buf_puts(b, s);
    free(s);
}

int buf_try_append(struct buf *b, const void *data, size_t len)
{
    if (b->max != 0 && (len > b->max || b->len > b->max - len)) {
        return -E2BIG;
    }
    buf_append(b, data, len);
    return 0;
}

const char *buf_cstr(const struct buf *b)
{
    return b->data == NULL ? "" : b->data;
}

char *buf_take(struct buf *b)
{
    reserve(b, 0);
    b->data[b->len] = '\0';
    char *s = b->data;
    *b = (struct buf){.max = b->max};
    return s;
}
