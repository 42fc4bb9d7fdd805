/* See try_learn.h. Rules are changed as JSON: one that ships, one of the definition and one that
 * was made from a line then have the same form. */
#include "ctl/try/try_learn.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "doc/tree.h"
#include "logparse/guess.h"
#include "logparse/shipped_rules.h"
#include "logparse/suggest.h"
#include "spec/log_rule.h"

#define MIN_LINES 3     /* that must be left after the warm-up */
#define WARMUP_PART 5   /* else one line of so many is of it */
#define PACE_SLACK 1.35 /* by which two paces differ by chance */

/* Owned; NULL: it is not valid. */
static json_t *json_of_yaml(const char *text, size_t len)
{
    _cleanup_(diags_done) struct diags diags = {0};
    const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    struct node *root = NULL;
    if (tree_parse(text, len, &limits, &root, &diags) < 0) {
        return NULL;
    }
    json_t *json = tree_to_json(root);
    tree_free(root);
    return json;
}

/* ---- how a rule reads an output ---- */

struct count { /* lines with figures of kind Step */
    const struct log_rule *rule;
    uint64_t n, n_numbered, n_warmup;
};

static void on_figure(void *ctx, const struct log_figure *f)
{
    struct count *c = ctx;
    if (c->rule->lines.items[f->line].kind == LOG_KIND_STEP && f->rank <= 0) {
        c->n++;
        c->n_numbered += !isnan(f->step);
        c->n_warmup += f->is_warmup;
    }
}

static struct count count_lines(const struct log_rule *rule, const struct try_replica *r,
                                struct log_parser_params params, int64_t warmup_steps)
{
    struct count c = {.rule = rule};
    params.rule = rule;
    params.warmup_steps = warmup_steps;
    params.on_figure = on_figure;
    params.ctx = &c;
    struct log_parser *parser = log_parser_new(&params);
    log_parser_feed(parser, LOG_STDOUT, r->output, r->len, 0);
    log_parser_end(parser, 0);
    log_parser_free(parser);
    return c;
}

static struct log_parser_params params_of(const struct try_trial *t)
{
    const struct replica_id id = {.role = point_leading_role(&t->small->matrix.points[0])};
    return log_rule_params(t->small, &id);
}

/* A shipped rule is better than one made from a line, unless it misses the number of the step. */
static bool is_shipped_better(const struct try_replica *r, const struct log_parser_params *params,
                              const struct log_guess *shipped, const struct log_guess *made,
                              const char *made_text)
{
    if (made == NULL || strstr(made_text, "(?<step>") == NULL || made->n_lines < shipped->n_lines) {
        return true;
    }
    struct log_rule *rule = log_shipped_load(shipped->rule);
    const struct count c = count_lines(rule, r, *params, 0);
    log_rule_free(rule);
    return c.n == 0 || c.n_numbered > 0;
}

json_t *try_learn_rule(const struct try_trial *t)
{
    const struct log_parser_params params = params_of(t);
    for (uint32_t i = 0; i < t->seen.n; i++) {
        const struct try_replica *r = &t->seen.list[i];
        if (r->output == NULL) {
            continue;
        }
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        struct log_suggestion made;
        struct log_guess shipped;
        const bool is_made = log_suggest_rule(r->output, r->len, &params, &made, &text) == 0;
        if (log_guess_rule(r->output, r->len, &params, &shipped) == 0 &&
            shipped.unit != UNIT_RUNS &&
            is_shipped_better(r, &params, &shipped, is_made ? &made.guess : NULL,
                              buf_cstr(&text))) {
            return json_string(shipped.rule);
        }
        if (is_made) {
            return json_of_yaml(text.data, text.len);
        }
    }
    return NULL;
}

/* ---- the lines of a rule ---- */

