/* See role_options.h. */
#include "worker/role_options.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"

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

int role_find_model(const char *name, const struct model_def **ret, struct err *err)
{
    *ret = model_def_find(name);
    return *ret != NULL ? 0
                        : err_set(err, EINVAL, "unknown model '%s'; known models: %s", name,
                                  model_def_names());
}
