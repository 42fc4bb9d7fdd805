/* benchd. Start reading at daemon.c (what it does when something changes) and run.h (the life of a
 * run). Edge file: signals, environment. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/daemon.h"
#include "daemon/cluster/key.h"
#include "daemon/loop_meter.h"
#include "daemon/memory.h"
#include "daemon/web/web.h"
#include "host/host.h"
#include "kube/config.h"
#include "kube/lease.h"
#include "store/run_file.h"

struct program {
    uv_loop_t loop;
    struct loop_meter meter;
    uv_signal_t signals[2];
    struct options options;
    struct kube_config config;
    struct store *store;
    struct daemon_view *view;
    struct daemon *daemon;
    struct web *web;
    unsigned char key[KEY_SIZE];
    char *identity, *read_key; /* owned; read_key NULL: readers need none */
};

static int complain(int exit_code, const struct err *err)
{
    (void)fprintf(stderr, "benchd: %s\n", err->msg); /* there is no other place to report it */
    return exit_code;
}

static void on_stop(void *ctx)
{
    struct program *p = ctx;
    uv_stop(&p->loop);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    struct program *p = handle->data;
    daemon_stop(p->daemon);
}

static int load_config(struct program *p, struct err *err)
{
    const struct options *o = &p->options;
    if (o->kubeconfig != NULL) {
        return kube_config_load(o->kubeconfig, o->context, &p->config, err);
    }
    int r = kube_config_in_cluster(KUBE_SERVICE_ACCOUNT_DIR, getenv("KUBERNETES_SERVICE_HOST"),
                                   getenv("KUBERNETES_SERVICE_PORT"), &p->config, err);
    if (r == -ENOENT) {
        return err_set(err, ENOENT,
                       "not running in a cluster (no service account); pass --kubeconfig FILE");
    }
    return r;
}

/* The store is a SQLite file: store_open refuses any other. */
static const char *store_file(const struct program *p)
{
    return p->options.store + strlen("sqlite:");
}

static int load_key(struct program *p, struct err *err)
{
    const char *file = store_file(p);
    const char *slash = strrchr(file, '/');
    _cleanup_(freep) char *key_file =
        xasprintf("%.*sbenchd.key", slash == NULL ? 0 : (int)(slash - file + 1), file);
    return key_load(key_file, p->key, err);
}

/* A store that is new is filled from the archive. The mark comes before the file: whenever the
 * process is killed, the next one fills it. */
static int mark_new_store(const char *file, const char *new_mark, struct err *err)
{
    if (access(file, F_OK) == 0) {
        return 0;
    }
    const int fd = open(new_mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 && errno != ENOENT) { /* store_open says what is wrong with the folder */
        return err_set_errno(err, errno, "%s", new_mark);
    }
    (void)close(fd); /* nothing was written */
    return 0;
}

/* Creates the folder of the default store only: one that the user named may be a typo. */
static int open_store(struct program *p, const char *new_mark, struct err *err)
{
    const struct options *o = &p->options;
    int r = o->is_store_given ? 0 : store_make_folder(o->store, err);
    r = r < 0 || o->archive == NULL ? r : mark_new_store(store_file(p), new_mark, err);
    r = r < 0 ? r : store_open(o->store, true, &p->store, err);
    if (r == -ENXIO) {
        const struct err missing = *err;
        return err_set(err, ENXIO, "%s; create it, or pass another --store", missing.msg);
    }
    return r;
}

/* Returns an exit code; 0: everything is open. */
static int open_all(struct program *p, struct err *err)
{
    if (load_config(p, err) < 0) {
        return EXIT_USAGE;
    }
    _cleanup_(freep) char *new_mark = xasprintf("%s.new", store_file(p));
    _cleanup_(bucket_freep) struct bucket *archive = NULL;
    if (p->options.archive != NULL && bucket_open(p->options.archive, getenv, &archive, err) < 0) {
        (void)err_wrap(err, -EINVAL, "--archive");
        return EXIT_USAGE;
    }
    int r = open_store(p, new_mark, err);
    if (r < 0) {
        return r == -EINVAL || r == -ENXIO ? EXIT_USAGE : EXIT_LOCAL_RESOURCE;
    }
    _cleanup_(freep) char *lock = xasprintf("%s.lock", store_file(p));
    const int lock_fd = lock_take(lock, err); /* held until the process ends */
    _cleanup_(freep) char *place = NULL;
    if (lock_fd >= 0) {
        run_file_sweep(store_file(p)); /* no other process uses the store */
        run_file_sweep(new_mark);      /* the archiver's */
    }
    if (lock_fd < 0 || lock_place(lock_fd, &place, err) < 0 || load_key(p, err) < 0) {
        return EXIT_LOCAL_RESOURCE;
    }
    char host[64] = "benchd";
    (void)gethostname(host, sizeof(host) - 1); /* else that name */
    if (key_identity(p->key, host, place, &p->identity, err) < 0 ||
        (p->options.needs_read_key && key_for_readers(p->key, &p->read_key, err) < 0)) {
        return EXIT_LOCAL_RESOURCE;
    }
    const char *ns = p->options.ns != NULL ? p->options.ns : p->config.ns;
    p->view = daemon_view_new();
    r = daemon_new(&(struct daemon_params){.loop = &p->loop,
                                           .options = &p->options,
                                           .config = &p->config,
                                           .ns = ns != NULL ? ns : "benchd",
                                           .identity = p->identity,
                                           .store = p->store,
                                           .archive = take_ptr(archive),
                                           .new_mark = new_mark,
                                           .view = p->view,
                                           .meter = &p->meter,
                                           .key = p->key,
                                           .environment = environ,
                                           .read_key = p->read_key,
                                           .on_stop = on_stop,
                                           .ctx = p},
                   &p->daemon, err);
    if (r < 0) {
        return EXIT_USAGE;
    }
    const struct web_params web = {.view = p->view,
                                   .store_url = p->options.store,
                                   .listen = p->options.listen,
                                   .tls_cert = p->options.tls_cert,
                                   .tls_key = p->options.tls_key,
                                   .read_key = p->read_key};
    r = web_new(&web, &p->web, err);
    return r == -EINVAL ? EXIT_USAGE : r < 0 ? EXIT_LOCAL_RESOURCE : EXIT_OK;
}

