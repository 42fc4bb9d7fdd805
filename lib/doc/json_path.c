/* Prints what a template says of a document, see json_path.h. */
#include "doc/json_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "doc/json_path_parse.h"

struct values {
    VEC(const json_t *) list; /* borrowed from the document */
};

/* ---- paths to values ---- */

static bool find(const struct path *p, const json_t *root, const json_t *here, struct values *ret);

static void add(struct values *to, const json_t *value)
{
    if (value != NULL) {
        *vec_push(&to->list) = value;
    }
}

static void add_all(const json_t *value, struct values *to)
{
    const char *key;
    json_t *member;
    for (size_t i = 0; i < json_array_size(value); i++) {
        add(to, json_array_get(value, i));
    }
    json_object_foreach ((json_t *)value, key,
                         member) { /* only read: the macro has no const form */
        add(to, member);
    }
}

/* False: too many. */
static bool add_deep(const json_t *value, struct values *to)
{
    struct values below = {0};
    bool is_fine = to->list.len < JSON_PATH_MAX_VALUES;
    add(to, value);
    add_all(value, &below);
    vec_each (const json_t *, v, &below.list) {
        is_fine = is_fine && add_deep(*v, to);
    }
    vec_done(&below.list);
    return is_fine;
}

static json_int_t from_start(json_int_t index, json_int_t n)
{
    return index < 0 ? index + n : index;
}

static void add_slice(const struct path_step *s, const json_t *list, struct values *to)
{
    const json_int_t n = (json_int_t)json_array_size(list);
    json_int_t i = from_start(s->from, n), end = s->has_to ? from_start(s->to, n) : n;
    for (i = i < 0 ? 0 : i, end = end > n ? n : end; i < end; i += s->by) {
        add(to, json_array_get(list, (size_t)i));
    }
}

/* ---- conditions ---- */

/* -1, 0 or 1; 2: they cannot be put in an order, and are not equal. */
static int order_of(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        const double x = json_number_value(a), y = json_number_value(b);
        return (x > y) - (x < y);
    }
    if (json_is_string(a) && json_is_string(b)) {
        const int order = strcmp(json_string_value(a), json_string_value(b));
        return (order > 0) - (order < 0);
    }
    return json_equal((json_t *)a, (json_t *)b) ? 0 : 2; /* only read */
}

static bool does_hold(enum path_op op, int order)
{
    switch (op) {
    case OP_EXISTS:
        return true;
    case OP_EQUAL:
        return order == 0;
    case OP_DIFFERENT:
        return order != 0;
    case OP_LESS:
        return order == -1;
    case OP_LESS_EQUAL:
        return order == -1 || order == 0;
    case OP_MORE:
        return order == 1;
    case OP_MORE_EQUAL:
        return order == 1 || order == 0;
    }
    return false;
}

/* The first value of each side counts; a side without one makes the condition false. */
static bool is_met(const struct path_where *w, const json_t *root, const json_t *item,
                   bool *is_fine)
{
    struct values left = {0}, right = {0};
    *is_fine = find(&w->left, root, item, &left) &&
               (w->op == OP_EXISTS || w->literal != NULL || find(&w->right, root, item, &right));
    const json_t *other = w->literal != NULL   ? w->literal
                          : right.list.len > 0 ? right.list.items[0]
                                               : NULL;
    const bool answer = left.list.len > 0 &&
                        (w->op == OP_EXISTS ||
                         (other != NULL && does_hold(w->op, order_of(left.list.items[0], other))));
    vec_done(&left.list);
    vec_done(&right.list);
    return answer;
}

/* ---- steps ---- */

static bool take_where(const struct path_step *s, const json_t *root, const json_t *value,
                       struct values *to)
{
    struct values items = {0};
    bool is_fine = true;
    add_all(value, &items);
    vec_each (const json_t *, item, &items.list) {
        if (is_fine && is_met(s->where, root, *item, &is_fine)) {
            add(to, *item);
        }
    }
    vec_done(&items.list);
    return is_fine;
}

static void add_item(const json_t *list, json_int_t index, struct values *to)
{
    const json_int_t at = from_start(index, (json_int_t)json_array_size(list));
    add(to, at < 0 ? NULL : json_array_get(list, (size_t)at));
}

/* How many names or indexes a step lists; 1 for other steps. */
static size_t listed_of(const struct path_step *s)
{
    return s->kind == STEP_NAMES ? s->names.len : s->kind == STEP_INDEXES ? s->indexes.len : 1;
}

/* What number `k` of the names or indexes says of a value. False: too many values. */
static bool take_step(const struct path_step *s, size_t k, const json_t *root, const json_t *value,
                      struct values *to)
{
    switch (s->kind) {
    case STEP_NAMES:
        add(to, json_object_get(value, s->names.items[k]));
        break;
    case STEP_INDEXES:
        add_item(value, s->indexes.items[k], to);
        break;
    case STEP_SLICE:
        add_slice(s, value, to);
        break;
    case STEP_ALL:
        add_all(value, to);
        break;
    case STEP_DEEP:
        return add_deep(value, to);
    case STEP_WHERE:
        return take_where(s, root, value, to);
    }
    return to->list.len <= JSON_PATH_MAX_VALUES;
}

/* The values of a path; false: too many. Of several names, those of the first come
 * first, as kubectl has it. */
static bool find(const struct path *p, const json_t *root, const json_t *here, struct values *ret)
{
    struct values now = {0};
    bool is_fine = true;
    add(&now, p->is_absolute ? root : here);
    vec_each (const struct path_step, s, &p->steps) {
        struct values next = {0};
        for (size_t k = 0; k < listed_of(s); k++) {
            vec_each (const json_t *, value, &now.list) {
                is_fine = is_fine && take_step(s, k, root, *value, &next);
            }
        }
        vec_done(&now.list);
        now = next;
    }
    *ret = now;
    return is_fine;
}

/* ---- printing ---- */

static int append_chunk(const char *data, size_t len, void *ctx)
{
    buf_append(ctx, data, len);
    return 0;
}

static void put_value(const json_t *value, struct buf *out)
{
    if (json_is_string(value)) {
        buf_append(out, json_string_value(value), json_string_length(value));
        return;
    }
    (void)json_dump_callback(value, append_chunk, out,
                             JSON_ENCODE_ANY | JSON_COMPACT); /* to memory */
}

static bool print_parts(const struct path_part *parts, size_t n, const json_t *root,
                        const json_t *here, struct buf *out)
{
    bool is_fine = true;
    for (size_t i = 0; i < n && is_fine; i++) {
        const struct path_part *part = &parts[i];
        struct values values = {0};
        if (part->kind == PART_TEXT) {
            buf_puts(out, part->text);
            continue;
        }
        is_fine = find(&part->path, root, here, &values);
        for (size_t k = 0; k < values.list.len && is_fine; k++) {
            if (part->kind == PART_RANGE) {
                is_fine =
                    print_parts(part->body.items, part->body.len, root, values.list.items[k], out);
                continue;
            }
            buf_puts(out, k == 0 ? "" : " ");
            put_value(values.list.items[k], out);
        }
        vec_done(&values.list);
    }
    return is_fine;
}

int json_path_print(const struct json_path *path, const json_t *document, struct buf *out,
                    struct err *err)
{
    return print_parts(path->parts.items, path->parts.len, document, document, out)
               ? 0
               : err_set(err, E2BIG, "a path of the template has more than %u values",
                         JSON_PATH_MAX_VALUES);
}
