/* Reads templates, see json_path.h. */
#include "doc/json_path_parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/str.h"
#include "doc/json_path.h"

#define MAX_DEPTH 8 /* of ranges within ranges, and of conditions within conditions */

struct reader {
    const char *text, *at;
    unsigned depth;
    struct err *err;
};

/* ---- what is owned ---- */

static void path_done(struct path *p);

static void where_free(struct path_where *w)
{
    if (w != NULL) {
        path_done(&w->left);
        path_done(&w->right);
        json_decref(w->literal);
        free(w);
    }
}

static void path_done(struct path *p)
{
    vec_each (struct path_step, s, &p->steps) {
        vec_each (char *, name, &s->names) {
            free(*name);
        }
        vec_done(&s->names);
        vec_done(&s->indexes);
        where_free(s->where);
    }
    vec_done(&p->steps);
}

static void part_done(struct path_part *part)
{
    vec_each (struct path_part, p, &part->body) {
        part_done(p);
    }
    vec_done(&part->body);
    path_done(&part->path);
    free(part->text);
}

void json_path_free(struct json_path *path)
{
    if (path == NULL) {
        return;
    }
    vec_each (struct path_part, p, &path->parts) {
        part_done(p);
    }
    vec_done(&path->parts);
    free(path);
}

/* ---- characters ---- */

static int fail(const struct reader *r, const char *what)
{
    const size_t place = (size_t)(r->at - r->text) + 1;
    if (*r->at == '\0') {
        return err_set(r->err, EINVAL, "character %zu: %s, but the template ends", place, what);
    }
    return err_set(r->err, EINVAL, "character %zu: %s, not '%.12s'", place, what, r->at);
}

static void skip_spaces(struct reader *r)
{
    r->at += strspn(r->at, " \t\n");
}

static bool take(struct reader *r, const char *token)
{
    const size_t len = strlen(token);
    if (strncmp(r->at, token, len) != 0) {
        return false;
    }
    r->at += len;
    return true;
}

static bool is_name_end(char c)
{
    return c == '\0' || strchr(".[](){}=!<>,'\" \t\n", c) != NULL;
}

/* A name of a member; a backslash takes the next character as it is: app\.kubernetes\.io */
static int take_name(struct reader *r, char **ret)
{
    struct buf name = BUF_INIT;
    while (!is_name_end(*r->at)) {
        if (*r->at == '\\' && r->at[1] != '\0') {
            r->at++;
        }
        buf_putc(&name, *r->at++);
    }
    if (name.len == 0) {
        return fail(r, "expected a name");
    }
    *ret = buf_take(&name);
    return 0;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* 'text' or "text". */
static int take_text(struct reader *r, char **ret)
{
    const char quote = *r->at, *start = r->at++;
    struct buf text = BUF_INIT;
    while (*r->at != quote) {
        char c = *r->at++;
        if (c == '\\' && *r->at != '\0') {
            c = *r->at++;
            if (is_alnum(c) && strchr("ntr", c) == NULL) {
                buf_done(&text);
                r->at -= 2;
                return fail(r, "expected \\n, \\t, \\r or a sign behind the backslash");
            }
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
        if (c == '\0') {
            buf_done(&text);
            r->at = start;
            return fail(r, "expected a text that ends with its quote");
        }
        buf_putc(&text, c);
    }
    r->at++;
    *ret = text.len == 0 ? xstrdup("") : buf_take(&text);
    return 0;
}

static bool is_number_here(const struct reader *r)
{
    return (*r->at >= '0' && *r->at <= '9') ||
           (*r->at == '-' && r->at[1] >= '0' && r->at[1] <= '9');
}

/* At most nine digits: no list is longer. */
static int take_integer(struct reader *r, json_int_t *ret)
{
    if (!is_number_here(r)) {
        return fail(r, "expected a whole number");
    }
    const size_t n = (*r->at == '-') + strspn(r->at + (*r->at == '-'), "0123456789");
    char digits[16] = "";
    int64_t value = 0;
    if (n > 9) {
        return fail(r, "expected a number of at most nine digits");
    }
    memcpy(digits, r->at, n);
    (void)parse_i64(digits, &value); /* it is one */
    r->at += n;
    *ret = value;
    return 0;
}

static int take_number(struct reader *r, json_t **ret)
{
    const size_t n = strspn(r->at, "0123456789+-.eE");
    _cleanup_(freep) char *digits = xstrndup(r->at, n);
    double value = 0;
    if (parse_f64(digits, &value) < 0) {
        return fail(r, "expected a number");
    }
    r->at += n;
    *ret = json_real(value);
    return 0;
}

/* ---- paths ---- */

static int read_path(struct reader *r, struct path *p);

/* What follows an operator: a text, a number, true, false, null or a path. */
static int read_right(struct reader *r, struct path_where *w)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        const size_t len = strlen(words[i]);
        if (strncmp(r->at, words[i], len) == 0 && is_name_end(r->at[len])) {
            w->literal = i == 2 ? json_null() : json_boolean(i == 0);
            r->at += len;
            return 0;
        }
    }
    if (*r->at == '"' || *r->at == '\'') {
        char *text = NULL;
        const int code = take_text(r, &text);
        if (code == 0) {
            w->literal = json_string(text);
            w->literal =
                w->literal == NULL ? json_null() : w->literal; /* no UTF-8: equals nothing */
        }
        free(text);
        return code;
    }
    if (is_number_here(r)) {
        return take_number(r, &w->literal);
    }
    return read_path(r, &w->right);
}

