/* What an unquoted YAML scalar means: what Kubernetes reads if all parsers agree, an error where
 * YAML 1.1 surprises its writer. Called by tree_yaml.c. See tree.h. */
#include "doc/tree.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

static const char fix_quote[] = "put quotes around it to make it a string";
/* Quotes first: in a sweep, where this happens most, a boolean is wrong as well. */
static const char fix_truth[] =
    "put quotes around it to make it a string, or write true or false for a boolean";
static const char fix_plain_number[] =
    "write a plain decimal number, or put quotes around it to make it a string";

static size_t span_digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* 0x1f, 0b101, 0o17, and 012, which is ten. */
static bool is_other_base(const char *s)
{
    if (s[0] != '0' || s[1] == '\0') {
        return false;
    }
    if (s[1] == 'x' || s[1] == 'X') {
        return s[2] != '\0' && s[2 + strspn(s + 2, "0123456789abcdefABCDEF_")] == '\0';
    }
    if (s[1] == 'b' || s[1] == 'B' || s[1] == 'o' || s[1] == 'O') {
        return s[2] != '\0' && s[2 + strspn(s + 2, "01234567_")] == '\0';
    }
    return s[strspn(s, "0123456789_")] == '\0';
}

static bool has_underscores(const char *s)
{
    return ascii_is_digit(s[0]) && strchr(s, '_') != NULL && s[strspn(s, "0123456789_.")] == '\0';
}

/* 12:30:00 is a number in base 60. */
static bool is_sexagesimal(const char *s)
{
    size_t n = span_digits(s);
    if (n == 0 || s[n] != ':') {
        return false;
    }
    s += n;
    while (*s == ':') {
        n = span_digits(s + 1);
        if (n == 0 || n > 2 || (n == 2 && s[1] > '5')) {
            return false;
        }
        s += 1 + n;
    }
    return *s == '\0' || (*s == '.' && s[1 + strspn(s + 1, "0123456789_")] == '\0');
}

/* 2018-01-31, with or without a time after it. */
static bool is_date(const char *s)
{
    if (span_digits(s) != 4 || s[4] != '-') {
        return false;
    }
    size_t month = span_digits(s + 5);
    if (month < 1 || month > 2 || s[5 + month] != '-') {
        return false;
    }
    const char *day = s + 6 + month;
    size_t n = span_digits(day);
    if (n < 1 || n > 2) {
        return false;
    }
    return day[n] == '\0' || strchr("Tt \t", day[n]) != NULL;
}

/* 1e3: a float to one reader, a text to another. */
static bool is_bare_exponent(const char *s)
{
    size_t n = span_digits(s);
    if (n == 0 || (s[n] != 'e' && s[n] != 'E')) {
        return false;
    }
    const char *exponent = s + n + 1;
    exponent += *exponent == '+';
    return *exponent != '\0' && exponent[span_digits(exponent)] == '\0';
}

static const char *find_trap(const char *text, const char **ret_fix)
{
    static const char *const truths[] = {"y",  "Y",  "yes", "Yes", "YES", "n",   "N",   "no", "No",
                                         "NO", "on", "On",  "ON",  "off", "Off", "OFF", NULL};
    static const char *const specials[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
    bool is_signed = text[0] == '-' || text[0] == '+';
    const char *digits = text + is_signed;
    const char *why = NULL;
    *ret_fix = fix_plain_number;
    if (str_is_one_of(text, truths)) {
        *ret_fix = fix_truth;
        return "is a boolean to some YAML parsers and a string to others";
    }
    if (is_date(text)) {
        *ret_fix = fix_quote;
        return "is a date to some YAML parsers and a string to others";
    }
    if (str_is_one_of(digits, specials)) {
        why = "is not a finite number";
    } else if (is_sexagesimal(digits)) {
        *ret_fix = fix_quote;
        why = "is a number in base 60 in YAML 1.1";
    } else if (is_other_base(digits)) {
        why = "is not a decimal number: YAML 1.1 reads it in another base";
    } else if (has_underscores(digits)) {
        why = "has '_' between digits, which only some YAML parsers accept";
    } else if (is_bare_exponent(digits)) {
        why = "is a number to some YAML parsers and a string to others";
    } else if (text[0] == '+' && (ascii_is_digit(digits[0]) || digits[0] == '.')) {
        why = "starts with '+', which only some YAML parsers accept in a number";
    }
    return why;
}

static int resolve_number(const char *text, struct node *ret, const char **ret_why,
                          const char **ret_fix)
{
    int r = parse_i64(text, &ret->i);
    if (r == 0) {
        ret->kind = NODE_INT;
        return 0;
    }
    if (r != -ERANGE) {
        r = parse_f64(text, &ret->f);
        if (r == 0) {
            ret->kind = NODE_FLOAT;
            return 0;
        }
    }
    if (r == -ERANGE) {
        *ret_why = "is out of the range of numbers";
        *ret_fix = fix_quote;
        return -EINVAL;
    }
    ret->kind = NODE_STRING;
    ret->s = xstrdup(text);
    return 0;
}

int tree_resolve_plain(const char *text, struct node *ret, const char **ret_why,
                       const char **ret_fix)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    if (str_is_one_of(text, nulls)) {
        ret->kind = NODE_NULL;
        return 0;
    }
    if (str_is_one_of(text, trues) || str_is_one_of(text, falses)) {
        ret->kind = NODE_BOOL;
        ret->b = str_is_one_of(text, trues);
        return 0;
    }
    *ret_why = find_trap(text, ret_fix);
    if (*ret_why != NULL) {
        return -EINVAL;
    }
    return resolve_number(text, ret, ret_why, ret_fix);
}
