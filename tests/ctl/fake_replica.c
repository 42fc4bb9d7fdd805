/* A replica that trains nothing: speaks the contracts (environment in, records out) and misbehaves
 * when told to. benchctl runs it as $BENCHWORKER, so a run of many trials costs a moment.
 *
 * FAKE_STEP_S      how long a step takes (default 0: as fast as it can)
 * FAKE_FAIL        "P.T.A=CODE", comma separated: trainer/0 of that point, trial, attempt ends so;
 *                  * matches anything
 * FAKE_HANG        "P.T": trainer/0 of that point and trial never ends
 * FAKE_FACTOR      "P=F": at that point steps are said to take F times as long (* as in FAKE_FAIL)
 * FAKE_SUMMARY     JSON: fields of a trainer's summary that replace the true ones; null: the field
 *                  is missing
 * FAKE_BATCHES     JSON: {B: fields of a trainer's summary at batch B}, after those of FAKE_SUMMARY
 * FAKE_GATES       "P=FOLDER": at that point (as in FAKE_FAIL) trainer/0 takes its first step when
 *                  FOLDER/first is there, and its last one when FOLDER/last is; a test that makes
 *                  neither goes on after GATE_S
 * FAKE_CPU         "P=NAME": at that point (as in FAKE_FAIL) the CPU model is NAME, else none
 * FAKE_STUBBORN    set: ends by SIGKILL only
 * FAKE_PIDS        a file: every process writes its pid there */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "core/address_list.h"

#define GATE_S 30 /* far more than what is waited for takes */
#define MAX_PSERVERS 64

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

static void must(bool is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "fake_replica: %s: %s\n", what, strerror(errno));
        exit(99);
    }
}

static int64_t number(const char *s)
{
    int64_t n = 0;
    must(parse_i64(s, &n) == 0, s);
    return n;
}

static double fraction(const char *s)
{
    double x = 0;
    must(parse_f64(s, &x) == 0, s);
    return x;
}

static void sleep_s(double s)
{
    struct timespec t = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};
    (void)nanosleep(&t, NULL); /* a signal ends this program */
}

/* Whether "1.*.0" matches the numbers of this attempt: point, trial, attempt, as many as it has. */
static bool is_hit(const char *pattern)
{
    static const char *const of[] = {"BENCHD_POINT", "BENCHD_TRIAL", "BENCHD_ATTEMPT"};
    _cleanup_(freep) char *copy = xstrdup(pattern);
    char *rest = copy;
    for (size_t i = 0; i < 3 && rest != NULL; i++) {
        const char *want = strsep(&rest, ".");
        if (!str_eq(want, "*") && !str_eq(want, env(of[i]))) {
            return false;
        }
    }
    return true;
}

/* Of "PATTERN=VALUE": the value if the pattern is hit, or NULL. */
static const char *value_if_hit(const char *rule)
{
    const char *equals = strchr(rule, '=');
    if (equals == NULL) {
        return NULL;
    }
    _cleanup_(freep) char *pattern = xstrndup(rule, (size_t)(equals - rule));
    return is_hit(pattern) ? equals + 1 : NULL;
}

/* Takes the fields. */
static void record(const char *type, json_t *fields)
{
    json_t *line = json_pack("{s:i, s:s, s:s, s:I, s:I}", "benchd", 1, "type", type, "role",
                             env("BENCHD_ROLE"), "index", (json_int_t)number(env("BENCHD_INDEX")),
                             "attempt", (json_int_t)number(env("BENCHD_ATTEMPT")));
    must(line != NULL && json_object_update(line, fields) == 0 &&
             json_dumpf(line, stdout, 0) == 0 && putchar('\n') != EOF && fflush(stdout) == 0,
         "record");
    json_decref(line);
    json_decref(fields);
}

static struct sockaddr_in address_of(const char *text)
{
    const char *colon = strrchr(text, ':');
    must(colon != NULL, text);
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons((uint16_t)number(colon + 1))};
}

/* As a native server: there until the last trainer has said goodbye. */
static void serve(void)
{
    struct sockaddr_in sa = address_of(env("BENCHD_LISTEN"));
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    must(server >= 0 && setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0,
         "socket");
    if (bind(server, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(server, SOMAXCONN) < 0) {
        exit(13); /* somebody took the port since benchctl let go of it: it is tried again */
    }
    int64_t n = number(env("BENCHD_TRAINERS"));
    _cleanup_(freep) int *trainers = xnew_array(int, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        trainers[i] = accept(server, NULL, NULL);
        must(trainers[i] >= 0, "accept");
    }
    (void)close(server); /* who comes later is refused */
    for (int64_t i = 0; i < n; i++) {
        char byte;
        (void)(read(trainers[i], &byte, 1) < 0); /* the goodbye, however it comes */
    }
}

static int connect_to(void *ctx, const char *address, struct err *err)
{
    (void)ctx, (void)err;
    struct sockaddr_in sa = address_of(address);
    for (;;) { /* the server may still be starting; the socket stays open until this program ends */
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must(fd >= 0, "socket");
        if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0) {
            return 0;
        }
        must(errno == ECONNREFUSED, address);
        (void)close(fd);
        sleep_s(0.005);
    }
}

