/* benchctl version. */
#include "base/build_info.h"
#include "config.h"
#include "ctl/verbs.h"

static enum exit_code run(struct cli *cli)
{
    (void)cli;
    struct buf out = BUF_INIT;
    buf_printf(&out, "benchctl %s\n%s", BENCHD_VERSION, build_text());
    enum exit_code code = cli_print(&out);
    buf_done(&out);
    return code;
}

const struct verb verb_version = {
    .name = "version",
    .args = "",
    .summary = "Print the version and how this program was built",
    .examples = "  benchctl version\n",
    .run = run,
};
