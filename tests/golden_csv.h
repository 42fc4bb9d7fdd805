/* Golden CSV in tests: compared cell by cell, for the last digits of computed numbers are those of
 * a machine's math library. BENCHD_GOLDEN_UPDATE=1 rewrites the file, as in golden.h. */
#pragma once

#include <math.h>

#include "base/parse.h"
#include "golden.h"

static inline void golden_check_csv(const char *name, const char *actual_text, double relative)
{
    if (getenv("BENCHD_GOLDEN_UPDATE") != NULL) {
        golden_check(name, actual_text);
        return;
    }
    _cleanup_(freep) char *text = golden_read(name);
    const char *a = text, *b = actual_text;
    while (*a != '\0' || *b != '\0') {
        const size_t la = strcspn(a, ",\n"), lb = strcspn(b, ",\n");
        _cleanup_(freep) char *expected = xstrndup(a, la);
        _cleanup_(freep) char *actual = xstrndup(b, lb);
        double x, y;
        const bool same = strcmp(expected, actual) == 0 ||
                          (parse_f64(expected, &x) == 0 && parse_f64(actual, &y) == 0 &&
                           fabs(x - y) <= relative * fabs(x));
        if (!same || a[la] != b[lb]) {
            fail_msg("%s (BENCHD_GOLDEN_UPDATE=1 rewrites it): expected '%s', got '%s'", name,
                     expected, actual);
        }
        a += la + (a[la] != '\0');
        b += lb + (b[lb] != '\0');
    }
}
