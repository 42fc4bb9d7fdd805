/* The program: runs worlds, each in a process of its own, and prints what
 * was found. See usage(). */
#include "sim.h"

#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#define STEPS_MAX 400000
#define PATIENCE_NS (3600 * SIM_S) /* after the last fault */
#define QUIET_NS (20 * SIM_S)      /* after everything has settled */

static const char *the_program;

/* ---- one world ---- */

/* Runs are driven one after the other: where a training takes minutes, some worlds need more than
 * an hour. Mutations are tested with the worlds up to 40. */
static int64_t patience_ns(void)
{
    const int hours = !sim.is_slow || sim.seed <= 40 ? 1 : 2;
    return hours * PATIENCE_NS;
}

static void live(void)
{
    const int64_t begin_ns = sim.now_ns;
    int64_t settled_ns = 0;
    const char *why = "";
    while (settled_ns == 0 || sim.now_ns < settled_ns + QUIET_NS) {
        if (!sim_step()) {
            sim_broken("nothing happens any more, and %s", why);
        }
        promise_after_step();
        const bool is_settled =
            sim.now_ns >= sim.faults_end_ns && promise_is_settled(&why) && queue_is_settled(&why);
        settled_ns = !is_settled ? 0 : settled_ns == 0 ? sim.now_ns : settled_ns;
        if (sim.outcome->n_steps > STEPS_MAX || sim.now_ns > sim.faults_end_ns + patience_ns()) {
            sim_broken("after %d s and %" PRIu64 " steps %s",
                       (int)((sim.now_ns - begin_ns) / SIM_S), sim.outcome->n_steps, why);
        }
    }
    promise_at_end();
}

