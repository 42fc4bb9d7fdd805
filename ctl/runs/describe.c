/* See describe.h. One function a section, in the order of the text. */
#include "ctl/runs/describe.h"

#include <math.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/texts.h"
#include "ctl/cli/human.h"
#include "report/table.h"
#include "report/terminal.h"
#include "result/noise.h"
#include "result/warmup.h"

#define VALUES_AT 15 /* where the values of lines begin */

/* Text that goes on after `used` characters of its line, and ends it; on a
 * terminal, broken at blanks. */
static void prose(const struct describe_params *p, const char *text, size_t used, size_t indent,
                  struct buf *out)
{
    if (p->columns == 0) {
        buf_printf(out, "%s\n", text);
        return;
    }
    wrap_text(out, text, p->columns, used, indent);
}

static void line(const struct describe_params *p, struct buf *out, const char *key, const char *fmt,
                 ...) __attribute__((format(printf, 4, 5)));
static void line(const struct describe_params *p, struct buf *out, const char *key, const char *fmt,
                 ...)
{
    _cleanup_(freep) char *text = xasprintf_rest(fmt);
    const size_t start = out->len;
    buf_printf(out, "%-*s ", VALUES_AT - 1, key);
    prose(p, text, out->len - start, VALUES_AT, out);
}

static void format_identity(const struct describe_params *p, struct buf *out)
{
    const struct run_row *row = &p->run->row;
    char created[CLOCK_RFC3339_SIZE], age[HUMAN_SIZE];
    clock_format_rfc3339(row->created_unix_ms, created);
    human_duration(p->now_unix_ms - row->created_unix_ms, age);
    line(p, out, "Name:", "%s", row->name);
    line(p, out, "UID:", "%s", row->uid);
    line(p, out, "Benchmark:", "%s", row->benchmark);
    const struct spec *spec = p->run->result == NULL ? NULL : p->run->result->def->spec;
    if (spec != NULL && spec->description[0] != '\0') {
        line(p, out, "Description:", "%s", spec->description);
    }
    line(p, out, "Created:", "%s (%s ago)", created, age);
    line(p, out, "Phase:", "%s%s", run_phase_to_string(row->status.phase),
         p->run->is_interrupted ? " (interrupted: no process is running it)" : "");
    if (row->status.reason[0] != '\0') {
        line(p, out, "Reason:", "%s%s%s", row->status.reason,
             row->status.message[0] == '\0' ? "" : ": ", row->status.message);
    }
    if (p->run->is_interrupted) {
        buf_printf(out, "%-*s benchctl run --resume %s %s\n", VALUES_AT - 1, "Resume:", row->name,
                   p->where); /* one line, to be copied */
    }
    size_t n_preempted = 0;
    for (size_t i = 0; i < p->run->n_events; i++) {
        n_preempted += str_eq(p->run->events[i].reason, PREEMPTED_EVENT);
    }
    char preempted[32] = "";
    if (n_preempted > 0) {
        text_put(preempted, sizeof(preempted), ", %zu preempted", n_preempted);
    }
    line(p, out, "Trials:", "%u of %u done, %u failed%s", row->status.trials_done,
         p->run->result == NULL ? row->status.trials_total : result_count_trials(p->run->result),
         row->status.trials_failed, preempted);
    if (p->run->result == NULL) {
        return;
    }
    _cleanup_(buf_done) struct buf scheduling = BUF_INIT;
    run_options_put(&p->run->result->def->options, &scheduling);
    if (scheduling.len > 0) {
        line(p, out, "Scheduling:", "%s", buf_cstr(&scheduling));
    }
    if (row->cpus > 0) {
        line(p, out, "CPUs:", "%lld", (long long)row->cpus);
    }
    line(p, out, "Rehearsal:", "%s",
         spec_is_imported(p->run->result->def->spec) ? "unknown"
         : row->rehearsal ? "yes: compare its figures within this run only"
                          : "no");
    if (p->run->result->simulated) {
        line(p, out, "Simulated:", "yes");
    }
}

