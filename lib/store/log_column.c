/* See log_column.h. */
#include "store/log_column.h"

#include <string.h>

#include "base/mem.h"

#define SAMPLE_ROWS 64 /* that a rule is chosen by */
#define REACH 16       /* how far the numbers that a number is foreseen from may be from it */
#define NOT_SCALED                                                                                 \
    255 /* in place of the decimals of a column: its numbers do not fit a common scale */

struct rule {
    uint8_t order;
    uint8_t is_folded; /* differences of either sign; else differences from the smallest, `base` */
    size_t first, n_others;
    uint64_t base;
};

/* A table of values, column by column: n_slots columns of n_rows. */
struct table {
    uint64_t *values;
    size_t n_rows, n_slots;
};

static const uint64_t *column_of(const struct table *t, size_t slot)
{
    return t->values + slot * t->n_rows;
}

static uint64_t power_of_10(unsigned exponent)
{
    uint64_t power = 1;
    for (; exponent > 0; exponent--) {
        power *= 10;
    }
    return power;
}

static uint64_t foresee(const struct table *t, const struct rule *rule, const uint64_t *column,
                        size_t row)
{
    const uint64_t last = row >= 1 ? column[row - 1] : 0;
    const uint64_t before = row >= 2 ? column[row - 2] : 0;
    uint64_t sum = rule->order == 0 ? 0 : rule->order == 1 ? last : 2 * last - before;
    for (size_t i = 0; i < rule->n_others; i++) {
        sum += column_of(t, rule->first + i)[row];
    }
    return sum;
}

/* ---- the choice of a rule ---- */

/* About 16 log2(value): what a number takes, in sixteenths of a bit. */
static uint32_t cost_of(uint64_t value)
{
    if (value == 0) {
        return 0;
    }
    const unsigned log2 = 63 - (unsigned)__builtin_clzll(value);
    return (log2 + 1) * 16 + (uint32_t)(((value << (63 - log2)) >> 59) & 15);
}

struct choice {
    struct rule rule;
    uint64_t cost;
};

/* Of these differences of the sample, folded or from the smallest. */
static void consider(const uint64_t *differences, size_t n, struct rule rule, struct choice *best)
{
    uint64_t folded = 0, from_least = 0;
    int64_t least = (int64_t)differences[0];
    for (size_t i = 0; i < n; i++) {
        folded += cost_of(log_fold(differences[i]));
        least = (int64_t)differences[i] < least ? (int64_t)differences[i] : least;
    }
    for (size_t i = 0; i < n; i++) {
        from_least += cost_of(differences[i] - (uint64_t)least);
    }
    rule.is_folded = folded < from_least;
    const uint64_t cost = rule.is_folded ? folded : from_least;
    if (cost < best->cost) {
        *best = (struct choice){rule, cost};
    }
}

static struct rule choose_rule(const struct table *t, size_t slot)
{
    const uint64_t *column = column_of(t, slot);
    const size_t n = t->n_rows < SAMPLE_ROWS ? t->n_rows : SAMPLE_ROWS;
    const size_t begin = (t->n_rows - n) / 2;
    struct choice best = {.cost = UINT64_MAX};
    uint64_t alone[SAMPLE_ROWS], rest[SAMPLE_ROWS];
    for (uint8_t order = 0; order <= 2; order++) {
        struct rule rule = {.order = order};
        for (size_t i = 0; i < n; i++) {
            alone[i] = column[begin + i] - foresee(t, &rule, column, begin + i);
        }
        consider(alone, n, rule, &best);
        const size_t end = t->n_slots - slot > REACH ? slot + REACH : t->n_slots;
        for (rule.first = slot + 1; order < 2 && rule.first < end; rule.first++) {
            memcpy(rest, alone, sizeof(rest));
            for (rule.n_others = 1; rule.first + rule.n_others <= end; rule.n_others++) {
                const uint64_t *other = column_of(t, rule.first + rule.n_others - 1);
                for (size_t i = 0; i < n; i++) {
                    rest[i] -= other[begin + i];
                }
                consider(rest, n, rule, &best);
            }
        }
    }
    return best.rule;
}

static bool is_constant(const uint64_t *column, size_t n)
{
    return n < 2 || memcmp(column, column + 1, (n - 1) * sizeof(column[0])) == 0;
}

/* ---- to bytes ---- */

