/* See number.h. */
#include "result/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

#define SIGNIFICANT 4

/* The decimal exponent after rounding: with four digits, 999.96 becomes 1000. */
static int rounded_exponent(double value)
{
    char text[32];
    int64_t exponent = 0;
    (void)snprintf(text, sizeof(text), "%.*e", SIGNIFICANT - 1, value);
    const char *at = strchr(text, 'e') + 1;
    (void)parse_i64(at + (*at == '+'), &exponent); /* snprintf wrote it */
    return (int)exponent;
}

void number_format(double value, struct buf *out)
{
    if (!isfinite(value)) {
        buf_puts(out, "-");
        return;
    }
    const int exponent = value == 0 ? 0 : rounded_exponent(value);
    const int decimals = SIGNIFICANT - 1 - exponent;
    if (exponent < -4) {
        buf_printf(out, "%.*e", SIGNIFICANT - 1, value);
    } else {
        buf_printf(out, "%.*f", decimals < 0 ? 0 : decimals, value);
    }
}

void number_format_range(double low, double high, struct buf *out)
{
    number_format(low, out);
    buf_puts(out, "..");
    number_format(high, out);
}

void number_format_exact(double value, struct buf *out)
{
    if (!isfinite(value)) {
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        char text[40];
        double back;
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (digits == 17 || (parse_f64(text, &back) == 0 && back == value)) {
            buf_puts(out, text);
            return;
        }
    }
}