/* "PServer"; where systems differ, "ours PServer, ddp AllReduce". */
static void format_exchanges(const struct describe_params *p, struct buf *out)
{
    const struct spec *spec = p->run->result->def->spec;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    bool differ = false;
    const struct exchange *first = &spec->systems.items[0].exchange;
    const char *first_name = exchange_name(first, first->kind);
    char first_suffix[EXCHANGE_SUFFIX_MAX], suffix[EXCHANGE_SUFFIX_MAX];
    exchange_suffix(first, first_suffix);
    vec_each (const struct system, it, &spec->systems) {
        const char *name = exchange_name(&it->exchange, it->exchange.kind);
        exchange_suffix(&it->exchange, suffix);
        differ |= !str_eq(name, first_name) || !str_eq(suffix, first_suffix);
        buf_printf(&text, "%s%s %s%s", text.len == 0 ? "" : ", ", it->name, name, suffix);
    }
    if (!differ) {
        buf_clear(&text);
        buf_printf(&text, "%s%s", first_name, first_suffix);
    }
    line(p, out, "  Exchange:", "%s", buf_cstr(&text));
}

static void format_definition(const struct describe_params *p, struct buf *out)
{
    const struct spec *spec = p->run->result->def->spec;
    const struct workload *w = &spec->workload;
    buf_puts(out, "\nDefinition:\n");
    line(p, out, "  Model:", "%s", w->model);
    line(p, out, "  Dataset:", "%s%s%s",
         spec_knows_data(spec) ? workload_dataset_name(w) : "unknown",
         w->dataset_path == NULL ? "" : " ", w->dataset_path == NULL ? "" : w->dataset_path);
    format_exchanges(p, out);
    if (w->compute == COMPUTE_EMULATED) {
        line(p, out, "  Compute:", "%s, %.6g ms a step, jitter %g", compute_names[w->compute],
             (double)trace_step_ns(&w->trace) / 1e6, w->trace.jitter_ratio);
    }
    if (w->link.bits_per_s > 0) {
        char text[LINK_TEXT_MAX];
        link_text(&w->link, text);
        line(p, out, "  Link:", "%s", text);
    }
    line(p, out, "  Sweep:", "%s", sweep_kind_names[spec->sweep.kind]);
    line(p, out, "  Baseline:", "%s", baseline_kind_names[spec->baseline.kind]);
    line(p, out, "  Steps:", "%lld warm-up + %lld measured", (long long)spec->warmup_steps,
         (long long)spec->steps);
    char range[96];
    text_put(range, sizeof(range), "%lld", (long long)spec->repeats);
    if (spec->stop.is_set) {
        text_put(range, sizeof(range), "%lld to %lld, until the interval is within %.3g%%",
                 (long long)spec->min_repeats, (long long)spec->repeats,
                 100 * spec->stop.half_width_ratio);
    }
    line(p, out, "  Repeats:", "%s, %s, seed %llu", range, order_kind_names[spec->order],
         (unsigned long long)w->seed);
    line(p, out, "  On failure:", "%s, at most %lld failed trials, up to %lld retries per trial",
         on_trial_failure_names[spec->failure_policy.on_trial_failure],
         (long long)spec->failure_policy.max_failed_trials,
         (long long)spec->run_policy.backoff_limit);
}

/* A table of somebody else's, such as `nvidia-smi topo -m` prints: its lines stay whole. */
static void put_lines(const char *text, struct buf *out)
{
    while (text[0] != '\0') {
        const size_t len = strcspn(text, "\n");
        buf_printf(out, "%s%.*s\n", len > 0 ? "    " : "", (int)len, text);
        text += len + (text[len] == '\n' ? 1 : 0);
    }
}

