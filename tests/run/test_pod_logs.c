/* Logs of pods that have ended: what is read of them, and what of it is stored and shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "core/record.h"
#include "pods_world.h"

static void write_start(struct buf *log, uint32_t index, const char *host)
{
    const struct record_who who = {ROLE_TRAINER, index, 0};
    json_t *environment = json_pack("{s:s}", "host", host);
    record_write_start(log, &who, environment);
    json_decref(environment);
}

static int collect(struct world *w, const struct replica_id *id, struct replica_output *ret)
{
    const int r = w->launcher->ops->collect(w->launcher, id, ret, NULL);
    turn(w);
    return r;
}

/* A log may hold lines of others: what a trainer prints is its own business. */
static void a_log_that_was_read_is_stored_and_not_shown(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, POD_BY_DNS);
    create_gang(&w, 0);
    open_gates(&w);
    json_t *pods[3];
    assert_int_equal(accept_pods(&w, pods), 3);
    notify(&w, KUBE_CHANGE_UPDATED, pods[2], ENDED);
    struct replica_output output;
    assert_int_equal(collect(&w, &ids[2], &output), -EAGAIN);
    struct buf log = BUF_INIT;
    write_start(&log, 1, "mine");
    write_start(&log, 0, "another's");
    answer(&w, fake_kube_open(0), 0, buf_cstr(&log));
    assert_int_equal(collect(&w, &ids[2], &output), 0);
    assert_string_equal(output.environment_json, "{\"host\":\"mine\"}");
    assert_int_equal(output.log_len, log.len);
    assert_int_equal(w.n_records, 0); /* the live view shows what happens now */
    buf_done(&log);
    drop(pods, 3);
    world_close(&w);
}

#define SIMULATED                                                                                  \
    "{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"main\","                          \
    "\"state\":{\"terminated\":{\"exitCode\":0}}}]}"

/* A fake node has no log to read. */
static void a_simulated_pod_has_no_log(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, POD_BY_DNS);
    create_gang(&w, 0);
    open_gates(&w);
    json_t *pods[3];
    assert_int_equal(accept_pods(&w, pods), 3);
    notify(&w, KUBE_CHANGE_UPDATED, pods[2], SIMULATED);
    struct replica_output output = {0};
    assert_int_equal(collect(&w, &ids[2], &output), 0);
    assert_true(output.is_simulated);
    assert_int_equal(output.log_len, 0);
    assert_int_equal(fake_kube_n_open(), 0);
    drop(pods, 3);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_that_was_read_is_stored_and_not_shown),
        cmocka_unit_test(a_simulated_pod_has_no_log),
    };
    return cmocka_run_group_tests_name("run/pod_logs", tests, NULL, NULL);
}
