/* See value.h. */
#include "spec/value.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

bool value_eq(const struct value *a, const struct value *b)
{
    if (a->is_int != b->is_int) {
        return false;
    }
    return a->is_int ? a->i == b->i : str_eq(a->s, b->s);
}

void value_format(const struct value *v, struct buf *out)
{
    if (v->is_int) {
        buf_printf(out, "%lld", (long long)v->i);
    } else {
        buf_puts(out, v->s);
    }
}

/* Its .s is the caller's. */
static struct value value_copy(const struct value *v)
{
    return (struct value){.is_int = v->is_int, .i = v->i, .s = v->is_int ? NULL : xstrdup(v->s)};
}

const struct value *params_get(const struct params *p, const char *name)
{
    const struct param *found = vec_find(&p->list, it, str_eq(it->name, name));
    return found == NULL ? NULL : &found->value;
}

static int compare_params(const void *a, const void *b)
{
    return strcmp(((const struct param *)a)->name, ((const struct param *)b)->name);
}

void params_set(struct params *p, const char *name, const struct value *value)
{
    struct param *old = vec_find(&p->list, it, str_eq(it->name, name));
    if (old != NULL) {
        struct value copy = value_copy(value); /* first: `value` may be the old one */
        free(old->value.s);
        old->value = copy;
        return;
    }
    *vec_push(&p->list) = (struct param){.name = xstrdup(name), .value = value_copy(value)};
    qsort(p->list.items, p->list.len, sizeof(p->list.items[0]), compare_params);
}

void params_copy(const struct params *p, struct params *ret)
{
    *ret = (struct params){0};
    vec_reserve(&ret->list, p->list.len);
    vec_each (const struct param, it, &p->list) {
        *vec_push(&ret->list) =
            (struct param){.name = xstrdup(it->name), .value = value_copy(&it->value)};
    }
}

bool params_has(const struct params *p, const struct param *wanted)
{
    const struct value *v = params_get(p, wanted->name);
    return v != NULL && value_eq(v, &wanted->value);
}

bool params_contain(const struct params *p, const struct params *wanted)
{
    return vec_all(&wanted->list, it, params_has(p, it));
}

void params_format(const struct params *p, const char *between, struct buf *out)
{
    const char *separator = "";
    vec_each (const struct param, it, &p->list) {
        buf_printf(out, "%s%s=", separator, it->name);
        value_format(&it->value, out);
        separator = between;
    }
}

json_t *value_to_json(const struct value *v)
{
    return v->is_int ? json_integer((json_int_t)v->i) : json_string(v->s);
}

json_t *params_to_json(const struct params *p)
{
    json_t *o = json_object();
    vec_each (const struct param, it, &p->list) {
        json_object_set_new(o, it->name, value_to_json(&it->value));
    }
    return o;
}

void params_done(struct params *p)
{
    vec_each (struct param, it, &p->list) {
        free(it->name);
        free(it->value.s);
    }
    vec_done(&p->list);
}
