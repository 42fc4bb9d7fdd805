/* The addresses of a gang: few writes, and none is forgotten. */
#include <errno.h>

#include "tests/test.h"
#include "pods_world.h"

#define AT(ip) "{\"phase\":\"Running\",\"podIP\":\"" ip "\"," CONTAINER("{\"running\":{}}") "}"

/* The one write that is open, of the IPv4 addresses. */
static struct kube_call *open_write(void)
{
    struct kube_call *call = fake_kube_open(0);
    if (fake_kube_n_open() != 1 || call->req.method != KUBE_PATCH ||
        strstr(call->req.path, "/endpointslices/") == NULL) {
        fail_msg("%zu calls, the first is '%s': expected one, of a slice", fake_kube_n_open(),
                 call == NULL ? "" : call->req.path);
    }
    return call;
}

/* "trainer-0=10.0.0.7 trainer-1=10.0.0.8 " of a write. Owned. */
static char *addresses_of(const struct kube_call *call)
{
    _cleanup_(json_decrefp) json_t *body = json_loads(call->req.body, 0, NULL);
    char *text = xstrdup("");
    size_t i;
    json_t *endpoint;
    json_array_foreach (json_object_get(body, "endpoints"), i, endpoint) {
        const char *host = json_string_value(json_object_get(endpoint, "hostname"));
        const json_t *first = json_array_get(json_object_get(endpoint, "addresses"), 0);
        char *longer = xasprintf("%s%s=%s ", text, strchr(host, '-') + 1, json_string_value(first));
        free(text);
        text = longer;
    }
    return text;
}

static void assert_writes(const char *expected)
{
    _cleanup_(freep) char *text = addresses_of(open_write());
    assert_string_equal(text, expected);
}

static void start_gang(struct world *w, uint32_t attempt, json_t *pods[3])
{
    create_gang(w, attempt);
    open_gates(w);
    assert_int_equal(accept_pods(w, pods), 3);
    assert_int_equal(fake_kube_n_open(), 0); /* nobody has an address */
}

/* The first at once, what comes while it is written together, and the last at once. */
TEST(addresses_are_gathered)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    start_gang(&w, 0, w.pods);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], AT("10.0.0.7"));
    assert_writes("trainer-0=10.0.0.7 ");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], AT("10.0.0.8"));
    assert_writes("trainer-0=10.0.0.7 "); /* one at a time */
    answer(&w, open_write(), 0, "{}");
    assert_int_equal(fake_kube_n_open(), 0); /* gathered: the server is still to come */
    pass_ms(&w, 14);
    assert_int_equal(fake_kube_n_open(), 0);
    pass_ms(&w, 2); /* 5 ms for each of three */
    assert_writes("trainer-0=10.0.0.7 trainer-1=10.0.0.8 ");
    answer(&w, open_write(), 0, "{}");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], AT("10.0.0.9"));
    _cleanup_(freep) char *all = addresses_of(open_write());
    assert_non_null(strstr(all, "pserver-0=10.0.0.9 "));
    answer(&w, open_write(), 0, "{}");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], ENDED); /* it has no address any more */
    pass_ms(&w, 5000);
    assert_true(fake_kube_n_open() == 0 || fake_kube_open(0)->req.method != KUBE_PATCH);
}

TEST(the_next_attempt_replaces_them)
{
    _cleanup_(world_close) struct world w;
    _cleanup_(drop_pods) json_t *next[3] = {0};
    world_open(&w, POD_BY_DNS);
    start_gang(&w, 0, w.pods);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], AT("10.0.0.7"));
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], AT("10.0.0.8"));
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], AT("10.0.0.9"));
    answer_slices(&w);
    remove_gang(&w);
    for (size_t i = 0; i < 3; i++) {
        answer_all(&w, KUBE_DELETE, 0, "{}");
        notify(&w, KUBE_CHANGE_REMOVED, w.pods[i], NULL);
    }
    create_gang(&w, 1);
    assert_int_equal(accept_pods(&w, next), 3);
    assert_int_equal(fake_kube_n_open(), 0);
    notify(&w, KUBE_CHANGE_UPDATED, next[1], AT("10.0.0.17"));
    assert_writes("trainer-0=10.0.0.17 ");
    assert_non_null(strstr(open_write()->req.body, "p0t0a1-trainer-0"));
    answer_slices(&w);
}

/* A benchd that died between the pods and their addresses: they wait for each other. */
TEST(a_restart_writes_them_again)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    start_gang(&w, 0, w.pods);
    w.launcher->ops->free(w.launcher);
    turn(&w);
    make_launcher(&w, POD_BY_DNS);
    for (size_t i = 0; i < 3; i++) {
        notify(&w, KUBE_CHANGE_ADDED, w.pods[i], AT("10.0.0.7"));
    }
    answer(&w, open_write(), 0, "{}");
    _cleanup_(freep) char *all = addresses_of(open_write());
    assert_string_equal(all, "pserver-0=10.0.0.7 trainer-0=10.0.0.7 trainer-1=10.0.0.7 ");
    answer_slices(&w);
    assert_int_equal(fake_kube_n_open(), 0);
}

/* The pods are there; whatever is wrong may be mended. */
TEST(a_refusal_is_told_and_tried_again)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    start_gang(&w, 0, w.pods);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], AT("10.0.0.7"));
    answer(&w, open_write(), -EACCES, "cannot patch resource endpointslices");
    for (int i = 0; i < 20 && fake_kube_n_open() == 0; i++) {
        pass_ms(&w, 500);
    }
    answer(&w, open_write(), -EACCES, "cannot patch resource endpointslices");
    pass_ms(&w, 1900);
    struct run_wait wait = {0};
    for (int i = 0; i < 20 && wait.text[0] == '\0'; i++) {
        pass_ms(&w, 500);
        w.launcher->ops->wait(w.launcher, &wait);
    }
    assert_string_equal(
        wait.text, "the run's pods cannot find each other: cannot patch resource endpointslices");
    while (fake_kube_n_open() == 0) {
        pass_ms(&w, 500);
    }
    answer(&w, open_write(), 0, "{}");
    pass_ms(&w, 10000);
    w.launcher->ops->wait(w.launcher, &wait);
    assert_string_equal(wait.text, "");
    assert_int_equal(w.counters.failed, 0);
    answer_slices(&w);
}

TEST(addresses_by_ip_need_none)
{
    _cleanup_(world_close) struct world w;
    _cleanup_(drop_pods) json_t *servers[3] = {0}, *trainers[3] = {0};
    world_open(&w, POD_BY_IP);
    create_gang(&w, 0);
    open_gates(&w);
    assert_int_equal(accept_pods(&w, servers), 1);
    notify(&w, KUBE_CHANGE_UPDATED, servers[0], AT("fd00::7"));
    assert_int_equal(accept_pods(&w, trainers), 2);
    assert_int_equal(fake_kube_n_open(), 0);
}

TEST(ipv6_has_slices_of_its_own)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    start_gang(&w, 0, w.pods);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], AT("fd00::7"));
    assert_writes("trainer-0=fd00::7 ");
    assert_non_null(strstr(open_write()->req.path, "-0-v6?"));
    assert_non_null(strstr(open_write()->req.body, "\"IPv6\""));
    answer_slices(&w);
}
