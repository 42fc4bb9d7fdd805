/* See local.h. Edge file: the date. */
#include "ctl/local/local.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/local/local_store.h"

static enum exit_code say(const struct cli *cli, const struct finished_run *run, bool is_dry_run)
{
    if (cli->is_quiet && !is_dry_run) {
        return EXIT_OK;
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    char date[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(run->ended_unix_ms, date);
    buf_printf(&out, is_dry_run ? "run/%s would be deleted (ended %s)\n" : "run/%s deleted\n",
               run->name, date);
    return cli_print(&out);
}

/* -EBUSY: a process works with it. */
static int erase(struct store *s, const char *uid, bool is_dry_run, struct err *err)
{
    if (is_dry_run) {
        return s->ops->probe_run(s, uid, err);
    }
    int r = s->ops->claim_run(s, uid, err);
    r = r < 0 ? r : s->ops->delete_run(s, uid, err);
    s->ops->release_run(s, uid); /* not held: nothing happens */
    return r == -ENOENT ? 0 : r; /* somebody was faster */
}

static enum exit_code erase_all(const struct cli *cli, struct store *s,
                                const struct retention_policy *policy,
                                const struct finished_runs *runs, bool is_dry_run)
{
    _cleanup_(freep) struct retention_run *left =
        xnew_array(struct retention_run, runs->oldest.len + 1);
    for (size_t i = 0; i < runs->oldest.len; i++) {
        left[i].ended_unix_ms = runs->oldest.items[i].ended_unix_ms;
    }
    struct retention_facts facts = {.oldest = left,
                                    .n_oldest = runs->oldest.len,
                                    .n_finished = runs->n_all,
                                    .now_unix_ms = clock_unix_ms()};
    for (;;) {
        const struct retention_verdict v = retention_decide(policy, &facts);
        if (v.reason == RETENTION_ALL) {
            return EXIT_OK;
        }
        const struct finished_run *run = &runs->oldest.items[v.run];
        left[v.run].is_in_use = true; /* or gone: not asked for again */
        struct err err = {0};
        int r = erase(s, run->uid, is_dry_run, &err);
        if (r == -EBUSY) {
            cli_note(cli, "run/%s stays: %s", run->name, err.msg);
            continue;
        }
        facts.n_finished--;
        enum exit_code code = r < 0 ? cli_error(local_store_exit_code(r), NULL, "%s", err.msg)
                                    : say(cli, run, is_dry_run);
        if (code != EXIT_OK) {
            return code;
        }
    }
}

enum exit_code local_delete_old(const struct cli *cli, const struct retention_policy *policy,
                                bool is_dry_run)
{
    _cleanup_(store_closep) struct store *s = NULL;
    enum exit_code code = local_store_open(cli, false, &s);
    if (code != EXIT_OK) {
        return code;
    }
    _cleanup_(finished_runs_done) struct finished_runs runs = {0};
    struct err err = {0};
    int r = s->ops->list_finished(s, RETENTION_FIRST_DATE_MS, SIZE_MAX, &runs, &err);
    return r < 0 ? cli_error(local_store_exit_code(r), NULL, "%s", err.msg)
                 : erase_all(cli, s, policy, &runs, is_dry_run);
}
