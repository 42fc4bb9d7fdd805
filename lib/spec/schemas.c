/* See schemas.h. */
#include "spec/schemas.h"

#include <string.h>

#include "base/mem.h"
#include "doc/embedded.h"
#include "doc/openapi.h"

extern const struct embedded schema_files[]; /* made of the folder schema by embed.py */
extern const size_t schema_files_count;

static struct node *parse(const char *name)
{
    return schema_parse(embedded_find(schema_files, schema_files_count, name)->text);
}

/* A log rule or a pod in it is checked by its own reader. */
const struct node *schema_definition(void)
{
    static struct kept kept;
    return schema_keep(&kept, parse, "definition");
}

const struct node *schema_run(void)
{
    static struct kept kept;
    return tree_at(schema_keep(&kept, parse, "kinds"),
                   "items[1].spec.versions[0].schema.openAPIV3Schema.properties.spec");
}

/* "definition", or "definition.properties.local": a part of it. */
static const struct node *find(const char *name)
{
    const size_t len = strlen("definition");
    return name[len] == '\0' ? schema_definition() : tree_at(schema_definition(), name + len + 1);
}

const struct node *schema_run_field(const char *path)
{
    const struct node *at = schema_run();
    _cleanup_(freep) char *copy = xstrdup(path);
    char *rest = copy;
    for (const char *key; (key = strsep(&rest, ".")) != NULL;) {
        at = schema_of_field(at, key);
        const char *other = tree_get_text(at, "x-schema");
        at = other == NULL ? at : find(other);
    }
    return at;
}

/* Each with its description alone. */
static void add_fields(struct node *node, const struct node *fields)
{
    struct node *properties = tree_enter(node, "properties");
    for (size_t i = 0; i < fields->n_children; i++) {
        struct node *field = tree_enter(properties, fields->children[i]->key);
        struct node *is_open = tree_new(NODE_BOOL);
        is_open->b = true;
        tree_set_take(field, "description",
                      tree_copy(tree_get(fields->children[i], "description")));
        tree_set_take(field, "x-kubernetes-preserve-unknown-fields", is_open);
    }
}

static void include(struct node *node)
{
    const char *shallow = tree_get_text(node, "x-fields-of");
    if (shallow != NULL) {
        add_fields(node, tree_get(find(shallow), "properties"));
        tree_remove(node, "x-fields-of");
    }
    const char *name = tree_get_text(node, "x-schema");
    if (name != NULL) {
        schema_add(node, find(name));
        tree_remove(node, "x-schema");
    }
    for (size_t i = 0; i < node->n_children; i++) {
        include(node->children[i]);
    }
}

static struct node *parse_whole(const char *name)
{
    struct node *root = parse(name);
    include(root);
    return root;
}

const struct node *schema_document(void)
{
    static struct kept kept;
    return schema_keep(&kept, parse_whole, "document");
}

const struct node *schema_trace(void)
{
    static struct kept kept;
    return schema_keep(&kept, parse_whole, "trace");
}

const struct node *schema_profile(void)
{
    static struct kept kept;
    return schema_keep(&kept, parse_whole, "profiles");
}

struct node *schema_kinds(void)
{
    return parse_whole("kinds");
}
