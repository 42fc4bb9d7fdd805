/* See options.h. */
#include "daemon/run/options.h"

#include <stdio.h>

#include "base/args.h"
#include "base/build_info.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "config.h"
#include "kube/lease.h"

/* clang-format off */
static const struct arg_opt opts[] = {
    {"kubeconfig", 0, "FILE", "The cluster to use; default: the one that benchd runs in"},
    {"context", 0, "NAME", "Context of the kubeconfig; default: its current one"},
    {"namespace", 'n', "NAME", "Namespace of the runs and their pods; default: the context's, else benchd"},
    {"store", 0, "URL", "Where to keep results; default: sqlite:/var/lib/benchd/results.db"},
    {"archive", 0, "URL", "Keep each finished run in s3://BUCKET/PREFIX or a folder, too, and fill a new store from there"},
    {"listen", 0, "HOST:PORT", "Address of the HTTP server; default: 127.0.0.1:8080"},
    {"tls-cert", 0, "FILE", "Serve https with this PEM certificate; read again when it changes"},
    {"tls-key", 0, "FILE", "The key of --tls-cert"},
    {"address", 0, "WHERE", "Where benchctl finds benchd: a URL, or 'service' (the default in a cluster)"},
    {"lease-duration", 0, "SECONDS", "Another benchd takes the Lease after this time without a renewal; this one ends after two thirds of it; default: 15"},
    {"node-wait", 0, "SECONDS", "How long an attempt may wait for a queue or for nodes, where its run has no spec.scheduling.waitSeconds; default: 86400"},
    {"queue", 0, "NAME", "LocalQueue of Kueue for runs without spec.scheduling.queueName; default: none"},
    {"image-wait", 0, "SECONDS", "Fail a pod whose image cannot be pulled, or container not created, after this time; default: 120"},
    {"setup-wait", 0, "SECONDS", "Fail a pod whose volumes, sandbox or network its node cannot set up after this time; default: 300"},
    {"container-log-max-size", 0, "SIZE", "The smallest containerLogMaxSize of the nodes' kubelets, which says which logs are known to be whole; default: 10Mi"},
    {"image-prefix", 0, "REGISTRY", "Pull images that definitions name benchd.local/NAME from here, such as registry.example/team; default: as they are named"},
    {"replica-account", 0, "NAME", "ServiceAccount of pods whose template names none; default: the namespace's"},
    {"network-policy", 0, NULL, "Create a NetworkPolicy per run: its replicas reach each other and DNS, nothing else"},
    {"prometheus", 0, "URL", "Where the metrics of definitions (spec.metrics) are asked for, such as http://prometheus.monitoring:9090"},
    {"node-label", 0, "KEY", "Store this label of the nodes that replicas run on, too (up to 15 times; needs manifests/node-reader.yaml)"},
    {"undelete-for", 0, "AGE", "Erase the results of a run this long after its object was deleted, such as 12h or 7d; default: 7d"},
    {"keep", 0, "AGE", "Erase the results of runs that ended longer ago than this, such as 90d; default: never"},
    {"keep-runs", 0, "N", "Erase the oldest finished runs when the store has more than N; default: no limit"},
    {"keep-bytes", 0, "SIZE", "Erase the oldest finished runs while the store has more than this, such as 20Gi; default: no limit"},
    {"read-key", 0, NULL, "Require the read key from the Lease for /api/v1 and pages (benchctl sends it)"},
    {"log-format", 0, "FORMAT", "logfmt (the default) or json: one object a line"},
    {"debug", 0, NULL, "Log more"},
    {"version", 0, NULL, "Print the version"},
};
/* clang-format on */

static void print_help(void)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    buf_puts(&text, "benchd: runs the BenchmarkRuns of one namespace of a Kubernetes cluster\n\n"
                    "usage: benchd [OPTIONS]\n\n");
    args_help(opts, COUNT_OF(opts), &text);
    (void)fputs(buf_cstr(&text), stdout); /* main() reports a failure */
}

struct seconds {
    const char *option;
    int64_t min, max, fallback;
};

static int read_seconds(const struct args *a, const struct seconds *s, int64_t *ret_ms,
                        struct err *err)
{
    const char *text = args_get(a, s->option, NULL);
    int64_t seconds = s->fallback;
    if (text != NULL && parse_i64_in(text, s->min, s->max, &seconds) < 0) {
        return err_set(err, EINVAL, "--%s '%s': expected seconds from %lld to %lld, such as %lld",
                       s->option, text, (long long)s->min, (long long)s->max,
                       (long long)s->fallback);
    }
    *ret_ms = seconds * 1000;
    return 0;
}

/* NULL: not given, which leaves *ret_ms as it is. */
static int read_age(const struct args *a, const char *name, const char *fallback, int64_t *ret_ms,
                    struct err *err)
{
    const char *text = args_get(a, name, fallback);
    if (text != NULL && parse_age_ms(text, ret_ms) < 0) {
        return err_set(
            err, EINVAL,
            "--%s '%s': expected 1 to 36500 and m, h or d (minutes, hours, days), such as 7d", name,
            text);
    }
    return 0;
}

