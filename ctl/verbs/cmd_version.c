/* benchctl version. */
#include "base/build_info.h"
#include "base/mem.h"
#include "config.h"
#include "ctl/verbs/verbs.h"
#include "core/json_field.h"

static enum exit_code run(struct cli *cli)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    if (cli_output_is(cli, "json")) {
        json_text_put(json_pack("{s:s, s:s, s:s, s:s}", "version", BENCHD_VERSION, "source",
                                build_source(), "compiler", build_compiler(), "options",
                                build_options()),
                      &out);
    } else {
        buf_printf(&out, "benchctl %s\n%s", BENCHD_VERSION, build_text());
    }
    return cli_print(&out);
}

const struct verb verb_version = {
    .name = "version",
    .args = "",
    .summary = "Print the version and how this program was built",
    .examples = "  benchctl version\n"
                "  benchctl version -o json\n",
    .formats = "text|json",
    .run = run,
};
