/* What completion offers, see complete_offers.h. */
#include "ctl/verbs/complete_offers.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"
#include "core/role.h"
#include "ctl/verbs/verbs.h"
#include "ctl/definition/definition.h"
#include "ctl/cli/human.h"
#include "ctl/runs/progress.h"
#include "ctl/definition/crd_schema.h"
#include "ctl/cli/usage.h"
#include "logparse/shipped_rules.h"
#include "reference/shipped_sets.h"
#include "report/charts.h"
#include "result/pivot.h"
#include "spec/shipped_profiles.h"
#include "spec/spec_load.h"

/* A shell shows it to a person: names and descriptions may be anybody's. */
static void offer(struct typing *t, const char *text, const char *help)
{
    if (str_has_prefix(text, t->end.text)) {
        const size_t begin = t->out.len;
        buf_puts(&t->out, text);
        if (help[0] != '\0') {
            buf_printf(&t->out, "\t%.*s", (int)strcspn(help, "\n\t"), help);
        }
        t->out.len = begin + text_replace_control(t->out.data + begin, "\t", '?');
        buf_putc(&t->out, '\n');
    }
}

/* Each of "a|b|c". */
static void complete_choices(struct typing *t, const char *choices)
{
    while (choices != NULL && choices[0] != '\0') {
        const size_t len = strcspn(choices, "|");
        _cleanup_(freep) char *choice = xstrndup(choices, len);
        offer(t, choice, "");
        choices += len + (choices[len] == '|');
    }
}

static bool is_typed(const struct typing *t, const char *word)
{
    return str_index(word, t->cli.args.words, t->cli.args.n_words) >= 0;
}

void complete_verbs(struct typing *t)
{
    for (size_t i = 0; i < t->cli.n_verbs; i++) {
        offer(t, t->cli.verbs[i]->name, t->cli.verbs[i]->summary);
    }
}

static void offer_option(struct typing *t, const struct arg_opt *opt)
{
    _cleanup_(freep) char *name = xasprintf("--%s", opt->name);
    offer(t, name, opt->help);
}

void complete_options(struct typing *t)
{
    const struct verb *verb = t->cli.verb;
    for (size_t i = 0; verb != NULL && i < verb->n_opts; i++) {
        offer_option(t, &verb->opts[i]);
    }
    for (size_t i = 0; i < usage_n_global_opts; i++) {
        offer_option(t, &usage_global_opts[i]);
    }
    offer(t, "--help", "Print this help");
}

/* ---- what lies in a store, a cluster or a file ---- */

static void offer_run(struct typing *t, const struct listed *l)
{
    const struct run_status *st = &l->row.status;
    char age[HUMAN_SIZE];
    human_duration(clock_unix_ms() - l->row.created_unix_ms, age);
    _cleanup_(freep) char *help =
        xasprintf("%s, %u of %u trials, %s ago", run_phase_to_string(st->phase), st->trials_done,
                  st->trials_total, age);
    if (!is_typed(t, l->row.name)) {
        offer(t, l->row.name, help);
    }
}

static bool list_all(struct typing *t, bool is_benchmarks, struct listing *ret)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    const struct list_wanted wanted = {.is_benchmarks = is_benchmarks};
    return backend_open(&t->cli, &b) == EXIT_OK && b->ops->list(b, &wanted, ret) == EXIT_OK;
}

static void complete_runs(struct typing *t)
{
    _cleanup_(listing_done) struct listing list = {0};
    if (list_all(t, false, &list)) {
        if (list.items.len > 1 && !is_typed(t, RUN_WORD_LATEST)) {
            offer(t, RUN_WORD_LATEST, list.items.items[0].row.name);
        }
        vec_each (const struct listed, l, &list.items) {
            offer_run(t, l);
        }
        t->hints |= COMPLETION_SORTED; /* newest first */
    }
}

static void offer_listed_benchmarks(struct typing *t)
{
    _cleanup_(listing_done) struct listing list = {0};
    const bool is_read = list_all(t, true, &list);
    for (size_t i = 0; is_read && i < list.items.len; i++) {
        const struct listed *l = &list.items.items[i];
        const char *help = "";
        (void)json_unpack(l->object, "{s:{s:s}}", "spec", "description", &help);
        if (!is_typed(t, l->row.name)) {
            offer(t, l->row.name, help);
        }
    }
}

/* A definition to run: a shipped one, one of the cluster, or a file. */
static void complete_definitions(struct typing *t)
{
    _cleanup_(texts_done) struct texts names = {0};
    definition_names(&names);
    vec_each (char *, name, &names.list) {
        offer(t, *name, "shipped");
    }
    if (!t->cli.is_local && t->cli.store == NULL) {
        offer_listed_benchmarks(t);
    }
    t->hints &= ~(unsigned)COMPLETION_NO_FILES;
}

