/* A result as its JSON document, see report.h. */
#include <assert.h>

#include "report/report.h"

static int append_chunk(const char *data, size_t len, void *ctx)
{
    buf_append(ctx, data, len);
    return 0;
}

void report_json(const struct result *r, struct buf *out)
{
    json_t *document = result_to_json(r);
    int written = json_dump_callback(document, append_chunk, out, JSON_INDENT(2));
    assert(written == 0); /* result_to_json makes nothing that cannot be dumped */
    (void)written;
    buf_putc(out, '\n');
    json_decref(document);
}
