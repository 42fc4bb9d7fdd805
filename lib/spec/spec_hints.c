/* The line to write, where a definition has what other tools or older habits taught. See
 * spec_internal.h. */
#include "spec/spec_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#define BIT(kind) (1U << (unsigned)(kind))
#define VALUE_SHOWN 60 /* characters of a value; a name has 63 at most */

enum {
    NUMBER = BIT(NODE_INT),
    WORD = BIT(NODE_STRING),
    MAP = BIT(NODE_MAP),
    SCALAR = BIT(NODE_INT) | BIT(NODE_FLOAT) | BIT(NODE_STRING),
    DECIMAL = BIT(NODE_INT) | BIT(NODE_FLOAT),
    VALUES = BIT(NODE_INT) | BIT(NODE_STRING) | BIT(NODE_SEQ),
};

/* In `line` # is the key and @ the value as it is written; ~ is the value as items of a list. In
 * `path` * is any one step, and "spec." stands for "spec.local.", too. */
static const struct hint {
    const char *path;
    unsigned kinds;
    const char *line;
} hints[] = {
    {"spec.baseline", WORD, "write 'baseline: {kind: @}'"},
    {"spec.repeats", NUMBER, "write 'repeats: {min: @}'"},
    {"spec.measure.repeats", NUMBER, "write 'repeats: {min: @}' beside measure"},
    {"spec.measure", NUMBER, "write 'measure: {steps: @}'"},
    {"spec.measure.warmup", NUMBER, "write 'warmupSteps: @'"},
    {"spec.measure.timeToAccuracy", DECIMAL, "write 'timeToAccuracy: {accuracy: \"0.8\"}'"},
    {"spec.measure.accuracyAfterTime", NUMBER, "write 'accuracyAfterTime: {seconds: @}'"},
    {"spec.warmup", NUMBER, "write 'measure: {warmupSteps: @}'"},
    {"spec.warmupSteps", NUMBER, "write 'measure: {warmupSteps: @}'"},
    {"spec.steps", NUMBER, "write 'measure: {steps: @}'"},
    {"spec.model", WORD, "write 'workload: {model: @}'"},
    {"spec.batchSize", NUMBER, "write 'workload: {batchSize: @}'"},
    {"spec.threads", NUMBER, "write 'workload: {threads: @}'"},
    {"spec.seed", NUMBER, "write 'workload: {seed: @}'"},
    {"spec.dataset", WORD, "write 'workload: {dataset: {kind: @}}'"},
    {"spec.exchange", WORD, "write 'workload: {exchange: {kind: @}}'"},
    {"spec.workload.dataset", WORD, "write 'dataset: {kind: @}'"},
    {"spec.workload.exchange", WORD, "write 'exchange: {kind: @}'"},
    {"spec.systems[*].exchange", WORD, "write 'exchange: {kind: @}'"},
    {"spec.image", WORD, "write 'image: @' in each item of systems"},
    {"spec.command", WORD, "write 'command: [@]' in each item of systems"},
    {"spec.systems[*].command", WORD, "write 'command: [~]'"},
    {"spec.systems[*].env", MAP, "write 'env: [{name: NAME, value: VALUE}]'"},
    {"spec.systems[*].env[*]", WORD, "write '{name: NAME, value: VALUE}'"},
    {"spec.systems[*].log.scope", WORD, "write 'scope: @' in each item of lines"},
    {"spec.gpus", NUMBER, "write 'devices: {value: @}' in the role that has them"},
    {"spec.roles.*.gpus", NUMBER, "write 'devices: {value: @}'"},
    {"spec.roles.*.resources", MAP,
     "write 'devices: {value: N}', or limits in a template of the pod"},
    {"spec.systems", WORD, "write 'systems: [{name: @, profile: @}]'"},
    {"spec.systems[*]", WORD, "write '{name: @, profile: @}'"},
    {"spec.trainers", VALUES, "write 'sweep: {grid: {trainers: [~]}}'"},
    {"spec.workers", VALUES, "write 'sweep: {grid: {workers: [~]}}'"},
    {"spec.pservers", VALUES, "write 'sweep: {grid: {pservers: [~]}}'"},
    {"spec.sweep.trainers", VALUES, "write 'grid: {trainers: [~]}'"},
    {"spec.sweep.workers", VALUES, "write 'grid: {workers: [~]}'"},
    {"spec.sweep.pservers", VALUES, "write 'grid: {pservers: [~]}'"},
    {"spec.sweep.grid.*", SCALAR, "write '#: [~]'"},
    {"spec.parameters[*]", WORD, "write '{name: @, targets: [{roles: [ROLE], env: [VARIABLE]}]}'"},
    {"spec.roles.*", NUMBER, "write '#: {replicas: {value: @}}'"},
    {"spec.roles.*.replicas", NUMBER, "write 'replicas: {value: @}'"},
    {"spec.roles.*.devices", NUMBER, "write 'devices: {value: @}'"},
    {"spec.roles.*.replicas", WORD, "write 'replicas: {from: @}'"},
    {"spec.failurePolicy", WORD, "write 'failurePolicy: {onTrialFailure: @}'"},
};

