/* See json_path.h. A template is read where it is used: once to check it, once for each value to
 * print. Nothing is kept of it. */
#include "doc/json_path.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define MAX_DIGITS 9 /* of an index */

struct step {
    enum { STEP_MEMBER, STEP_ITEM, STEP_ALL, STEP_FILTER } kind;
    const char *name; /* of STEP_MEMBER, STEP_FILTER, in the template */
    size_t len;
    const char *value; /* of STEP_FILTER: the text that the member has */
    size_t value_len;
    size_t index; /* of STEP_ITEM */
};

/* "?(@.type=="Complete")]". As of read_step. */
static const char *read_filter(const char **at, struct step *ret)
{
    static const char begin[] = "?(@.", middle[] = "==\"", end[] = "\")]";
    ret->kind = STEP_FILTER;
    if (!str_has_prefix(*at, begin)) {
        return "a filter such as [?(@.type==\"Ready\")]";
    }
    ret->name = *at + strlen(begin);
    ret->len = strcspn(ret->name, ".[]{}()?*,:@$\\'\" =!<>");
    *at = ret->name + ret->len;
    if (ret->len == 0 || !str_has_prefix(*at, middle)) {
        return ret->len == 0 ? "a name" : "'==\"' and a text";
    }
    ret->value = *at + strlen(middle);
    ret->value_len = strcspn(ret->value, "\"\\{}");
    *at = ret->value + ret->value_len;
    if (!str_has_prefix(*at, end)) {
        return "'\")]'";
    }
    *at += strlen(end);
    return NULL;
}

/* Moves *at past the step. NULL, or what is expected where *at is then. */
static const char *read_step(const char **at, struct step *ret)
{
    *ret = (struct step){.kind = STEP_MEMBER};
    if (**at == '.' && (*at)[1] != '[') {
        ret->name = ++*at;
        ret->len = strcspn(*at, ".[]{}()?*,:@$\\'\" ");
        *at += ret->len;
        return ret->len > 0 ? NULL : "a name";
    }
    *at += **at == '.';
    if (**at != '[') {
        return "'.', '[' or the end of the path";
    }
    ++*at;
    if (**at == '?') {
        return read_filter(at, ret);
    }
    const size_t n = strspn(*at, "0123456789");
    if (n == 0 ? **at != '*' : n > MAX_DIGITS) {
        return "an index of at most 9 digits, or '*'";
    }
    ret->kind = n == 0 ? STEP_ALL : STEP_ITEM;
    for (size_t i = 0; i < n; i++) {
        ret->index = ret->index * 10 + (size_t)((*at)[i] - '0');
    }
    *at += n == 0 ? 1 : n;
    if (**at != ']') {
        return "']'";
    }
    ++*at;
    return NULL;
}

/* The first step of the path that begins at `at`, or its end. */
static const char *first_step(const char *at, char end)
{
    at += *at == '$';
    return *at == '.' && at[1] == end ? at + 1 : at;
}

/* ---- checking ---- */

/* Names what kubectl has there and this has not. */
static int refuse(const char *template, const char *at, const char *expected, struct err *err)
{
    static const struct {
        const char *text, *what;
    } others[] = {{"?", "this filter"},
                  {":", "a slice"},
                  {",", "a list of names or indexes"},
                  {"-", "an index from the end"},
                  {".", "a search below (..)"},
                  {"*", "'*' outside brackets"},
                  {"range ", "range"},
                  {"end}", "range"},
                  {"\"", "a text in quotes"},
                  {"'", "a text in quotes"},
                  {"\\", "a backslash"},
                  {"(", "a function"},
                  {"@", "@"}};
    const size_t column = (size_t)(at - template) + 1;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (str_has_prefix(at, others[i].text)) {
            return err_set(err, EINVAL, "character %zu: %s is not supported", column,
                           others[i].what);
        }
    }
    return err_set(err, EINVAL, "character %zu: expected %s", column, expected);
}

