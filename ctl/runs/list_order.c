/* See list_order.h. */
#include "ctl/runs/list_order.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"

static int by_key(const void *a, const void *b)
{
    const struct order_key *x = a, *y = b;
    int order = x->text != NULL && y->text != NULL ? strcmp(x->text, y->text)
                                                   : isnan(x->number) - isnan(y->number);
    order = order != 0 ? order : (x->number > y->number) - (x->number < y->number);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

void order_keys(struct order_key *keys, size_t n)
{
    array_sort(keys, n, sizeof(keys[0]), by_key);
}

int order_column_find(const char *word, const char *const *columns)
{
    static const char *const kubectl_columns[][2] = {{".metadata.name", "name"},
                                                     {".metadata.namespace", "namespace"},
                                                     {".metadata.creationTimestamp", "created"},
                                                     {".status.phase", "phase"}};
    const size_t len = strlen(word);
    const bool has_braces = len >= 2 && word[0] == '{' && word[len - 1] == '}';
    _cleanup_(freep) char *plain = has_braces ? xstrndup(word + 1, len - 2) : xstrdup(word);
    const char *name = plain;
    for (size_t i = 0; i < COUNT_OF(kubectl_columns); i++) {
        name = str_eq(plain, kubectl_columns[i][0]) ? kubectl_columns[i][1] : name;
    }
    for (int i = 0; columns[i] != NULL; i++) {
        if (str_eq_nocase(name, columns[i])) {
            return i;
        }
    }
    return -1;
}