static void offer_point(struct typing *t, const struct run_def *def, const struct point *point)
{
    _cleanup_(buf_done) struct buf help = BUF_INIT;
    buf_puts(&help, def->spec->systems.items[point->system].name);
    vec_each (const struct param, param, &point->params.list) {
        buf_printf(&help, " %s=", param->name);
        value_format(&param->value, &help);
    }
    _cleanup_(freep) char *number = xasprintf("%u", point->index);
    offer(t, number, buf_cstr(&help));
}

/* The run that the line names; false: it names none, or one without a definition. */
static bool load_run(const struct typing *t, struct loaded_run *ret)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    return t->cli.args.n_words > 0 && backend_open(&t->cli, &b) == EXIT_OK &&
           b->ops->load_run(b, t->cli.args.words[0], ret) == EXIT_OK && ret->def != NULL;
}

static void complete_points(struct typing *t)
{
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    if (load_run(t, &run)) {
        for (uint32_t i = 0; i < run.def->matrix.n_points; i++) {
            offer_point(t, run.def, &run.def->matrix.points[i]);
        }
        t->hints |= COMPLETION_SORTED;
    }
}

/* The definition that the line names. NULL: the line names none, or it is not valid. */
static struct spec *load_definition(const struct typing *t)
{
    const char *file_option = args_get(&t->cli.args, "file", NULL);
    if ((file_option == NULL) == (t->cli.args.n_words == 0) ||
        (file_option != NULL && str_eq(file_option, "-"))) {
        return NULL;
    }
    _cleanup_(definition_file_done) struct definition_file file = {0};
    struct spec *spec = NULL;
    _cleanup_(diags_done) struct diags diags = {0};
    const struct spec_overrides overrides = {.local = t->cli.is_local, TEMPLATES_OF(&file)};
    if (definition_open(&t->cli, &file) == EXIT_OK) {
        (void)spec_load(file.text, file.len, &overrides, &spec,
                        &diags); /* then nothing is offered */
    }
    return spec;
}

/* "a,b,": what has been typed before the last comma stays. */
static void complete_systems(struct typing *t)
{
    struct spec *spec = load_definition(t);
    const char *comma = strrchr(t->end.text, ',');
    const int before = comma == NULL ? 0 : (int)(comma + 1 - t->end.text);
    for (size_t i = 0; spec != NULL && i < spec->systems.len; i++) {
        _cleanup_(freep) char *text =
            xasprintf("%.*s%s", before, t->end.text, spec->systems.items[i].name);
        offer(t, text, "");
    }
    spec_free(spec);
    t->hints |= COMPLETION_NO_SPACE;
}

static void complete_swept(struct typing *t)
{
    struct spec *spec = load_definition(t);
    for (size_t i = 0; spec != NULL && i < spec->sweep.axes.len; i++) {
        _cleanup_(freep) char *text = xasprintf("%s=", spec->sweep.axes.items[i].name);
        offer(t, text, "");
    }
    spec_free(spec);
    t->hints |= COMPLETION_NO_SPACE;
}

static void complete_charts(struct typing *t)
{
    for (size_t i = 0; charts_name(i) != NULL; i++) {
        offer(t, charts_name(i), "");
    }
}

static void complete_figures(struct typing *t)
{
    for (int i = 0; i < PIVOT_FIGURE_COUNT; i++) {
        offer(t, pivot_figures[i].name, "");
    }
}

static void complete_roles(struct typing *t)
{
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        offer(t, role_to_string(role), "");
    }
}

static void complete_formats(struct typing *t)
{
    const struct verb *verb = t->cli.verb;
    complete_choices(t, verb == NULL ? NULL : verb->formats);
}

static void complete_files(struct typing *t)
{
    t->hints &= ~(unsigned)COMPLETION_NO_FILES;
}

struct offered_paths {
    struct typing *typing;
    const struct schema *schema;
    const char *prefix;
};

/* The next level only: everything below at once would be a wall. */
static void offer_path(void *ctx, const char *path, const struct schema_field *field)
{
    const struct offered_paths *o = ctx;
    _cleanup_(freep) char *whole = xasprintf("%s%s", o->prefix, path);
    const char *typed = o->typing->end.text;
    const size_t len = strlen(typed);
    if (str_has_prefix(whole, typed) && strchr(whole + len, '.') == NULL) {
        offer(o->typing, whole, schema_description(o->schema, field));
    }
}

static void complete_paths(struct typing *t)
{
    _cleanup_(schema_done) struct schema s = {0};
    if (schema_open(&s, NULL) < 0) {
        return;
    }
    schema_each_path(&s, "Benchmark", offer_path, &(struct offered_paths){t, &s, ""});
    schema_each_path(&s, "BenchmarkRun", offer_path,
                     &(struct offered_paths){t, &s, "benchmarkrun."});
}