/* Values of one key. No line where none is known. */
static void format_environment_key(const struct describe_params *p, const char *key,
                                   const json_t *values, struct buf *out)
{
    bool is_known = false, has_lines = false;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    size_t i;
    const json_t *value;
    json_array_foreach (values, i, value) {
        const char *string = json_string_value(value);
        is_known = is_known || !json_is_null(value);
        has_lines = has_lines || (string != NULL && strchr(string, '\n') != NULL);
        buf_puts(&text, i == 0 ? "" : has_lines ? "\n\n" : " | ");
        _cleanup_(freep) char *one = environment_value_text(value);
        buf_puts(&text, one == NULL ? "-" : one); /* the machine does not have it, or not say */
    }
    if (is_known && has_lines) {
        buf_printf(out, "  %s:\n", key);
        put_lines(buf_cstr(&text), out);
    } else if (is_known) {
        _cleanup_(freep) char *label = xasprintf("  %s:", key);
        line(p, out, label, "%s", buf_cstr(&text));
    }
}

/* The first eight distinct ones of a key, in the order in which they appear. */
static void add_value(json_t *by_key, const char *key, json_t *value)
{
    size_t i;
    const json_t *old;
    json_t *values = json_object_get(by_key, key);
    if (values == NULL) {
        values = json_array();
        (void)json_object_set_new(by_key, key, values); /* grows in memory only */
    }
    json_array_foreach (values, i, old) {
        if (json_equal(old, value)) {
            return;
        }
    }
    if (i < 8) {
        (void)json_array_append(values, value); /* as above */
    }
}

/* What the attempts say, as they are read. */
struct attempts_said {
    json_t *by_key; /* for each key of environments, its values */
    size_t n;       /* replicas with a record */
    struct buf failures;
};

/* Values that differ between replicas are printed side by side. */
static void format_environment(const struct describe_params *p, const struct attempts_said *said,
                               struct buf *out)
{
    const char *key;
    json_t *value;
    buf_printf(out, "\nEnvironment of %zu replicas:\n", said->n);
    VEC(const char *) keys = {0};
    json_object_foreach (said->by_key, key, value) {
        *vec_push(&keys) = key;
    }
    array_sort(keys.items, keys.len, sizeof(*keys.items), texts_compare);
    vec_each (const char *, it, &keys) {
        format_environment_key(p, *it, json_object_get(said->by_key, *it), out);
    }
    vec_done(&keys);
}

static void format_points(const struct describe_params *p, struct buf *out)
{
    const struct run_def *def = p->run->result->def;
    const bool has_warmup = array_any(p->run->result->points, def->matrix.n_points, it,
                                      it->kept->warmup.state != WARMUP_UNKNOWN);
    _cleanup_(table_freep) struct table *t = table_new();
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        const struct point *point = &def->matrix.points[i];
        _cleanup_(buf_done) struct buf params = BUF_INIT;
        params_format(&point->params, " ", &params);
        table_text(t, "  POINT", "  %u", i);
        table_text(t, "SYSTEM", "%s", def->spec->systems.items[point->system].label);
        if (has_warmup) {
            _cleanup_(buf_done) struct buf warmup = BUF_INIT;
            warmup_format(p->run->result, &p->run->result->points[i], &warmup);
            table_text(t, "WARM-UP", "%s", buf_cstr(&warmup));
        }
        table_text(t, "PARAMETERS", "%s%s", buf_cstr(&params),
                   point->is_baseline ? " (baseline)" : "");
        table_end_row(t);
    }
    buf_puts(out, "\nPoints:\n");
    table_format_prose(t, p->columns, out);
}

/* A trial without an outcome, of a point that was given up or of a run that has ended, stays so. */
static const char *trial_words(const struct result *r, const struct point_result *p,
                               const struct trial_result *t)
{
    if (t->phase != TRIAL_PENDING ||
        !(run_phase_is_final(r->phase) || point_result_is_given_up(p))) {
        return trial_phase_to_string(t->phase);
    }
    return t->row == NULL ? "not run" : "not finished";
}

static size_t number_of(const struct describe_params *p, const struct point_result *point)
{
    return (size_t)(point - p->run->result->points);
}