static void put_planes(const uint64_t *codes, size_t n, size_t width, struct log_packed *out)
{
    _cleanup_(freep) char *plane = xmalloc(n + 1);
    for (size_t byte = 0; byte < width; byte++) {
        for (size_t i = 0; i < n; i++) {
            plane[i] = (char)(unsigned char)(codes[i] >> (8 * byte));
        }
        buf_append(&out->bytes, plane, n);
        log_break(out);
    }
}

static void put_column(const struct table *t, size_t slot, struct log_packed *out)
{
    const uint64_t *column = column_of(t, slot);
    _cleanup_(freep) uint64_t *codes = xnew_array(uint64_t, t->n_rows + 1);
    struct rule rule = {0};
    if (!is_constant(column, t->n_rows)) {
        rule = choose_rule(t, slot);
    }
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < t->n_rows; i++) {
        codes[i] = column[i] - foresee(t, &rule, column, i);
        least = (int64_t)codes[i] < least ? (int64_t)codes[i] : least;
    }
    rule.base = rule.is_folded ? 0 : (uint64_t)least;
    uint64_t all = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        codes[i] = rule.is_folded ? log_fold(codes[i]) : codes[i] - rule.base;
        all |= codes[i];
    }
    const size_t width = all == 0 ? 0 : (71 - (size_t)__builtin_clzll(all)) / 8;
    buf_putc(&out->bytes, (char)(rule.order | rule.is_folded << 2));
    log_put_varint(&out->bytes, rule.n_others);
    if (rule.n_others > 0) {
        log_put_varint(&out->bytes, rule.first);
    }
    if (!rule.is_folded) {
        log_put_varint(&out->bytes, log_fold(rule.base));
    }
    buf_putc(&out->bytes, (char)width);
    log_break(out);
    put_planes(codes, t->n_rows, width, out);
}

/* How the numbers of a column are printed. */
struct print {
    uint8_t decimals; /* of its scale, or NOT_SCALED */
    bool decimals_vary, zeros_vary;
};

static struct print print_of(const struct log_number *numbers, size_t n_rows, size_t n_slots)
{
    struct print p = {numbers[0].decimals, false, false};
    for (size_t i = 0; i < n_rows; i++) {
        const struct log_number *number = &numbers[i * n_slots];
        p.decimals_vary |= number->decimals != numbers[0].decimals;
        p.zeros_vary |= number->zeros != numbers[0].zeros;
        p.decimals = number->decimals > p.decimals ? number->decimals : p.decimals;
    }
    for (size_t i = 0; i < n_rows && p.decimals_vary; i++) {
        const struct log_number *number = &numbers[i * n_slots];
        if (number->digits >
            (uint64_t)INT64_MAX / power_of_10((unsigned)(p.decimals - number->decimals))) {
            p.decimals = NOT_SCALED;
            break;
        }
    }
    return p;
}

static void put_print(const struct log_number *numbers, size_t n_rows, size_t n_slots,
                      const struct print *p, struct log_packed *out)
{
    buf_putc(&out->bytes, (char)(p->decimals_vary | p->zeros_vary << 1));
    buf_putc(&out->bytes, (char)p->decimals);
    for (size_t i = 0; i < n_rows && p->decimals_vary; i++) {
        buf_putc(&out->bytes, (char)numbers[i * n_slots].decimals);
    }
    log_break(out);
    for (size_t i = 0; i < (p->zeros_vary ? n_rows : 1); i++) {
        buf_putc(&out->bytes, (char)numbers[i * n_slots].zeros);
    }
}

void log_columns_put(const struct log_number *numbers, size_t n_rows, size_t n_slots,
                     struct log_packed *out)
{
    const struct table t = {xnew_array(uint64_t, n_rows * n_slots + 1), n_rows, n_slots};
    for (size_t slot = 0; slot < n_slots; slot++) {
        const struct print p = print_of(&numbers[slot], n_rows, n_slots);
        put_print(&numbers[slot], n_rows, n_slots, &p, out);
        for (size_t i = 0; i < n_rows; i++) {
            const struct log_number *number = &numbers[i * n_slots + slot];
            const unsigned missing =
                p.decimals == NOT_SCALED ? 0 : (unsigned)(p.decimals - number->decimals);
            t.values[slot * n_rows + i] = number->digits * power_of_10(missing);
        }
    }
    for (size_t slot = n_slots; slot-- > 0;) {
        put_column(&t, slot, out);
    }
    free(t.values);
}

