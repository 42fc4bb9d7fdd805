/* What a replica depends on in a PodTemplateSpec: container 0, its command, arguments, environment
 * and requests. Kubernetes checks the rest of a template. See spec_internal.h. */
#include <string.h>

#include "base/parse.h"
#include "spec/spec_internal.h"
#include "spec/spec_parts.h"

#define WORD_MAX 32768
#define ITEMS_MAX 1000

static void check_words(struct diags *d, const struct place *container, const char *key)
{
    struct command words = {0};
    (void)spec_read_words(d, PLACE(container, key), &words); /* noted */
    command_done(&words);
}

static void check_env(struct diags *d, const struct place *container)
{
    struct place list = place_get(container, "env");
    if (list.node != NULL && list.node->kind == NODE_SEQ && list.node->n_children == 0) {
        return; /* Kubernetes takes an empty list for none */
    }
    read_items (item, d, container, "env", ITEMS_MAX) {
        struct place name_place = place_get(&item, "name");
        const char *text;
        if (item.node->kind != NODE_MAP || name_place.node == NULL) {
            reader_complain(d, &item, "write {name: NAME, value: VALUE}",
                            "an environment variable needs a name");
            continue;
        }
        if (read_text(d, &name_place, WORD_MAX, &text) &&
            (text[0] == '\0' || strchr(text, '=') != NULL)) {
            reader_complain(d, &name_place, NULL, "'%s' is not a valid variable name", text);
        }
        (void)read_text(d, PLACE(&item, "value"), WORD_MAX, &text); /* noted */
    }
}

static void check_quantity(struct diags *d, const struct place *quantities, const char *key,
                           int (*parse)(const char *, int64_t *), const char *example)
{
    struct place place = place_get(quantities, key);
    if (place.node == NULL || place.node->kind == NODE_INT || place.node->kind == NODE_FLOAT) {
        return;
    }
    const char *text;
    int64_t value;
    if (read_text(d, &place, 64, &text) && parse(text, &value) < 0) {
        reader_complain(d, &place, example, "'%s' is not a Kubernetes quantity", text);
    }
}

void spec_check_template(struct diags *diags, const struct place *place)
{
    if (!read_map(diags, place, FIELDS("metadata", "*spec"))) {
        return;
    }
    struct place pod = place_get(place, "spec");
    if (pod.node == NULL) {
        return; /* noted by read_map */
    }
    struct place containers = place_get(&pod, "containers");
    if (pod.node->kind != NODE_MAP || containers.node == NULL) {
        reader_complain(diags, &containers, "add 'containers: [{name: main, image: ...}]'",
                        "a template needs at least one container");
        return;
    }
    if (!read_list(diags, &containers, ITEMS_MAX)) {
        return;
    }
    struct place container = place_item(&containers, 0);
    if (container.node->kind != NODE_MAP) {
        reader_complain(diags, &container, "write {name: main, image: ...}",
                        "a container must be a map, not %s",
                        node_kind_to_string(container.node->kind));
        return;
    }
    check_words(diags, &container, "command");
    check_words(diags, &container, "args");
    check_env(diags, &container);
    static const char *const kinds[] = {"requests", "limits"};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct place quantities = place_get(PLACE(&container, "resources"), kinds[i]);
        check_quantity(diags, &quantities, "cpu", parse_cpu_millicores, "write \"4\" or 400m");
        check_quantity(diags, &quantities, "memory", parse_mem_bytes, "for example, write 5Gi");
    }
}
