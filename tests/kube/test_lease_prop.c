/* Two processes that want the lease, behind a bad network: slow and lost requests and
 * answers, clocks that differ, processes that sleep. Never may two write at once, and one
 * leads when the faults stop. */
#include "lease_world.h"

#include "kube/retry.h"

#define STEP_NS (S_NS / 10)
#define FAULTS_NS (200 * S_NS)

struct node {
    struct kube_lease *lease;
    int64_t offset_ns;  /* its clock's */
    int64_t asleep_ns;  /* stopped until then */
    int64_t cut_off_ns; /* from the server, until then */
    bool is_in_flight;
    struct kube_request req;
    int64_t serve_ns, answer_ns; /* INT64_MAX: never */
    bool is_lost;                /* the answer, if there is one */
    int code;
    char *body;
};

static int64_t below(uint64_t *random, int64_t n)
{
    return kube_jitter(random, n, 1) - n;
}

static void node_restart(struct node *n, uint64_t *random)
{
    static unsigned number;
    _cleanup_(freep) char *identity = xasprintf("n%u", ++number);
    kube_lease_free(n->lease);
    n->lease = kube_lease_new(&(struct kube_lease_params){
        .ns = "n", .name = "benchd", .identity = identity, .seed = (uint64_t)below(random, 1000)});
}

static void node_send(struct node *n, int64_t now_ns, bool is_bad, uint64_t *random)
{
    int64_t deadline_ns;
    if (!kube_lease_next(n->lease, now_ns + n->offset_ns, UNIX_MS + now_ns / 1000000, &n->req,
                         &deadline_ns)) {
        return;
    }
    const bool is_slow = is_bad && below(random, 8) == 0;
    n->is_in_flight = true;
    n->serve_ns = now_ns + below(random, is_slow ? 6 * S_NS : S_NS / 5);
    n->answer_ns = n->serve_ns + below(random, is_slow ? 3 * S_NS : S_NS / 5);
    if (n->cut_off_ns > now_ns || (is_bad && below(random, 8) == 0)) { /* lost on either way */
        n->answer_ns = INT64_MAX;
        n->serve_ns = n->cut_off_ns > now_ns || below(random, 2) == 0 ? INT64_MAX : n->serve_ns;
    }
    const int64_t give_up_ns = now_ns + kube_lease_request_timeout_ns(n->lease);
    n->is_lost = n->answer_ns > give_up_ns;
    n->answer_ns = n->is_lost ? give_up_ns : n->answer_ns;
}

static void node_turn(struct node *n, struct server *s, int64_t now_ns, bool is_bad,
                      uint64_t *random)
{
    if (n->is_in_flight && now_ns >= n->serve_ns) { /* also while its client sleeps */
        n->serve_ns = INT64_MAX;
        n->code = serve(s, &n->req, &n->body);
    }
    if (n->asleep_ns > now_ns) {
        return;
    }
    if (n->is_in_flight && now_ns >= n->answer_ns) {
        struct kube_response res = n->is_lost ? response(0, "") : response(n->code, n->body);
        res.failure = n->is_lost ? KUBE_TIMED_OUT : KUBE_ANSWERED;
        kube_lease_answer(n->lease, now_ns + n->offset_ns, &res);
        kube_request_done(&n->req);
        free(n->body);
        n->body = NULL;
        n->code = 0;
        n->is_in_flight = false;
    }
    if (kube_lease_state(n->lease, now_ns + n->offset_ns) == KUBE_LEASE_LOST && !n->is_in_flight) {
        node_restart(n, random);
    }
    if (!n->is_in_flight) {
        node_send(n, now_ns, is_bad, random);
    }
    if (is_bad && below(random, 400) == 0) {
        n->asleep_ns = now_ns + below(random, 40 * S_NS);
    } else if (is_bad && below(random, 400) == 0) {
        n->cut_off_ns = now_ns + below(random, 40 * S_NS);
    }
}

TEST(never_two_at_once)
{
    unsigned takeovers = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        struct server s = {0};
        struct node nodes[2] = {{.offset_ns = 0}, {.offset_ns = 5000000 * S_NS}};
        node_restart(&nodes[0], &random);
        node_restart(&nodes[1], &random);
        int64_t led_ns = 0;
        const struct node *leader = NULL;
        for (int64_t now_ns = 0; now_ns < FAULTS_NS + 60 * S_NS; now_ns += STEP_NS) {
            const struct node *writer = NULL;
            for (size_t i = 0; i < N_ROWS(nodes); i++) {
                node_turn(&nodes[i], &s, now_ns, now_ns < FAULTS_NS, &random);
                if (kube_lease_may_write(nodes[i].lease, now_ns + nodes[i].offset_ns)) {
                    if (writer != NULL) {
                        fail_msg("seed %d: two may write at %d ms", (int)seed,
                                 (int)(now_ns / 1000000));
                    }
                    writer = &nodes[i];
                }
            }
            takeovers += writer != NULL && leader != NULL && writer != leader;
            leader = writer != NULL ? writer : leader;
            led_ns = writer != NULL ? now_ns : led_ns;
        }
        if (led_ns < FAULTS_NS + 59 * S_NS) {
            fail_msg("seed %d: nobody leads a minute after the last fault", (int)seed);
        }
        for (size_t i = 0; i < N_ROWS(nodes); i++) {
            kube_lease_free(nodes[i].lease);
            kube_request_done(&nodes[i].req);
            free(nodes[i].body);
        }
        json_decref(s.lease);
    }
    assert_true(takeovers > 60); /* the faults were faults */
}
