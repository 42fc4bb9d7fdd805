/* See benchmarks.h. */
#include "ctl/definition/benchmarks.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ctl/cli/human.h"
#include "ctl/runs/list_order.h"
#include "report/json_text.h"
#include "report/table.h"

static const json_t *path(const json_t *object, const char *a, const char *b)
{
    return json_object_get(json_object_get(object, a), b);
}

static void text_cell(struct table *t, const json_t *value)
{
    const char *text = json_string_value(value);
    table_cell(t, "%s", text == NULL ? "-" : text);
}

static void number_cell(struct table *t, const json_t *value)
{
    if (json_is_integer(value)) {
        table_cell(t, "%lld", (long long)json_integer_value(value));
    } else {
        table_cell(t, "-");
    }
}

/* 5, or 3-10 where a point may stop early. */
static void repeats_cell(struct table *t, const json_t *repeats)
{
    const json_t *min = json_object_get(repeats, "min"), *max = json_object_get(repeats, "max");
    if (json_is_integer(min) && json_is_integer(max) && !json_equal(min, max)) {
        table_cell(t, "%lld-%lld", (long long)json_integer_value(min),
                   (long long)json_integer_value(max));
    } else {
        number_cell(t, min);
    }
}

static void print_row(struct table *t, const struct listed_benchmark *l, bool is_wide,
                      int64_t now_unix_ms)
{
    const json_t *spec = json_object_get(l->object, "spec");
    char age[HUMAN_SIZE] = "-";
    if (l->created_unix_ms > 0) {
        human_duration(now_unix_ms - l->created_unix_ms, age);
    }
    text_cell(t, path(l->object, "metadata", "name"));
    text_cell(t, path(spec, "workload", "model"));
    text_cell(t, path(json_object_get(spec, "workload"), "exchange", "kind"));
    text_cell(t, path(spec, "baseline", "kind"));
    number_cell(t, path(spec, "measure", "steps"));
    repeats_cell(t, json_object_get(spec, "repeats"));
    table_cell(t, "%s", age);
    if (is_wide) {
        text_cell(t, json_object_get(spec, "description"));
    }
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

const char *const benchmarks_columns[] = {"name", "namespace", "created", "age", NULL};

static struct order_key key_of(const struct listed_benchmark *l, int column)
{
    const char *name = json_string_value(path(l->object, "metadata", "name"));
    switch (column) {
    case 0:
        return (struct order_key){.text = name == NULL ? "" : name};
    case 1:
        return (struct order_key){.text = l->ns == NULL ? "" : l->ns};
    default: /* the youngest first, or the oldest */
        return (struct order_key){.number =
                                      (double)l->created_unix_ms * (column == 2 ? 1.0 : -1.0)};
    }
}

void benchmarks_sort(struct benchmark_list *list, int column)
{
    const size_t n = list->items.len;
    _cleanup_(freep) struct order_key *keys = xnew_array(struct order_key, n + 1);
    _cleanup_(freep) struct listed_benchmark *before = xnew_array(struct listed_benchmark, n + 1);
    for (size_t i = 0; i < n; i++) {
        before[i] = list->items.items[i];
        keys[i] = key_of(&before[i], column);
        keys[i].at = i;
    }
    order_keys(keys, n);
    for (size_t i = 0; i < n; i++) {
        list->items.items[i] = before[keys[i].at];
    }
}

void benchmarks_format(const struct cli *cli, const struct benchmark_list *list,
                       const struct runs_format *how, struct buf *out)
{
    static const char *const titles[] = {"NAME",  "MODEL",   "EXCHANGE", "BASELINE",
                                         "STEPS", "REPEATS", "AGE",      "DESCRIPTION"};
    const bool is_wide = cli_output_is(cli, "wide");
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
    if (how->with_ns) {
        table_column(t, "NAMESPACE", TABLE_LEFT);
    }
    for (size_t i = 0; i < (is_wide ? 8 : 7); i++) {
        table_column(t, titles[i], TABLE_LEFT);
    }
    vec_each (const struct listed_benchmark, l, &list->items) {
        if (how->with_ns) {
            table_cell(t, "%s", l->ns == NULL ? "-" : l->ns);
        }
        print_row(t, l, is_wide, how->now_unix_ms);
    }
    if (list->items.len > 0) {
        table_format_list(t, how->with_ns ? 2 : 1, !cli->no_headers, how->columns, out);
    }
}
