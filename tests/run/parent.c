/* A program with local replicas that waits to be killed: test_parent_death.c runs it. Prints "pid
 * N" for each process below it, then "ready". Two workers, one of which ignores TERM, and a shell
 * with a child and an escaped grandchild that all ignore TERM. */
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "base/mem.h"
#include "run/processes/processes.h"

#define SHELL                                                                                      \
    "trap '' TERM; p=$(setsid -f sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1'); echo pid $p; " \
    "sh -c 'echo pid $$; while :; do sleep 100; done' & echo pid $$; wait"
#define N_MEMBERS 3

static const struct member {
    struct replica_id id;
    char *argv[5];
    int n_pids; /* lines that it prints */
} members[N_MEMBERS] = {
    {{.role = ROLE_PSERVER}, {"benchworker", "pid", "hang"}, 1},
    {{.role = ROLE_TRAINER}, {"benchworker", "block", "pid", "hang"}, 1},
    {{.role = ROLE_TRAINER, .index = 1}, {"sh", "-c", SHELL}, 3},
};

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '\n';
    }
    return n;
}

static int start(struct launcher *l)
{
    struct gang_spec gang = {.replicas = {[ROLE_PSERVER] = 1, [ROLE_TRAINER] = 2}, .threads = 1};
    struct gang_addresses addresses;
    int r = l->ops->prepare(l, &gang, &addresses, NULL);
    for (int i = 0; i < N_MEMBERS && r == 0; i++) {
        char *env[] = {NULL};
        struct replica_spec spec = {
            .id = members[i].id, .argv = (char **)members[i].argv, .envp = env};
        r = l->ops->create(l, &spec, NULL);
    }
    return r;
}

/* True when member i has printed all its pids. */
static int is_up(struct launcher *l, int i)
{
    struct replica_output output;
    return l->ops->collect(l, &members[i].id, &output, NULL) == 0 &&
           count_lines(output.log) == members[i].n_pids;
}

static void print_pids(struct launcher *l)
{
    for (int i = 0; i < N_MEMBERS; i++) {
        struct replica_output output;
        if (l->ops->collect(l, &members[i].id, &output, NULL) == 0) {
            fputs(output.log, stdout);
        }
    }
    puts("ready");
    (void)fflush(stdout); /* a closed pipe would have killed us */
}

int main(int argc, char **argv)
{
    uv_loop_t loop;
    struct launcher *l = NULL;
    if (argc != 2 || uv_loop_init(&loop) < 0 ||
        processes_new(&(struct processes_params){.loop = &loop, .benchworker = argv[1]}, &l, NULL) <
            0 ||
        start(l) < 0) {
        return 2;
    }
    int n_up = 0;
    while (n_up < N_MEMBERS) {
        (void)uv_run(&loop, UV_RUN_ONCE); /* handles are left: it runs until something happens */
        for (n_up = 0; n_up < N_MEMBERS && is_up(l, n_up); n_up++) {
        }
    }
    print_pids(l);
    (void)uv_run(&loop, UV_RUN_DEFAULT); /* until we are killed */
    return 3;
}