/* Publishes benchd's address for benchctl: outside a cluster, at the bound port. */
static void start(struct program *p)
{
    const bool is_inside = p->options.kubeconfig == NULL;
    const bool is_tls = p->options.tls_cert != NULL;
    _cleanup_(freep) char *url = xasprintf("http%s://%s", is_tls ? "s" : "", web_address(p->web));
    daemon_start(p->daemon, p->options.address != NULL ? p->options.address
                            : is_inside                ? is_tls ? KUBE_TLS_SERVICE : "service"
                                                       : url);
}

static void start_signals(struct program *p)
{
    static const int numbers[2] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        (void)uv_signal_init(&p->loop, &p->signals[i]); /* fails only without a signal pipe */
        p->signals[i].data = p;
        (void)uv_signal_start(&p->signals[i], on_signal, numbers[i]);
    }
    (void)signal(SIGPIPE, SIG_IGN); /* a lost peer is an error of the call */
}

static int run(struct program *p)
{
    struct err err;
    int exit_code = open_all(p, &err);
    if (exit_code != EXIT_OK) {
        daemon_free(p->daemon);
        return complain(exit_code, &err);
    }
    start_signals(p);
    host_raise_open_files();
    loop_meter_start(&p->meter, &p->loop);
    start(p);
    (void)uv_run(&p->loop, UV_RUN_DEFAULT); /* until uv_stop */
    const struct err *failure;
    exit_code = daemon_exit_code(p->daemon, &failure);
    if (failure != NULL) {
        (void)complain(exit_code, failure);
    }
    web_free(p->web); /* until now it has shown why benchd ends */
    daemon_free(p->daemon);
    loop_meter_stop(&p->meter);
    for (int i = 0; i < 2; i++) {
        uv_close((uv_handle_t *)&p->signals[i], NULL);
    }
    return exit_code;
}

int main(int argc, char **argv)
{
    memory_set_up();
    struct program *p = xnew(struct program);
    struct err err;
    int r = options_parse(argc, argv, &p->options, &err);
    if (r != 0) {
        free(p);
        if (r > 0 && (fflush(stdout) != 0 || ferror(stdout))) { /* such as on a full disk */
            (void)err_set_errno(&err, errno, "cannot write to stdout");
            return complain(EXIT_LOCAL_RESOURCE, &err);
        }
        return r < 0 ? complain(EXIT_USAGE, &err) : EXIT_OK;
    }
    log_set_format(p->options.has_json_logs ? LOG_FORMAT_JSON : LOG_FORMAT_LOGFMT);
    log_set_level(p->options.is_debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    /* Enough for one name lookup; and for an archive that is slow. The default is four. */
    (void)setenv("UV_THREADPOOL_SIZE", p->options.archive == NULL ? "1" : "2", 0);
    r = uv_loop_init(&p->loop);
    if (r < 0) {
        free(p);
        (void)err_set_errno(&err, -r, "event loop");
        return complain(EXIT_LOCAL_RESOURCE, &err);
    }
    const int exit_code = run(p);
    (void)uv_run(&p->loop, UV_RUN_DEFAULT); /* the close callbacks */
    (void)uv_loop_close(&p->loop);          /* every handle is closed */
    daemon_view_free(p->view);
    store_close(p->store);
    kube_config_done(&p->config);
    explicit_bzero(p->key, sizeof(p->key));
    free(p->identity);
    free(p->read_key);
    free(p);
    return exit_code;
}
