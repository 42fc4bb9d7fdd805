/* Command line parsing, see args.h. */
#include "base/args.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#define HELP_WIDTH 80
#define HELP_LEFT 23 /* characters of an option and its value's name */

static const struct arg_opt help_opt = {"help", 'h', NULL, "Print this help"};

static const struct arg_opt *find_long(const struct arg_opt *opts, size_t n, const char *name,
                                       size_t len)
{
    const struct arg_opt *opt =
        array_find(opts, n, it, strlen(it->name) == len && memcmp(it->name, name, len) == 0);
    return opt == NULL && len == 4 && memcmp(name, "help", 4) == 0 ? &help_opt : opt;
}

static const struct arg_opt *find_short(const struct arg_opt *opts, size_t n, char c)
{
    const struct arg_opt *opt = array_find(opts, n, it, it->short_name == c);
    return opt == NULL && c == 'h' ? &help_opt : opt;
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

/* The option that `arg` names ("--name", "--name=value", "-n", "-nvalue"), with the value that is
 * in the same word (else NULL). NULL if none exists. */
static const struct arg_opt *split_option(const struct arg_opt *opts, size_t n_opts,
                                          const char *arg, const char **ret_value)
{
    if (arg[1] != '-') {
        *ret_value = arg[2] != '\0' ? arg + 2 : NULL;
        return find_short(opts, n_opts, arg[1]);
    }
    const size_t len = strcspn(arg + 2, "=");
    *ret_value = arg[2 + len] == '=' ? arg + 2 + len + 1 : NULL;
    return find_long(opts, n_opts, arg + 2, len);
}

/* Takes one option at argv[*i], and its value from the same or the next word. */
static int take_option(const struct arg_opt *opts, size_t n_opts, int argc, char *const *argv,
                       int *i, struct args *a, struct err *err)
{
    const char *arg = argv[*i];
    const char *value;
    const struct arg_opt *opt = split_option(opts, n_opts, arg, &value);
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

static void add_word(struct args *a, const char *word)
{
    a->words = xreallocarray(a->words, a->n_words + 1, sizeof(*a->words));
    a->words[a->n_words++] = word;
}

static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1] != '\0';
}

int args_parse(const struct arg_opt *opts, size_t n_opts, int argc, char *const *argv,
               struct args *ret, struct err *err)
{
    struct args a = {0};
    bool options_ended = false;
    for (int i = 0; i < argc; i++) {
        if (!options_ended && str_eq(argv[i], "--")) {
            options_ended = true;
        } else if (!options_ended && is_option(argv[i])) {
            int r = take_option(opts, n_opts, argc, argv, &i, &a, err);
            if (r < 0) {
                args_done(&a);
                return r;
            }
        } else {
            add_word(&a, argv[i]);
        }
    }
    *ret = a;
    return 0;
}

/* What the last argument is, where no option before it takes it as a value. */
static struct args_end end_of(const struct arg_opt *opts, size_t n_opts, bool options_ended,
                              const char *last)
{
    if (options_ended || last[0] != '-') {
        return (struct args_end){.place = ARGS_AT_WORD, .text = last};
    }
    const char *value = NULL;
    const struct arg_opt *opt = is_option(last) ? split_option(opts, n_opts, last, &value) : NULL;
    if (opt != NULL && opt->value_name != NULL && value != NULL) {
        return (struct args_end){.place = ARGS_AT_VALUE, .opt = opt, .text = value};
    }
    return (struct args_end){.place = ARGS_AT_OPTION, .text = last};
}

void args_parse_typed(const struct arg_opt *opts, size_t n_opts, int argc, char *const *argv,
                      struct args *ret, struct args_end *ret_end)
{
    *ret = (struct args){0};
    bool options_ended = false;
    const int last = argc - 1;
    for (int i = 0; i < last; i++) {
        if (options_ended || !is_option(argv[i])) {
            add_word(ret, argv[i]);
            continue;
        }
        if (str_eq(argv[i], "--")) {
            options_ended = true;
            continue;
        }
        const char *value;
        const struct arg_opt *opt = split_option(opts, n_opts, argv[i], &value);
        if (opt == NULL) {
            continue;
        }
        if (opt->value_name != NULL && value == NULL && i + 1 == last) {
            *ret_end = (struct args_end){.place = ARGS_AT_VALUE, .opt = opt, .text = argv[last]};
            return;
        }
        add_value(ret, opt, opt->value_name != NULL && value == NULL ? argv[++i] : value);
    }
    *ret_end = end_of(opts, n_opts, options_ended, argv[last]);
}

void args_done(struct args *a)
{
    free(a->values);
    free(a->words);
    *a = (struct args){0};
}

bool args_has(const struct args *a, const char *name)
{
    return array_any(a->values, a->n_values, it, str_eq(it->opt->name, name));
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

/* Appends `text` after `left` characters, wrapped at HELP_WIDTH. Continuation lines are indented
 * like the first one. */
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
