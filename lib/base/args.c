/* Command line parsing, see args.h. */
#include "base/args.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define HELP_WIDTH 80
#define HELP_LEFT 23 /* characters of an option and its value's name */

static const struct arg_opt help_opt = {"help", 'h', NULL, "Print this help"};

static const struct arg_opt *find_long(const struct arg_opt *opts, size_t n, const char *name,
                                       size_t len)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(opts[i].name) == len && memcmp(opts[i].name, name, len) == 0) {
            return &opts[i];
        }
    }
    return len == 4 && memcmp(name, "help", 4) == 0 ? &help_opt : NULL;
}

static const struct arg_opt *find_short(const struct arg_opt *opts, size_t n, char c)
{
    for (size_t i = 0; i < n; i++) {
        if (opts[i].short_name == c) {
            return &opts[i];
        }
    }
    return c == 'h' ? &help_opt : NULL;
}

static int unknown(const struct arg_opt *opts, size_t n, const char *arg, struct err *err)
{
    _cleanup_(freep) char *name = xstrdup(arg + strspn(arg, "-"));
    name[strcspn(name, "=")] = '\0';
    _cleanup_(freep) const char **names = xnew_array(const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        names[i] = opts[i].name;
    }
    names[n] = "help";
    const char *hint = str_suggest(name, names, n + 1);
    if (hint != NULL) {
        return err_set(err, EINVAL, "unknown option '%s'; did you mean --%s?", arg, hint);
    }
    return err_set(err, EINVAL, "unknown option '%s'; --help lists them", arg);
}

static void add_value(struct args *a, const struct arg_opt *opt, const char *value)
{
    a->values = xreallocarray(a->values, a->n_values + 1, sizeof(*a->values));
    a->values[a->n_values++] = (struct arg_value){opt, value};
}

/* Takes one option at argv[*i], and its value from the same or the next word. */
static int take_option(const struct arg_opt *opts, size_t n_opts, int argc, char *const *argv,
                       int *i, struct args *a, struct err *err)
{
    const char *arg = argv[*i];
    const struct arg_opt *opt;
    const char *value = NULL;
    if (arg[1] == '-') {
        size_t len = strcspn(arg + 2, "=");
        opt = find_long(opts, n_opts, arg + 2, len);
        value = arg[2 + len] == '=' ? arg + 2 + len + 1 : NULL;
    } else {
        opt = find_short(opts, n_opts, arg[1]);
        value = arg[2] != '\0' ? arg + 2 : NULL;
    }
    if (opt == NULL) {
        return unknown(opts, n_opts, arg, err);
    }
    if (opt->value_name == NULL) {
        if (value != NULL) {
            return err_set(err, EINVAL, "option --%s takes no value, got '%s'", opt->name, value);
        }
    } else if (value == NULL) {
        if (*i + 1 >= argc) {
            return err_set(err, EINVAL, "option --%s needs a value (%s)", opt->name,
                           opt->value_name);
        }
        value = argv[++*i];
    }
    add_value(a, opt, value);
    return 0;
}

int args_parse(const struct arg_opt *opts, size_t n_opts, int argc, char *const *argv,
               struct args *ret, struct err *err)
{
    struct args a = {0};
    bool options_ended = false;
    for (int i = 0; i < argc; i++) {
        if (!options_ended && str_eq(argv[i], "--")) {
            options_ended = true;
        } else if (!options_ended && argv[i][0] == '-' && argv[i][1] != '\0') {
            int r = take_option(opts, n_opts, argc, argv, &i, &a, err);
            if (r < 0) {
                args_done(&a);
                return r;
            }
        } else {
            a.words = xreallocarray(a.words, a.n_words + 1, sizeof(*a.words));
            a.words[a.n_words++] = argv[i];
        }
    }
    *ret = a;
    return 0;
}

void args_done(struct args *a)
{
    free(a->values);
    free(a->words);
    *a = (struct args){0};
}

bool args_has(const struct args *a, const char *name)
{
    for (size_t i = 0; i < a->n_values; i++) {
        if (str_eq(a->values[i].opt->name, name)) {
            return true;
        }
    }
    return false;
}

const char *args_get(const struct args *a, const char *name, const char *fallback)
{
    const char *value = fallback;
    for (size_t i = 0; i < a->n_values; i++) {
        if (str_eq(a->values[i].opt->name, name)) {
            value = a->values[i].value;
        }
    }
    return value;
}

const char *args_get_nth(const struct args *a, const char *name, size_t i)
{
    for (size_t k = 0; k < a->n_values; k++) {
        if (str_eq(a->values[k].opt->name, name) && i-- == 0) {
            return a->values[k].value;
        }
    }
    return NULL;
}

/* Appends `text` after `left` characters, wrapped at HELP_WIDTH. Continuation lines are indented like
 * the first one. */
static void put_folded(const char *text, size_t left, struct buf *out)
{
    size_t at = 2 + left;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (at + 1 + word > HELP_WIDTH && at > 2 + HELP_LEFT) {
            buf_printf(out, "\n%*s", 2 + HELP_LEFT, "");
            at = 2 + HELP_LEFT;
        }
        buf_printf(out, " %.*s", (int)word, text);
        at += 1 + word;
        text += word + (text[word] == ' ');
    }
    buf_puts(out, "\n");
}

static void help_line(const struct arg_opt *opt, struct buf *out)
{
    struct buf left = BUF_INIT;
    if (opt->short_name != 0) {
        buf_printf(&left, "-%c, --%s", opt->short_name, opt->name);
    } else {
        buf_printf(&left, "    --%s", opt->name);
    }
    if (opt->value_name != NULL) {
        buf_printf(&left, " %s", opt->value_name);
    }
    buf_printf(out, "  %-*s", HELP_LEFT, buf_cstr(&left));
    put_folded(opt->help, left.len > HELP_LEFT ? left.len : HELP_LEFT, out);
    buf_done(&left);
}

void args_help(const struct arg_opt *opts, size_t n_opts, struct buf *out)
{
    for (size_t i = 0; i < n_opts; i++) {
        help_line(&opts[i], out);
    }
    help_line(&help_opt, out);
}
