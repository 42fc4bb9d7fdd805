/* See benchmarks.h. */
#include "ctl/definition/benchmarks.h"

#include "base/mem.h"
#include "ctl/cli/human.h"
#include "report/json_text.h"
#include "report/table.h"

static const json_t *path(const json_t *object, const char *a, const char *b)
{
    return json_object_get(json_object_get(object, a), b);
}

static void put_text(struct table *t, const char *title, const json_t *value)
{
    const char *text = json_string_value(value);
    table_text(t, title, "%s", text == NULL ? "-" : text);
}

static void put_number(struct table *t, const char *title, const json_t *value)
{
    if (json_is_integer(value)) {
        table_text(t, title, "%lld", (long long)json_integer_value(value));
    } else {
        table_text(t, title, "-");
    }
}

/* 5, or 3-10 where a point may stop early. */
static void put_repeats(struct table *t, const json_t *repeats)
{
    const json_t *min = json_object_get(repeats, "min"), *max = json_object_get(repeats, "max");
    if (json_is_integer(min) && json_is_integer(max) && !json_equal(min, max)) {
        table_text(t, "REPEATS", "%lld-%lld", (long long)json_integer_value(min),
                   (long long)json_integer_value(max));
    } else {
        put_number(t, "REPEATS", min);
    }
}

static void print_row(struct table *t, const struct listed_benchmark *l, bool is_wide,
                      const struct runs_format *how)
{
    const json_t *spec = json_object_get(l->object, "spec");
    char age[HUMAN_SIZE] = "-";
    if (l->created_unix_ms > 0) {
        human_duration(how->now_unix_ms - l->created_unix_ms, age);
    }
    if (how->with_ns) {
        table_text(t, "NAMESPACE", "%s", l->ns == NULL ? "-" : l->ns);
    }
    put_text(t, "NAME", path(l->object, "metadata", "name"));
    put_text(t, "MODEL", path(spec, "workload", "model"));
    put_text(t, "EXCHANGE", path(json_object_get(spec, "workload"), "exchange", "kind"));
    put_text(t, "BASELINE", path(spec, "baseline", "kind"));
    put_number(t, "STEPS", path(spec, "measure", "steps"));
    put_repeats(t, json_object_get(spec, "repeats"));
    table_text(t, "AGE", "%s", age);
    if (is_wide) {
        put_text(t, "DESCRIPTION", json_object_get(spec, "description"));
    }
    table_end_row(t);
}

static void print_json(const struct benchmark_list *list, struct buf *out)
{
    json_t *items = json_array();
    vec_each (const struct listed_benchmark, l, &list->items) {
        if (l->ns != NULL) { /* grows in memory only, as the array does */
            (void)json_object_set_new(json_object_get(l->object, "metadata"), "namespace",
                                      json_string(l->ns));
        }
        (void)json_array_append(items, l->object);
    }
    json_text_put(json_pack("{s:s, s:s, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                            "BenchmarkList", "items", items),
                  out);
}

static const char *const columns[] = {"name", "namespace", "created", "age", NULL};

static struct order_key key_of(const void *listed, int column, int64_t now_unix_ms)
{
    const struct listed_benchmark *l = listed;
    const char *name = json_string_value(path(l->object, "metadata", "name"));
    const struct order_key keys[] = {
        {.text = name == NULL ? "" : name},
        {.text = l->ns == NULL ? "" : l->ns},
        {.number = (double)l->created_unix_ms},
        {.number = -(double)l->created_unix_ms},
    };
    (void)now_unix_ms;
    return keys[column];
}

const struct list_order benchmarks_order = {columns, key_of};

void benchmarks_format(const struct cli *cli, const struct benchmark_list *list,
                       const struct runs_format *how, struct buf *out)
{
    if (cli_output_is(cli, "json")) {
        print_json(list, out);
        return;
    }
    if (cli_output_is(cli, "name")) {
        vec_each (const struct listed_benchmark, l, &list->items) {
            buf_printf(out, "benchmark.benchd.io/%s\n",
                       json_string_value(path(l->object, "metadata", "name")));
        }
        return;
    }
    _cleanup_(table_freep) struct table *t = table_new();
    vec_each (const struct listed_benchmark, l, &list->items) {
        print_row(t, l, cli_output_is(cli, "wide"), how);
    }
    if (list->items.len > 0) {
        table_format_list(t, how->with_ns ? 2 : 1, !cli->no_headers, how->columns, out);
    }
}
