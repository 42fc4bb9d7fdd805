/* See openapi.h. */
#include "doc/openapi.h"

#include <string.h>

#include "base/str.h"

void schema_add(struct node *node, const struct node *from)
{
    for (size_t i = 0; from != NULL && i < from->n_children; i++) {
        if (tree_get(node, from->children[i]->key) == NULL) {
            tree_set_take(node, from->children[i]->key, tree_copy(from->children[i]));
        }
    }
}

static void add_bases(struct node *node)
{
    struct node *base = tree_take(node, "x-base");
    schema_add(node, base);
    tree_free(base);
    for (size_t i = 0; i < node->n_children; i++) {
        add_bases(node->children[i]);
    }
}

struct node *schema_parse(const char *text)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root;
    if (tree_parse(text, strlen(text), &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return NULL;
    }
    add_bases(root);
    return root;
}

const struct node *schema_keep(struct kept *kept, struct node *(*make)(const char *),
                               const char *name)
{
    struct node *known = kept_get(kept);
    if (known == NULL) {
        struct node *mine = make(name);
        known = kept_put(kept, mine);
        if (known != mine) {
            tree_free(mine);
        }
    }
    return known;
}

/* As benchd itself checks it. */
static const struct node *form_of(const struct node *schema)
{
    const struct node *form = tree_get(schema, "x-form");
    return form != NULL ? form : schema;
}

const struct node *schema_of_field(const struct node *schema, const char *key)
{
    const struct node *own = tree_get(tree_get(schema, "properties"), key);
    return form_of(own != NULL ? own : tree_get(schema, "additionalProperties"));
}

const struct node *schema_of_item(const struct node *schema)
{
    return form_of(tree_get(schema, "items"));
}

bool schema_requires(const struct node *schema, const char *key)
{
    const struct node *list = tree_get(schema, "required");
    return list != NULL && array_any(list->children, list->n_children, it, str_eq((*it)->s, key));
}
