/* See fake_daemon.h. */
#include "fake_daemon.h"

#include "base/str.h"

void fake_daemon_done(struct fake_daemon *d)
{
    vec_done(&d->runs);
}

static struct daemon_run *shown(const struct fake_run *fake)
{
    const struct run_def *def = fake->def;
    struct daemon_run *run = daemon_run_new(fake->name, fake->uid, fake->benchmark);
    run->created_unix_ms = fake->created_unix_ms;
    if (def != NULL) {
        run->frozen = (struct daemon_frozen){true,
                                             def->rehearsal,
                                             def->cpus,
                                             def->created_unix_ms,
                                             def->matrix.n_swept,
                                             def->spec->steps,
                                             def->spec->baseline.kind};
    }
    run->status = *fake->status;
    run->is_active = fake->is_active;
    run->is_stored = fake->is_stored;
    run->progress = fake->progress;
    run->wait = fake->wait;
    run->advanced_unix_ms = fake->advanced_unix_ms;
    return run;
}

static bool answer(const char *problem, struct err *why)
{
    if (problem != NULL) {
        (void)err_set(why, EAGAIN, "%s", problem);
    }
    return problem == NULL;
}

void fake_daemon_publish(const struct fake_daemon *d, struct daemon_view *view)
{
    struct daemon_facts facts = d->facts;
    facts.look_ns = d->look_ns;
    facts.is_ready = answer(d->not_ready, &facts.not_ready);
    facts.is_healthy = answer(d->not_healthy, &facts.not_healthy);
    struct daemon_runs *runs = daemon_runs_new();
    vec_each (struct fake_run, run, &d->runs) {
        *vec_push(&runs->list) = shown(run);
    }
    daemon_view_publish(view, &facts, runs);
}