/* What `get` sorts the kind by that the line names. */
static void complete_columns(struct typing *t)
{
    const struct args *a = &t->cli.args;
    const bool is_runs = a->n_words == 0 || cli_is_run_kind(a->words[0]);
    const char *const *columns = (is_runs ? &list_kind_runs : &list_kind_benchmarks)->columns;
    for (size_t i = 0; columns[i] != NULL; i++) {
        offer(t, columns[i], "");
    }
}

static void complete_stores(struct typing *t)
{
    if (!str_has_prefix(t->end.text, "sqlite:")) {
        offer(t, "sqlite:", "");
        t->hints |= COMPLETION_NO_SPACE;
    }
    t->hints &= ~(unsigned)COMPLETION_NO_FILES;
}

/* What the run that the line names has two values of, or more. */
static void complete_axes(struct typing *t)
{
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    if (load_run(t, &run)) {
        vec_each (const struct axis, axis, &run.def->spec->sweep.axes) {
            if (axis->values.len > 1) {
                offer(t, axis->name, "");
            }
        }
        if (run.def->spec->systems.len > 1) {
            offer(t, "system", "");
        }
    }
}

/* The names of `get`: of the kind that the line names. */
static void complete_names(struct typing *t)
{
    const struct args *a = &t->cli.args;
    if (str_eq(t->cli.verb->name, "compare")) {
        complete_axes(t);
    } else if (!str_eq(t->cli.verb->name, "get")) {
        complete_definitions(t);
    } else if (a->n_words > 0 && cli_is_run_kind(a->words[0])) {
        complete_runs(t);
    } else {
        offer_listed_benchmarks(t);
    }
}

/* ---- which of them ---- */

static const struct source {
    const char *value_name;
    void (*offer)(struct typing *t); /* may be NULL where there are others */
    const char *choices;
    const struct embedded *shipped; /* the names of these */
    const size_t *n_shipped;
} sources[] = {
    {"ARCHIVE", complete_files},
    {"AXIS,...", complete_axes},
    {"BENCHMARK", complete_definitions},
    {"CHART", complete_charts},
    {"COLUMN", complete_columns},
    {"COMMAND", complete_files},
    {"FIGURE", complete_figures},
    {"FILE", complete_files},
    {"FILE|DIGEST", complete_files},
    {"FORMAT", complete_formats},
    {"HOW", .choices = PROGRESS_MODES},
    {"LOG", complete_files},
    {"NAME", complete_names},
    {"NAME,..", complete_systems},
    {"NAME=V1,V2", complete_swept},
    {"P", complete_points},
    {"PATH", complete_paths},
    /* Those that bring no program: for the others a definition ships. */
    {"PROFILE", .shipped = shipped_profiles, .n_shipped = &shipped_profiles_count},
    {"ROLE", complete_roles},
    {"RULE", complete_files, .shipped = log_shipped, .n_shipped = &log_shipped_count},
    {"RUN", complete_runs},
    {"RUN_A", complete_runs},
    {"RUN_B", complete_runs},
    {"SET", complete_files, .shipped = reference_shipped, .n_shipped = &reference_shipped_count},
    {"URL", complete_stores},
    {"VERB", complete_verbs},
    {"WHEN", .choices = CLI_COLORS},
};

/* What only the person knows. */
static const char *const free_values[] = {
    "A",     "AGE",     "AMOUNT/UNIT", "AMOUNT/gpu-hour", "AXIS=A/B",
    "CLASS", "CONTEXT", "DIGEST",      "DURATION",        "I",
    "IMAGE", "LABELS",  "N",           "NAME=VALUE",      "MS",
    "NS",    "QUEUE",   "RATE",        "RATIO",           "T",
    "TEXT",  "US",      NULL};

static const struct source *find_source(const char *value_name)
{
    return array_find(sources, COUNT_OF(sources), it, str_eq(it->value_name, value_name));
}

bool complete_knows(const char *value_name)
{
    return strchr(value_name, '|') != NULL || find_source(value_name) != NULL ||
           str_is_one_of(value_name, free_values);
}

void complete_value(struct typing *t, const char *value_name)
{
    const struct source *source = find_source(value_name);
    const char *choices = source == NULL ? value_name : source->choices;
    if (choices != NULL && strchr(choices, '|') != NULL) {
        complete_choices(t, choices);
        return;
    }
    for (size_t i = 0; source != NULL && source->shipped != NULL && i < *source->n_shipped; i++) {
        offer(t, source->shipped[i].name, "");
    }
    if (source != NULL && source->offer != NULL) {
        source->offer(t);
    }
}
