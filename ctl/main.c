/* benchctl. Start reading at the verb table in verbs.c; a verb is a cmd_*.c. */
#include "ctl/verbs.h"

int main(int argc, char **argv)
{
    return cli_main(verbs, n_verbs, argc, argv);
}
