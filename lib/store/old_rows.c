/* See old_rows.h. What it allocates follows from the bytes that the logs have, which are bounded
 * first.
 *
 * A pack has a form for its lines ("step 7: 412.5 ms" is "step #: # ms"), a byte 0 for each number,
 * and a column for each number of a form. A column keeps what its rule does not foresee:
 *
 *   foreseen = what the `order` lines before extend to (0: zero, 1: the last number, 2: the
 *              straight line of two)
 *            + the sum of `n_others` numbers of the same line, from number `first` on, which
 *              follow it
 *
 * modulo 2^64. A varint has 7 bits a byte, the lowest first; all but its last byte have the bit
 * 0x80. Small differences of either sign are folded: 0, -1, 1, -2 are 0, 1, 2, 3. */
#include "store/old_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec_walk.h"

#define VERSION 1
#define MAX_PIECES 65536
#define MAX_FORMS 255
#define MAX_NUMBERS 255 /* of a line */
#define MAX_DIGITS 18   /* of a number: they fit an int64_t */
#define SLOT '\0'
#define NOT_SCALED 255 /* in place of a column's decimals: its numbers do not fit a common scale */

struct bytes {
    const unsigned char *at, *end; /* borrowed */
};

/* 0.050 is {50, 3, 0}, 007 is {7, 0, 2}. */
struct number {
    uint64_t digits;  /* all of them, without the point */
    uint8_t decimals; /* after the point */
    uint8_t zeros;    /* in front of what would be printed otherwise */
};

static bool get_byte(struct bytes *in, uint8_t *ret)
{
    if (in->at == in->end) {
        return false;
    }
    *ret = *in->at++;
    return true;
}

static bool get_bytes(struct bytes *in, size_t n, const unsigned char **ret)
{
    if ((size_t)(in->end - in->at) < n) {
        return false;
    }
    *ret = in->at;
    in->at += n;
    return true;
}

static bool get_varint(struct bytes *in, uint64_t *ret)
{
    uint64_t value = 0;
    uint8_t byte = 0x80;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (shift > 63 || !get_byte(in, &byte) || (shift == 63 && byte > 1)) {
            return false;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
    }
    *ret = value;
    return true;
}

static uint64_t unfold(uint64_t folded)
{
    return (folded >> 1) ^ (0 - (folded & 1));
}

/* ---- numbers ---- */

static size_t count_digits(uint64_t value)
{
    size_t n = 1;
    for (; value >= 10; value /= 10) {
        n++;
    }
    return n;
}

static size_t length_of(const struct number *number)
{
    const size_t digits = count_digits(number->digits), least = (size_t)number->decimals + 1;
    return (digits > least ? digits : least) + number->zeros;
}

static size_t print_number(const struct number *number, char *out)
{
    const size_t n = length_of(number), len = n + (number->decimals > 0);
    uint64_t rest = number->digits;
    for (size_t i = len, k = 0; i-- > 0; k++) {
        if (number->decimals > 0 && k == number->decimals) {
            out[i] = '.';
            continue;
        }
        out[i] = (char)('0' + rest % 10);
        rest /= 10;
    }
    return len;
}

/* ---- columns ---- */

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
        sum += t->values[(rule->first + i) * t->n_rows + row];
    }
    return sum;
}

static bool get_print(struct bytes *in, size_t n_rows, size_t n_slots, struct number *numbers,
                      uint8_t *ret_scale)
{
    const unsigned char *decimals = NULL, *zeros;
    uint8_t flags;
    if (!get_byte(in, &flags) || flags > 3 || !get_byte(in, ret_scale) ||
        (flags & 1 && !get_bytes(in, n_rows, &decimals)) ||
        !get_bytes(in, flags & 2 ? n_rows : 1, &zeros)) {
        return false;
    }
    for (size_t i = 0; i < n_rows; i++) {
        struct number *number = &numbers[i * n_slots];
        number->decimals = decimals == NULL ? *ret_scale : decimals[i];
        number->zeros = zeros[flags & 2 ? i : 0];
        if (number->decimals >= MAX_DIGITS ||
            (*ret_scale != NOT_SCALED && number->decimals > *ret_scale)) {
            return false;
        }
    }
    return *ret_scale == NOT_SCALED || *ret_scale < MAX_DIGITS;
}

