/* See role_options.h. */
#include "worker/role_options.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/parse.h"

int role_parse(const struct role_command *c, int argc, char *const *argv, struct args *ret,
               struct err *err)
{
    int r = args_parse(c->options, c->n_options, argc - 1, argv + 1, ret, err);
    if (r >= 0 && args_has(ret, "help")) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        args_help(c->options, c->n_options, &text);
        printf("Usage: benchworker %s [OPTION...]\n\n%s\n\nOptions:\n%s", c->name, c->text,
               buf_cstr(&text));
        return 1;
    }
    if (r >= 0 && ret->n_words > 0) {
        r = err_set(err, EINVAL, "unexpected argument '%s'", ret->words[0]);
    }
    return r;
}

int role_command_run(const struct role_command *c, int argc, char *const *argv)
{
    struct args args = {0};
    struct err err = {0};
    const int r = role_parse(c, argc, argv, &args, &err);
    const int code = r < 0 ? EXIT_USAGE : r > 0 ? EXIT_OK : c->run(&args, &err);
    args_done(&args);
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