static void format_trials(const struct describe_params *p, struct buf *out)
{
    _cleanup_(table_freep) struct table *t = table_new();
    bool is_mixed; /* each row says its unit */
    _cleanup_(freep) char *title = text_capitals(result_shown_unit(p->run->result, &is_mixed));
    result_each_point (point, p->run->result) {
        point_each_trial (trial, point) {
            _cleanup_(buf_done) struct buf x = BUF_INIT;
            const struct figure f = trial_throughput(trial);
            figure_format(&f, &x);
            if (is_mixed && f.estimate.known) {
                buf_printf(&x, " %s", figure_shown(&f).unit);
            }
            table_text(t, "  POINT", "  %zu", number_of(p, point));
            table_number(t, "TRIAL", "%u", trial->trial);
            table_number(t, "ATTEMPTS", "%u", trial->row == NULL ? 0 : trial->attempt + 1);
            table_text(t, "PHASE", "%s", trial_words(p->run->result, point, trial));
            table_number(t, is_mixed ? "THROUGHPUT" : title, "%s", buf_cstr(&x));
            table_end_row(t);
        }
    }
    buf_puts(out, "\nTrials:\n");
    table_format_list(t, 2, true, p->columns, out);
}

static void put_probe(struct table *t, const char *title, const struct noise_probe *p)
{
    if (p->spins_per_s == 0) {
        table_number(t, title, "-");
        table_number(t, "COPY GB/S", "-");
        return;
    }
    table_number(t, title, "%.0f", (double)p->spins_per_s / 1e6);
    if (p->copy_bytes_per_s == 0) {
        table_number(t, "COPY GB/S", "too busy");
    } else {
        table_number(t, "COPY GB/S", "%.2f", (double)p->copy_bytes_per_s / 1e9);
    }
}

/* What the machine did around each trial; trials that no replica probed have no row. */
static void format_noise(const struct describe_params *p, struct buf *out)
{
    _cleanup_(table_freep) struct table *t = table_new();
    size_t n_uncounted = 0;
    result_each_point (point, p->run->result) {
        point_each_trial (trial, point) {
            const struct trial_noise *noise = trial->noise;
            n_uncounted += trial->phase == TRIAL_SUCCEEDED && isnan(trial->others_share);
            if (noise == NULL) {
                continue;
            }
            table_text(t, "  POINT", "  %zu", number_of(p, point));
            table_number(t, "TRIAL", "%zu", (size_t)(trial - point->trials));
            put_probe(t, "BEFORE: MSPIN/S", &noise->probed.before);
            put_probe(t, "AFTER: MSPIN/S", &noise->probed.after);
            table_percent(t, "STEAL", noise->steal_ratio, false);
            table_percent(t, "WAITED", noise->wait_ratio, false);
            table_percent(t, "OTHERS", trial->others_share, false);
            table_end_row(t);
        }
    }
    if (table_n_rows(t) > 0) {
        buf_putc(out, '\n');
        prose(p, "Noise (the machine before and after each trial; what other programs took):", 0, 2,
              out);
        table_format_list(t, 2, true, p->columns, out);
    }
    if (n_uncounted > 0 && !spec_is_imported(p->run->result->def->spec)) {
        _cleanup_(freep) char *text = xasprintf(
            "It is unknown what other programs took from %zu trial%s: how long the replicas waited "
            "for CPUs was not counted. In a cluster a metric such as others_cpu_s shows it.",
            n_uncounted, n_uncounted == 1 ? "" : "s");
        buf_putc(out, '\n');
        prose(p, text, 0, 2, out);
    }
}

/* Updates between the parameters that a gradient was computed with and those
 * that it was applied to. */
static void format_staleness(const struct describe_params *p, struct buf *out)
{
    bool any = false;
    result_each_point (point, p->run->result) {
        const struct staleness_sums *s = &point->kept->staleness;
        if (s->slices == 0) {
            continue;
        }
        if (!any) {
            buf_putc(out, '\n');
            prose(p, "Staleness (updates by others since a trainer got its parameters):", 0, 2,
                  out);
        }
        any = true;
        buf_printf(out, "  point %zu: %.2f in the mean, at most %llu\n", number_of(p, point),
                   s->missed / s->slices, (unsigned long long)s->max);
    }
}

