/* See init_file.h. */
#include "ctl/definition/init_file.h"

#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "doc/openapi.h"
#include "spec/matrix.h"
#include "spec/name.h"
#include "spec/schemas.h"

/* ---- the profile ---- */

/* What a script must name to use a profile, so that no other one fits it. */
static const struct {
    const char *text, *profile;
} marks[] = {
    {"ParameterServerStrategy", "tf-config-chief"},
    {"MultiWorkerMirroredStrategy", "tf-config"},
    {"TF_CONFIG", "tf-config"},
    {"jax.distributed", "jax"},
    {"JAX_COORDINATOR_ADDRESS", "jax"},
    {"torch.distributed", "torchrun"},
    {"torch import distributed", "torchrun"},
    {"DistributedDataParallel", "torchrun"},
    {"init_process_group", "torchrun"},
    {"paddle.distributed", "paddle-fleet"},
    /* Quoted: other launchers have variables whose names end so. */
    {"\"WORLD_SIZE\"", "torchrun"},
    {"'WORLD_SIZE'", "torchrun"},
    {"\"LOCAL_RANK\"", "torchrun"},
    {"'LOCAL_RANK'", "torchrun"},
    /* These train by torch.distributed, or with a module that does, without naming it. */
    {"import accelerate", "torchrun"},
    {"import transformers", "torchrun"},
    {"import lightning", "torchrun"},
    {"import pytorch_lightning", "torchrun"},
    {"import deepspeed", "torchrun"},
    /* These may use torch for their data alone. */
    {"import jax", "none"},
    {"import tensorflow", "none"},
    {"import paddle", "none"},
    /* Without the names above its processes are copies, which no figure may join. */
    {"import torch", "none"},
};

/* Is there a line "import M", "import x, M", "from M import y" or "from M.x import y"? */
static bool has_import(const char *script, const char *module)
{
    const size_t len = strlen(module);
    for (const char *at = script; (at = strstr(at, module)) != NULL; at += len) {
        const char *line = at;
        while (line > script && line[-1] != '\n') {
            line--;
        }
        line += strspn(line, " \t");
        const bool is_name = !ascii_is_alnum(at[len]) && at[len] != '_' && at > line &&
                             (at[-1] == ' ' || at[-1] == ',');
        if (is_name && (str_has_prefix(line, "import ") ||
                        (str_has_prefix(line, "from ") && at == line + strlen("from ")))) {
            return true;
        }
    }
    return false;
}

static const char *guess_of_script(const char *script, char ret_why[static INIT_WHY_SIZE])
{
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        const bool is_import = str_has_prefix(marks[i].text, "import ");
        const char *text = marks[i].text + (is_import ? strlen("import ") : 0);
        if (is_import ? has_import(script, text) : strstr(script, text) != NULL) {
            text_put(ret_why, INIT_WHY_SIZE, "the script %s %s%s", is_import ? "imports" : "names",
                     text, str_eq(text, "torch") ? ", not torch.distributed" : "");
            return marks[i].profile;
        }
    }
    return NULL;
}

static bool is_mpi(const char *program)
{
    static const char *const programs[] = {"mpirun", "mpiexec", "orterun", "horovodrun", NULL};
    return str_is_one_of(program, programs);
}