/* ---- and back ---- */

static bool get_print(struct log_bytes *in, size_t n_rows, size_t n_slots,
                      struct log_number *numbers, uint8_t *ret_scale)
{
    const unsigned char *decimals = NULL, *zeros;
    uint8_t flags;
    if (!log_get_byte(in, &flags) || flags > 3 || !log_get_byte(in, ret_scale) ||
        (flags & 1 && !log_get_bytes(in, n_rows, &decimals)) ||
        !log_get_bytes(in, flags & 2 ? n_rows : 1, &zeros)) {
        return false;
    }
    for (size_t i = 0; i < n_rows; i++) {
        struct log_number *number = &numbers[i * n_slots];
        number->decimals = decimals == NULL ? *ret_scale : decimals[i];
        number->zeros = zeros[flags & 2 ? i : 0];
        if (number->decimals >= LOG_NUMBER_MAX_DIGITS ||
            (*ret_scale != NOT_SCALED && number->decimals > *ret_scale)) {
            return false;
        }
    }
    return *ret_scale == NOT_SCALED || *ret_scale < LOG_NUMBER_MAX_DIGITS;
}

static bool get_rule(struct log_bytes *in, size_t slot, size_t n_slots, struct rule *ret,
                     uint8_t *ret_width)
{
    struct rule rule = {0};
    uint8_t kind;
    uint64_t n_others, first = 0, base = 0;
    if (!log_get_byte(in, &kind) || kind > 7 || (kind & 3) == 3 || !log_get_varint(in, &n_others) ||
        (n_others > 0 && !log_get_varint(in, &first))) {
        return false;
    }
    rule.order = kind & 3;
    rule.is_folded = kind >> 2;
    if (n_others > 0 && (first <= slot || first >= n_slots || n_others > n_slots - first)) {
        return false;
    }
    if (!rule.is_folded && !log_get_varint(in, &base)) {
        return false;
    }
    rule.first = (size_t)first;
    rule.n_others = (size_t)n_others;
    rule.base = log_unfold(base);
    *ret = rule;
    return log_get_byte(in, ret_width) && *ret_width <= 8;
}

static bool get_column(struct log_bytes *in, const struct table *t, size_t slot)
{
    uint64_t *column = t->values + slot * t->n_rows;
    const unsigned char *planes;
    struct rule rule;
    uint8_t width;
    if (!get_rule(in, slot, t->n_slots, &rule, &width) ||
        !log_get_bytes(in, width * t->n_rows, &planes)) {
        return false;
    }
    for (size_t i = 0; i < t->n_rows; i++) {
        uint64_t code = 0;
        for (size_t byte = 0; byte < width; byte++) {
            code |= (uint64_t)planes[byte * t->n_rows + i] << (8 * byte);
        }
        column[i] =
            (rule.is_folded ? log_unfold(code) : code + rule.base) + foresee(t, &rule, column, i);
    }
    return true;
}

static bool unscale(const uint64_t *column, size_t n_rows, size_t n_slots, uint8_t scale,
                    struct log_number *numbers)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct log_number *number = &numbers[i * n_slots];
        const uint64_t power =
            scale == NOT_SCALED ? 1 : power_of_10((unsigned)(scale - number->decimals));
        if (column[i] % power != 0) {
            return false;
        }
        number->digits = column[i] / power;
        if (!log_number_is_good(number)) {
            return false;
        }
    }
    return true;
}

bool log_columns_get(struct log_bytes *in, size_t n_rows, size_t n_slots,
                     struct log_number *ret_numbers)
{
    const struct table t = {xnew_array(uint64_t, n_rows * n_slots + 1), n_rows, n_slots};
    uint8_t scales[LOG_LINE_MAX_NUMBERS];
    bool is_good = n_slots <= LOG_LINE_MAX_NUMBERS;
    for (size_t slot = 0; slot < n_slots && is_good; slot++) {
        is_good = get_print(in, n_rows, n_slots, &ret_numbers[slot], &scales[slot]);
    }
    for (size_t slot = n_slots; slot-- > 0 && is_good;) {
        is_good = get_column(in, &t, slot) &&
                  unscale(column_of(&t, slot), n_rows, n_slots, scales[slot], &ret_numbers[slot]);
    }
    free(t.values);
    return is_good;
}
