/* Prints a YAML file as JSON, read by the project's own reader: tests in Python have none. */
#include <stdio.h>

#include "base/buf.h"
#include "doc/tree.h"

int main(int argc, char **argv)
{
    struct buf text = BUF_INIT;
    char chunk[4096];
    size_t n;
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (f == NULL) {
        return 2;
    }
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0) {
        buf_append(&text, chunk, n);
    }
    fclose(f);
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    struct diags diags = {0};
    struct node *root = NULL;
    if (tree_parse(buf_cstr(&text), text.len, &limits, &root, &diags) < 0) {
        struct buf out = BUF_INIT;
        diags_format(&diags, argv[1], buf_cstr(&text), &out);
        fputs(buf_cstr(&out), stderr);
        return 1;
    }
    _cleanup_(json_decrefp) json_t *document = tree_to_json(root);
    json_dumpf(document, stdout, 0);
    tree_free(root);
    buf_done(&text);
    return 0;
}