static void pass_gate(const char *name)
{
    const char *folder = value_if_hit(env("FAKE_GATES"));
    if (folder == NULL || !str_eq(env("BENCHD_INDEX"), "0")) {
        return;
    }
    _cleanup_(freep) char *gate = xasprintf("%s/%s", folder, name);
    int64_t end_ns = clock_monotonic_ns() + GATE_S * INT64_C(1000000000);
    while (access(gate, F_OK) < 0 && clock_monotonic_ns() < end_ns) {
        sleep_s(0.005);
    }
}

/* NULL: the variable is not set. */
static json_t *json_of_env(const char *name)
{
    if (getenv(name) == NULL) {
        return NULL;
    }
    json_t *value = json_loads(env(name), 0, NULL);
    must(value != NULL, name);
    return value;
}

static void write_summary(int64_t batch, int64_t steps, int64_t step_ns)
{
    json_t *summary = json_pack("{s:I, s:I, s:I}", "samples", (json_int_t)(batch * steps), "steps",
                                (json_int_t)steps, "duration_ns", (json_int_t)(steps * step_ns));
    json_t *told = json_of_env("FAKE_SUMMARY"), *of_batches = json_of_env("FAKE_BATCHES");
    char key[32];
    (void)snprintf(key, sizeof(key), "%" PRId64, batch); /* fits */
    json_object_update(summary, told);                   /* nothing if there is none; so below */
    json_object_update(summary, json_object_get(of_batches, key));
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(summary, next, name, value)
    {
        if (json_is_null(value)) {
            json_object_del(summary, name);
        }
    }
    record("summary", summary);
    json_decref(told);
    json_decref(of_batches);
}

static void train(void)
{
    int64_t batch = number(env("BENCHD_BATCH_SIZE")), steps = number(env("BENCHD_STEPS"));
    int64_t warmup = number(env("BENCHD_WARMUP_STEPS"));
    int64_t step_ns = 10000000 + 1000000 * number(env("BENCHD_POINT")) +
                      100000 * number(env("BENCHD_TRIAL")); /* so every figure differs */
    const char *factor = value_if_hit(env("FAKE_FACTOR"));
    if (factor != NULL) {
        step_ns = (int64_t)((double)step_ns * fraction(factor));
    }
    pass_gate("first");
    for (int64_t i = 0; i < warmup; i++) {
        record("step", json_pack("{s:I, s:b, s:i, s:I, s:I, s:f}", "step", (json_int_t)i, "warmup",
                                 1, "t_ns", 0, "step_ns", (json_int_t)step_ns, "samples",
                                 (json_int_t)batch, "loss", 2.3));
    }
    for (int64_t i = 0; i < steps; i++) {
        if (getenv("FAKE_STEP_S") != NULL) {
            sleep_s(fraction(env("FAKE_STEP_S")));
        }
        if (i == steps - 1) {
            pass_gate("last");
        }
        record("step", json_pack("{s:I, s:I, s:I, s:I, s:f}", "step", (json_int_t)i, "t_ns",
                                 (json_int_t)((i + 1) * step_ns), "step_ns", (json_int_t)step_ns,
                                 "samples", (json_int_t)batch, "loss", 2.0));
    }
    write_summary(batch, steps, step_ns);
}

/* The exit code that trainer/0 was told to end with, or 0. */
static int told_to_fail(void)
{
    _cleanup_(freep) char *copy = xstrdup(env("FAKE_FAIL"));
    for (char *rest = copy; rest != NULL;) {
        const char *code = value_if_hit(strsep(&rest, ","));
        if (code != NULL) {
            return (int)number(code);
        }
    }
    return 0;
}

static void note_pid(const char *path)
{
    FILE *file = fopen(path, "a");
    must(file != NULL && fprintf(file, "%d\n", getpid()) > 0 && fclose(file) == 0, path);
}

int main(void)
{
    if (getenv("FAKE_STUBBORN") != NULL) {
        (void)signal(SIGTERM, SIG_IGN); /* cannot fail */
    }
    if (getenv("FAKE_PIDS") != NULL) {
        note_pid(env("FAKE_PIDS"));
    }
    const char *role = env("BENCHD_ROLE");
    fprintf(stderr, "hello from %s/%s of point %s\n", role, env("BENCHD_INDEX"),
            env("BENCHD_POINT"));
    const char *cpu = value_if_hit(env("FAKE_CPU"));
    record("start", json_pack("{s:{s:s, s:s, s:i}}", "environment", "host", "fake", "cpu_model",
                              cpu == NULL ? "none" : cpu, "threads", 1));
    if (str_eq(role, "pserver")) {
        serve();
        record("summary", json_pack("{s:i, s:I, s:i}", "samples", 0, "steps",
                                    (json_int_t)number(env("BENCHD_STEPS")), "duration_ns", 1));
        return 0;
    }
    const char *servers = env("BENCHD_PSERVER_ADDRS");
    struct err err;
    must(str_eq(servers, "") ||
             address_list_read(servers, MAX_PSERVERS, connect_to, NULL, &err) == 0,
         "BENCHD_PSERVER_ADDRS");
    if (str_eq(env("BENCHD_INDEX"), "0")) {
        int code = told_to_fail();
        if (code != 0) {
            record("error",
                   json_pack("{s:i, s:n, s:s}", "code", code, "peer", "message", "told to fail"));
            return code;
        }
        while (getenv("FAKE_HANG") != NULL && is_hit(env("FAKE_HANG"))) {
            (void)pause(); /* a signal ends this program */
        }
    }
    train();
    return 0;
}