/* As a map, also where it ships. */
static json_t *open_rule(json_t *log_take)
{
    const char *name = json_string_value(log_take);
    const struct embedded *shipped =
        name == NULL ? NULL : embedded_find(log_shipped, log_shipped_count, name);
    if (shipped == NULL) {
        return log_take;
    }
    json_decref(log_take);
    json_t *rule = json_of_yaml(shipped->text, strlen(shipped->text)); /* it was tested */
    (void)json_object_del(rule, "name");
    (void)json_object_del(rule, "description");
    return rule;
}

/* Sets a field in the lines that have none; `kind` NULL: of all kinds with a throughput. */
static void set_lines(json_t **log, const char *kind, const char *field, json_t *value_take)
{
    *log = open_rule(*log);
    size_t i;
    json_t *line;
    json_array_foreach (json_object_get(*log, "lines"), i, line) {
        const char *own = json_string_value(json_object_get(line, "kind"));
        const bool is_meant =
            kind == NULL ? !str_eq_or_null(own, "Info") : str_eq_or_null(own, kind);
        if (is_meant && json_object_get(line, field) == NULL) {
            /* Before the pattern, which is long. */
            json_t *pattern = json_incref(json_object_get(line, "pattern"));
            (void)json_object_del(line, "pattern");
            (void)json_object_set(line, field, value_take);
            (void)json_object_set_new(line, "pattern", pattern);
        }
    }
    json_decref(value_take);
}

bool try_reads_rate(const json_t *log)
{
    json_t *rule = open_rule(json_deep_copy(log));
    bool has = false;
    size_t i;
    json_t *line;
    json_array_foreach (json_object_get(rule, "lines"), i, line) {
        const char *pattern = json_string_value(json_object_get(line, "pattern"));
        has = has || (pattern != NULL && strstr(pattern, "(?<rate>") != NULL);
    }
    json_decref(rule);
    return has;
}

/* ---- scope ---- */

/* Units that a step has by what is printed; NaN: not known. */
static double units_of_step(const struct try_trial *t, uint32_t rank)
{
    return try_seen_rate(&t->seen, rank) / try_seen_steps_per_s(&t->seen);
}

/* By the size of a step: with several workers it is that of one, or that of all. "": unknown. */
static const char *scope_of_rate(const struct try_trial *one, const struct try_trial *several,
                                 uint32_t rank)
{
    const double times = units_of_step(several, rank) / units_of_step(one, 0);
    const double n = several->seen.n;
    return isnan(times)                                       ? ""
           : times < PACE_SLACK && times > 1 / PACE_SLACK     ? "Each"
           : times / n < PACE_SLACK && n / times < PACE_SLACK ? "Job"
                                                              : "";
}

bool try_learn_scope(const struct try_trial *one, const struct try_trial *several, json_t **log,
                     struct buf *said)
{
    const struct try_seen *seen = &several->seen;
    const struct log_rule *rule = several->small->spec->systems.items[0].log;
    const char *role = role_to_string(point_leading_role(&several->small->matrix.points[0]));
    uint32_t n_with = 0, first = 0;
    for (uint32_t i = 0; i < seen->n; i++) {
        const bool has = !isnan(try_seen_rate(seen, i));
        first = has && n_with == 0 ? i : first;
        n_with += has;
    }
    const bool reads_rate = try_reads_rate(*log);
    const char *scope = n_with == 0 ? "" : reads_rate ? scope_of_rate(one, several, first) : "Each";
    const bool is_known = several->has_figure && (n_with < seen->n || !str_eq(scope, "Job"));
    const bool has_scope = vec_any(&rule->lines, line, line->scope != LOG_SCOPE_REPLICA);
    if (n_with == 0 || is_known || has_scope) {
        return false; /* nothing is printed, or the rule says it */
    }
    if (scope[0] == '\0') {
        buf_printf(
            said,
            "%u of %u %ss print figures, and it is not clear of what; add to the line of the "
            "rule scope: Each if a figure is that of one %s, scope: Job if of all together\n",
            n_with, seen->n, role, role);
        return false;
    }
    if (n_with == 1) {
        buf_printf(said, "scope: only %s/%u prints figures", role, first);
    } else {
        buf_printf(said, "scope: %u of %u %ss print figures", n_with, seen->n, role);
    }
    buf_printf(said, str_eq(scope, "Job") ? ", of all %ss together: Job\n" : ", of one %s: Each\n",
               role);
    set_lines(log, NULL, "scope", json_string(scope));
    return true;
}