static _Noreturn void be_world(uint64_t seed, const struct fault_plan *plan, const char *folder,
                               struct sim_outcome *outcome)
{
    json_object_seed(1);
    sim_begin(seed, outcome);
    disk_begin(folder);
    server_begin();
    user_begin(plan);
    meddler_begin();
    queue_begin();
    fault_begin(plan);
    soon_begin();
    process_start();
    live();
    sim_trace("the end");
    outcome->trace_hash = sim.trace_hash;
    (void)fflush(stdout);
    _exit(0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void run_world(uint64_t seed, const struct fault_plan *plan, struct sim_outcome *ret)
{
    static struct sim_outcome *shared;
    if (shared == NULL) {
        shared =
            mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    *shared = (struct sim_outcome){0};
    char folder[] = "/dev/shm/benchd-sim-XXXXXX", otherwise[] = "/tmp/benchd-sim-XXXXXX";
    const char *made = mkdtemp(folder);
    made = made != NULL ? made : mkdtemp(otherwise);
    (void)fflush(stdout);
    const pid_t pid = made == NULL ? -1 : fork();
    if (pid == 0) {
        be_world(seed, plan, made, shared);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        (void)fprintf(stderr, "sim: a world cannot be made: %s\n", strerror(errno));
        exit(1);
    }
    (void)nftw(made, remove_one, 8, FTW_DEPTH | FTW_PHYS); /* a folder that stays is harmless */
    if (WIFSIGNALED(status)) {
        (void)snprintf(shared->verdict, sizeof(shared->verdict), "killed by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) != 0 && shared->verdict[0] == '\0') {
        (void)snprintf(shared->verdict, sizeof(shared->verdict), "exit code %d",
                       WEXITSTATUS(status));
    }
    *ret = *shared;
}

/* ---- shrinking ---- */

static bool still_fails(uint64_t seed, const struct fault_plan *plan, struct sim_outcome *ret)
{
    run_world(seed, plan, ret);
    return ret->verdict[0] != '\0';
}

/* Leaves out what the failure does not need: faults, one by one until none can go, then runs. The
 * failure may become another one. */
static void shrink(uint64_t seed, struct fault_plan *plan, struct sim_outcome *ret)
{
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < plan->n; i++) {
            struct fault_plan less = *plan;
            struct sim_outcome outcome;
            less.list[i].is_dropped = true;
            if (!plan->list[i].is_dropped && still_fails(seed, &less, &outcome)) {
                *plan = less;
                *ret = outcome;
                has_changed = true;
            }
        }
        struct fault_plan less = *plan;
        struct sim_outcome outcome;
        less.n_runs--;
        if (plan->n_runs > 1 && still_fails(seed, &less, &outcome)) {
            *plan = less;
            *ret = outcome;
            has_changed = true;
        }
    }
}

static void print_plan(uint64_t seed, const struct fault_plan *plan)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    const char *comma = " --keep ";
    bool has_dropped = false;
    for (size_t i = 0; i < plan->n; i++) {
        has_dropped = has_dropped || plan->list[i].is_dropped;
    }
    buf_printf(&text, "  again: %s --seed %" PRIu64 " --runs %u", the_program, seed, plan->n_runs);
    for (size_t i = 0; has_dropped && i < plan->n; i++) {
        if (!plan->list[i].is_dropped) {
            buf_printf(&text, "%s%zu", comma, i);
            comma = ",";
        }
    }
    buf_puts(&text, has_dropped && *comma == ' ' ? " --keep none --trace\n" : " --trace\n");
    for (size_t i = 0; i < plan->n; i++) {
        if (!plan->list[i].is_dropped) {
            buf_printf(&text, "  fault %zu: ", i);
            fault_print(&plan->list[i], &text);
            buf_putc(&text, '\n');
        }
    }
    (void)fputs(buf_cstr(&text), stdout);
}

/* ---- the command line ---- */

struct request {
    int64_t first, last;
    bool is_quick;    /* do not shrink */
    int64_t n_runs;   /* 0: as drawn */
    const char *keep; /* NULL: all faults */
    bool is_test;
    bool is_stopping_at_first;
};

static void keep_only(struct fault_plan *plan, const char *keep)
{
    for (size_t i = 0; i < plan->n; i++) {
        plan->list[i].is_dropped = true;
    }
    for (const char *at = keep; *at >= '0' && *at <= '9';) {
        char *end;
        const unsigned long i = strtoul(at, &end, 10);
        if (i < plan->n) {
            plan->list[i].is_dropped = false;
        }
        at = *end == ',' ? end + 1 : end;
    }
}

/* 1: it failed. */
static int try_seed(const struct request *request, uint64_t seed, uint64_t *n_steps)
{
    struct fault_plan plan;
    struct sim_outcome outcome;
    fault_draw_plan(seed, &plan);
    plan.n_runs = request->n_runs > 0 ? (unsigned)request->n_runs : plan.n_runs;
    if (request->keep != NULL) {
        keep_only(&plan, request->keep);
    }
    run_world(seed, &plan, &outcome);
    *n_steps += outcome.n_steps;
    if (outcome.verdict[0] == '\0') {
        return 0;
    }
    (void)printf("%sseed %" PRIu64 ", %" PRIu64 " steps: %s\n", request->is_test ? "# " : "", seed,
                 outcome.n_steps, outcome.verdict);
    if (!request->is_quick) {
        shrink(seed, &plan, &outcome);
        (void)printf("  smaller: %s\n", outcome.verdict);
    }
    print_plan(seed, &plan);
    return 1;
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int try_seeds(const struct request *request)
{
    uint64_t n_steps = 0, n_failed = 0;
    const double begin = seconds();
    for (int64_t seed = request->first; seed <= request->last; seed++) {
        n_failed += (uint64_t)try_seed(request, (uint64_t)seed, &n_steps);
        if (n_failed > 0 && request->is_stopping_at_first) {
            break;
        }
    }
    const double took = seconds() - begin;
    (void)printf("%s%" PRId64 " seeds, %" PRIu64 " steps in %.1f s (%.0f a minute), %" PRIu64
                 " failed\n",
                 request->is_test ? "# " : "", request->last - request->first + 1, n_steps, took,
                 (double)n_steps * 60 / took, n_failed);
    return n_failed > 0 ? 1 : 0;
}

/* Two runs of a seed are the same, step for step. */
static bool is_replayed(uint64_t seed)
{
    struct fault_plan plan;
    struct sim_outcome a, b;
    fault_draw_plan(seed, &plan);
    run_world(seed, &plan, &a);
    run_world(seed, &plan, &b);
    return a.trace_hash == b.trace_hash && a.n_steps == b.n_steps && a.trace_hash != 0;
}

static int test(const struct request *request)
{
    (void)printf("1..2\n");
    const bool is_same = is_replayed((uint64_t)request->first);
    (void)printf("%sok 1 - a seed replays, step for step\n", is_same ? "" : "not ");
    const int r = try_seeds(request);
    (void)printf("%sok 2 - seeds %" PRId64 " to %" PRId64 " keep all promises\n",
                 r == 0 ? "" : "not ", request->first, request->last);
    return r == 0 && is_same ? 0 : 1;
}

static int usage(void)
{
    (void)fprintf(stderr,
                  "usage: %s --seeds FIRST..LAST | --seed N [--keep FAULT,... | --keep none]\n"
                  "          [--runs N] [--trace] [--quick] [--first] [--test]\n"
                  "--keep   only these faults of the seed's plan\n"
                  "--runs   that many BenchmarkRuns\n"
                  "--trace  print every event\n"
                  "--quick  do not shrink what fails\n"
                  "--first  end at the first failure\n"
                  "--test   TAP\n",
                  the_program);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},
        {"seeds", required_argument, NULL, 'S'},
        {"keep", required_argument, NULL, 'k'},
        {"runs", required_argument, NULL, 'r'},
        {"trace", no_argument, NULL, 't'},
        {"quick", no_argument, NULL, 'q'},
        {"test", no_argument, NULL, 'T'},
        {"first", no_argument, NULL, 'f'},
        {NULL, 0, NULL, 0},
    };
    struct request request = {.first = -1};
    the_program = argv[0];
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 's':
            request.first = request.last = strtoll(optarg, NULL, 10);
            break;
        case 'S': {
            const char *dots = strstr(optarg, "..");
            if (dots == NULL) {
                return usage();
            }
            request.first = strtoll(optarg, NULL, 10);
            request.last = strtoll(dots + 2, NULL, 10);
            break;
        }
        case 'k':
            request.keep = optarg;
            break;
        case 'r':
            request.n_runs = strtoll(optarg, NULL, 10);
            break;
        case 't':
            sim.is_printing = true;
            request.is_quick = true;
            break;
        case 'q':
            request.is_quick = true;
            break;
        case 'T':
            request.is_test = true;
            break;
        case 'f':
            request.is_stopping_at_first = true;
            break;
        default:
            return usage();
        }
    }
    if (request.first < 0 || request.last < request.first || optind != argc || request.n_runs > 4) {
        return usage();
    }
    log_set_level(LOG_LEVEL_ERROR);
    return request.is_test ? test(&request) : try_seeds(&request);
}