static const struct foreign_kind {
    const char *kind, *profile;
} foreign_kinds[] = {
    {"PyTorchJob", "torchrun"},
    {"TFJob", "tf-config"},
    {"JAXJob", "jax"},
    {"PaddleJob", "paddle-fleet"},
    {"MPIJob", "none"},
    {"TrainJob", "torchrun"},
    {"JobSet", "none"},
    {"Job", "none"},
    {"Pod", "none"},
    {"Deployment", "none"},
    {"XGBoostJob", "none"},
};

bool spec_hints_refuse_kind(const struct node *root, struct diags *diags)
{
    const char *kind = tree_get_text(root, "kind");
    const char *version = tree_get_text(root, "apiVersion");
    if (kind == NULL) {
        return false;
    }
    const struct node *at = tree_get(root, "kind");
    if (str_eq(kind, "BenchmarkRun")) {
        diags_add(
            diags, at->mark, "kind",
            "give the file of the Benchmark that spec.benchmarkRef names; 'kubectl apply' starts "
            "this one",
            "a BenchmarkRun is one run of a Benchmark, not a definition");
        return true;
    }
    const struct foreign_kind *foreign =
        array_find(foreign_kinds, COUNT_OF(foreign_kinds), it, str_eq(kind, it->kind));
    if (foreign == NULL || (version != NULL && str_has_prefix(version, "benchd.io/"))) {
        return false;
    }
    _cleanup_(freep) char *fix =
        xasprintf("'benchctl init --profile %s --image IMAGE -- COMMAND' writes "
                  "the Benchmark for the image and command of its containers",
                  foreign->profile);
    diags_add(diags, at->mark, "kind", fix, "a %s is not a Benchmark", kind);
    return true;
}

/* Does the path of a problem fit the path of a hint? */
static bool path_fits(const char *path, const char *wanted)
{
    while (*wanted != '\0') {
        if (*wanted == '*') {
            path += strcspn(path, ".[]");
            wanted++;
        } else if (*path++ != *wanted++) {
            return false;
        }
    }
    return *path == '\0';
}

static void put_value(struct buf *out, const struct node *node)
{
    if (node->kind == NODE_INT) {
        buf_printf(out, "%" PRId64, node->i);
    } else if (node->kind == NODE_FLOAT) {
        buf_printf(out, "\"%.15g\"", node->f);
    } else {
        buf_printf(out, "%.*s", VALUE_SHOWN, node->kind == NODE_STRING ? node->s : "...");
    }
}

/* "1-4", and short enough to be written out. */
static bool is_range(const char *text, int64_t *ret_first, int64_t *ret_last)
{
    const char *dash = strchr(text, '-');
    _cleanup_(freep) char *first = dash == NULL ? NULL : xstrndup(text, (size_t)(dash - text));
    return dash != NULL && parse_i64_in(first, 0, 1000000, ret_first) == 0 &&
           parse_i64_in(dash + 1, *ret_first + 1, *ret_first + 15, ret_last) == 0;
}

/* "1,2, 4", [1, 2, 4] and "1-4" as a list's items. */
static void put_items(struct buf *out, const struct node *node)
{
    if (node->kind == NODE_SEQ) {
        for (size_t i = 0; i < node->n_children; i++) {
            buf_puts(out, i == 0 ? "" : ", ");
            put_value(out, node->children[i]);
        }
        return;
    }
    if (node->kind != NODE_STRING) {
        put_value(out, node);
        return;
    }
    int64_t first, last;
    if (is_range(node->s, &first, &last)) {
        for (int64_t i = first; i <= last; i++) {
            buf_printf(out, "%s%" PRId64, i == first ? "" : ", ", i);
        }
        return;
    }
    static const char between[] = ", ";
    bool is_first = true;
    for (const char *at = node->s; at += strspn(at, between), *at != '\0';) {
        size_t len = strcspn(at, between);
        buf_printf(out, "%s%.*s", is_first ? "" : ", ", (int)len, at);
        is_first = false;
        at += len;
    }
}

