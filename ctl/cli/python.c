/* See python.h. Edge file: reads the environment. */
#include "ctl/cli/python.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/cli/this_machine.h"

char *python_peer_path(const char *name, const char *pins, size_t len)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    _cleanup_(freep) char *base = cache != NULL && cache[0] != '\0'
                                      ? xstrdup(cache)
                                      : xasprintf("%s/.cache", home == NULL ? "" : home);
    return xasprintf("%s/benchd/peers/%s-%016" PRIx64 "/bin/python", base, name,
                     str_hash(pins, len));
}

/* Prints what is missing, or nothing. It imports no package, which would take seconds: a package
 * that cannot be imported fails the first trial. */
static const char code[] =
    "import sys, importlib.metadata as m\n"
    "out = []\n"
    "for pin in sys.argv[1:]:\n"
    "    name, want = pin.split('==')\n"
    "    try:\n"
    "        have = m.version(name)\n"
    "    except m.PackageNotFoundError:\n"
    "        out.append('package ' + pin + ' is missing')\n"
    "        continue\n"
    "    if have != want:\n"
    "        out.append('package ' + pin + ' is missing (found ' + have + ')')\n"
    "print(', '.join(out), end='')\n";

int python_missing(const struct profile *profile, struct buf *ret)
{
    VEC(char *) argv = {0};
    char *const fixed[] = {profile->interpreter, (char *)"-I", (char *)"-c", (char *)code};
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        *vec_push(&argv) = fixed[i];
    }
    vec_each (char *const, package, &profile->packages) {
        *vec_push(&argv) = *package;
    }
    *vec_push(&argv) = NULL;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    int r = host_run(argv.items, &out);
    vec_done(&argv);
    if (r != 0) {
        buf_puts(ret, "no Python with");
        for (size_t i = 0; i < profile->packages.len; i++) {
            buf_printf(ret, "%s package %s", i == 0 ? "" : ",", profile->packages.items[i]);
        }
        buf_printf(ret, " in %s%s%s", profile->interpreter, r < 0 ? ": " : "",
                   r < 0 ? strerror(-r) : "");
    } else if (out.len > 0) {
        buf_printf(ret, "%s in %s", buf_cstr(&out), profile->interpreter);
    }
    return r != 0 || out.len > 0 ? -ENOENT : 0;
}
