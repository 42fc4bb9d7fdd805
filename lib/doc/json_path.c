/* See json_path.h. The path is read where it is used: once to check it, and once for each value. */
#include "doc/json_path.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define FORMS ".name, [0], [*] or [?(@.type==\"Ready\")]"

struct step {
    enum { STEP_MEMBER, STEP_ITEM, STEP_ALL, STEP_FILTER } kind;
    const char *name; /* of STEP_MEMBER, STEP_FILTER, in the path */
    size_t len;
    const char *value; /* of STEP_FILTER: the text that the member has */
    size_t value_len;
    size_t index; /* of STEP_ITEM */
};

/* Moves *at over a text, if that is there. */
static bool skip(const char **at, const char *text)
{
    const bool is_there = str_has_prefix(*at, text);
    *at += is_there ? strlen(text) : 0;
    return is_there;
}

static bool read_name(const char **at, struct step *ret)
{
    ret->name = *at;
    ret->len = strcspn(*at, ".[]{}()?*,:@$\\'\" =!<>");
    *at += ret->len;
    return ret->len > 0;
}

/* Moves *at past the step. False: it is not one of FORMS. */
static bool read_step(const char **at, struct step *ret)
{
    *ret = (struct step){.kind = STEP_MEMBER};
    if (skip(at, ".") && **at != '[') {
        return read_name(at, ret);
    }
    if (skip(at, "[*]")) {
        ret->kind = STEP_ALL;
        return true;
    }
    if (skip(at, "[?(@.")) {
        ret->kind = STEP_FILTER;
        if (!read_name(at, ret) || !skip(at, "==\"")) {
            return false;
        }
        ret->value = *at;
        ret->value_len = strcspn(*at, "\"\\{}");
        *at += ret->value_len;
        return skip(at, "\")]");
    }
    ret->kind = STEP_ITEM;
    if (!skip(at, "[") || !ascii_is_digit(**at)) {
        return false;
    }
    for (; ascii_is_digit(**at) && ret->index < INT32_MAX; ++*at) {
        ret->index = ret->index * 10 + (size_t)(**at - '0');
    }
    return skip(at, "]");
}

/* Returns the first step of the path that begins at `at`, or its end. */
static const char *first_step(const char *at)
{
    at += *at == '$';
    return *at == '.' && at[1] == '}' ? at + 1 : at;
}

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
    const char *close = strchr(condition, '}'), *at = condition + 1;
    if (condition[0] != '{' || *at == '}' || close == NULL || close[1] != '=' || close[2] == '\0') {
        return err_set(err, EINVAL,
                       "expected {.path}=VALUE, as kubectl wait --for=jsonpath has it");
    }
    for (at = first_step(at); *at != '}';) {
        struct step step;
        const char *begin = at;
        if (!read_step(&at, &step)) {
            return err_set(err, EINVAL, "character %zu: expected " FORMS,
                           (size_t)(begin - condition) + 1);
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
