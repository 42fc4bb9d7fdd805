/* See import.h. */
#include "ctl/import/import.h"

#include <errno.h>

#include <jansson.h>

#include "base/mem.h"
#include "core/json_field.h"
#include "ctl/import/archive_file.h"
#include "ctl/import/archive_run.h"
#include "ctl/import/import_store.h"
#include "ctl/local/local_store.h"
#include "ctl/runs/show.h"
#include "report/json_text.h"

static int put_attempt(struct store *s, const struct archive *a, const struct loaded_run *run,
                       const struct attempt_row *row, size_t *at, struct err *err)
{
    const struct trial_terms terms = run_def_terms(run->def, row->id.point);
    VEC(struct replica_log) logs = {0};
    vec_each (const struct replica_row, replica, &row->replicas) {
        const struct buf *text = archive_run_next_log(a, &replica->id, at);
        if (text != NULL) {
            *vec_push(&logs) = (struct replica_log){replica->id, text->data, text->len};
        }
    }
    const int r =
        s->ops->save_attempt(s, run->row.uid, row, &terms, logs.items, logs.len, NULL, err);
    vec_done(&logs);
    return r;
}

static int put_rest(struct store *s, const struct archive *a, const struct loaded_run *run,
                    struct err *err)
{
    const char *uid = run->row.uid;
    size_t at = 0;
    int r = 0;
    for (size_t i = 0; i < run->n_rows && r >= 0; i++) {
        r = put_attempt(s, a, run, &run->rows[i], &at, err);
    }
    for (size_t i = 0; i < run->n_events && r >= 0; i++) {
        r = s->ops->add_event(s, uid, &run->events[i], err);
    }
    return r < 0 ? r : s->ops->put_status(s, uid, &run->row.status, err);
}

/* The run is ours alone until it is whole: until then no other process resumes it. */
static int put(struct store *s, const struct archive *a, const struct loaded_run *run,
               struct err *err)
{
    struct run_row row = run->row; /* borrows */
    row.status = import_store_unfinished(run->row.status.trials_total);
    int r = s->ops->put_run(s, &row, err);
    if (r < 0) {
        return r;
    }
    r = s->ops->claim_run(s, row.uid, err);
    r = r < 0 ? r : put_rest(s, a, run, err);
    if (r < 0) {
        (void)s->ops->delete_run(s, row.uid, NULL); /* what was wrong is in err */
    }
    s->ops->release_run(s, row.uid);
    return r;
}

static enum exit_code store_run(const struct cli *cli, const struct archive *a,
                                const struct loaded_run *run)
{
    _cleanup_(store_closep) struct store *s = NULL;
    struct err err = {0};
    enum exit_code code = local_store_open(cli, true, &s);
    if (code != EXIT_OK) {
        return code;
    }
    const int r = put(s, a, run, &err);
    if (r == -EEXIST) {
        return cli_error(EXIT_USAGE,
                         "delete that run first, or choose another file with --store sqlite:FILE",
                         "%s", err.msg);
    }
    return r < 0 ? cli_error(local_store_exit_code(r), NULL, "%s", err.msg) : EXIT_OK;
}

/* ---- --dry-run ---- */

static enum exit_code check_dry_run(const struct cli *cli)
{
    if (cli->args.n_words > 2 || args_has(&cli->args, "rules")) {
        return cli_error(EXIT_USAGE, "benchctl import ARCHIVE [DIGEST] --dry-run",
                         "--dry-run checks one archive, and no logs");
    }
    if (cli_output_is(cli, "csv") || cli_output_is(cli, "markdown")) {
        return cli_error(EXIT_USAGE, "use -o text or -o json", "--dry-run has no -o %s",
                         cli->output);
    }
    return EXIT_OK;
}

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

static void put_json(const struct archive *a, const char *path, struct buf *out)
{
    json_t *members =
        JSON_ARRAY_OF(vec_each (const struct archive_member, m, &a->members),
                      json_pack("{s:s, s:I}", "name", m->name, "bytes", (json_int_t)m->data.len));
    _cleanup_(freep) char *digest = xasprintf("sha256:%s", a->digest);
    json_text_put(json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o}", "apiVersion",
                            "benchd.io/v1alpha1", "kind", "VerifiedArchive", "file",
                            json_text_or_null(path), "digest", digest, "run",
                            json_text_or_null(a->run), "program", json_text_or_null(a->program),
                            "members", members),
                  out);
}

static enum exit_code show_archive(const struct cli *cli, const struct archive *a, const char *path)
{
    struct buf out = BUF_INIT;
    if (cli_output_is(cli, "json")) {
        put_json(a, path, &out);
    } else {
        buf_printf(&out,
                   "sha256:%s  %s\nrun/%s: %zu members are as they were written by %s; the tables "
                   "follow from the records\n",
                   a->digest, path, a->run, a->members.len, a->program);
    }
    return show_text(cli, &out);
}

/* ---- the verb ---- */

bool archive_import_is_meant(const struct cli *cli)
{
    return args_has(&cli->args, "dry-run") ||
           (cli->args.n_words <= 2 && !args_has(&cli->args, "rules") &&
            archive_file_looks_like_one(cli->args.words[0]));
}

enum exit_code archive_import(const struct cli *cli)
{
    const char *path = cli->args.words[0];
    const bool is_dry_run = args_has(&cli->args, "dry-run");
    _cleanup_(archive_done) struct archive a = {0};
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = is_dry_run ? check_dry_run(cli) : EXIT_OK;
    code = code == EXIT_OK ? archive_file_open(path, &a, &run) : code;
    if (code == EXIT_OK && cli->args.n_words > 1) {
        code = check_digest(path, a.digest, cli->args.words[1]);
    }
    if (code == EXIT_OK) {
        code = is_dry_run ? show_archive(cli, &a, path) : store_run(cli, &a, &run);
    }
    if (code == EXIT_OK && !is_dry_run) {
        _cleanup_(freep) char *url = local_store_url(cli);
        cli_note(cli, "run/%s imported into %s", run.row.name, url);
        code = show_sheet(cli, sheet_points, run.result);
    }
    return code;
}
