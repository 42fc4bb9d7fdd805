/* benchctl plan NAME: prints every point and what it needs. */
#include <unistd.h>

#include "ctl/definition/definition.h"
#include "ctl/definition/preview.h"
#include "ctl/definition/profiles.h"
#include "ctl/doctor/doctor.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "pod/body.h"
#include "core/json_field.h"

static enum exit_code print(const struct cli *cli, const struct run_def *def,
                            const struct checks *checks)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT, warning = BUF_INIT;
    struct err err = {0};
    bool is_local = cli->is_local || cli->store != NULL;
    int r;
    if (cli_output_is(cli, "json")) {
        json_t *document;
        if ((r = preview_json(def, is_local, &document, &err)) >= 0) {
            json_auto_t *report = checks_to_json(checks);
            (void)json_object_set(document, "cluster", json_object_get(report, "checks"));
            json_text_put(document, &out);
        }
    } else {
        const struct preview_opts opts = {
            .is_local = is_local,
            .no_headers = cli->no_headers,
            .columns = show_list_columns(),
        };
        r = preview_text(def, &opts, &out, &err);
        buf_puts(&out, checks->list.len > 0 ? "\n" : "");
        checks_format(checks, terminal_columns(STDOUT_FILENO), &out);
    }
    enum exit_code code = r < 0 ? cli_error(EXIT_USAGE, NULL, "%s", err.msg) : cli_print(&out);
    preview_rehearsal(def, &warning);
    if (code == EXIT_OK && warning.len > 0) {
        cli_note_prose(cli, "%.*s", (int)warning.len - 1, buf_cstr(&warning));
    }
    return code;
}

static enum exit_code run(struct cli *cli)
{
    const bool is_local = cli->is_local || cli->store != NULL;
    _cleanup_(run_def_freep) struct run_def *def = NULL;
    _cleanup_(profiles_done) struct profiles profiles = {0};
    _cleanup_(checks_done) struct checks checks = {0};
    const char *queue = args_get(&cli->args, "queue", NULL);
    struct err err;
    enum exit_code code = profiles_open(&profiles);
    code = code == EXIT_OK ? definition_load_named(cli, &profiles, is_local, &def) : code;
    if (code == EXIT_OK && (queue != NULL || args_has(&cli->args, "cluster"))) {
        code = is_local || (queue != NULL && queue[0] == '\0')
                   ? cli_error(EXIT_USAGE, "write --cluster or --queue NAME, without --local",
                               "--cluster and --queue ask a cluster, about a queue by its name")
                   : doctor_points(cli, def, queue, &checks);
    }
    code = code == EXIT_OK ? print(cli, def, &checks) : code;
    if (code == EXIT_OK) {
        definition_note_missing(cli, def);
    }
    if (code == EXIT_OK && !is_local && pod_check_systems(def->spec, &err) < 0) {
        cli_note_prose(cli, "note: this cannot run in a cluster: %s", err.msg);
    }
    return code == EXIT_OK ? checks_exit_code(&checks) : code;
}

static const struct arg_opt opts[] = {
    {"cluster", 0, NULL, "Also compare each point with the nodes of the cluster"},
    {"queue", 0, "QUEUE", "The same, and with the quota of this LocalQueue of Kueue"},
    DEFINITION_OPTS,
};

const struct verb verb_plan = {
    .name = "plan",
    .args = "NAME [option...]",
    .summary = "Show the points and resources of a run without starting it",
    .examples = "  benchctl plan vgg16-pserver-sweep\n"
                "  benchctl plan vgg16-pserver-sweep --local --set trainers=1,2,4\n"
                "  benchctl plan -f my-sweep.yaml -o json\n"
                "  benchctl plan -f my-sweep.yaml --queue team-a\n",
    VERB_OPTS(opts),
    .formats = "json",
    .max_words = 1,
    .run = run,
};