static int check_path(const char *template, const char *at, char end, struct err *err)
{
    struct step step;
    if (*at == '\0' || strchr(".[$", *at) == NULL) {
        return refuse(template, at, "a path, which begins with '.'", err);
    }
    for (at = first_step(at, end); *at != end;) {
        const char *expected = *at == '\0' ? "'}'" : read_step(&at, &step);
        if (expected != NULL) {
            return refuse(template, at, expected, err);
        }
    }
    return 0;
}

int json_path_check(const char *template, struct err *err)
{
    const char *brace = strchr(template, '{');
    int r = brace == NULL ? check_path(template, template, '\0', err) : 0;
    for (; brace != NULL && r >= 0; brace = strchr(brace + 1, '{')) {
        r = check_path(template, brace + 1, '}', err);
    }
    return r;
}

/* ---- printing ---- */

static void put_value(const json_t *value, struct buf *out)
{
    if (json_is_string(value)) {
        buf_append(out, json_string_value(value), json_string_length(value));
        return;
    }
    _cleanup_(freep) char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    buf_puts(out, text);
}

static bool is_picked(const struct step *step, const json_t *item)
{
    const char *text = json_string_value(
        step->kind == STEP_ALL ? NULL : json_object_getn(item, step->name, step->len));
    return step->kind == STEP_ALL || (text != NULL && strlen(text) == step->value_len &&
                                      memcmp(text, step->value, step->value_len) == 0);
}

/* What the steps from `at` on say of a value; NULL says nothing. */
static void print_value(const char *at, char end, const json_t *value, bool *is_first,
                        struct buf *out)
{
    struct step step;
    const char *key;
    json_t *member;
    if (value == NULL) {
        return;
    }
    if (*at == end) {
        buf_puts(out, *is_first ? "" : " ");
        put_value(value, out);
        *is_first = false;
        return;
    }
    (void)read_step(&at, &step); /* it was checked */
    if (step.kind == STEP_MEMBER) {
        print_value(at, end, json_object_getn(value, step.name, step.len), is_first, out);
    } else if (step.kind == STEP_ITEM) {
        print_value(at, end, json_array_get(value, step.index), is_first, out);
    } else {
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (is_picked(&step, json_array_get(value, i))) {
                print_value(at, end, json_array_get(value, i), is_first, out);
            }
        }
        /* Only read: the macro has no const form. */
        json_object_foreach ((json_t *)value, key, member) {
            if (step.kind == STEP_ALL) {
                print_value(at, end, member, is_first, out);
            }
        }
    }
}

void json_path_print(const char *template, const json_t *document, struct buf *out)
{
    bool is_first = true;
    if (strchr(template, '{') == NULL) {
        print_value(first_step(template, '\0'), '\0', document, &is_first, out);
        return;
    }
    while (*template != '\0') {
        const size_t n = strcspn(template, "{");
        buf_append(out, template, n);
        template += n;
        if (*template == '{') {
            is_first = true;
            print_value(first_step(template + 1, '}'), '}', document, &is_first, out);
            template = strchr(template, '}') + 1;
        }
    }
}

int json_condition_check(const char *condition, struct err *err)
{
    const char *close = strrchr(condition, '}');
    if (condition[0] != '{' || close == NULL || close[1] != '=' || close[2] == '\0' ||
        strchr(condition + 1, '{') != NULL) {
        return err_set(err, EINVAL,
                       "expected {.path}=VALUE, as kubectl wait --for=jsonpath has it");
    }
    return json_path_check(condition, err);
}

bool json_condition_holds(const char *condition, const json_t *document)
{
    const char *value = strrchr(condition, '}') + 1; /* it was checked */
    _cleanup_(freep) char *path = xstrndup(condition, (size_t)(value - condition));
    _cleanup_(buf_done) struct buf found = BUF_INIT;
    json_path_print(path, document, &found);
    return str_eq(buf_cstr(&found), value + 1);
}
