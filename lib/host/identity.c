/* See identity.h. */
#include "host/identity.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "host/host.h"
#include "host/run_program.h"

#define SHOWN_DIGITS 16
#define DIRTY_DIGITS 8
#define DIFF_MAX_BYTES ((size_t)16 << 20)
#define BETWEEN " \t\n'\"=" /* words of an argument: "exec python3 a.py", "--config=b.yaml" */

/* ---- files ---- */

/* The files that a command names. */
struct named {
    json_t *files;      /* digests, or why one is unknown, by name; owned */
    struct buf digests; /* in the order of the command */
    char *unknown;      /* the first without a digest, "unknown (a.bin: File too large)"; owned */
    char *script;       /* the first in an argument; owned */
    size_t left_bytes;
};

/* True: it is a file. */
static bool add_file(struct named *n, const char *name, const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode)) {
        return false;
    }
    _cleanup_(buf_done) struct buf content = BUF_INIT;
    int r = file_read(path, n->left_bytes, &content, NULL);
    r = r == -E2BIG ? -EFBIG : r;
    char digest[65] = "";
    if (r < 0 && n->unknown == NULL) {
        n->unknown = xasprintf("unknown (%s: %s)", name, strerror(-r));
    } else if (r >= 0) {
        n->left_bytes -= content.len;
        host_digest_text(buf_cstr(&content), content.len, digest);
        buf_puts(&n->digests, digest);
        digest[SHOWN_DIGITS] = '\0';
    }
    (void)json_object_set_new(n->files, name, json_string(r < 0 ? strerror(-r) : digest));
    return true;
}

static void add_argument(struct named *n, const char *argument)
{
    _cleanup_(freep) char *copy = xstrdup(argument);
    char *rest = copy;
    for (const char *word; (word = strsep(&rest, BETWEEN)) != NULL;) {
        if (*word != '\0' && add_file(n, word, word) && n->script == NULL) {
            n->script = xstrdup(word);
        }
    }
}

/* ---- git ---- */

static int run_git(const char *folder, const char *const *words, size_t max_bytes, struct buf *ret)
{
    char *argv[16] = {(char *)"git", (char *)"--no-optional-locks", (char *)"-C", (char *)folder};
    for (size_t i = 0; words[i] != NULL; i++) {
        argv[4 + i] = (char *)words[i];
    }
    const struct run_limits limits = {max_bytes, IDENTITY_GIT_MS, true};
    const int r = run_program(argv, &limits, ret);
    if (ret->len > 0 && ret->data[ret->len - 1] == '\n') {
        ret->data[--ret->len] = '\0';
    }
    return r;
}

static void set_text(json_t *facts, const char *key, const char *text)
{
    (void)json_object_set_new(facts, key, json_string(text)); /* not of a text that is no UTF-8 */
}

/* What the folder holds in the last commit, and a digest of what differs from that in its tracked
 * files. Outside of a work tree nothing is known, and nothing said. */
static void add_git(const char *folder, json_t *facts)
{
    static const char *const tree[] = {"rev-parse", "--short=12", "HEAD:./", NULL};
    static const char *const describe[] = {"describe", "--always", "--dirty", NULL};
    static const char *const diff[] = {"diff",
                                       "--no-ext-diff",
                                       "--no-textconv",
                                       "--no-color",
                                       "--binary",
                                       "--full-index",
                                       "HEAD",
                                       "--",
                                       ".",
                                       NULL};
    _cleanup_(buf_done) struct buf id = BUF_INIT, commit = BUF_INIT, changes = BUF_INIT;
    if (run_git(folder, tree, 64, &id) != 0) {
        return;
    }
    if (run_git(folder, describe, 256, &commit) == 0) {
        set_text(facts, "program_commit", buf_cstr(&commit));
    }
    const int r = run_git(folder, diff, DIFF_MAX_BYTES, &changes);
    if (r != 0) {
        buf_clear(&id);
        buf_printf(&id, "unknown (git diff: %s)", r < 0 ? strerror(-r) : "it failed");
    } else if (changes.len > 0) {
        char digest[65];
        host_digest_text(buf_cstr(&changes), changes.len, digest);
        buf_printf(&id, "-dirty-%.*s", DIRTY_DIGITS, digest);
    }
    set_text(facts, "program_folder", buf_cstr(&id));
}

json_t *identity_of(const char *path, char *const *argv)
{
    struct named n = {.files = json_object(), .left_bytes = IDENTITY_MAX_BYTES};
    json_t *facts = json_object();
    char digest[65];
    (void)add_file(&n, argv[0], path); /* else it does not start */
    for (char *const *argument = argv + 1; *argument != NULL; argument++) {
        add_argument(&n, *argument);
    }
    _cleanup_(freep) char *folder = xstrdup(n.script != NULL ? n.script : path);
    char *slash = strrchr(folder, '/');
    text_put(slash == NULL ? folder : slash + 1, 2, ".");
    add_git(folder, facts);
    host_digest_text(buf_cstr(&n.digests), n.digests.len, digest);
    digest[SHOWN_DIGITS] = '\0';
    set_text(facts, "program", n.unknown != NULL ? n.unknown : digest);
    (void)json_object_set_new(facts, "program_files", n.files);
    buf_done(&n.digests);
    free(n.unknown);
    free(n.script);
    return facts;
}