static enum path_op take_operator(struct reader *r)
{
    static const struct {
        const char *token;
        enum path_op op;
    } ops[] = {{"==", OP_EQUAL},      {"!=", OP_DIFFERENT}, {"<=", OP_LESS_EQUAL},
               {">=", OP_MORE_EQUAL}, {"<", OP_LESS},       {">", OP_MORE}};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (take(r, ops[i].token)) {
            return ops[i].op;
        }
    }
    return OP_EXISTS;
}

/* After "?(". */
static int read_where(struct reader *r, struct path_step *s)
{
    if (r->depth >= MAX_DEPTH) {
        return fail(r, "conditions may be nested 8 deep");
    }
    r->depth++;
    s->kind = STEP_WHERE;
    s->where = xnew(struct path_where);
    skip_spaces(r);
    int code = read_path(r, &s->where->left);
    if (code == 0) {
        skip_spaces(r);
        s->where->op = take_operator(r);
        skip_spaces(r);
        code = s->where->op == OP_EXISTS ? 0 : read_right(r, s->where);
    }
    skip_spaces(r);
    r->depth--;
    return code < 0 || take(r, ")") ? code
                                    : fail(r, "expected an operator (== != < <= > >=) or ')'");
}

/* After the first ':' of a slice. */
static int read_slice(struct reader *r, struct path_step *s)
{
    int code = 0;
    s->kind = STEP_SLICE;
    s->by = 1;
    if (is_number_here(r)) {
        s->has_to = true;
        code = take_integer(r, &s->to);
    }
    if (code == 0 && take(r, ":")) {
        code = take_integer(r, &s->by);
        if (code == 0 && s->by < 1) {
            return fail(r, "expected a step of at least 1 before this");
        }
    }
    return code;
}

static int read_names(struct reader *r, struct path_step *s)
{
    s->kind = STEP_NAMES;
    do {
        skip_spaces(r);
        if (*r->at != '\'' && *r->at != '"') {
            return fail(r, "expected a quoted name");
        }
        char *name = NULL;
        const int code = take_text(r, &name);
        if (code < 0) {
            return code;
        }
        *vec_push(&s->names) = name;
        skip_spaces(r);
    } while (take(r, ","));
    return 0;
}

static int read_indexes(struct reader *r, struct path_step *s)
{
    s->kind = STEP_INDEXES;
    do {
        json_int_t index = 0;
        skip_spaces(r);
        const int code = take_integer(r, &index);
        if (code < 0) {
            return code;
        }
        skip_spaces(r);
        if (s->indexes.len == 0 && take(r, ":")) {
            s->from = index;
            return read_slice(r, s);
        }
        *vec_push(&s->indexes) = index;
    } while (take(r, ","));
    return 0;
}

/* After '['. */
static int read_brackets(struct reader *r, struct path_step *s)
{
    int code = 0;
    skip_spaces(r);
    if (take(r, "*")) {
        s->kind = STEP_ALL;
    } else if (take(r, "?(")) {
        code = read_where(r, s);
    } else if (take(r, ":")) {
        code = read_slice(r, s);
    } else if (*r->at == '\'' || *r->at == '"') {
        code = read_names(r, s);
    } else if (is_number_here(r)) {
        code = read_indexes(r, s);
    } else {
        return fail(r, "expected an index, a quoted name, '*', ':' or '?('");
    }
    skip_spaces(r);
    return code < 0 || take(r, "]") ? code : fail(r, "expected ']'");
}

/* After '.'. */
static int read_member(struct reader *r, struct path_step *s)
{
    if (take(r, "*")) {
        s->kind = STEP_ALL;
        return 0;
    }
    char *name = NULL;
    const int code = take_name(r, &name);
    if (code == 0) {
        s->kind = STEP_NAMES;
        *vec_push(&s->names) = name;
    }
    return code;
}

static struct path_step *add_step(struct path *p)
{
    struct path_step *s = vec_push(&p->steps);
    *s = (struct path_step){.kind = STEP_ALL};
    return s;
}

