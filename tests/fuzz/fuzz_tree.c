/* Fuzz target: any bytes as a YAML document. A refused text has a diagnostic and
 * no tree; an accepted one keeps to the limits, and so does its copy. */
#include "fuzz.h"

#include "doc/tree.h"

static void check_tree(const struct node *root, const struct tree_limits *limits)
{
    struct node *copy = tree_copy(root);
    const struct tree_size size = tree_measure(root), copied = tree_measure(copy);
    require(size.nodes <= limits->nodes && size.depth <= limits->depth);
    require(size.nodes == copied.nodes && size.bytes == copied.bytes && size.depth == copied.depth);
    _cleanup_(json_decrefp) json_t *first = tree_to_json(root), *second = tree_to_json(copy);
    require(json_equal(first, second));
    tree_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    struct diags diags = {0};
    struct node *root = NULL;
    if (tree_parse((const char *)data, size, &limits, &root, &diags) == 0) {
        require(diags.list.len == 0);
        check_tree(root, &limits);
        tree_free(root);
    } else {
        require(root == NULL && diags.list.len > 0);
        diags_done(&diags);
    }
    return 0;
}
