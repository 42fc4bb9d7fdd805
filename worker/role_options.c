/* See role_options.h. */
#include "worker/role_options.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/exit_code.h"
#include "base/parse.h"

static void print_help(const struct role_command *c)
{
    struct buf text = BUF_INIT;
    args_help(c->options, c->n_options, &text);
    printf("Usage: benchworker %s %s\n\n%s\n\nOptions:\n%s", c->name, c->usage, c->text,
           buf_cstr(&text));
    buf_done(&text);
}

int role_command_run(const struct role_command *c, int argc, char *const *argv)
{
    struct args args;
    struct err err = {0};
    int code = EXIT_USAGE;
    if (args_parse(c->options, c->n_options, argc - 1, argv + 1, &args, &err) >= 0) {
        if (args_has(&args, "help")) {
            print_help(c);
            code = EXIT_OK;
        } else if (args.n_words > 0) {
            (void)err_set(&err, EINVAL, "unexpected argument '%s'", args.words[0]);
        } else {
            code = c->run(&args, &err);
        }
        args_done(&args);
    }
    if (err.msg[0] != '\0') {
        fprintf(stderr, "benchworker %s: %s\n", c->name, err.msg);
    }
    return code;
}

int role_take_numbers(const struct args *a, const struct role_number *rows, size_t n,
                      struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct role_number *row = &rows[i];
        const char *text = args_get(a, row->name, NULL);
        int64_t number = row->fallback;
        if (text != NULL && parse_i64_in(text, row->min, row->max, &number) < 0) {
            return err_set(err, EINVAL, "--%s '%s': expected a whole number from %lld to %lld",
                           row->name, text, (long long)row->min, (long long)row->max);
        }
        memcpy(row->ret, &number, row->size); /* the low bytes come first */
    }
    return 0;
}

int role_find_model(const char *name, const struct model_def **ret, struct err *err)
{
    *ret = model_def_find(name);
    return *ret != NULL ? 0
                        : err_set(err, EINVAL, "unknown model '%s'; known models: %s", name,
                                  model_def_names());
}
