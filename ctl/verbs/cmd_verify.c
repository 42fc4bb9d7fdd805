/* benchctl verify FILE: is an archive whole, and do its tables follow from its records? */
#include <jansson.h>

#include "base/mem.h"
#include "ctl/import/archive_file.h"
#include "ctl/verbs/verbs.h"
#include "report/json_text.h"

static enum exit_code check_digest(const char *path, const char *digest, const char *typed)
{
    if (!archive_is_digest(typed)) {
        return cli_error(EXIT_USAGE, "write sha256: and at least 8 of its 64 digits",
                         "'%s' is not a digest", typed);
    }
    return archive_digest_matches(digest, typed)
               ? EXIT_OK
               : cli_error(EXIT_ARCHIVE, "this is another archive, or it was changed",
                           "%s: its digest is sha256:%s, not %s", path, digest, typed);
}

static void put_text(const struct archive *a, const char *path, struct buf *out)
{
    buf_printf(out, "sha256:%s  %s\n", a->digest, path);
    buf_printf(out,
               "run/%s: %zu members are as they were written by %s; the tables follow from the "
               "records\n",
               a->run, a->members.len, a->program);
}

/* What is in it. */
static void put_json(const struct archive *a, const char *path, struct buf *out)
{
    json_t *members = json_array();
    vec_each (const struct archive_member, m, &a->members) {
        (void)json_array_append_new(
            members, json_pack("{s:s, s:I}", "name", m->name, "bytes", (json_int_t)m->data.len));
    }
    _cleanup_(freep) char *digest = xasprintf("sha256:%s", a->digest);
    json_text_put(json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o}", "apiVersion",
                            "benchd.io/v1alpha1", "kind", "VerifiedArchive", "file",
                            json_text_string(path), "digest", digest, "run",
                            json_text_string(a->run), "program", json_text_string(a->program),
                            "members", members),
                  out);
}

static enum exit_code run(struct cli *cli)
{
    const char *path = cli->args.words[0];
    struct archive a = {0};
    struct loaded_run run = {0};
    enum exit_code code = archive_file_open(path, &a, &run);
    if (code == EXIT_OK && cli->args.n_words > 1) {
        code = check_digest(path, a.digest, cli->args.words[1]);
    }
    if (code == EXIT_OK) {
        struct buf out = BUF_INIT;
        if (cli_output_is(cli, "json")) {
            put_json(&a, path, &out);
        } else {
            put_text(&a, path, &out);
        }
        code = cli_show(cli, &out);
        buf_done(&out);
    }
    loaded_run_done(&run);
    archive_done(&a);
    return code;
}

const struct verb verb_verify = {
    .name = "verify",
    .args = "FILE [DIGEST]",
    .summary = "Check an archive: its digests, and that its tables follow",
    .examples = "  benchctl verify vgg16.benchd.tar.zst\n"
                "  benchctl verify vgg16.benchd.tar.zst sha256:3f9a0c1b\n"
                "  benchctl verify vgg16.benchd.tar.zst -o json\n",
    .details = "Every member must have the SHA-256 that the manifest gives, and no other member\n"
               "may exist. The definition, the environments and the tables are made again from\n"
               "the records and must be the same. DIGEST is what export printed, or at least 8\n"
               "digits of it: it also detects a change of the manifest. -o json lists the\n"
               "members with their sizes.\n"
               "\n"
               "Exit codes: 0 as it was written, 3 no such file, 9 it cannot be read, 16 damaged\n"
               "or changed; the error names the first member that differs.",
    .formats = "text|json",
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
