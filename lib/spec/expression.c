/* See matrix.h. Precedence climbing; every name is looked up, so a wrong one is found whatever
 * the values are. */
#include "spec/matrix.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#define DEPTH_MAX 50
#define NAME_MAX_BYTES 64

struct reader {
    const char *text, *at;
    expression_value_fn value_of;
    const void *ctx;
    struct err *err;
    unsigned depth;
    unsigned n_decided; /* values before this one decide: its arithmetic may fail */
};

enum operation { OR, AND, EQ, NE, LE, GE, LT, GT, ADD, SUB, MUL, DIV, REM };
static const struct {
    const char *sign;
    int precedence;
} operators[] = {
    [OR] = {"||", 1}, [AND] = {"&&", 2}, [EQ] = {"==", 3}, [NE] = {"!=", 3}, [LE] = {"<=", 4},
    [GE] = {">=", 4}, [LT] = {"<", 4},   [GT] = {">", 4},  [ADD] = {"+", 5}, [SUB] = {"-", 5},
    [MUL] = {"*", 6}, [DIV] = {"/", 6},  [REM] = {"%", 6},
};

static int refuse(const struct reader *r, int code, const char *what)
{
    return err_set(r->err, code, "%s at character %zu of '%s'", what, (size_t)(r->at - r->text) + 1,
                   r->text);
}

static void skip_blanks(struct reader *r)
{
    r->at += strspn(r->at, " ");
}

static int climb(struct reader *r, int least, int64_t *ret);

static int read_word(struct reader *r, int64_t *ret)
{
    const size_t len = strspn(r->at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    char word[NAME_MAX_BYTES] = "";
    if (len == 0 || len >= sizeof(word)) {
        return refuse(r, EINVAL, *r->at == '\0' ? "a value is missing" : "no number and no name");
    }
    memcpy(word, r->at, len);
    if (ascii_is_digit(word[0]) ? parse_i64(word, ret) < 0 : !r->value_of(r->ctx, word, ret)) {
        return refuse(r, EINVAL, "no number, and no swept name with one,");
    }
    r->at += len;
    return 0;
}

static int read_operand(struct reader *r, int64_t *ret)
{
    skip_blanks(r);
    const char sign = *r->at;
    if (sign != '(' && sign != '-' && sign != '!') {
        return read_word(r, ret);
    }
    if (++r->depth > DEPTH_MAX) {
        return refuse(r, EINVAL, "too many parentheses");
    }
    r->at++;
    int code = sign == '(' ? climb(r, 1, ret) : read_operand(r, ret);
    if (code >= 0 && sign == '(') {
        skip_blanks(r);
        if (*r->at != ')') {
            return refuse(r, EINVAL, "a ')' is missing");
        }
        r->at++;
    } else if (code >= 0) {
        const int64_t operand = *ret;
        *ret = operand == 0;
        if (sign == '-' && __builtin_sub_overflow(0, operand, ret)) {
            return refuse(r, ERANGE, "a number too large,");
        }
    }
    r->depth--;
    return code;
}

/* < 0: no operator. */
static int peek_operator(struct reader *r)
{
    skip_blanks(r);
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        if (str_has_prefix(r->at, operators[i].sign)) {
            return (int)i;
        }
    }
    return -1;
}

static int apply(const struct reader *r, enum operation sign, int64_t a, int64_t b, int64_t *ret)
{
    const bool truths[] = {[OR] = a != 0 || b != 0, [AND] = a != 0 && b != 0,
                           [EQ] = a == b,           [NE] = a != b,
                           [LE] = a <= b,           [GE] = a >= b,
                           [LT] = (a < b),          [GT] = (a > b)};
    bool is_good = true;
    if (sign < ADD) {
        *ret = truths[sign];
    } else if (sign == ADD) {
        is_good = !__builtin_add_overflow(a, b, ret);
    } else if (sign == SUB) {
        is_good = !__builtin_sub_overflow(a, b, ret);
    } else if (sign == MUL) {
        is_good = !__builtin_mul_overflow(a, b, ret);
    } else {
        is_good = b > 0;
        *ret = !is_good ? 0 : sign == DIV ? a / b : a % b;
    }
    return is_good || r->n_decided > 0
               ? 0
               : refuse(r, ERANGE, "a division by less than 1, or a number too large,");
}

static int climb(struct reader *r, int least, int64_t *ret)
{
    int code = read_operand(r, ret);
    int i;
    while (code >= 0 && (i = peek_operator(r)) >= 0 && operators[i].precedence >= least) {
        int64_t right = 0;
        r->at += strlen(operators[i].sign);
        const bool is_decided = (i == OR && *ret != 0) || (i == AND && *ret == 0);
        r->n_decided += is_decided;
        code = climb(r, operators[i].precedence + 1, &right);
        r->n_decided -= is_decided;
        code = code < 0 ? code : apply(r, (enum operation)i, *ret, right, ret);
    }
    return code;
}

int expression_eval(const char *text, expression_value_fn value_of, const void *ctx, int64_t *ret,
                    struct err *err)
{
    struct reader r = {text, text, value_of, ctx, err, 0};
    const int code = climb(&r, 1, ret);
    skip_blanks(&r);
    return code >= 0 && *r.at != '\0' ? refuse(&r, EINVAL, "an operator is missing") : code;
}
