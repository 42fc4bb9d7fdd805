/* See runs.h. */
#include "ctl/runs/runs.h"

#include <math.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/cli/human.h"
#include "report/json_text.h"
#include "report/table.h"
#include "store/run_list.h"

/* Milliseconds that it ran, or has run so far; -1: unknown. */
static int64_t ran_ms(const struct listed_run *l, int64_t now_unix_ms)
{
    const struct run_status *st = &l->row.status;
    if (st->started_unix_ms == 0 || l->is_interrupted || run_status_is_imported(st)) {
        return -1; /* of logs: when they were written says not how long the programs ran */
    }
    return (st->ended_unix_ms > 0 ? st->ended_unix_ms : now_unix_ms) - st->started_unix_ms;
}

/* ---- order ---- */

static const char *const columns[] = {"name",   "namespace", "benchmark", "phase",    "trials",
                                      "failed", "created",   "age",       "duration", NULL};

static struct order_key key_of(const void *listed, int column, int64_t now_unix_ms)
{
    const struct listed_run *l = listed;
    const struct run_row *row = &l->row;
    const int64_t ms = ran_ms(l, now_unix_ms);
    const struct order_key keys[] = {
        {.text = row->name},
        {.text = l->ns == NULL ? "" : l->ns},
        {.text = row->benchmark},
        {.text = run_phase_to_string(row->status.phase)},
        {.number = row->status.trials_done},
        {.number = row->status.trials_failed},
        {.number = (double)row->created_unix_ms},
        {.number = -(double)row->created_unix_ms},
        {.number = ms < 0 ? NAN : (double)ms},
    };
    return keys[column];
}

const struct list_order runs_order = {columns, key_of};

/* ---- formats ---- */

static void print_row(struct table *t, const struct listed_run *l, bool is_wide,
                      const struct runs_format *how)
{
    const int64_t now_unix_ms = how->now_unix_ms;
    const struct run_row *row = &l->row;
    char age[HUMAN_SIZE], duration[HUMAN_SIZE] = "-";
    human_duration(now_unix_ms - row->created_unix_ms, age);
    if (ran_ms(l, now_unix_ms) >= 0) {
        human_duration(ran_ms(l, now_unix_ms), duration);
    }
    if (how->with_ns) {
        table_text(t, "NAMESPACE", "%s", l->ns == NULL ? "-" : l->ns);
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
    table_end_row(t);
}

static void print_table(const struct cli *cli, const struct run_list *list,
                        const struct runs_format *how, struct buf *out)
{
    _cleanup_(table_freep) struct table *t = table_new();
    vec_each (const struct listed_run, l, &list->items) {
        print_row(t, l, cli_output_is(cli, "wide"), how);
    }
    table_format_list(t, how->with_ns ? 2 : 1, !cli->no_headers, how->columns, out);
}

static void print_json(const struct run_list *list, struct buf *out)
{
    json_t *items = json_array();
    vec_each (const struct listed_run, l, &list->items) {
        json_t *item = run_item_to_json(&l->row, l->is_interrupted);
        if (l->ns != NULL) {
            (void)json_object_set_new(item, "namespace", json_string(l->ns)); /* in memory only */
        }
        (void)json_array_append_new(items, item);
    }
    json_text_put(run_list_to_json(items), out);
}

void runs_format(const struct cli *cli, const struct run_list *list, const struct runs_format *how,
                 struct buf *out)
{
    if (cli_output_is(cli, "json")) {
        print_json(list, out);
    } else if (cli_output_is(cli, "name")) {
        vec_each (const struct listed_run, l, &list->items) {
            buf_printf(out, "benchmarkrun.benchd.io/%s\n", l->row.name);
        }
    } else if (list->items.len > 0) {
        print_table(cli, list, how, out);
    }
}

char *runs_state_text(const struct listed_run *l)
{
    const struct run_status *st = &l->row.status;
    return xasprintf("%s %s %u/%u %u %d %s", l->row.uid, run_phase_to_string(st->phase),
                     st->trials_done, st->trials_total, st->trials_failed, (int)l->is_interrupted,
                     st->reason);
}
