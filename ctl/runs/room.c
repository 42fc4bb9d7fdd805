/* See room.h. Edge file: reads the environment, and has a signal handler. */
#include "ctl/runs/room.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/run_file.h"

#define MAX_ROOMS 8
static char *rooms[MAX_ROOMS]; /* files that the signal handler unlinks; owned */

static void on_signal(int signum)
{
    for (size_t i = 0; i < MAX_ROOMS; i++) {
        if (rooms[i] != NULL) {
            (void)unlink(rooms[i]); /* it may have been unlinked */
        }
    }
    (void)signal(signum, SIG_DFL); /* these two cannot fail */
    (void)raise(signum);
}

/* Where a program has no other handler of its own. */
static void unlink_at_signal(const char *path)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    static size_t n;
    char **room = &rooms[n++ % MAX_ROOMS];
    char *oldest = *room;
    *room = NULL; /* a signal may come at any time */
    free(oldest);
    *room = xstrdup(path);
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        struct sigaction before;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            (void)signal(signals[i], on_signal); /* cannot fail */
        }
    }
}

int room_make(char **ret_path, struct err *err)
{
    const char *folder = getenv("TMPDIR");
    const bool is_set = folder != NULL && folder[0] != '\0';
    _cleanup_(freep) char *near = xasprintf("%s/benchctl", is_set ? folder : "/tmp");
    const int r = run_file_room(near, ret_path, err);
    if (r >= 0) {
        unlink_at_signal(*ret_path);
    }
    return r;
}
