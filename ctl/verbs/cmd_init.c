/* benchctl init -- COMMAND..., init -f MANIFEST: prints a definition that measures a command, or a
 * job object. */

#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/tree.h"
#include "base/whole_file.h"
#include "ctl/definition/definition.h"
#include "ctl/definition/init_file.h"
#include "ctl/definition/profiles.h"
#include "ctl/verbs/verbs.h"
#include "doc/json_pointer.h"
#include "doc/tree.h"
#include "spec/name.h"
#include "spec/spec_load.h"

/* The profile that the user has named, or one that the command or its script shows. */
static const char *choose_profile(const struct cli *cli, char ret_why[static INIT_WHY_SIZE])
{
    const char *const *words = cli->args.words;
    const char *path = init_script(words, cli->args.n_words);
    const char *named = args_get(&cli->args, "profile", NULL);
    if (named != NULL) {
        return named;
    }
    _cleanup_(definition_file_done) struct definition_file script = {0};
    struct err err;
    const bool is_read = path != NULL && definition_read(path, &script, &err) >= 0;
    const char *guess =
        init_guess_profile(words, cli->args.n_words, is_read ? script.text : NULL, ret_why);
    if (guess == NULL) {
        text_put(ret_why, INIT_WHY_SIZE, "nothing in the command%s shows another%s",
                 is_read ? " or its script" : "",
                 path != NULL && !is_read ? "; no script found" : "");
    }
    return guess == NULL ? PROFILE_NONE : guess;
}

/* What is printed can be used: a profile that does not exist or cannot measure a free model is
 * refused here. */
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

/* ---- the definition of a job object: which kind it is ---- */

struct manifest {
    const char *path; /* for comments */
    const char *name; /* the benchmark's; NULL takes the name of the object */
    const struct node *root;
    const struct profiles *profiles;
};

/* A later version of the same group is the same kind. */
static bool is_of(const struct node *job, const char *api_version, const char *kind)
{
    const char *own = tree_get_text(job, "apiVersion");
    return str_eq_or_null(tree_get_text(job, "kind"), kind) &&
           strncmp(own, api_version, strcspn(own, "/") + 1) == 0;
}

static int find_profile(const struct manifest *p, const struct profile **ret, struct err *err)
{
    const char *api_version = tree_get_text(p->root, "apiVersion");
    const char *kind = tree_get_text(p->root, "kind");
    _cleanup_(buf_done) struct buf kinds = BUF_INIT;
    if (kind == NULL || api_version == NULL) {
        return err_set(err, EINVAL,
                       "%s has no apiVersion and kind, as a manifest of Kubernetes has", p->path);
    }
    vec_each (struct profile *, it, &p->profiles->list) {
        const struct node *job = tree_get((*it)->root, "job");
        if (job != NULL && is_of(job, api_version, kind)) {
            *ret = *it;
            return 0;
        }
        if (job != NULL) {
            buf_printf(&kinds, "%s%s (%s)", kinds.len == 0 ? "" : ", ", tree_get_text(job, "kind"),
                       tree_get_text(job, "apiVersion"));
        }
    }
    return err_set(err, EINVAL, "%s is a %s of %s, for which no profile exists; there are %s",
                   p->path, kind, api_version, buf_cstr(&kinds));
}

/* ---- what its manifest says ---- */

/* How many workers it has, by the first field that gets their number. */
static int64_t count_workers(const struct profile *profile, const json_t *object)
{
    const struct node *set = tree_path(profile->root, "job", "set", NULL);
    int64_t n = 0;
    for (size_t i = 0; set != NULL && i < set->n_children && n == 0; i++) {
        const char *path = tree_get_text(set->children[i], "path");
        if (str_eq_or_null(tree_get_text(set->children[i], "from"), "workers")) {
            n = json_integer_value(json_pointer_get(object, path));
        }
    }
    return n < 1 ? 1 : n;
}

/* Without what the cluster has added, and the names that benchd gives. */
static void strip(json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    json_t *notes = json_object_get(metadata, "annotations");
    (void)json_object_del(object, "status"); /* they may be missing */
    (void)json_object_del(notes, "kubectl.kubernetes.io/last-applied-configuration");
    json_t *kept = json_pack("{s:O*, s:O*}", "labels", json_object_get(metadata, "labels"),
                             "annotations", notes);
    (void)json_object_set_new(object, "metadata", kept); /* fails without memory only */
}

/* ---- its text ---- */

