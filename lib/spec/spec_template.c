/* The file that templateFrom names takes its place as the template: so what is frozen, sent,
 * exported or hashed has templates only, and no later step knows of files. See spec_internal.h. */
#include <string.h>

#include "base/mem.h"
#include "doc/openapi_check.h"
#include "spec/schemas.h"
#include "spec/spec_internal.h"
#include "spec/spec_load.h"

static void set_origin(struct node *node, const char *path)
{
    node->origin = xstrdup(path);
    for (size_t i = 0; i < node->n_children; i++) {
        set_origin(node->children[i], path);
    }
}

/* NULL: the file cannot be read, or is not YAML (noted). */
static struct node *read_file(const struct place *from, const struct spec_overrides *overrides,
                              struct diags *diags)
{
    const char *name = from->node->s;
    _cleanup_(freep) char *path = NULL;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    struct diags found = {0};
    struct node *root = NULL;
    struct err err;
    /* Whoever wrote the definition: its file is below the folders that are searched. */
    if (name[0] == '/' || name[0] == '\0' || strstr(name, "..") != NULL) {
        reader_complain(diags, from, "for example, write templates/trainer.yaml",
                        "'%s' must be a relative path without '..'", name);
        return NULL;
    }
    if (overrides->read_template(overrides->read_template_ctx, name, &path, &text, &err) < 0) {
        reader_complain(diags, from,
                        "write the path of a file from the folder of the definition, or "
                        "of a shipped template, such as templates/trainer.yaml",
                        "%s", err.msg);
        return NULL;
    }
    if (tree_parse(buf_cstr(&text), text.len, &TREE_LIMITS_DEFAULT, &root, &found) == 0) {
        set_origin(root, path);
    }
    vec_each (struct diag, it, &found.list) {
        it->origin = xstrdup(path);
    }
    diags_move(diags, &found);
    return root;
}

void spec_inline_templates(struct node *root, const struct spec_overrides *overrides,
                           struct diags *diags)
{
    const struct place document = place_root(root, NULL);
    const struct place roles = place_get(PLACE(&document, "spec"), "roles");
    if (overrides->read_template == NULL || roles.node == NULL || roles.node->kind != NODE_MAP) {
        return;
    }
    for (size_t i = 0; i < roles.node->n_children; i++) {
        struct node *role = roles.node->children[i];
        const struct place role_place = place_item(&roles, i);
        const struct place from = place_get(&role_place, "templateFrom");
        if (tree_get_text(role, "templateFrom") == NULL || tree_get(role, "template") != NULL) {
            continue; /* absent, or noted when it is read */
        }
        struct node *template = read_file(&from, overrides, diags);
        if (template == NULL) {
            tree_remove(role, "templateFrom");
            continue;
        }
        tree_set_take(role, "templateFrom", template);
        free(template->key);
        template->key = xstrdup("template");
    }
}
