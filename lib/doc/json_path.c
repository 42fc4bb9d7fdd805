/* See json_path.h. The path is read where it is used: once to check it, and once for each value. */
#include "doc/json_path.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define MAX_DIGITS 9 /* of an index */

struct step {
    enum { STEP_MEMBER, STEP_ITEM, STEP_ALL, STEP_FILTER } kind;
    const char *name; /* of STEP_MEMBER, STEP_FILTER, in the path */
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

/* Returns the first step of the path that begins at `at`, or its end. */
static const char *first_step(const char *at)
{
    at += *at == '$';
    return *at == '.' && at[1] == '}' ? at + 1 : at;
}

/* ---- checking ---- */

static int refuse(const char *condition, const char *at, const char *expected, struct err *err)
{
    return err_set(err, EINVAL, "character %zu: expected %s", (size_t)(at - condition) + 1,
                   expected);
}

/* ---- values ---- */

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

/* Appends what the steps from `at` on pick of a value, with a space between two values. */
static void put_picked(const char *at, const json_t *value, bool *is_first, struct buf *out)
{
    struct step step;
    const char *key;
    json_t *member;
    if (value == NULL) {
        return;
    }
    if (*at == '}') {
        buf_puts(out, *is_first ? "" : " ");
        put_value(value, out);
        *is_first = false;
        return;
    }
    (void)read_step(&at, &step); /* it was checked */
    if (step.kind == STEP_MEMBER) {
        put_picked(at, json_object_getn(value, step.name, step.len), is_first, out);
    } else if (step.kind == STEP_ITEM) {
        put_picked(at, json_array_get(value, step.index), is_first, out);
    } else {
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (is_picked(&step, json_array_get(value, i))) {
                put_picked(at, json_array_get(value, i), is_first, out);
            }
        }
        /* Only read: the macro has no const form. */
        json_object_foreach ((json_t *)value, key, member) {
            if (step.kind == STEP_ALL) {
                put_picked(at, member, is_first, out);
            }
        }
    }
}

int json_condition_check(const char *condition, struct err *err)
{
    struct step step;
    const char *close = strchr(condition, '}'), *at = condition + 1;
    if (condition[0] != '{' || close == NULL || close[1] != '=' || close[2] == '\0') {
        return err_set(err, EINVAL,
                       "expected {.path}=VALUE, as kubectl wait --for=jsonpath has it");
    }
    if (strchr(".[$", *at) == NULL) {
        return refuse(condition, at, "a path, which begins with '.'", err);
    }
    for (at = first_step(at); *at != '}';) {
        const char *expected = read_step(&at, &step);
        if (expected != NULL) {
            return refuse(condition, at, expected, err);
        }
    }
    return 0;
}

bool json_condition_holds(const char *condition, const json_t *document)
{
    bool is_first = true;
    _cleanup_(buf_done) struct buf found = BUF_INIT;
    put_picked(first_step(condition + 1), document, &is_first, &found);
    return str_eq(buf_cstr(&found), strchr(condition, '}') + 2); /* it was checked */
}