/* In block style; `out` is at the column `indent`, or after a key. */
static void put_value(struct buf *out, const json_t *value, int indent)
{
    const char *key;
    json_t *item;
    size_t i, n = 0;
    if (json_is_string(value)) {
        init_put_scalar(out, json_string_value(value));
        buf_putc(out, '\n');
    } else if (json_object_size(value) > 0) {
        json_object_foreach ((json_t *)value, key, item) { /* only read */
            const bool is_block = json_object_size(item) > 0 || json_array_size(item) > 0;
            buf_printf(out, "%*s", n++ == 0 ? 0 : indent, "");
            init_put_scalar(out, key);
            buf_printf(out, is_block ? ":\n%*s" : ":%*s", is_block ? indent + 2 : 1, "");
            put_value(out, item, indent + 2);
        }
    } else if (json_array_size(value) > 0) {
        json_array_foreach (value, i, item) {
            buf_printf(out, "%*s- ", i == 0 ? 0 : indent, "");
            put_value(out, item, indent + 2);
        }
    } else {
        _cleanup_(freep) char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        buf_printf(out, "%s\n", text);
    }
}

static void put_sweep(struct buf *out, int64_t n)
{
    buf_puts(out, "  sweep:\n    grid: {workers: [1");
    for (int64_t i = 2; i < n; i *= 2) {
        buf_printf(out, ", %lld", (long long)i);
    }
    buf_printf(out, ", %lld]}  # the manifest has %lld\n", (long long)(n < 2 ? 2 : n),
               (long long)n);
}

static void put_definition(struct buf *out, const struct manifest *p, const struct profile *profile,
                           const char *name, const json_t *object)
{
    buf_printf(
        out,
        "# From benchctl init -f %s. What to do next:\n"
        "#   kubectl apply -n benchd -f manifests/jobs/%s.yaml   lets benchd make them\n"
        "#   benchctl run FILE                                   measures all points\n"
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata:\n  name: %s\nspec:\n"
        "  systems:  # %s\n  - name: %s\n"
        "    profile: %s  # which fields have the number of workers, and where its pods are\n"
        "    # %s\n    log: torch-ddp\n    job:\n"
        "      # values that the object gets at each point, such as\n"
        "      # set: [{path: /spec/..., from: batch_size}]\n"
        "      template:\n        ",
        p->path, profile->name, name, init_comment("systems"), name, profile->name,
        init_comment("systems.log"));
    put_value(out, object, 8);
    buf_printf(out, "  workload:\n    model: %s  # %s\n    exchange: {kind: AllReduce}\n", name,
               init_comment("workload.model"));
    init_put_no_batch(out, "worker");
    put_sweep(out, count_workers(profile, object));
    buf_puts(out, "  roles:\n    worker: {replicas: {from: workers}");
    const json_t *gpus =
        json_pointer_get(object, "/spec/trainer/resourcesPerNode/limits/nvidia.com~1gpu");
    if (json_is_string(gpus)) {
        buf_printf(out, ", devices: {value: %s}", json_string_value(gpus));
    } else if (gpus != NULL) {
        buf_printf(out, ", devices: {value: %lld}", (long long)json_integer_value(gpus));
    }
    buf_printf(out, "}\n  repeats: {min: 3}  # %s\n", init_comment("repeats.min"));
}

/* -EINVAL if no profile is for an object of its kind. */
static int format_manifest(const struct manifest *p, struct buf *out, struct err *err)
{
    const struct profile *profile = NULL;
    const int r = find_profile(p, &profile, err);
    if (r < 0) {
        return r;
    }
    json_auto_t *object = tree_to_json(p->root);
    const char *own = tree_get_text(tree_get(p->root, "metadata"), "name");
    _cleanup_(freep) char *name = p->name != NULL
                                      ? xstrdup(p->name)
                                      : object_name_make(own ?: "", INIT_NAME_MAX_LEN, "benchmark");
    strip(object);
    put_definition(out, p, profile, name, object);
    return 0;
}

/* ---- the verb ---- */

static enum exit_code of_manifest(const struct cli *cli, const struct profiles *profiles,
                                  const char *path)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(diags_done) struct diags diags = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    struct node *root = NULL;
    struct err err;
    if (cli->args.n_words > 0 || args_has(&cli->args, "profile") || args_has(&cli->args, "image")) {
        return cli_error(EXIT_USAGE, "leave out the command, --profile and --image",
                         "the manifest of -f says what runs");
    }
    if (definition_read(path, &file, &err) < 0) {
        return cli_error(EXIT_USAGE, NULL, "%s", err.msg);
    }
    if (tree_parse(file.text, file.len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return cli_print_diags(&diags, file.path, file.text);
    }
    const struct manifest params = {.path = file_last_part(path),
                                    .name = args_get(&cli->args, "name", NULL),
                                    .root = root,
                                    .profiles = profiles};
    const int r = format_manifest(&params, &out, &err);
    tree_free(root);
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
    params.profile = choose_profile(cli, params.why);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    if (str_eq(params.profile, PROFILE_NATIVE)) {
        code = cli_error(EXIT_USAGE, "copy a shipped definition, for instance vgg16-pserver-sweep",
                         "the profile '%s' brings its own program", params.profile);
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
                "  benchctl init -- torchrun train.py --epochs 1 | benchctl try -f -\n"
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