/* Owned. */
static char *make_line(const struct hint *hint, const struct node *node)
{
    struct buf out = BUF_INIT;
    for (const char *c = hint->line; *c != '\0'; c++) {
        if (*c == '@') {
            put_value(&out, node);
        } else if (*c == '~') {
            put_items(&out, node);
        } else if (*c == '#') {
            buf_puts(&out, node->key);
        } else {
            buf_append(&out, c, 1);
        }
    }
    return buf_take(&out);
}

/* "4h" as seconds; 0: it is not a duration. */
static int64_t parse_duration_s(const char *text)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    const size_t len = strlen(text);
    for (size_t i = 0; len > 1 && i < COUNT_OF(units); i++) {
        _cleanup_(freep) char *digits = xstrndup(text, len - 1);
        int64_t n;
        if (text[len - 1] == units[i].unit && parse_i64(digits, &n) == 0 && n > 0 && n < 1000000) {
            return n * units[i].seconds;
        }
    }
    return 0;
}

/* Of the bounds of thresholds only a time is ever written as "2m". */
static bool is_in_seconds(const char *path)
{
    return str_has_suffix(path, "Seconds") || str_has_suffix(path, ".seconds") ||
           path_fits(path, "spec.thresholds[*].min") || path_fits(path, "spec.thresholds[*].max");
}

/* Owned; NULL: no habit that is known. `path` without "local."; is_unknown: no
 * field has that name. */
static char *find_line(const char *path, const struct node *node, bool is_unknown)
{
    const int64_t seconds = node->kind == NODE_STRING ? parse_duration_s(node->s) : 0;
    if (seconds > 0 && !is_unknown && is_in_seconds(path)) {
        return xasprintf("write '%s: %" PRId64 "'", node->key, seconds);
    }
    if (seconds > 0 && str_eq(path, "spec.timeout")) {
        return xasprintf("write 'runPolicy: {activeDeadlineSeconds: %" PRId64 "}'", seconds);
    }
    if (node->kind == NODE_STRING && path_fits(path, "spec.sweep.grid.*[*]") &&
        strspn(node->s, "0123456789 ") == strlen(node->s) && strchr(node->s, ' ') != NULL) {
        _cleanup_(buf_done) struct buf items = BUF_INIT;
        put_items(&items, node);
        return xasprintf("put commas between the values: [%s]", buf_cstr(&items));
    }
    const struct hint *hint =
        array_find(hints, COUNT_OF(hints), it,
                   (BIT(node->kind) & it->kinds) != 0 && path_fits(path, it->path));
    return hint == NULL ? NULL : make_line(hint, node);
}

/* Form is wrong here, so a line in the right form helps; a rule is not a matter of form. */
static bool is_about_form(const char *message)
{
    return str_has_prefix(message, "must be ") || str_has_prefix(message, "unknown field ");
}

/* The node that the path names in full; NULL if none exists, so what is said
 * is that it is missing. */
static const struct node *find_node(const struct node *root, const struct diag *diag)
{
    const struct node *node = tree_at(root, diag->path);
    const char *last = strrchr(diag->path, '.');
    last = last == NULL ? diag->path : last + 1;
    const bool is_item = str_has_suffix(diag->path, "]");
    return is_item || (node->key != NULL && str_eq(node->key, last)) ? node : NULL;
}

void spec_hints_apply(const struct node *root, struct diags *found)
{
    static const char local[] = "spec.local.";
    vec_each (struct diag, it, &found->list) {
        const struct node *node = find_node(root, it);
        if (node == NULL || it->origin != NULL || !is_about_form(it->message)) {
            continue;
        }
        const bool is_local = str_has_prefix(it->path, local);
        _cleanup_(freep) char *path =
            is_local ? xasprintf("spec.%s", it->path + strlen(local)) : xstrdup(it->path);
        const bool is_unknown = str_has_prefix(it->message, "unknown field ");
        _cleanup_(freep) char *line = find_line(path, node, is_unknown);
        if (line != NULL) {
            diag_set_fix(it, line);
        }
    }
}
