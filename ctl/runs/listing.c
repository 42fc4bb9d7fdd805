/* See listing.h. */
#include "ctl/runs/listing.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "ctl/cli/human.h"
#include "ctl/runs/show.h"
#include "store/run_document.h"

void listing_done(struct listing *list)
{
    vec_each (struct listed, l, &list->items) {
        run_row_done(&l->row);
        json_decref(l->object);
    }
    vec_done(&list->items);
}

/* ---- runs ---- */

/* Returns how many milliseconds it ran, or has run so far; -1 if that is not known. */
static int64_t ran_ms(const struct listed *l, int64_t now_unix_ms)
{
    const struct run_status *st = &l->row.status;
    if (st->started_unix_ms == 0 || l->is_interrupted || run_status_is_imported(st)) {
        return -1; /* the dates of logs do not say how long the programs ran */
    }
    return (st->ended_unix_ms > 0 ? st->ended_unix_ms : now_unix_ms) - st->started_unix_ms;
}

static void print_run(struct table *t, const struct listed *l, bool is_wide, int64_t now_unix_ms)
{
    const struct run_row *row = &l->row;
    char age[HUMAN_SIZE], duration[HUMAN_SIZE] = "-";
    human_duration(now_unix_ms - row->created_unix_ms, age);
    if (ran_ms(l, now_unix_ms) >= 0) {
        human_duration(ran_ms(l, now_unix_ms), duration);
    }
    table_text(t, "NAME", "%s", row->name);
    table_text(t, "BENCHMARK", "%s", row->benchmark);
    table_text(t, "PHASE", "%s%s", run_phase_to_string(row->status.phase),
               l->is_interrupted                      ? " (interrupted)"
               : run_status_is_imported(&row->status) ? " (imported)"
                                                      : "");
    table_text(t, "TRIALS", "%u/%u", row->status.trials_done, row->status.trials_total);
    table_text(t, "AGE", "%s", age);
    table_text(t, "DURATION", "%s", duration);
    if (is_wide) {
        char started[CLOCK_RFC3339_SIZE] = "-";
        if (row->status.started_unix_ms > 0) {
            clock_format_rfc3339(row->status.started_unix_ms, started);
        }
        table_text(t, "STARTED", "%s", started);
        table_text(t, "FAILED", "%u", row->status.trials_failed);
        table_text(t, "CPUS", "%lld", (long long)row->cpus);
        table_text(t, "REHEARSAL", "%s", row->rehearsal ? "yes" : "no");
        table_text(t, "UID", "%s", row->uid);
        table_text(t, "REASON", "%s", row->status.reason[0] == '\0' ? "-" : row->status.reason);
    }
}

static json_t *run_to_json(const struct listed *l)
{
    return run_item_to_json(&l->row, l->is_interrupted);
}

const struct list_kind list_kind_runs = {"benchmarkrun", print_run, run_to_json, RUN_LIST_KIND};

/* ---- Benchmarks ---- */

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

static void print_benchmark(struct table *t, const struct listed *l, bool is_wide,
                            int64_t now_unix_ms)
{
    const json_t *spec = json_object_get(l->object, "spec");
    char age[HUMAN_SIZE] = "-";
    if (l->row.created_unix_ms > 0) {
        human_duration(now_unix_ms - l->row.created_unix_ms, age);
    }
    table_text(t, "NAME", "%s", l->row.name);
    put_text(t, "MODEL", path(spec, "workload", "model"));
    put_text(t, "EXCHANGE", path(json_object_get(spec, "workload"), "exchange", "kind"));
    put_text(t, "BASELINE", path(spec, "baseline", "kind"));
    put_number(t, "STEPS", path(spec, "measure", "steps"));
    put_repeats(t, json_object_get(spec, "repeats"));
    table_text(t, "AGE", "%s", age);
    if (is_wide) {
        put_text(t, "DESCRIPTION", json_object_get(spec, "description"));
    }
}

static json_t *benchmark_to_json(const struct listed *l)
{
    return json_incref(l->object);
}

const struct list_kind list_kind_benchmarks = {"benchmark", print_benchmark, benchmark_to_json,
                                               "BenchmarkList"};

/* ---- both ---- */

static void print_table(const struct cli *cli, const struct list_kind *kind,
                        const struct listing *list, struct buf *out)
{
    const int64_t now_unix_ms = clock_unix_ms();
    _cleanup_(table_freep) struct table *t = table_new();
    vec_each (const struct listed, l, &list->items) {
        kind->print_row(t, l, cli_output_is(cli, "wide"), now_unix_ms);
        table_end_row(t);
    }
    table_format_list(t, 1, !cli->no_headers, show_list_columns(), out);
}

void listing_format(const struct cli *cli, const struct list_kind *kind, const struct listing *list,
                    struct buf *out)
{
    if (cli_output_is(cli, "json")) {
        json_t *items =
            JSON_ARRAY_OF(vec_each (const struct listed, l, &list->items), kind->item_to_json(l));
        json_text_put(document_list(kind->document_kind, items), out);
    } else if (cli_output_is(cli, "name")) {
        vec_each (const struct listed, l, &list->items) {
            buf_printf(out, "%s.benchd.io/%s\n", kind->name, l->row.name);
        }
    } else if (list->items.len > 0) {
        print_table(cli, kind, list, out);
    }
}