/* Is the word one of these options, "--batch_size" or "-batch-size=8" for batch-size? */
static bool is_option(const char *word, const char *const *names)
{
    const size_t dashes = strspn(word, "-");
    _cleanup_(freep) char *name = xstrndup(word + dashes, strcspn(word + dashes, "="));
    for (char *c = name; *c != '\0'; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    return dashes > 0 && str_is_one_of(name, names);
}

/* The value of the option at word i; "" without one. */
static const char *option_value(const char *const *words, size_t n_words, size_t i)
{
    const char *equals = strchr(words[i], '=');
    return equals != NULL ? equals + 1 : i + 1 < n_words ? words[i + 1] : "";
}

/* Where the command says how many processes there are, or where, no profile may. */
static bool is_plain_mpirun(const char *const *words, size_t n_words)
{
    static const char *const own[] = {
        "n", "np", "c", "H", "host", "hostfile", "hosts", "machinefile", "oversubscribe", NULL};
    return !array_any(words, n_words, word, is_option(*word, own)) &&
           (str_eq(file_last_part(words[0]), "mpirun") ||
            str_eq(file_last_part(words[0]), "mpiexec"));
}

const char *init_guess_profile(const char *const *words, size_t n_words, const char *script,
                               char ret_why[static INIT_WHY_SIZE])
{
    if (str_eq(file_last_part(words[0]), "torchrun") ||
        str_index("torch.distributed.run", words, n_words) >= 0 ||
        str_index("torch.distributed.launch", words, n_words) >= 0) {
        text_put(ret_why, INIT_WHY_SIZE, "the command is torchrun");
        return "torchrun";
    }
    if (is_plain_mpirun(words, n_words)) {
        text_put(ret_why, INIT_WHY_SIZE, "the command is mpirun without hosts");
        return "open-mpi";
    }
    if (is_mpi(file_last_part(words[0]))) {
        text_put(ret_why, INIT_WHY_SIZE, "the command starts its own processes");
        return "none";
    }
    return script == NULL ? NULL : guess_of_script(script, ret_why);
}

static bool is_python_file(const char *word)
{
    return str_has_suffix(word, ".py") && word[0] != '-';
}

const char *init_script(const char *const *words, size_t n_words)
{
    return array_find_item(words, n_words, word, is_python_file(word));
}

/* ---- what is known of a profile ---- */

struct shape {
    const char *profile;
    bool has_servers; /* trainers and pservers; else workers */
    const char *rule; /* the log rule that fits most of its scripts; may be NULL */
};
static const struct shape shapes[] = {
    {"torchrun", false, "torch-ddp"},       {"tf-config", false, "keras"},
    {"tf-config-chief", true, "keras"},     {"paddle-fluid", true, "paddle-fluid"},
    {"paddle-fleet", false, "paddle-perf"}, {"open-mpi", false, "mpi"},
};

static struct shape shape_of(const char *profile)
{
    const struct shape *shape =
        array_find(shapes, COUNT_OF(shapes), it, str_eq(it->profile, profile));
    return shape != NULL ? *shape : (struct shape){.profile = profile};
}

/* ---- text ---- */

void init_put_scalar(struct buf *out, const char *text)
{
    struct node meant = {0};
    const char *why, *fix;
    bool is_plain = (ascii_is_letter(text[0]) || text[0] == '/' || text[0] == '.') &&
                    tree_resolve_plain(text, &meant, &why, &fix) == 0 && meant.kind == NODE_STRING;
    bool has_letter = false;
    for (const char *c = text; *c != '\0'; c++) {
        is_plain = is_plain && (ascii_is_alnum(*c) || strchr("_./=@%+-", *c) != NULL ||
                                (*c == ':' && c[1] != '\0' && c[1] != ' '));
        has_letter = has_letter || ascii_is_letter(*c);
    }
    if (meant.kind == NODE_STRING) {
        free(meant.s);
    }
    if (is_plain && has_letter) {
        buf_puts(out, text);
        return;
    }
    json_auto_t *string = json_string(text); /* NULL if it is not UTF-8 */
    _cleanup_(freep) char *quoted = string == NULL ? NULL : json_dumps(string, JSON_ENCODE_ANY);
    buf_puts(out, quoted == NULL ? "\"?\"" : quoted);
}

/* The option of the command by which a step accumulates the gradients of several batches; NULL
 * without one. Owned. Its name need not begin with a dash: "trainer.accumulate_grad_batches=4". */
static char *accumulation(const struct init_params *p)
{
    for (size_t i = 1; i < p->n_words; i++) {
        const char *word = p->words[i], *value = option_value(p->words, p->n_words, i);
        const size_t len = strcspn(word, "=");
        _cleanup_(freep) char *name = xstrndup(word, len);
        if ((word[0] == '-' || word[len] == '=') && strstr(name, "accum") != NULL &&
            !str_eq(value, "1")) {
            return xasprintf("%s %s", name, value);
        }
    }
    return NULL;
}

const char *init_comment(const char *field)
{
    const struct node *schema = schema_definition();
    for (const char *at = field; *at != '\0'; at += *at == '.') {
        const struct node *item = schema_of_item(schema);
        _cleanup_(freep) char *key = xstrndup(at, strcspn(at, "."));
        schema = schema_of_field(item != NULL ? item : schema, key);
        at += strlen(key);
    }
    return tree_get_text(schema, "x-comment");
}

void init_put_no_batch(struct buf *out, const char *role)
{
    buf_printf(out,
               "    # batchSize: 32  # samples a step of each %s; without it figures are steps/s, "
               "unless the\n"
               "    #                # program prints samples/s\n",
               role);
}

/* The words from i on that are one of torchrun's options about who takes part, which go before the
 * variables by which the profile says it. Returns 0 for another word. */
static size_t rendezvous_words(const struct init_params *p, size_t i)
{
    static const char *const alone[] = {"standalone", NULL};
    static const char *const options[] = {"nnodes",      "node-rank",   "rdzv-backend",
                                          "rdzv-conf",   "rdzv-id",     "rdzv-endpoint",
                                          "master-addr", "master-port", NULL};
    const bool has_value = is_option(p->words[i], options);
    const bool is_one = strchr(p->words[i], '=') != NULL || i + 1 == p->n_words;
    return is_option(p->words[i], alone) ? 1 : !has_value ? 0 : is_one ? 1 : 2;
}

/* Returns where the script's own words begin in a command of torchrun, and 0 for other commands. */
static size_t options_end(const struct init_params *p)
{
    char why[INIT_WHY_SIZE];
    const char *guess = init_guess_profile(p->words, p->n_words, NULL, why);
    if (guess == NULL || !str_eq(guess, "torchrun") || !str_eq(p->profile, "torchrun")) {
        return 0;
    }
    for (size_t i = 1; i < p->n_words; i++) {
        const bool is_launcher = str_has_prefix(p->words[i], "torch.distributed.");
        const bool is_module = str_eq(p->words[i], "-m") && i + 1 < p->n_words &&
                               !str_has_prefix(p->words[i + 1], "torch.distributed.");
        if (!is_launcher && (is_module || is_python_file(p->words[i]))) {
            return i;
        }
    }
    return p->n_words;
}

/* Is it a command of LightningCLI, which takes the number of nodes from its options alone? */
static bool lacks_nodes(const struct init_params *p)
{
    return str_eq(p->profile, "torchrun") &&
           array_any(p->words, p->n_words, it, str_has_prefix(*it, "--trainer.")) &&
           !array_any(p->words, p->n_words, it, strstr(*it, "num_nodes") != NULL);
}

/* A Python file is started by its interpreter: in an image it need not be executable. */
static void put_command(struct buf *out, const struct init_params *p)
{
    const size_t end = options_end(p);
    bool is_whole = true;
    buf_puts(out, is_python_file(p->words[0]) ? "[python3, " : "[");
    for (size_t i = 0; i < p->n_words;) {
        const size_t left_out = i > 0 && i < end ? rendezvous_words(p, i) : 0;
        if (left_out == 0) {
            buf_puts(out, i == 0 ? "" : ", ");
            init_put_scalar(out, p->words[i]);
        }
        is_whole = is_whole && left_out == 0;
        i += left_out == 0 ? 1 : left_out;
    }
    buf_puts(out, lacks_nodes(p) ? ", \"--trainer.num_nodes=$(BENCHD_WORKERS)\"]\n    # without "
                                   "num_nodes Lightning trains copies"
                                 : "]");
    buf_puts(out, is_whole ? "" : "\n    # torchrun's options that the profile sets were left out");
}

/* "train_mnist.py" to "train-mnist" */
static char *make_name(const struct init_params *p)
{
    if (p->name != NULL) {
        return xstrdup(p->name);
    }
    const char *script = init_script(p->words, p->n_words);
    const char *base = file_last_part(script == NULL ? p->words[0] : script);
    const size_t len = strlen(base) - (str_has_suffix(base, ".py") ? strlen(".py") : 0);
    _cleanup_(freep) char *stem = xstrndup(base, len);
    return object_name_make(stem, INIT_NAME_MAX_LEN, "benchmark");
}

static void put_head(struct buf *out, const char *name)
{
    buf_puts(out, "# From benchctl init. What to do next:\n"
                  "#   benchctl try FILE            runs small points here, and says which lines "
                  "are figures\n"
                  "#   benchctl run FILE --local    measures all points on this machine\n"
                  "#   benchctl run FILE            in a cluster\n"
                  "apiVersion: benchd.io/v1alpha1\n"
                  "kind: Benchmark\n"
                  "metadata:\n");
    buf_puts(out, "  name: ");
    init_put_scalar(out, name);
    buf_puts(out, "\nspec:\n");
}

/* How many processes torchrun starts in one worker: "4", "gpu"; NULL: one, or another program. Of
 * several options it takes the last one. Borrowed. */
static const char *processes_each(const struct init_params *p)
{
    static const char *const names[] = {"nproc-per-node", NULL};
    const char *n = "1";
    for (size_t i = 0; i < options_end(p); i++) {
        n = is_option(p->words[i], names) ? option_value(p->words, p->n_words, i) : n;
    }
    return str_eq(n, "1") || n[0] == '\0' ? NULL : n;
}

static void put_system(struct buf *out, const struct init_params *p, const char *name)
{
    const struct shape shape = shape_of(p->profile);
    buf_printf(out, "  systems:  # %s\n  - name: ", init_comment("systems"));
    init_put_scalar(out, name);
    buf_putc(out, '\n');
    buf_printf(out, "    profile: %s  # %s%s%s\n", p->profile, init_comment("systems.profile"),
               p->why[0] == '\0' ? "" : "; guessed: ", p->why);
    if (p->image != NULL) {
        buf_puts(out, "    image: ");
        init_put_scalar(out, p->image);
        buf_printf(out, "  # %s\n", init_comment("systems.image"));
    } else {
        buf_puts(out, "    # image: registry/name:tag  # pods need one; --local does not\n");
    }
    if (processes_each(p) != NULL) {
        buf_puts(out, "    # Each worker starts several processes (--nproc_per_node). With --tee 3 "
                      "each line names its process,\n"
                      "    # and their rates are added up. docs/own-script.md says what to do on "
                      "GPUs and on CPUs.\n");
    }
    buf_printf(out, "    # %s\n    command: ", init_comment("systems.command"));
    put_command(out, p);
    buf_printf(out, "\n    # %s\n    %slog: %s\n", init_comment("systems.log"),
               shape.rule == NULL ? "# " : "", shape.rule == NULL ? "torch-ddp" : shape.rule);
}

/* The option of the command that says how many samples a step has, of several the last; its value
 * goes to *ret. NULL: there is no such option. Owned. In nccl-tests -b is a size in bytes, and the
 * rates of several processes of a worker are added up. */
static char *batch_option(const struct init_params *p, int64_t *ret)
{
    static const char *const names[] = {
        "b", "bs", "batch", "batch-size", "per-device-train-batch-size", "micro-batch-size", NULL};
    char *found = NULL;
    bool is_other = processes_each(p) != NULL;
    for (size_t i = 1; i < p->n_words; i++) {
        const char *word = p->words[i], *value = option_value(p->words, p->n_words, i);
        int64_t n;
        is_other = is_other || str_has_suffix(p->words[i - 1], "_perf");
        if (!is_other && is_option(word, names) &&
            parse_i64_in(value, 1, BATCH_SIZE_MAX, &n) == 0) {
            free(found);
            found = xasprintf("%.*s %s", (int)strcspn(word, "="), word, value);
            *ret = n;
        }
    }
    return found;
}

/* The batch is what the command says. Otherwise it is unknown, and nothing is guessed. */
static void put_batch(struct buf *out, const struct init_params *p, const char *role)
{
    int64_t batch = 0;
    _cleanup_(freep) char *option = batch_option(p, &batch), *accumulates = accumulation(p);
    const bool takes_it =
        array_any(p->words, p->n_words, it, strstr(*it, "$(BENCHD_BATCH_SIZE)") != NULL);
    if (accumulates != NULL) {
        buf_printf(
            out,
            "    # batchSize: 32  # unknown: %s accumulates; write batch x accumulation, and\n"
            "    #                # 'batchScope: Job' where the workers divide it; without it "
            "figures are steps/s\n",
            accumulates);
    } else if (takes_it) {
        buf_printf(out, "    batchSize: 32  # samples a step of each %s, for the command\n", role);
    } else if (option != NULL) {
        buf_printf(out,
                   "    batchSize: %lld  # samples a step of each %s; from %s of the command\n",
                   (long long)batch, role, option);
    } else {
        init_put_no_batch(out, role);
    }
}

static void put_rest(struct buf *out, const struct init_params *p, const char *name)
{
    const bool has_servers = shape_of(p->profile).has_servers;
    buf_puts(out, "  workload:\n    model: ");
    init_put_scalar(out, name);
    buf_printf(out, "  # %s\n", init_comment("workload.model"));
    put_batch(out, p, has_servers ? "trainer" : "worker");
    buf_printf(out, "    exchange: {kind: %s}\n", has_servers ? "PServer" : "AllReduce");
    buf_puts(out, has_servers ? "  sweep:\n    grid: {pservers: [1], trainers: [1, 2]}\n"
                                "  roles:\n    trainer: {replicas: {from: trainers}}\n"
                                "    pserver: {replicas: {from: pservers}}\n"
                              : "  sweep:\n    grid: {workers: [");
    if (!has_servers) {
        buf_puts(out,
                 is_mpi(file_last_part(p->words[0])) && !str_eq(p->profile, "open-mpi")
                     ? "1]}  # one launcher; its own options say how many processes it starts\n"
                     : "1, 2]}\n");
        const char *n = processes_each(p);
        int64_t devices = 0;
        buf_puts(out, "  roles:\n    worker: {replicas: {from: workers}");
        if (n != NULL && parse_i64_in(n, 1, DEVICES_MAX, &devices) == 0) {
            buf_printf(out, ", devices: {value: %lld}", (long long)devices);
        }
        buf_puts(out, devices > 0 ? "}  # GPUs of a worker; remove it on CPUs\n" : "}\n");
    }
    buf_printf(out,
               "  measure:\n    warmupSteps: 10  # %s\n    steps: 100       # %s\n"
               "    # until: Steps   # %s\n  repeats: {min: 3}  # %s\n",
               init_comment("measure.warmupSteps"), init_comment("measure.steps"),
               init_comment("measure.until"), init_comment("repeats.min"));
}

void init_format(const struct init_params *params, struct buf *out)
{
    _cleanup_(freep) char *name = make_name(params);
    put_head(out, name);
    put_system(out, params, name);
    put_rest(out, params, name);
}
