/* benchctl. Start reading at the verb table in verbs.c; a verb is a cmd_*.c. */
#include "base/mem.h"
#include "base/str.h"
#include "ctl/verbs/complete.h"
#include "ctl/cli/man.h"
#include "ctl/verbs/verbs.h"

/* kubectl asks the program of this name what may follow `kubectl bench`. */
#define KUBECTL_PLUGIN "kubectl_complete-bench"

/* `benchctl __man [VERB]`, for the build: the manual page. */
static enum exit_code print_page(const char *name)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    const struct verb *verb = name == NULL ? NULL : cli_find_verb(verbs, n_verbs, name);
    if (name == NULL) {
        man_program(verbs, n_verbs, &out);
    } else if (verb != NULL) {
        man_verb(verb, &out);
    }
    return out.len > 0 ? cli_print(&out)
                       : cli_error(EXIT_USAGE, "list the verbs with: benchctl help",
                                   "there is no page for '%s'", name);
}

int main(int argc, char **argv)
{
    if (argc > 0 && str_has_suffix(argv[0], KUBECTL_PLUGIN)) {
        return complete_main(verbs, n_verbs, argc - 1, argv + 1);
    }
    if (argc > 1 && str_eq(argv[1], "__complete")) {
        return complete_main(verbs, n_verbs, argc - 2, argv + 2);
    }
    if (argc > 1 && str_eq(argv[1], "__man")) {
        return print_page(argc > 2 ? argv[2] : NULL);
    }
    return cli_main(verbs, n_verbs, argc, argv);
}
