/* benchctl init -- COMMAND..., init -f MANIFEST: prints a definition that measures a command, or a
 * job object. */

#include "base/mem.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "ctl/definition/definition.h"
#include "ctl/definition/init_file.h"
#include "ctl/definition/init_job.h"
#include "ctl/definition/profiles.h"
#include "ctl/verbs/verbs.h"
#include "spec/name.h"
#include "spec/spec_load.h"

#define PROFILE_FALLBACK "none"

static enum exit_code unknown_profile(const struct profiles *profiles, const char *name)
{
    _cleanup_(freep) const char **names = xnew_array(const char *, profiles->list.len + 1);
    _cleanup_(buf_done) struct buf fix = BUF_INIT;
    for (size_t i = 0; i < profiles->list.len; i++) {
        names[i] = profiles->list.items[i]->name;
        buf_printf(&fix, "%s%s", i == 0 ? "use one of " : ", ", names[i]);
    }
    const char *meant = str_suggest(name, names, profiles->list.len);
    if (meant != NULL) {
        buf_clear(&fix);
        buf_printf(&fix, "did you mean '%s'?", meant);
    }
    return cli_error(EXIT_USAGE, buf_cstr(&fix), "there is no profile '%s'", name);
}

static enum exit_code check_profile(const struct profiles *profiles, const char *name)
{
    if (str_eq(name, PROFILE_NATIVE)) {
        return cli_error(EXIT_USAGE, "copy a shipped definition, for instance vgg16-pserver-sweep",
                         "the profile '%s' brings its own program", name);
    }
    return profiles_find(profiles, name) == NULL ? unknown_profile(profiles, name) : EXIT_OK;
}

/* The profile that the user has named, or one that the command or its script shows. */
static const char *choose_profile(const struct cli *cli, const char **ret_why)
{
    const char *const *words = cli->args.words;
    const char *named = args_get(&cli->args, "profile", NULL);
    *ret_why = NULL;
    if (named != NULL) {
        return named;
    }
    const char *path = init_script(words, cli->args.n_words);
    _cleanup_(definition_file_done) struct definition_file script = {0};
    struct err err;
    const bool is_read = path != NULL && definition_read(path, &script, &err) >= 0;
    const char *guess =
        init_guess_profile(words, cli->args.n_words, is_read ? script.text : NULL, ret_why);
    if (guess == NULL) {
        *ret_why = path == NULL ? "nothing in the command shows another"
                   : is_read    ? "nothing in the command or its script shows another"
                                : "nothing in the command shows another; no script found";
    }
    return guess == NULL ? PROFILE_FALLBACK : guess;
}

/* What is printed can be used: a profile that cannot measure a free model is refused here. */
static enum exit_code check_text(const struct profiles *profiles, const struct buf *text)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    const struct spec_overrides overrides = {.profiles = profiles, .is_as_written = true};
    const int r = spec_load(text->data, text->len, &overrides, &spec, &diags);
    spec_free(spec);
    return r < 0 ? cli_print_diags(&diags, "(the definition of this command)", buf_cstr(text))
                 : EXIT_OK;
}

static enum exit_code of_manifest(const struct cli *cli, const struct profiles *profiles,
                                  const char *path)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(diags_done) struct diags diags = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    struct node *manifest = NULL;
    struct err err;
    if (cli->args.n_words > 0 || args_has(&cli->args, "profile") || args_has(&cli->args, "image")) {
        return cli_error(EXIT_USAGE, "leave out the command, --profile and --image",
                         "the manifest of -f says what runs");
    }
    if (definition_read(path, &file, &err) < 0) {
        return cli_error(EXIT_USAGE, NULL, "%s", err.msg);
    }
    if (tree_parse(file.text, file.len, &TREE_LIMITS_DEFAULT, &manifest, &diags) < 0) {
        return cli_print_diags(&diags, file.path, file.text);
    }
    const struct init_job_params params = {.path = file_last_part(path),
                                           .name = args_get(&cli->args, "name", NULL),
                                           .manifest = manifest,
                                           .profiles = profiles};
    const int r = init_job_format(&params, &out, &err);
    tree_free(manifest);
    enum exit_code code =
        r < 0 ? cli_error(EXIT_USAGE, "write systems[].job yourself: docs/job-objects.md", "%s",
                          err.msg)
              : check_text(profiles, &out);
    return code == EXIT_OK ? cli_print(&out) : code;
}

static enum exit_code run(struct cli *cli)
{
    _cleanup_(profiles_done) struct profiles profiles = {0};
    enum exit_code code = profiles_open(&profiles);
    const char *manifest = args_get(&cli->args, "file", NULL);
    if (code == EXIT_OK && manifest == NULL && cli->args.n_words == 0) {
        code = cli_error(EXIT_USAGE, "benchctl init -- COMMAND..., or init -f FILE",
                         "'init' needs a command or -f");
    }
    if (code != EXIT_OK || manifest != NULL) {
        return code != EXIT_OK ? code : of_manifest(cli, &profiles, manifest);
    }
    struct init_params params = {.name = args_get(&cli->args, "name", NULL),
                                 .image = args_get(&cli->args, "image", NULL),
                                 .words = cli->args.words,
                                 .n_words = cli->args.n_words};
    params.profile = choose_profile(cli, &params.why);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    code = check_profile(&profiles, params.profile);
    if (code == EXIT_OK && params.name != NULL && !object_name_is_valid(params.name)) {
        code = cli_error(
            EXIT_USAGE, "use 1 to 32 of a-z, 0-9 and '-'; start with a letter, do not end with '-'",
            "--name '%s' is not a valid name", params.name);
    }
    if (code == EXIT_OK) {
        init_format(&params, &out);
        code = check_text(&profiles, &out);
    }
    return code == EXIT_OK ? cli_print(&out) : code;
}

static const struct arg_opt opts[] = {
    {"file", 'f', "FILE", "Measure the job object of this manifest, such as a TrainJob"},
    {"profile", 0, "PROFILE", "How processes find each other, such as torchrun or jax"},
    {"image", 0, "IMAGE", "Container image of the command, for runs in a cluster"},
    {"name", 0, "TEXT", "Name of the benchmark; default: that of the script"},
};

const struct verb verb_init = {
    .name = "init",
    .group = "Start",
    .args = "[option...] (-f FILE | -- COMMAND...)",
    .summary = "Print a definition that measures a command or a job of yours",
    .examples = "  benchctl init --profile torchrun --image registry/ddp:1 -- train.py > ddp.yaml\n"
                "  benchctl init -- torchrun train.py --epochs 1 | benchctl try -f - --local\n"
                "  benchctl init --name lr -- ./train 0.1 > lr.yaml\n"
                "  benchctl init -f trainjob.yaml > ddp.yaml\n",
    .details = "The definition has comments that say what to change. Without --profile it is\n"
               "guessed from the command and, if the script is a file here, from its text; a\n"
               "comment gives the reason. A Python file as command is started with python3.\n"
               "\n"
               "-f takes the manifest of a Job, JobSet, TrainJob, MPIJob or RayJob, and sweeps\n"
               "the number of its workers.\n"
               "\n"
               "Exit codes: 2 no such profile, or one that cannot run a command.",
    VERB_OPTS(opts),
    .max_words = (size_t)-1,
    .run = run,
};