static bool get_rule(struct bytes *in, size_t slot, size_t n_slots, struct rule *ret,
                     uint8_t *ret_width)
{
    struct rule rule = {0};
    uint8_t kind;
    uint64_t n_others, first = 0, base = 0;
    if (!get_byte(in, &kind) || kind > 7 || (kind & 3) == 3 || !get_varint(in, &n_others) ||
        (n_others > 0 && !get_varint(in, &first))) {
        return false;
    }
    rule.order = kind & 3;
    rule.is_folded = kind >> 2;
    if (n_others > 0 && (first <= slot || first >= n_slots || n_others > n_slots - first)) {
        return false;
    }
    if (!rule.is_folded && !get_varint(in, &base)) {
        return false;
    }
    rule.first = (size_t)first;
    rule.n_others = (size_t)n_others;
    rule.base = unfold(base);
    *ret = rule;
    return get_byte(in, ret_width) && *ret_width <= 8;
}

static bool get_column(struct bytes *in, const struct table *t, size_t slot)
{
    uint64_t *column = t->values + slot * t->n_rows;
    const unsigned char *planes;
    struct rule rule;
    uint8_t width;
    if (!get_rule(in, slot, t->n_slots, &rule, &width) ||
        !get_bytes(in, width * t->n_rows, &planes)) {
        return false;
    }
    for (size_t i = 0; i < t->n_rows; i++) {
        uint64_t code = 0;
        for (size_t byte = 0; byte < width; byte++) {
            code |= (uint64_t)planes[byte * t->n_rows + i] << (8 * byte);
        }
        column[i] =
            (rule.is_folded ? unfold(code) : code + rule.base) + foresee(t, &rule, column, i);
    }
    return true;
}

static bool unscale(const uint64_t *column, size_t n_rows, size_t n_slots, uint8_t scale,
                    struct number *numbers)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct number *number = &numbers[i * n_slots];
        const uint64_t power =
            scale == NOT_SCALED ? 1 : power_of_10((unsigned)(scale - number->decimals));
        if (column[i] % power != 0) {
            return false;
        }
        number->digits = column[i] / power;
        if (length_of(number) > MAX_DIGITS) {
            return false;
        }
    }
    return true;
}

static bool get_columns(struct bytes *in, size_t n_rows, size_t n_slots, struct number *ret_numbers)
{
    const struct table t = {xnew_array(uint64_t, n_rows * n_slots), n_rows, n_slots};
    uint8_t scales[MAX_NUMBERS];
    bool is_good = n_slots <= MAX_NUMBERS;
    for (size_t slot = 0; slot < n_slots && is_good; slot++) {
        is_good = get_print(in, n_rows, n_slots, &ret_numbers[slot], &scales[slot]);
    }
    for (size_t slot = n_slots; slot-- > 0 && is_good;) {
        is_good = get_column(in, &t, slot) && unscale(t.values + slot * n_rows, n_rows, n_slots,
                                                      scales[slot], &ret_numbers[slot]);
    }
    free(t.values);
    return is_good;
}

/* ---- a pack ---- */

struct form {
    const char *text; /* borrowed */
    size_t text_len, n_slots, n_rows;
    size_t next;            /* the row of its next line */
    struct number *numbers; /* n_rows x n_slots; owned */
};

struct unpacker {
    struct bytes in;
    struct log_piece *pieces; /* owned; `data` is set when their text is there */
    size_t n_pieces, total;
    struct form forms[MAX_FORMS + 1]; /* from 1 on */
    size_t n_forms, n_lines;
    const unsigned char *ids;               /* of each line's form; 0: none */
    const unsigned char *plain, *plain_end; /* the lines that have none */
};

static void unpacker_done(struct unpacker *u)
{
    free(u->pieces);
    for (size_t i = 1; i <= u->n_forms; i++) {
        free(u->forms[i].numbers);
    }
}

static bool get_pieces(struct unpacker *u)
{
    uint64_t n, index, len;
    if (!get_varint(&u->in, &n) || n > MAX_PIECES) {
        return false;
    }
    u->pieces = xnew_array(struct log_piece, n);
    u->n_pieces = (size_t)n;
    for (size_t i = 0; i < n; i++) {
        if (!get_varint(&u->in, &index) || index > UINT32_MAX || !get_varint(&u->in, &len) ||
            len > OLD_PACK_MAX_BYTES - u->total) {
            return false;
        }
        u->pieces[i] = (struct log_piece){.index = (uint32_t)index, .len = (size_t)len};
        u->total += (size_t)len;
    }
    return true;
}

static bool get_forms(struct unpacker *u)
{
    uint64_t n, len;
    if (!get_varint(&u->in, &n) || n > MAX_FORMS) {
        return false;
    }
    for (; u->n_forms < n; u->n_forms++) {
        const unsigned char *text;
        if (!get_varint(&u->in, &len) || !get_bytes(&u->in, (size_t)len, &text)) {
            return false;
        }
        struct form *form = &u->forms[u->n_forms + 1];
        *form = (struct form){.text = (const char *)text, .text_len = (size_t)len};
        form->n_slots = array_sum(text, len, c, (size_t)(*c == SLOT));
        if (form->n_slots > MAX_NUMBERS) {
            return false;
        }
    }
    return true;
}

