/* See pack.h. */
#include "daemon/web/pack.h"

#include <assert.h>

#include <zstd.h>

#include "base/mem.h"

#define LEVEL 1
#define WINDOW_LOG 17 /* so little must a reader keep */

struct text_pack {
    ZSTD_CCtx *ctx;
    struct buf zstd;
    size_t len;
};

struct text_pack *text_pack_new(void)
{
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    if (ctx == NULL) {
        return NULL;
    }
    struct text_pack *p = xnew(struct text_pack);
    p->ctx = ctx;
    (void)ZSTD_CCtx_setParameter(p->ctx, ZSTD_c_compressionLevel, LEVEL); /* both are in range */
    (void)ZSTD_CCtx_setParameter(p->ctx, ZSTD_c_windowLog, WINDOW_LOG);
    return p;
}

void text_pack_free(struct text_pack *p)
{
    if (p != NULL) {
        ZSTD_freeCCtx(p->ctx);
        buf_done(&p->zstd);
        free(p);
    }
}

static void put(struct text_pack *p, const char *text, size_t len, ZSTD_EndDirective end)
{
    char block[16384];
    ZSTD_inBuffer in = {text, len, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {block, sizeof(block), 0};
        left = ZSTD_compressStream2(p->ctx, &out, &in, end);
        assert(!ZSTD_isError(left)); /* there is a context, and room */
        buf_append(&p->zstd, block, out.pos);
    } while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
    p->len += len;
}

void text_pack_put(struct text_pack *p, const char *text, size_t len)
{
    put(p, text, len, ZSTD_e_continue);
}

void text_pack_end(struct text_pack *p, struct buf *ret, size_t *ret_len)
{
    put(p, "", 0, ZSTD_e_end);
    *ret_len = p->len;
    *ret = p->zstd;
    p->zstd = (struct buf)BUF_INIT;
}

struct text_reader {
    ZSTD_DCtx *ctx;
    ZSTD_inBuffer in;
};

struct text_reader *text_reader_new(const void *data, size_t len)
{
    struct text_reader *r = xnew(struct text_reader);
    *r = (struct text_reader){ZSTD_createDCtx(), {data, len, 0}};
    return r;
}

void text_reader_free(struct text_reader *r)
{
    ZSTD_freeDCtx(r->ctx);
    free(r);
}

size_t text_reader_next(struct text_reader *r, char *to, size_t max)
{
    ZSTD_outBuffer out = {to, max, 0};
    while (r->ctx != NULL && out.pos == 0) {
        const size_t before = r->in.pos;
        const size_t left = ZSTD_decompressStream(r->ctx, &out, &r->in);
        if (ZSTD_isError(left) || (out.pos == 0 && r->in.pos == before)) {
            break; /* it is over, or there is no memory */
        }
    }
    return out.pos;
}