static void format_failed_attempt(const struct describe_params *p, const struct attempt_row *row,
                                  struct buf *out)
{
    const char *error = row->error == NULL ? "" : row->error;
    _cleanup_(freep) char *what =
        xasprintf("point %u, trial %u, attempt %u: %s: %s", row->id.point, row->id.trial,
                  row->id.number, attempt_outcome_to_string(row->outcome), error);
    buf_puts(out, "  ");
    prose(p, what, 2, 4, out);
    vec_each (const struct replica_row, rep, &row->replicas) {
        if (rep->failure != NULL && strstr(error, rep->failure) == NULL) {
            const size_t len = strcspn(rep->failure, "\n"); /* a log rule says more lines */
            buf_printf(out, "    %s/%u: %.*s\n", role_to_string(rep->id.role), rep->id.index,
                       (int)len, rep->failure);
            put_details(rep->failure + len + (rep->failure[len] == '\n'), out);
        }
    }
    const struct replica_row *rep = attempt_row_find_culprit(row);
    if (rep != NULL) {
        buf_printf(out,
                   "    benchctl logs %s %s --point %u --trial %u --attempt %u --role %s "
                   "--index %u\n",
                   p->run->row.name, p->where, row->id.point, row->id.trial, row->id.number,
                   role_to_string(rep->id.role), rep->id.index);
    }
}

static void take_attempt(const struct describe_params *p, const struct attempt_row *row,
                         struct attempts_said *said)
{
    const char *key;
    json_t *value;
    vec_each (const struct replica_row, rep, &row->replicas) {
        json_auto_t *environment = environment_to_json(&rep->environment);
        said->n += environment != NULL;
        json_object_foreach (environment, key, value) {
            add_value(said->by_key, key, value);
        }
    }
    if (row->outcome != ATTEMPT_SUCCEEDED) {
        buf_puts(&said->failures, said->failures.len > 0 ? "" : "\nFailed attempts:\n");
        format_failed_attempt(p, row, &said->failures);
    }
}

static int read_attempts(const struct describe_params *p, struct attempts_said *said,
                         struct err *err)
{
    struct run_walk walk = loaded_run_walk(p->run);
    const struct attempt_row *row;
    int r;
    while ((r = run_walk_next(&walk, &row, err)) > 0) {
        take_attempt(p, row, said);
    }
    return r;
}

static void format_events(const struct describe_params *p, struct buf *out)
{
    if (p->run->n_events == 0) {
        buf_puts(out, "\nEvents: none\n");
        return;
    }
    _cleanup_(table_freep) struct table *t = table_new();
    for (size_t i = 0; i < p->run->n_events; i++) {
        char age[HUMAN_SIZE];
        human_duration(p->now_unix_ms - p->run->events[i].unix_ms, age);
        table_text(t, "  AGE", "  %s", age);
        table_text(t, "TYPE", "%s", p->run->events[i].type == EVENT_WARNING ? "Warning" : "Normal");
        table_text(t, "REASON", "%s", p->run->events[i].reason);
        table_text(t, "MESSAGE", "%s", p->run->events[i].note);
        table_end_row(t);
    }
    buf_puts(out, "\nEvents:\n");
    table_format_prose(t, p->columns, out);
}

static void format_all(const struct describe_params *p, const struct attempts_said *said,
                       struct buf *out)
{
    format_identity(p, out);
    if (p->run->result == NULL) {
        return;
    }
    format_definition(p, out);
    format_environment(p, said, out);
    format_points(p, out);
    format_trials(p, out);
    format_noise(p, out);
    format_staleness(p, out);
    buf_append(out, said->failures.data, said->failures.len);
    format_events(p, out);
}

/* Workers, kubelets and authors of definitions have written a part of it. */
int describe_format(const struct describe_params *p, struct buf *out, struct err *err)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    struct attempts_said said = {.by_key = json_object()};
    const int r = read_attempts(p, &said, err);
    if (r >= 0) {
        format_all(p, &said, &text);
        (void)text_replace_control(text.data, "\n", '?'); /* its length is not needed */
        buf_puts(out, text.data);
    }
    json_decref(said.by_key);
    buf_done(&said.failures);
    return r;
}
