/* See shell_vars.h. Edge file: reads the environment. */
#include "ctl/local/shell_vars.h"

#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/definition/init_file.h"
#include "pod/replica_spec.h"
#include "spec/profile.h"

static bool is_needed(const char *name)
{
    static const char *const names[] = {"PYTHONPATH", "XLA_FLAGS", "http_proxy", "https_proxy",
                                        "all_proxy",  "no_proxy",  "ftp_proxy"};
    static const char *const prefixes[] = {"OMP_", "HF_",    "WANDB_", "JAX_",
                                           "TF_",  "TORCH_", "MKL_",   "KMP_"};
    static const char *const of_terraform[] = {"TF_CLI_", "TF_VAR_"};
    return array_any(names, COUNT_OF(names), it, str_eq_nocase(name, *it)) ||
           (array_any(prefixes, COUNT_OF(prefixes), it, str_has_prefix(name, *it)) &&
            !array_any(of_terraform, COUNT_OF(of_terraform), it, str_has_prefix(name, *it)));
}

static bool is_secret(const char *name, const char *value)
{
    static const char *const parts[] = {"TOKEN", "KEY", "SECRET", "PASSWORD"};
    return array_any(parts, COUNT_OF(parts), it, strstr(name, *it) != NULL) ||
           strchr(value, '@') != NULL; /* http://user:password@proxy */
}

void shell_vars_note(const struct cli *cli, const struct spec *spec)
{
    _cleanup_(freep) char *text = json_dumps(spec->definition, JSON_COMPACT);
    _cleanup_(buf_done) struct buf lines = BUF_INIT;
    const bool has_others = vec_any(&spec->systems, it, !str_eq(it->profile, PROFILE_NATIVE));
    for (char **entry = environ; *entry != NULL && text != NULL && has_others; entry++) {
        const size_t len = strcspn(*entry, "=");
        _cleanup_(freep) char *name = xstrndup(*entry, len);
        _cleanup_(freep) char *set = xasprintf("\"name\":\"%s\"", name);
        if ((*entry)[len] == '\0' || !is_needed(name) || strstr(text, set) != NULL) {
            continue;
        }
        _cleanup_(freep) char *value = expand_escape(*entry + len + 1);
        buf_printf(&lines, "\n  - {name: %s, value: ", name);
        if (is_secret(name, value)) {
            buf_puts(&lines, "...}  # not shown here");
        } else {
            init_put_scalar(&lines, value);
            buf_putc(&lines, '}');
        }
    }
    if (lines.len > 0) {
        cli_note(cli,
                 "these variables of the shell do not reach the programs; those that they need are "
                 "to be in the system:\n  env:%s",
                 buf_cstr(&lines));
    }
}
