/* Prints the two kinds as JSON, whole: script/crd makes the manifest of them. */
#include <stdio.h>

#include "doc/tree.h"
#include "spec/schemas.h"

int main(void)
{
    struct node *kinds = schema_kinds();
    _cleanup_(json_decrefp) json_t *document = tree_to_json(kinds);
    json_dumpf(document, stdout, 0);
    tree_free(kinds);
    return 0;
}
