/* The rules of closed divisions, see matrix.h; docs/definitions.md#rules explains the table. */
#include "spec/matrix.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* clang-format off */
static const struct rule {
    const char *field, *values; /* of the sweep or the run; words, one of which it must be */
    bool may_lack;              /* the shipped program has the value where nothing sets it */
    bool is_by_workers;         /* the words are WORKERS:VALUE */
} rules[][12] = {
    [RULES_MLBENCH_1A] = {
        {"exchange", "AllReduce"}, {"batch_size", "32"}, {"workers", "1 2 4 8 16 32"},
        {"net", "resnet20 resnet32 resnet44 resnet56 "
                "resnet20-v2 resnet32-v2 resnet44-v2 resnet56-v2"},
        {"width", "16", true}, {"data", "cifar-10-batches-bin"},
        {"samples", "50000", true}, {"test_samples", "10000", true}, {"epochs", "164", true},
        {"timeToAccuracy", "0.8"}},
    [RULES_MLBENCH_2A] = {
        {"exchange", "AllReduce"}, {"batch_size", "100"}, {"workers", "1 2 4 8 16 32 64"},
        {"data", "epsilon_normalized epsilon_normalized.bz2"},
        {"test_data", "epsilon_normalized.t epsilon_normalized.t.bz2"},
        {"samples", "400000", true}, {"test_samples", "100000", true}, {"features", "2000", true},
        {"validate", "0", true}, {"timeToAccuracy", "0.89"},
        {"alpha", "1:200 2:400 4:600 8:700 16:800 32:800 64:800", true, true}},
};
/* clang-format on */

static void put_value(const struct spec *spec, const struct point *p, const struct rule *rule,
                      struct buf *out)
{
    const char *field = rule->field;
    const struct value *swept = params_get(&p->params, field);
    if (swept != NULL) {
        if (rule->is_by_workers) {
            buf_printf(out, "%u:", point_training_replicas(p));
        }
        value_format(swept, out);
    } else if (str_eq(field, "exchange")) {
        buf_puts(out, point_exchange_name(spec, p));
    } else if (str_eq(field, "batch_size")) {
        buf_printf(out, "%lld", (long long)p->worker_batch);
    } else if (str_eq(field, "workers")) {
        buf_printf(out, "%u", point_training_replicas(p));
    } else if (str_eq(field, "timeToAccuracy") && spec->goal.kind == GOAL_ACCURACY) {
        buf_printf(out, "%g", spec->goal.value);
    }
}

/* Of a path the last part is compared. */
static bool keeps(const struct rule *rule, const char *value)
{
    const char *slash = strrchr(value, '/');
    _cleanup_(freep) char *word = xasprintf(" %s ", slash == NULL ? value : slash + 1);
    _cleanup_(freep) char *words = xasprintf(" %s ", rule->values);
    return value[0] == '\0' ? rule->may_lack : strstr(words, word) != NULL;
}

void rules_put_breaches(const struct spec *spec, const struct matrix *m, struct buf *out)
{
    for (const struct rule *rule = rules[spec->rules]; rule->field != NULL; rule++) {
        bool is_kept = true;
        for (uint32_t i = 0; i < m->n_points && is_kept; i++) {
            _cleanup_(buf_done) struct buf value = BUF_INIT;
            put_value(spec, &m->points[i], rule, &value);
            is_kept = keeps(rule, buf_cstr(&value));
            if (!is_kept) {
                buf_printf(out, "%s%s%s is %s (rules: %s)", out->len == 0 ? "" : "; ", rule->field,
                           rule->is_by_workers ? " by workers" : "",
                           value.len == 0 ? "not set" : buf_cstr(&value), rule->values);
            }
        }
    }
}

void rules_describe(const struct spec *spec, const struct matrix *m, struct buf *out)
{
    _cleanup_(buf_done) struct buf breaches = BUF_INIT;
    rules_put_breaches(spec, m, &breaches);
    if (spec->rules != RULES_NONE) {
        buf_printf(out, "%s division of %s%s%s", breaches.len == 0 ? "Closed" : "Open",
                   rules_names[spec->rules], breaches.len == 0 ? "" : ": ", buf_cstr(&breaches));
    }
}
