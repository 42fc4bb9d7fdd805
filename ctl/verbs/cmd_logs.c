/* benchctl logs RUN: prints the logs of one replica. */
#include <inttypes.h>

#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"

/* Which log the command line selects; NOT_GIVEN for what it leaves out. */
#define NOT_GIVEN (-1)
struct log_wanted {
    struct attempt_wanted attempt;
    int64_t index;
    int role;
};

static enum exit_code take_wanted(const struct cli *cli, struct log_wanted *ret)
{
    const struct {
        const char *option;
        int64_t *ret;
    } numbers[] = {{"point", &ret->attempt.point},
                   {"trial", &ret->attempt.trial},
                   {"attempt", &ret->attempt.number},
                   {"index", &ret->index}};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        *numbers[i].ret = NOT_GIVEN;
        enum exit_code code =
            cli_take_number(cli, numbers[i].option, 0, UINT32_MAX, numbers[i].ret);
        if (code != EXIT_OK) {
            return code;
        }
    }
    const char *role = args_get(&cli->args, "role", NULL);
    ret->role = role == NULL ? NOT_GIVEN : role_from_string(role);
    if (role != NULL && ret->role < 0) {
        return cli_error(EXIT_USAGE, "use --role pserver, trainer, worker or launcher",
                         "--role '%s' is unknown", role);
    }
    return EXIT_OK;
}

/* The logs that exist of a point, or of all where it is NOT_GIVEN. */
static int list_there(const struct loaded_run *run, int64_t point, struct buf *out, struct err *err)
{
    struct run_walk walk = loaded_run_walk(run);
    const struct attempt_row *row;
    int r;
    while ((r = run_walk_next(&walk, &row, err)) > 0) {
        if (point != NOT_GIVEN && point != row->id.point) {
            continue;
        }
        buf_printf(out, "  --point %u --trial %u --attempt %u  %-9s", row->id.point, row->id.trial,
                   row->id.number, attempt_outcome_to_string(row->outcome));
        vec_each (const struct replica_row, rep, &row->replicas) {
            buf_printf(out, " %s/%u", role_to_string(rep->id.role), rep->id.index);
        }
        buf_putc(out, '\n');
    }
    return r;
}

/* And which are, where the one that was asked for is not. */
static enum exit_code not_there(const struct loaded_run *run, const struct log_wanted *w,
                                enum exit_code code, const char *what)
{
    _cleanup_(buf_done) struct buf there = BUF_INIT;
    struct err err = {0};
    int r = list_there(run, w->attempt.point, &there, &err);
    r = r < 0 || there.len > 0 ? r : list_there(run, NOT_GIVEN, &there, &err);
    if (r < 0) {
        return show_unread(run, &err);
    }
    (void)cli_error(code, NULL, "run '%s': %s%s%.*s", run->row.name, what,
                    there.len == 0 ? "; no attempt has ended yet" : "; available logs:\n",
                    (int)(there.len == 0 ? 0 : there.len - 1), buf_cstr(&there));
    return code;
}

static enum exit_code print_log(struct backend *b, const struct loaded_run *run,
                                const struct replica_row *rep)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    enum exit_code code = b->ops->get_log(b, run, &rep->id, &out);
    if (code == EXIT_OK) {
        cli_note(b->cli, "%s/%u of point %u, trial %u, attempt %u: %zu bytes",
                 role_to_string(rep->id.role), rep->id.index, rep->id.attempt.point,
                 rep->id.attempt.trial, rep->id.attempt.number, out.len);
        code = cli_print(&out);
    }
    return code;
}

static enum exit_code logs(struct backend *b, const struct loaded_run *run, struct log_wanted *w)
{
    if (w->attempt.point == NOT_GIVEN && run->def != NULL && run->def->matrix.n_points == 1) {
        w->attempt.point = 0;
    }
    if (w->attempt.point == NOT_GIVEN) {
        return not_there(run, w, EXIT_USAGE, "several points have logs, choose one with --point");
    }
    if (run->def != NULL && w->attempt.point >= run->def->matrix.n_points) {
        _cleanup_(freep) char *fix = xasprintf("write --point 0 to %" PRIu32 "; benchctl describe "
                                               "%s lists them",
                                               run->def->matrix.n_points - 1, run->row.name);
        return cli_error(EXIT_NOT_FOUND, fix, "run '%s' has no point %lld", run->row.name,
                         (long long)w->attempt.point);
    }
    struct run_walk walk = loaded_run_walk(run);
    struct err err = {0};
    const int r = run_walk_to(&walk, (uint32_t)w->attempt.point, &err);
    const struct attempt_row *row = attempt_rows_find(walk.list, walk.n, &w->attempt);
    const struct replica_row *rep =
        row == NULL ? NULL : attempt_row_find_replica(row, w->role, w->index);
    const enum exit_code code =
        r < 0         ? show_unread(run, &err)
        : row == NULL ? not_there(run, w, EXIT_NOT_FOUND, "no attempt that has ended matches")
        : rep == NULL ? not_there(run, w, EXIT_NOT_FOUND, "the attempt has no such replica")
                      : print_log(b, run, rep);
    run_walk_done(&walk);
    return code;
}

static enum exit_code run(struct cli *cli)
{
    struct log_wanted w;
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = take_wanted(cli, &w);
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    code = code == EXIT_OK ? b->ops->load_run(b, cli->args.words[0], &run) : code;
    return code == EXIT_OK ? logs(b, &run, &w) : code;
}

static const struct arg_opt opts[] = {
    {"point", 0, "P", "Point, as listed by benchctl describe RUN"},
    {"trial", 0, "T", "Trial; default: the first of the point"},
    {"attempt", 0, "A", "Attempt; default: the last of the trial"},
    {"role", 0, "ROLE",
     "Role: pserver, trainer, worker or launcher (default: the launcher, else those that train)"},
    {"index", 0, "I", "Index of the replica in its role; default: 0"},
};

const struct verb verb_logs = {
    .name = "logs",
    .args = "RUN [--point P] [option...]",
    .summary = "Print the logs of one replica",
    .examples = "  benchctl logs 7k3fq --point 3\n"
                "  benchctl logs 7k3fq --local --point 3 --trial 1 --role pserver --index 1\n",
    .details = "It prints logs of attempts that have ended. For the log of a running pod, use\n"
               "kubectl logs -f POD; the pods of a run have the label benchd.io/run=RUN.",
    VERB_OPTS(opts),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