/* ---- warm-up ---- */

void try_learn_warmup(const struct try_trial *t, int64_t warmup_steps, json_t **log,
                      struct buf *said)
{
    const struct log_parser_params params = params_of(t);
    const struct try_replica *r = array_find(t->seen.list, t->seen.n, it, it->output != NULL);
    const bool has_skip = params.rule == NULL ||
                          vec_any(&params.rule->lines, line, line->skip.kind != LOG_SKIP_DEFAULT);
    if (r == NULL || has_skip || warmup_steps == 0) {
        return;
    }
    const struct count c = count_lines(params.rule, r, params, warmup_steps);
    const long long n = (long long)c.n, left = n - (long long)c.n_warmup, w = warmup_steps;
    const bool is_whole = t->end == TRY_ENDED, is_numbered = c.n_numbered == c.n;
    if (n == 0) {
        return; /* of kinds that have no warm-up */
    }
    if (is_numbered && (!is_whole || left >= MIN_LINES)) {
        buf_printf(said,
                   "warm-up: the first %lld steps are left out, by the numbers in the lines\n", w);
        return;
    }
    const long long part = n / WARMUP_PART > 1 ? n / WARMUP_PART : 1;
    const long long skip = is_whole && (is_numbered || part < w) ? part : w;
    buf_printf(said, "warm-up: the first %lld of %s%lld lines are left out, because ", skip,
               is_whole ? "" : "more than ", n);
    if (is_numbered) {
        buf_printf(said, "measure.warmupSteps %lld would leave %lld\n", w, left);
    } else {
        buf_puts(said, "they have no number for measure.warmupSteps\n");
    }
    set_lines(log, log_kind_names[LOG_KIND_STEP], "skip",
              json_pack("{s:I}", "lines", (json_int_t)skip));
}

/* ---- the file ---- */

static void put_yaml_text(const char *text, struct buf *out)
{
    struct node node = {0};
    const char *why, *fix;
    const bool is_text =
        tree_resolve_plain(text, &node, &why, &fix) == 0 && node.kind == NODE_STRING;
    if (is_text) {
        free(node.s);
    }
    bool is_plain = is_text && isalpha((unsigned char)text[0]);
    for (const char *c = text; *c != '\0'; c++) {
        is_plain = is_plain && (isalnum((unsigned char)*c) || strchr("_-", *c) != NULL);
    }
    buf_puts(out, is_plain ? "" : "'");
    for (const char *c = text; *c != '\0'; c++) {
        buf_puts(out, *c == '\'' ? "'" : "");
        buf_putc(out, *c);
    }
    buf_puts(out, is_plain ? "" : "'");
}

void try_put_yaml(const json_t *value, struct buf *out)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_object(value)) {
        const size_t begin = out->len;
        json_object_foreach ((json_t *)value, key, item) {
            buf_printf(out, "%s%s: ", out->len == begin ? "{" : ", ", key);
            try_put_yaml(item, out);
        }
        buf_putc(out, '}');
    } else if (json_is_array(value)) {
        json_array_foreach (value, i, item) {
            buf_puts(out, i == 0 ? "[" : ", ");
            try_put_yaml(item, out);
        }
        buf_putc(out, ']');
    } else if (json_is_string(value)) {
        put_yaml_text(json_string_value(value), out);
    } else {
        _cleanup_(freep) char *text = json_dumps(value, JSON_ENCODE_ANY);
        buf_puts(out, text);
    }
}

/* Marks count characters. */
static size_t offset_of(const char *text, size_t len, struct mark mark)
{
    size_t at = 0;
    for (unsigned line = 1; line < mark.line && at < len; at++) {
        line += text[at] == '\n';
    }
    for (unsigned column = 1; column < mark.column && at < len; column++) {
        do {
            at++;
        } while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80);
    }
    return at;
}

