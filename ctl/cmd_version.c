/* benchctl version. */
#include "config.h"
#include "ctl/verbs.h"

static enum exit_code run(struct cli *cli)
{
    (void)cli;
    struct buf out = BUF_INIT;
    buf_puts(&out, "benchctl " BENCHD_VERSION "\n");
    enum exit_code code = cli_print(&out);
    buf_done(&out);
    return code;
}

const struct verb verb_version = {
    .name = "version",
    .args = "",
    .summary = "Print the version",
    .examples = "  benchctl version\n",
    .run = run,
};
