/* Runs of a cluster: the kubeconfig, the namespace, the client; see backend.h, cluster_internal.h.
 * Edge file: reads the environment. */
#include "ctl/cluster/cluster_internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "config.h"
#include "ctl/cluster/cluster.h"
#include "ctl/runs/run_name.h"
#include "kube/config.h"

/* Returns an owned path, or NULL if no such file exists. */
static char *default_kubeconfig(void)
{
    const char *home = getenv("HOME");
    _cleanup_(freep) char *path = xasprintf("%s/.kube/config", home == NULL ? "" : home);
    return access(path, F_OK) == 0 ? take_ptr(path) : NULL;
}

static enum exit_code load_in_cluster(struct kube_config *ret, struct cluster_problem *p)
{
    int r = kube_config_in_cluster(KUBE_SERVICE_ACCOUNT_DIR, getenv("KUBERNETES_SERVICE_HOST"),
                                   getenv("KUBERNETES_SERVICE_PORT"), ret, &p->err);
    if (r == -ENOENT) {
        p->is_unconfigured = true;
        (void)err_set(&p->err, ENOENT, "no cluster: no kubeconfig was found");
        return EXIT_UNREACHABLE;
    }
    return r < 0 ? EXIT_USAGE : EXIT_OK;
}

static enum exit_code load_config(const struct cli *cli, struct kube_config *ret,
                                  struct cluster_problem *p)
{
    const char *list = getenv("KUBECONFIG");
    const bool has_list = cli->kubeconfig == NULL && list != NULL && list[0] != '\0';
    _cleanup_(freep) char *path = cli->kubeconfig != NULL ? xstrdup(cli->kubeconfig)
                                  : has_list              ? NULL
                                                          : default_kubeconfig();
    p->fix = "add --local to run on this machine, or choose a cluster with --kubeconfig";
    if (!has_list && path == NULL) {
        return load_in_cluster(ret, p);
    }
    int r = has_list ? kube_config_load_list(list, cli->context, ret, &p->err)
                     : kube_config_load(path, cli->context, ret, &p->err);
    return r < 0 ? EXIT_USAGE : EXIT_OK;
}

/* The same options for a command that the user can copy. */
static char *make_where(const struct cli *cli, const char *ns)
{
    return xasprintf("-n %s%s%s%s%s", ns, cli->context == NULL ? "" : " --context ",
                     cli->context == NULL ? "" : cli->context,
                     cli->kubeconfig == NULL ? "" : " --kubeconfig ",
                     cli->kubeconfig == NULL ? "" : cli->kubeconfig);
}

static void on_notice(enum kube_notice notice, const char *text)
{
    (void)notice;
    (void)fprintf(stderr, "warning: %s\n", text); /* there is no other place for it */
}

static void close_loop(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void cluster_free(struct backend *b)
{
    struct cluster *c = (struct cluster *)b;
    kube_client_free(c->direct);
    kube_client_free(c->client);
    (void)uv_run(&c->loop, UV_RUN_DEFAULT); /* the close callbacks */
    uv_walk(&c->loop, close_loop, NULL);
    (void)uv_run(&c->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&c->loop);
    kube_config_done(&c->config);
    free(c->ns);
    free(c->address);
    free(c->read_key);
    free(c);
}

static const struct backend_ops ops = {
    .list = cluster_list,
    .load_run = cluster_load_run,
    .load_figures = cluster_load_figures,
    .get_log = cluster_get_log,
    .get_file = cluster_get_file,
    .delete_run = cluster_delete_run,
    .cancel_run = cluster_cancel_run,
    .run = cluster_run,
    .attach = cluster_attach,
    .free = cluster_free,
};

enum exit_code cluster_open(const struct cli *cli, struct cluster **ret, struct cluster_problem *p)
{
    *p = (struct cluster_problem){0};
    struct kube_config config = {0};
    enum exit_code code = load_config(cli, &config, p);
    if (code != EXIT_OK) {
        return code;
    }
    struct cluster *c = xnew(struct cluster);
    int r = uv_loop_init(&c->loop);
    if (r < 0) {
        kube_config_done(&config);
        free(c);
        (void)err_set(&p->err, ENOMEM, "event loop: %s", uv_strerror(r));
        return EXIT_LOCAL_RESOURCE;
    }
    c->config = config;
    c->ns = xstrdup(cli->namespace != NULL ? cli->namespace
                    : config.ns != NULL    ? config.ns
                                           : "benchd");
    c->backend = (struct backend){.ops = &ops, .cli = cli};
    (void)signal(SIGPIPE,
                 SIG_IGN); /* a broken connection is an error, and must not end the program */
    struct kube_client_params params = {.loop = &c->loop,
                                        .config = &c->config,
                                        .user_agent = "benchctl/" BENCHD_VERSION,
                                        .environment = environ,
                                        .is_interactive = isatty(STDIN_FILENO) == 1,
                                        .on_notice = on_notice};
    if (run_random(&params.seed, sizeof(params.seed), &p->err) < 0 ||
        kube_client_new(&params, &c->client, &p->err) < 0) {
        cluster_free(&c->backend);
        return EXIT_USAGE;
    }
    c->backend.where = make_where(cli, c->ns); /* last: backend_free frees them */
    c->backend.place = xasprintf("%s namespace", c->ns);
    *ret = c;
    return EXIT_OK;
}

enum exit_code cluster_backend_open(const struct cli *cli, struct backend **ret)
{
    struct cluster_problem p;
    struct cluster *c = NULL;
    const enum exit_code code = cluster_open(cli, &c, &p);
    if (code != EXIT_OK) {
        return cli_error(code, p.fix, "%s", p.err.msg);
    }
    *ret = &c->backend;
    return EXIT_OK;
}