struct place_of_log {
    size_t begin, end;  /* of what is replaced */
    const char *before; /* the rule */
    unsigned indent;    /* of the line that `before` begins; 0: it begins none */
};

static size_t line_end(const char *text, size_t len, size_t at)
{
    const char *newline = memchr(text + at, '\n', len - at);
    return newline == NULL ? len : (size_t)(newline - text);
}

/* In a system without a rule: as its last field, or in place of the line "# log: ..." below it. */
static struct place_of_log place_of_new(const char *text, size_t len, const struct node *system)
{
    const struct node *last = system->children[system->n_children - 1];
    const size_t at = offset_of(text, len, last->end);
    if (text[offset_of(text, len, system->mark)] == '{') {
        return (struct place_of_log){at, at, ", \"log\": ", 0};
    }
    const size_t end = line_end(text, len, at);
    struct place_of_log place = {end, end, "\n", last->key_mark.column - 1};
    for (size_t next = end; next < len;) {
        const size_t begin = next + 1 + strspn(text + next + 1, " ");
        next = begin < len ? line_end(text, len, begin) : len;
        if (begin >= len || text[begin] != '#') {
            break;
        }
        if (strncmp(text + begin, "# log:", strlen("# log:")) == 0) {
            return (struct place_of_log){begin, next, "log: ", 0};
        }
    }
    return place;
}

static const struct node *find_system(const struct node *root, const char *name)
{
    const struct node *systems = tree_path(root, "spec", "systems", NULL);
    const size_t n = systems == NULL || systems->kind != NODE_SEQ ? 0 : systems->n_children;
    struct node *const *found = n == 0
                                    ? NULL
                                    : array_find(systems->children, n, it,
                                                 str_eq_or_null(tree_get_text(*it, "name"), name));
    return found == NULL ? NULL : *found;
}

/* Does the new text mean the old one with this rule? */
static bool is_right(const struct node *root, const char *system, json_t *log,
                     const struct buf *text)
{
    json_auto_t *wanted = tree_to_json(root), *got = json_of_yaml(text->data, text->len);
    size_t i;
    json_t *item;
    json_array_foreach (json_object_get(json_object_get(wanted, "spec"), "systems"), i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));
        if (str_eq_or_null(name, system)) {
            (void)json_object_set(item, "log", log);
        }
    }
    return got != NULL && json_equal(wanted, got) != 0;
}

bool try_put_log(const char *text, size_t len, const char *system, json_t *log, struct buf *out,
                 unsigned *ret_line)
{
    _cleanup_(diags_done) struct diags diags = {0};
    const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    struct node *root = NULL;
    if (tree_parse(text, len, &limits, &root, &diags) < 0) {
        return false;
    }
    const struct node *node = find_system(root, system);
    bool is_done = node != NULL && node->kind == NODE_MAP;
    if (is_done) {
        const struct node *old = tree_get(node, "log");
        const struct place_of_log place =
            old == NULL ? place_of_new(text, len, node)
                        : (struct place_of_log){offset_of(text, len, old->mark),
                                                offset_of(text, len, old->end),
                                                old->kind == NODE_NULL ? " " : "", 0};
        buf_append(out, text, place.begin);
        buf_printf(out, "%s%*s%s", place.before, (int)place.indent, "",
                   place.indent > 0 ? "log: " : "");
        *ret_line = 1;
        for (size_t i = 0; i < out->len; i++) {
            *ret_line += out->data[i] == '\n';
        }
        if (text[strspn(text, " \t\r\n")] == '{') { /* a file of JSON */
            _cleanup_(freep) char *json = json_dumps(log, JSON_ENCODE_ANY);
            buf_puts(out, json);
        } else {
            try_put_yaml(log, out);
        }
        buf_append(out, text + place.end, len - place.end);
        is_done = is_right(root, system, log, out);
    }
    tree_free(root);
    return is_done;
}
