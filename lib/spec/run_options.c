/* See run_options.h. */
#include "spec/run_options.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/openapi_check.h"
#include "spec/schemas.h"

void run_options_done(struct run_options *o)
{
    free(o->queue);
    free(o->priority_class);
    free(o->topology_key);
    json_decref(o->document);
    *o = (struct run_options){0};
}

static struct place place_of(const struct place *document, const char *key)
{
    struct place place = place_get(document, key);
    place.schema = schema_run();
    return place;
}

void run_options_check_form(struct node *document, const char *key, struct diags *diags)
{
    const struct place root = place_root(document, NULL), place = place_of(&root, key);
    if (place.node != NULL) {
        schema_check(diags, &place);
    }
}

static void check_rules(const struct run_options *o, const struct place *scheduling,
                        struct diags *diags)
{
    const struct node *exclusive = tree_get(scheduling->node, "exclusiveNodes");
    const char *gang = place_text(scheduling, "gang");
    if (str_eq_or_null(gang, "None") && o->queue != NULL) {
        reader_complain(diags, scheduling, "remove queueName or gang", "gang None has no queue");
    } else if (str_eq_or_null(gang, "Kueue") && o->queue == NULL) {
        reader_complain(diags, scheduling, "write queueName, or start benchd with --queue",
                        "gang Kueue needs a queue");
    } else if (o->priority_class != NULL && o->queue == NULL) {
        reader_complain(diags, scheduling,
                        "write queueName, or priorityClassName into the templates",
                        "priorityClass is that of a queue");
    }
    if (o->trials > 1 && exclusive != NULL && !exclusive->b) {
        reader_complain(diags, scheduling, "remove exclusiveNodes: false",
                        "with parallelism.trials above 1 each trial has nodes of its own");
    }
}

int run_options_read(struct node *document, const char *key, struct run_options *ret,
                     struct diags *diags)
{
    static const char *const of_object[] = {"benchmarkRef", "cancel", "suspend"};
    struct diags found = {0};
    run_options_check_form(document, key, &found);
    const struct place root = place_root(document, NULL), run = place_of(&root, key),
                       scheduling = place_get(&run, "scheduling"),
                       topology = place_get(&scheduling, "topology"),
                       parallelism = place_get(&run, "parallelism");
    struct run_options o = {
        .queue = xstrdup_or_null(place_text(&scheduling, "queueName")),
        .priority_class = xstrdup_or_null(place_text(&scheduling, "priorityClass")),
        .topology_key = xstrdup_or_null(place_text(&topology, "key")),
        .trials = (uint32_t)place_int(&parallelism, "trials", 0),
        .document = run.node == NULL ? NULL : tree_to_json(run.node),
    };
    for (size_t i = 0; i < COUNT_OF(of_object); i++) {
        (void)json_object_del(o.document, of_object[i]); /* it may be absent */
    }
    const struct place exclusive = place_get(&scheduling, "exclusiveNodes");
    o.exclusive_nodes = o.trials > 1 || (place_is_good(&exclusive) && exclusive.node->b);
    if (found.list.len == 0) {
        check_rules(&o, &scheduling, &found);
    }
    const int r = found.list.len > 0 ? -EINVAL : 0;
    diags_move(diags, &found);
    if (r == 0) {
        *ret = o;
    } else {
        run_options_done(&o);
    }
    return r;
}

uint32_t run_options_lanes(const struct run_options *o)
{
    return o->trials > 1 ? o->trials : 1;
}

static void put(struct buf *out, const char *what, const char *name)
{
    if (name != NULL) {
        buf_printf(out, "%s%s '%s'", out->len == 0 ? "" : ", ", what, name);
    }
}

void run_options_put(const struct run_options *o, struct buf *out)
{
    put(out, "queue", o->queue);
    put(out, "priority class", o->priority_class);
    put(out, "all pods of an attempt where nodes have one value of", o->topology_key);
    if (o->exclusive_nodes) {
        buf_printf(out, "%sexclusive nodes", out->len == 0 ? "" : ", ");
    }
    if (o->trials > 1) {
        buf_printf(out, ", %u trials at a time", o->trials);
    }
}
