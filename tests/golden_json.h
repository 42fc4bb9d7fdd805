/* Golden documents in tests: compared key by key, in their order. BENCHD_GOLDEN_UPDATE=1 rewrites
 * the file, as in golden.h. */
#pragma once

#include <math.h>

#include <jansson.h>

#include "golden.h"

/* Equal but for the last digits of computed numbers; the path names the place that differs. */
static inline void golden_same_json(const char *path, json_t *expected, json_t *actual)
{
    if (json_is_real(expected) && json_is_real(actual)) {
        const double x = json_real_value(expected), y = json_real_value(actual);
        if (!(fabs(y - x) <= 1e-9 * fabs(x))) {
            fail_msg("%s: expected %.15g, got %.15g", path, x, y);
        }
        return;
    }
    if (json_is_object(expected) && json_is_object(actual)) {
        void *b = json_object_iter(actual);
        for (void *a = json_object_iter(expected); a != NULL || b != NULL;
             a = json_object_iter_next(expected, a), b = json_object_iter_next(actual, b)) {
            const char *ka = a == NULL ? "(end)" : json_object_iter_key(a);
            const char *kb = b == NULL ? "(end)" : json_object_iter_key(b);
            if (strcmp(ka, kb) != 0) { /* the order is part of the contract's look */
                fail_msg("%s: expected key '%s', got '%s'", path, ka, kb);
            }
            _cleanup_(freep) char *inner = xasprintf("%s.%s", path, ka);
            golden_same_json(inner, json_object_iter_value(a), json_object_iter_value(b));
        }
        return;
    }
    if (json_is_array(expected) && json_is_array(actual)) {
        if (json_array_size(expected) != json_array_size(actual)) {
            fail_msg("%s: expected %zu entries, got %zu", path, json_array_size(expected),
                     json_array_size(actual));
        }
        for (size_t i = 0; i < json_array_size(expected); i++) {
            _cleanup_(freep) char *inner = xasprintf("%s[%zu]", path, i);
            golden_same_json(inner, json_array_get(expected, i), json_array_get(actual, i));
        }
        return;
    }
    if (!json_equal(expected, actual)) {
        char *a = json_dumps(expected, JSON_ENCODE_ANY), *b = json_dumps(actual, JSON_ENCODE_ANY);
        fail_msg("%s: expected %s, got %s", path, a, b);
    }
}

static inline void golden_check_json(const char *name, json_t *actual)
{
    if (getenv("BENCHD_GOLDEN_UPDATE") != NULL) {
        _cleanup_(freep) char *dumped = json_dumps(actual, JSON_INDENT(2));
        _cleanup_(freep) char *whole = xasprintf("%s\n", dumped);
        golden_check(name, whole);
        return;
    }
    _cleanup_(freep) char *text = golden_read(name);
    json_error_t why;
    _cleanup_(json_decrefp) json_t *expected = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (expected == NULL) {
        fail_msg("%s:%d: %s", name, why.line, why.text);
    }
    _cleanup_(freep) char *path = xasprintf("%s (BENCHD_GOLDEN_UPDATE=1 rewrites it): $", name);
    golden_same_json(path, expected, actual);
}