static bool get_lines(struct unpacker *u)
{
    uint64_t n, plain_len;
    if (!get_varint(&u->in, &n) || n > u->total || !get_varint(&u->in, &plain_len) ||
        plain_len > u->total + u->n_pieces || !get_bytes(&u->in, (size_t)n, &u->ids) ||
        !get_bytes(&u->in, (size_t)plain_len, &u->plain)) {
        return false;
    }
    u->n_lines = (size_t)n;
    u->plain_end = u->plain + plain_len;
    size_t n_numbers = 0; /* each prints a byte or more */
    for (size_t i = 0; i < n; i++) {
        if (u->ids[i] > u->n_forms) {
            return false;
        }
        u->forms[u->ids[i]].n_rows++;
        n_numbers += u->forms[u->ids[i]].n_slots;
    }
    return n_numbers <= u->total;
}

static bool get_numbers(struct unpacker *u)
{
    for (size_t i = 1; i <= u->n_forms; i++) {
        struct form *form = &u->forms[i];
        if (form->n_rows == 0) {
            return false; /* a column needs a number */
        }
        form->numbers = xnew_array(struct number, form->n_rows * form->n_slots);
        if (!get_columns(&u->in, form->n_rows, form->n_slots, form->numbers)) {
            return false;
        }
    }
    return u->in.at == u->in.end;
}

/* Where a piece is printed to. */
struct room {
    char *at, *end;
};

static bool print(struct room *room, const void *bytes, size_t len)
{
    if ((size_t)(room->end - room->at) < len) {
        return false;
    }
    memcpy(room->at, bytes, len);
    room->at += len;
    return true;
}

static bool print_form(struct room *room, struct form *form)
{
    const struct number *number = form->numbers + form->next++ * form->n_slots;
    const char *at = form->text, *end = at + form->text_len;
    for (;;) {
        const char *slot = memchr(at, SLOT, (size_t)(end - at));
        if (!print(room, at, (size_t)((slot == NULL ? end : slot) - at))) {
            return false;
        }
        if (slot == NULL) {
            return true;
        }
        char digits[MAX_DIGITS + 1];
        if (!print(room, digits, print_number(number++, digits))) {
            return false;
        }
        at = slot + 1;
    }
}

static bool print_plain(struct room *room, struct unpacker *u)
{
    const unsigned char *newline = memchr(u->plain, '\n', (size_t)(u->plain_end - u->plain));
    if (newline == NULL || !print(room, u->plain, (size_t)(newline - u->plain))) {
        return false;
    }
    u->plain = newline + 1;
    return true;
}

/* The last line of a piece has no newline where the piece's length ends before it. */
static bool print_all(struct unpacker *u, char *text)
{
    size_t line = 0;
    struct room room = {text, text};
    for (size_t i = 0; i < u->n_pieces; i++) {
        u->pieces[i].data = room.at;
        room.end = room.at + u->pieces[i].len;
        while (room.at < room.end) {
            if (line == u->n_lines) {
                return false;
            }
            const uint8_t id = u->ids[line++];
            if (!(id == 0 ? print_plain(&room, u) : print_form(&room, &u->forms[id]))) {
                return false;
            }
            (void)print(&room, "\n", 1); /* unless that was the end */
        }
    }
    return line == u->n_lines && u->plain == u->plain_end;
}

static const char *unpack(struct unpacker *u, char **ret_text)
{
    uint8_t version;
    if (!get_byte(&u->in, &version) || version != VERSION) {
        return "the version of packed logs";
    }
    if (!get_pieces(u)) {
        return "the lengths of packed logs";
    }
    if (!get_forms(u) || !get_lines(u)) {
        return "the lines of packed logs";
    }
    if (!get_numbers(u)) {
        return "the numbers of packed logs";
    }
    char *text = xmalloc(u->total + 1);
    if (!print_all(u, text)) {
        free(text);
        return "packed logs have another length";
    }
    text[u->total] = '\0';
    *ret_text = text;
    return NULL;
}

int old_pack_read(const void *data, size_t len, struct log_row *ret, struct err *err)
{
    _cleanup_(unpacker_done) struct unpacker u = {.in = {data, (const unsigned char *)data + len}};
    char *text = NULL;
    const char *fault = unpack(&u, &text);
    if (fault == NULL) {
        *ret = (struct log_row){text, take_ptr(u.pieces), u.n_pieces};
    }
    return fault == NULL ? 0 : err_set(err, EBADMSG, "%s", fault);
}
