/* See json_text.h. */
#include "report/json_text.h"

#include <assert.h>

static int append_chunk(const char *data, size_t len, void *ctx)
{
    buf_append(ctx, data, len);
    return 0;
}

void json_text_put(json_t *document_take, struct buf *out)
{
    int written = json_dump_callback(document_take, append_chunk, out, JSON_INDENT(2));
    assert(written == 0); /* fails only for values that no document has */
    (void)written;
    buf_putc(out, '\n');
    json_decref(document_take);
}
