/* The daemon as a whole: what main.c makes and ends. Everything else about it is in inspect.h (for
 * readers) and state.h (for its own files). */
#pragma once

#include "daemon/state.h"

struct daemon_params {
    uv_loop_t *loop;
    const struct options *options; /* borrowed */
    const struct kube_config *config;
    const char *ns;           /* copied */
    const char *identity;     /* for the Lease, copied */
    struct store *store;      /* borrowed */
    const unsigned char *key; /* KEY_SIZE bytes, copied */
    /* It wants to end: d->exit_code and d->failure say how. */
    void (*on_stop)(struct daemon *d);
};
int daemon_new(const struct daemon_params *params, struct daemon **ret, struct err *err);
/* Begins: watches, the Lease. `address`: where benchctl finds us, for the Lease, copied. */
void daemon_start(struct daemon *d, const char *address);
/* Gives the Lease up and then calls on_stop with EXIT_OK; pods live on. */
void daemon_stop(struct daemon *d);
/* Closes everything; the memory goes with the loop's next turns. */
void daemon_free(struct daemon *d);