static int read_size(const struct args *a, const char *option, const char *least, int64_t *ret,
                     struct err *err)
{
    int64_t min;
    const char *text = args_get(a, option, NULL);
    if (text != NULL &&
        (parse_mem_bytes(text, ret) < 0 || parse_mem_bytes(least, &min) < 0 || *ret < min)) {
        return err_set(err, EINVAL, "--%s '%s': expected a size from %s, with Ki, Mi or Gi", option,
                       text, least);
    }
    return 0;
}

/* How long finished runs are kept. What is not given is no limit. */
static int read_keep(const struct args *a, struct retention_policy *ret, struct err *err)
{
    *ret = (struct retention_policy){0};
    const char *runs = args_get(a, "keep-runs", NULL);
    if (runs != NULL && parse_i64_in(runs, 1, 1000000000, &ret->n_runs) < 0) {
        return err_set(err, EINVAL,
                       "--keep-runs '%s': expected a number from 1 to 1000000000, such as 500",
                       runs);
    }
    /* An empty store has less. */
    const int r = read_size(a, "keep-bytes", "1Mi", &ret->store_bytes, err);
    return r < 0 ? r : read_age(a, "keep", NULL, &ret->age_ms, err);
}

static int read_all(const struct args *a, struct options *ret, struct err *err)
{
    *ret = (struct options){
        .kubeconfig = args_get(a, "kubeconfig", NULL),
        .context = args_get(a, "context", NULL),
        .ns = args_get(a, "namespace", NULL),
        .store = args_get(a, "store", "sqlite:/var/lib/benchd/results.db"),
        .is_store_given = args_has(a, "store"),
        .archive = args_get(a, "archive", NULL),
        .listen = args_get(a, "listen", "127.0.0.1:8080"),
        .tls_cert = args_get(a, "tls-cert", NULL),
        .tls_key = args_get(a, "tls-key", NULL),
        .address = args_get(a, "address", NULL),
        .queue = args_get(a, "queue", NULL),
        .replica_account = args_get(a, "replica-account", NULL),
        .registry = args_get(a, "image-prefix", NULL),
        .prometheus = args_get(a, "prometheus", NULL),
        .has_policies = args_has(a, "network-policy"),
        .needs_read_key = args_has(a, "read-key"),
        .is_debug = args_has(a, "debug"),
    };
    for (size_t i = 0; i + 1 < NODE_LABELS_MAX; i++) {
        ret->node_labels.more[i] = args_get_nth(a, "node-label", i);
    }
    if (args_get_nth(a, "node-label", NODE_LABELS_MAX - 1) != NULL) {
        return err_set(err, EINVAL, "--node-label: at most %d keys", NODE_LABELS_MAX - 1);
    }
    const char *format = args_get(a, "log-format", "logfmt");
    ret->has_json_logs = str_eq(format, "json");
    if (!ret->has_json_logs && !str_eq(format, "logfmt")) {
        return err_set(err, EINVAL, "--log-format '%s': expected logfmt or json", format);
    }
    if ((ret->tls_cert == NULL) != (ret->tls_key == NULL)) {
        return err_set(err, EINVAL, "--tls-cert and --tls-key belong together; --tls-%s is missing",
                       ret->tls_cert == NULL ? "cert" : "key");
    }
    if (a->n_words > 0) {
        return err_set(err, EINVAL, "unexpected argument '%s'; see benchd --help", a->words[0]);
    }
    static const struct seconds wait = {"node-wait", 1, 31536000, 86400},
                                image_wait = {"image-wait", 1, 86400, 120},
                                setup_wait = {"setup-wait", 1, 86400, 300},
                                lease = {"lease-duration", 6, KUBE_LEASE_MAX_S, 15};
    int r = read_seconds(a, &wait, &ret->wait_ms, err);
    r = r < 0 ? r : read_seconds(a, &image_wait, &ret->image_wait_ms, err);
    r = r < 0 ? r : read_seconds(a, &setup_wait, &ret->setup_wait_ms, err);
    r = r < 0 ? r : read_seconds(a, &lease, &ret->lease_ms, err);
    r = r < 0 ? r : read_size(a, "container-log-max-size", "1Ki", &ret->log_file_bytes, err);
    r = r < 0 ? r : read_age(a, "undelete-for", "7d", &ret->undelete_ms, err);
    return r < 0 ? r : read_keep(a, &ret->keep, err);
}

int options_parse(int argc, char **argv, struct options *ret, struct err *err)
{
    _cleanup_(args_done) struct args args = {0};
    const int r = args_parse(opts, COUNT_OF(opts), argc - 1, argv + 1, &args, err);
    if (r < 0) {
        return r;
    }
    if (args_has(&args, "help")) {
        print_help();
        return 1;
    }
    if (args_has(&args, "version")) {
        (void)printf("benchd %s\n%s", BENCHD_VERSION, build_text()); /* as in print_help */
        return 1;
    }
    return read_all(&args, ret, err);
}