/* "$", "@" or a path that begins with '.' or '['; what follows it is read by the caller. */
static int read_path(struct reader *r, struct path *p)
{
    const char *start = r->at;
    p->is_absolute = take(r, "$");
    if (!p->is_absolute && !take(r, "@") && *r->at != '.' && *r->at != '[') {
        return fail(r, "expected a path, which begins with '.', '[', '@' or '$'");
    }
    int code = 0;
    while (code == 0) {
        if (take(r, "..")) {
            add_step(p)->kind = STEP_DEEP;
            if (*r->at != '[') {
                code = read_member(r, add_step(p));
            }
        } else if (*r->at == '.' && is_name_end(r->at[1]) && r->at == start) {
            r->at++; /* "." alone, or before a bracket: the value itself */
        } else if (take(r, ".")) {
            code = read_member(r, add_step(p));
        } else if (take(r, "[")) {
            code = read_brackets(r, add_step(p));
        } else {
            break;
        }
    }
    return code;
}

/* ---- templates ---- */

/* What was read of a list of parts, and why it ended. */
enum end { END_OF_TEXT, END_OF_RANGE };

static int read_parts(struct reader *r, struct path_part *into, enum end *ret);

static struct path_part *add_part(struct path_part *into)
{
    struct path_part *p = vec_push(&into->body);
    *p = (struct path_part){.kind = PART_TEXT};
    return p;
}

static int read_range(struct reader *r, struct path_part *into)
{
    if (r->depth >= MAX_DEPTH) {
        return fail(r, "ranges may be nested 8 deep");
    }
    struct path_part *part = add_part(into);
    part->kind = PART_RANGE;
    skip_spaces(r);
    int code = read_path(r, &part->path);
    skip_spaces(r);
    if (code == 0 && !take(r, "}")) {
        code = fail(r, "expected '}' behind the path of a range");
    }
    if (code == 0) {
        enum end end;
        r->depth++;
        code = read_parts(r, part, &end);
        r->depth--;
        if (code == 0 && end == END_OF_TEXT) {
            code = fail(r, "expected {end} for a {range}");
        }
    }
    return code;
}

static bool take_word(struct reader *r, const char *word)
{
    const size_t len = strlen(word);
    return strncmp(r->at, word, len) == 0 && is_name_end(r->at[len]) && take(r, word);
}

/* After '{'; up to its '}'. */
static int read_action(struct reader *r, struct path_part *into, bool *ret_is_end)
{
    skip_spaces(r);
    int code;
    if (take_word(r, "range")) {
        return read_range(r, into);
    }
    if (take_word(r, "end")) {
        *ret_is_end = true;
        code = 0;
    } else if (*r->at == '"' || *r->at == '\'') {
        code = take_text(r, &add_part(into)->text);
    } else {
        struct path_part *part = add_part(into);
        part->kind = PART_PATH;
        code = read_path(r, &part->path);
    }
    skip_spaces(r);
    return code < 0 || take(r, "}") ? code : fail(r, "expected '}'");
}

static int read_parts(struct reader *r, struct path_part *into, enum end *ret)
{
    bool is_end = false;
    int code = 0;
    while (code == 0 && !is_end && *r->at != '\0') {
        const size_t n = strcspn(r->at, "{");
        if (n > 0) {
            add_part(into)->text = xstrndup(r->at, n);
            r->at += n;
        } else {
            const char *start = r->at++;
            code = read_action(r, into, &is_end);
            if (code == 0 && is_end && r->depth == 0) {
                r->at = start;
                return fail(r, "there is no {range} before this {end}");
            }
        }
    }
    *ret = is_end ? END_OF_RANGE : END_OF_TEXT;
    return code;
}

/* A text without braces is a path, and may lack its first dot. (kubectl reads paths so in --sort-by
 * and in custom-columns; of -o jsonpath it prints such a text as it is.) */
static char *complete(const char *template)
{
    if (strpbrk(template, "{}") != NULL) {
        return xstrdup(template);
    }
    const bool has_start = template[0] != '\0' && strchr(".[@$", template[0]) != NULL;
    return xasprintf("{%s%s}", has_start ? "" : ".", template);
}

int json_path_parse(const char *template, struct json_path **ret, struct err *err)
{
    if (template[0] == '\0') {
        return err_set(err, EINVAL, "the template is empty");
    }
    if (strlen(template) > JSON_PATH_MAX_TEXT) {
        return err_set(err, E2BIG, "the template is longer than %d bytes", JSON_PATH_MAX_TEXT);
    }
    _cleanup_(freep) char *text = complete(template);
    const size_t n_added =
        strpbrk(template, "{}") != NULL ? 0 : strlen(text) - strlen(template) - 1;
    /* Places in errors are those of what was typed. */
    struct reader r = {.text = text + n_added, .at = text, .err = err};
    struct path_part all = {.kind = PART_TEXT};
    enum end end;
    const int code = read_parts(&r, &all, &end);
    if (code < 0) {
        part_done(&all);
        return code;
    }
    struct json_path *path = xnew(struct json_path);
    path->parts.items = all.body.items;
    path->parts.len = all.body.len;
    path->parts.cap = all.body.cap;
    *ret = path;
    return 0;
}
