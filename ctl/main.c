/* benchctl. Start reading at the verb table in verbs.c; a verb is a cmd_*.c. */
#include <malloc.h>

#include "base/str.h"
#include "ctl/verbs/complete.h"
#include "ctl/verbs/verbs.h"

/* kubectl asks the program of this name what may follow `kubectl bench`. */
#define KUBECTL_PLUGIN "kubectl_complete-bench"
#define LARGE_BYTES (1 << 20)

int main(int argc, char **argv)
{
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* or freed arrays of a large run leave holes */
    if (argc > 0 && str_has_suffix(argv[0], KUBECTL_PLUGIN)) {
        return complete_main(argc - 1, argv + 1);
    }
    if (argc > 1 && str_eq(argv[1], "__complete")) {
        return complete_main(argc - 2, argv + 2);
    }
    return cli_main(verbs, n_verbs, argc, argv);
}
