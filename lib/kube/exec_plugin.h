/* One run of a credential plugin: a child process of the loop. Edge file. Used by session.c.
 *
 * The child gets our environment, the variables of the kubeconfig and KUBERNETES_EXEC_INFO. Its
 * standard error is ours, and so is its standard input if a person may answer there, else it is
 * /dev/null. Without a person it leads a process group of its own, which is killed as a whole when
 * time is over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/config.h"

struct uv_loop_s;
struct kube_plugin;

struct kube_plugin_params {
    struct uv_loop_s *loop;
    const struct kube_exec *exec; /* borrowed until on_closed */
    const char *info;             /* KUBERNETES_EXEC_INFO; borrowed for the call */
    char *const *environment;     /* what the child inherits; NULL: nothing */
    bool is_interactive;          /* a person is at our standard input */
    uint64_t timeout_ms;
    /* Once, from the loop: r 0 and what it printed, or -Exxx and a text that names the command. */
    void (*on_done)(void *ctx, int r, const char *text, size_t len, const struct err *err);
    void (*on_closed)(void *ctx); /* last, also after kube_plugin_cancel; the plugin is freed */
    void *ctx;
};
#define KUBE_PLUGIN_OUTPUT_MAX ((size_t)1024 * 1024)

/* -Exxx: it could not be started; then only on_closed follows. */
int kube_plugin_start(const struct kube_plugin_params *params, struct kube_plugin **ret,
                      struct err *err);
/* Kills it; on_closed follows, on_done does not. */
void kube_plugin_cancel(struct kube_plugin *p);
