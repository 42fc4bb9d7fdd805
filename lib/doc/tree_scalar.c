/* What an unquoted YAML scalar means: what Kubernetes reads if all parsers agree, an error where
 * YAML 1.1 surprises its writer. Called by tree_yaml.c. See tree.h. */
#include "doc/tree.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "doc/match.h"

/* Quotes first: in a sweep, where this happens most, a boolean is wrong as well. */
#define QUOTE "put quotes around it to make it a string"
#define TRUTH QUOTE ", or write true or false for a boolean"
#define DECIMAL "write a plain decimal number, or " QUOTE

/* What YAML 1.1 reads as something else; the first that matches says why. */
static struct {
    const char *pattern, *why, *fix;
    struct kept compiled;
} traps[] = {
    {"^(y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF)$",
     "is a boolean to some YAML parsers and a string to others", TRUTH},
    {"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \\t]|$)",
     "is a date to some YAML parsers and a string to others", QUOTE},
    {"^[-+]?\\.(inf|Inf|INF|nan|NaN|NAN)$", "is not a finite number", DECIMAL},
    {"^[-+]?[0-9]+(:[0-5]?[0-9])+(\\.[0-9_]*)?$", "is a number in base 60 in YAML 1.1", QUOTE},
    {"^[-+]?0([xX][0-9a-fA-F_]+|[bBoO][0-7_]+|[0-9_]+)$",
     "is not a decimal number: YAML 1.1 reads it in another base", DECIMAL},
    {"^[-+]?[0-9][0-9.]*_[0-9_.]*$", "has '_' between digits, which only some YAML parsers accept",
     DECIMAL},
    {"^[-+]?[0-9]+[eE][+]?[0-9]+$", "is a number to some YAML parsers and a string to others",
     DECIMAL},
    {"^[+][0-9.]", "starts with '+', which only some YAML parsers accept in a number", DECIMAL},
};

static const char *find_trap(const char *text, const char **ret_fix)
{
    if (strchr("yYnNoO+-.0123456789", text[0]) == NULL) {
        return NULL; /* no pattern begins so */
    }
    for (size_t i = 0; i < COUNT_OF(traps); i++) {
        if (text_matches(text, traps[i].pattern, &traps[i].compiled)) {
            *ret_fix = traps[i].fix;
            return traps[i].why;
        }
    }
    return NULL;
}

static int resolve_number(const char *text, struct node *ret, const char **ret_why,
                          const char **ret_fix)
{
    int r = parse_i64(text, &ret->i);
    ret->kind = NODE_INT;
    if (r < 0 && r != -ERANGE) {
        r = parse_f64(text, &ret->f);
        ret->kind = NODE_FLOAT;
    }
    if (r == 0) {
        return 0;
    }
    if (r == -ERANGE) {
        *ret_why = "is out of the range of numbers";
        *ret_fix = "write a smaller number, or " QUOTE;
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
