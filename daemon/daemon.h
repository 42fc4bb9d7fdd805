/* benchd as a whole: what main.c makes, runs and ends. It shows itself to other threads through a
 * struct daemon_view (daemon/web/daemon_view.h). */
#pragma once

#include <uv.h>

#include "base/err.h"
#include "bucket/bucket.h"
#include "daemon/run/options.h"
#include "kube/config.h"
#include "store/store.h"

struct daemon;
struct loop_meter;
/* All is borrowed until daemon_free, but for what is said to be taken. */
struct daemon_params {
    uv_loop_t *loop;
    const struct options *options;
    const struct kube_config *config;
    const char *ns;
    const char *identity; /* for the Lease */
    struct store *store;
    struct bucket *archive;         /* taken by daemon_new; NULL: none */
    const char *new_mark;           /* see archiver_new; copied */
    struct daemon_view *view;       /* the daemon publishes into it */
    const struct loop_meter *meter; /* of the loop */
    const unsigned char *key;       /* KEY_SIZE bytes */
    char *const *environment;       /* what credential plugins inherit */
    const char *read_key;           /* for the Lease; NULL: readers need none */
    void (*on_stop)(void *ctx);     /* it wants to end: daemon_exit_code says how */
    void *ctx;
};
int daemon_new(const struct daemon_params *params, struct daemon **ret, struct err *err);
/* Begins: watches, the Lease. `address`: where benchctl finds us, for the Lease, copied. */
void daemon_start(struct daemon *d, const char *address);
/* Gives up the Lease and then calls on_stop with EXIT_OK; pods live on. */
void daemon_stop(struct daemon *d);
/* After on_stop; `*ret_failure` is borrowed, and NULL for EXIT_OK. */
int daemon_exit_code(const struct daemon *d, const struct err **ret_failure);
/* Closes everything; the loop's next turns free the memory. NULL is fine. */
void daemon_free(struct daemon *d);
