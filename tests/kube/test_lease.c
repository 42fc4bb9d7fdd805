/* The lease as stories on a simulated server: what one process does, and what it makes of the
 * others. */
#include "lease_world.h"

TEST(takes_what_nobody_has)
{
    struct server s = {0};
    struct member a = member_new("a");
    assert_int_equal(kube_lease_state(a.lease, a.now_ns), KUBE_LEASE_FOLLOWER);
    assert_false(kube_lease_may_write(a.lease, a.now_ns));
    settle(&a, &s);
    assert_true(kube_lease_may_write(a.lease, a.now_ns));
    assert_string_equal(kube_lease_holder(a.lease), "a");
    _cleanup_(freep) char *text = json_dumps(s.lease, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text,
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
        "\"annotations\":{\"benchd.io/address\":\"service\"},\"name\":\"benchd\",\"namespace\":"
        "\"n\",\"resourceVersion\":\"1\"},\"spec\":{\"acquireTime\":\"2026-11-20T08:52:51."
        "000000Z\","
        "\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,\"leaseTransitions\":0,"
        "\"renewTime\":\"2026-11-20T08:52:51.000000Z\"}}");
    a.requests = 0;
    pass(&a, &s, 60 * S_NS);
    assert_true(kube_lease_may_write(a.lease, a.now_ns));
    assert_in_range(a.requests, 24, 31); /* every 2 to 2.4 s */
    end(&s, &a, NULL);
}

TEST(waits_for_another_by_its_own_clock)
{
    struct server s = {0};
    struct member a = member_new("a"), b = member_new("b");
    settle(&a, &s);
    b.now_ns = 7777777 * S_NS;
    for (int i = 0; i < 60; i++) {
        pass(&a, &s, S_NS);
        pass(&b, &s, S_NS);
        assert_false(kube_lease_may_write(b.lease, b.now_ns));
    }
    assert_string_equal(kube_lease_holder(b.lease), "a");
    /* a dies: b takes over 15 s after the last change that it saw. */
    int seconds = 0;
    for (; !kube_lease_may_write(b.lease, b.now_ns) && seconds < 60; seconds++) {
        pass(&b, &s, S_NS);
    }
    assert_in_range(seconds, 12, 18);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(s.lease, "spec"), "leaseTransitions")),
        1);
    /* a wakes up: it may not write, and learns that it has lost. */
    a.now_ns += 30 * S_NS;
    assert_false(kube_lease_may_write(a.lease, a.now_ns));
    assert_int_equal(kube_lease_state(a.lease, a.now_ns), KUBE_LEASE_LOST);
    assert_false(turn(&a, &s));
    end(&s, &a, &b);
}

TEST(loses_it_when_it_cannot_renew)
{
    static const int codes[] = {-1, 500, 403, 429};
    for (size_t i = 0; i < N_ROWS(codes); i++) {
        struct server s = {0};
        struct member a = member_new("a");
        settle(&a, &s);
        s.down = codes[i] < 0 ? 599 : codes[i];
        pass(&a, &s, 9 * S_NS);
        assert_true(kube_lease_may_write(a.lease, a.now_ns));
        assert_non_null(kube_lease_error(a.lease));
        pass(&a, &s, 2 * S_NS);
        assert_false(kube_lease_may_write(a.lease, a.now_ns));
        s.down = 0;
        pass(&a, &s, 10 * S_NS);
        assert_int_equal(kube_lease_state(a.lease, a.now_ns), KUBE_LEASE_LOST); /* for good */
        end(&s, &a, NULL);
    }
}

TEST(an_answer_after_the_deadline_counts_nothing)
{
    struct server s = {0};
    struct member a = member_new("a");
    settle(&a, &s);
    struct kube_request req;
    int64_t deadline_ns;
    a.now_ns += 3 * S_NS;
    assert_true(kube_lease_next(a.lease, a.now_ns, UNIX_MS, &req, &deadline_ns));
    assert_false(kube_lease_next(a.lease, a.now_ns, UNIX_MS, &req, &deadline_ns));
    assert_int_equal(deadline_ns, 110 * S_NS); /* 10 s after the renewal was sent */
    _cleanup_(freep) char *body;
    const int code = serve(&s, &req, &body);
    const struct kube_response res = response(code, body);
    kube_request_done(&req);
    a.now_ns = 111 * S_NS;
    kube_lease_answer(a.lease, a.now_ns, &res);
    assert_int_equal(code, 200);
    assert_int_equal(kube_lease_state(a.lease, a.now_ns), KUBE_LEASE_LOST);
    end(&s, &a, NULL);
}

/* A slow answer prolongs nothing: others count from the time at which the
 * server had the request. */
TEST(a_renewal_counts_from_its_request)
{
    struct server s = {0};
    struct member a = member_new("a");
    settle(&a, &s);
    struct kube_request req;
    int64_t deadline_ns;
    a.now_ns = 103 * S_NS;
    assert_true(kube_lease_next(a.lease, a.now_ns, UNIX_MS, &req, &deadline_ns));
    _cleanup_(freep) char *body = NULL;
    const int code = serve(&s, &req, &body);
    const struct kube_response res = response(code, body);
    kube_request_done(&req);
    kube_lease_answer(a.lease, 107 * S_NS, &res);
    assert_int_equal(code, 200);
    assert_int_equal(kube_lease_may_write(a.lease, 113 * S_NS - 1), true);
    assert_int_equal(kube_lease_may_write(a.lease, 113 * S_NS), false);
    end(&s, &a, NULL);
}

/* A proxy answers with a page of its own, or something else is at that address. */
TEST(an_answer_that_is_no_lease)
{
    static const struct {
        const char *body, *error;
    } rows[] = {{"{}", "lease 'benchd': the answer is not a Lease"},
                {"<html>", "lease 'benchd': not JSON: byte 1: "}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct server s = {0};
        struct member a = member_new("a");
        struct kube_request req;
        int64_t deadline_ns;
        assert_true(kube_lease_next(a.lease, a.now_ns, UNIX_MS, &req, &deadline_ns));
        kube_request_done(&req);
        const struct kube_response res = response(200, rows[i].body);
        kube_lease_answer(a.lease, a.now_ns, &res);
        assert_false(kube_lease_may_write(a.lease, a.now_ns));
        if (strstr(kube_lease_error(a.lease)->msg, rows[i].error) == NULL) {
            fail_msg("'%s': %s", rows[i].body, kube_lease_error(a.lease)->msg);
        }
        assert_false(turn(&a, &s)); /* it does not ask at once */
        pass(&a, &s, 5 * S_NS);
        assert_true(kube_lease_may_write(a.lease, a.now_ns));
        end(&s, &a, NULL);
    }
}

/* How many whole seconds go by until `m` may write, 60 at most. */
static unsigned seconds_to_lead(struct member *m, struct server *s, void (*each)(struct server *s))
{
    unsigned seconds = 0;
    for (; !kube_lease_may_write(m->lease, m->now_ns) && seconds < 60; seconds++) {
        each(s);
        pass(m, s, S_NS);
    }
    return seconds;
}

static void annotate(struct server *s)
{
    char version[16];
    (void)snprintf(version, sizeof(version), "%u", ++s->version);
    json_t *metadata = json_object_get(s->lease, "metadata");
    json_object_set_new(metadata, "resourceVersion", json_string(version));
    json_object_set_new(metadata, "annotations", json_pack("{s:s}", "example.com/seen", version));
}

TEST(anothers_annotations_keep_no_holder_alive)
{
    struct server s = {0};
    struct member a = member_new("a"), b = member_new("b");
    settle(&a, &s);
    settle(&b, &s); /* and a dies */
    const unsigned seconds = seconds_to_lead(&b, &s, annotate);
    assert_in_range(seconds, 14, 18);
    end(&s, &a, &b);
}

/* Many replicas that start at the same time must not ask the server in step for ever. */
TEST(asks_at_its_own_times)
{
    int64_t first_ns = 0;
    unsigned n_different = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct server s = {0};
        struct member a = {.now_ns = 100 * S_NS};
        a.lease = kube_lease_new(&(struct kube_lease_params){
            .ns = "n", .name = "benchd", .identity = "a", .seed = seed});
        settle(&a, &s);
        struct kube_request req;
        int64_t deadline_ns;
        assert_false(kube_lease_next(a.lease, a.now_ns, UNIX_MS, &req, &deadline_ns));
        const int64_t pause_ns = deadline_ns - a.now_ns;
        assert_in_range(pause_ns, 2 * S_NS, 2 * S_NS + 4 * S_NS / 10);
        first_ns = seed == 0 ? pause_ns : first_ns;
        n_different += pause_ns != first_ns;
        end(&s, &a, NULL);
    }
    assert_in_range(n_different, 15, 19);
}

/* Each time that another overtakes a renewal, it is repaired at once, however often it happened. */
TEST(each_conflict_is_repaired_at_once)
{
    struct server s = {0};
    struct member a = member_new("a");
    settle(&a, &s);
    for (int i = 0; i < 10; i++) {
        annotate(&s);
        a.now_ns += 3 * S_NS;
        a.requests = 0;
        settle(&a, &s);
        if (a.requests != 3) { /* refused, read, renewed */
            fail_msg("conflict %d: expected 3 requests at once, got %u", i, a.requests);
        }
    }
    end(&s, &a, NULL);
}

TEST(foreign_hands)
{
    struct server s = {0};
    struct member a = member_new("a");
    settle(&a, &s);
    /* Deleted: made again. */
    json_decref(s.lease);
    s.lease = NULL;
    pass(&a, &s, 5 * S_NS);
    assert_true(kube_lease_may_write(a.lease, a.now_ns));
    assert_non_null(s.lease);
    /* An annotation added: the new version is read, and renewed. */
    json_object_set_new(json_object_get(s.lease, "metadata"), "resourceVersion",
                        json_string("900"));
    s.version = 900;
    pass(&a, &s, 5 * S_NS);
    assert_true(kube_lease_may_write(a.lease, a.now_ns));
    assert_int_equal(s.version > 901, 1);
    /* Another holder: lost at once. */
    json_object_set_new(json_object_get(s.lease, "spec"), "holderIdentity", json_string("x"));
    json_object_set_new(json_object_get(s.lease, "metadata"), "resourceVersion",
                        json_string("999"));
    pass(&a, &s, 3 * S_NS);
    assert_int_equal(kube_lease_state(a.lease, a.now_ns), KUBE_LEASE_LOST);
    assert_string_equal(kube_lease_error(a.lease)->msg, "lease 'benchd': 'x' holds it now");
    end(&s, &a, NULL);
}

/* A backup of etcd is restored: renewals that were acknowledged never were, and versions go back.
 * Watches may be blind then, so that the process ends, as if it had lost the Lease. */
TEST(a_server_that_forgets)
{
    struct server s = {0};
    struct member a = member_new("a");
    settle(&a, &s);
    pass(&a, &s, 5 * S_NS);
    json_t *backup = json_deep_copy(s.lease);
    const int version = (int)s.version;
    pass(&a, &s, 20 * S_NS);
    assert_true(kube_lease_may_write(a.lease, a.now_ns));
    json_decref(s.lease);
    s.lease = backup;
    s.version = version;
    pass(&a, &s, 3 * S_NS);
    assert_int_equal(kube_lease_state(a.lease, a.now_ns), KUBE_LEASE_LOST);
    assert_string_equal(
        kube_lease_error(a.lease)->msg,
        "lease 'benchd': the API server has forgotten the latest renewals (a backup "
        "of etcd was restored?)");
    end(&s, &a, NULL);
}

/* Our clock is set back, and the answer to the next renewal is lost: what is found then is older by
 * its date, but nothing was forgotten. */
TEST(a_clock_that_goes_back_is_no_backup)
{
    struct server s = {0};
    struct member a = member_new("a");
    settle(&a, &s);
    pass(&a, &s, 5 * S_NS);
    struct kube_request req;
    int64_t deadline_ns;
    a.now_ns += 3 * S_NS;
    assert_true(kube_lease_next(a.lease, a.now_ns, UNIX_MS - 5000, &req, &deadline_ns));
    _cleanup_(freep) char *body = NULL;
    assert_int_equal(serve(&s, &req, &body), 200);
    const struct kube_response lost = response(503, body);
    kube_request_done(&req);
    kube_lease_answer(a.lease, a.now_ns, &lost);
    pass(&a, &s, 9 * S_NS);
    assert_int_equal(kube_lease_state(a.lease, a.now_ns), KUBE_LEASE_LEADER);
    end(&s, &a, NULL);
}

/* The server answers each write like that, and each read truthfully. */
TEST(writes_that_never_go_through)
{
    static const int codes[] = {409, 404, 500, 403};
    for (size_t i = 0; i < N_ROWS(codes); i++) {
        struct server s = {0};
        struct member a = member_new("a");
        settle(&a, &s);
        s.writes_down = codes[i];
        a.requests = 0;
        pass(&a, &s, 20 * S_NS); /* settle() fails for a hot loop */
        assert_in_range(a.requests, 3, 20);
        assert_int_equal(kube_lease_state(a.lease, a.now_ns), KUBE_LEASE_LOST);
        end(&s, &a, NULL);
    }
}

/* One request is lost without a word: there must be time for the next, also on a slow server. */
TEST(survives_one_silence)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct server s = {0};
        struct member a = {.now_ns = 100 * S_NS};
        a.lease = kube_lease_new(&(struct kube_lease_params){
            .ns = "n", .name = "benchd", .identity = "a", .seed = seed});
        settle(&a, &s);
        struct kube_request req;
        int64_t deadline_ns;
        while (!kube_lease_next(a.lease, a.now_ns, UNIX_MS, &req, &deadline_ns)) {
            a.now_ns = deadline_ns;
        }
        kube_request_done(&req);
        a.now_ns += kube_lease_request_timeout_ns(a.lease);
        struct kube_response lost = response(0, "");
        lost.failure = KUBE_TIMED_OUT;
        kube_lease_answer(a.lease, a.now_ns, &lost);
        for (int i = 0; i < 2; i++) { /* to see what is there, and to renew it */
            while (!kube_lease_next(a.lease, a.now_ns, UNIX_MS, &req, &deadline_ns) &&
                   kube_lease_may_write(a.lease, a.now_ns)) {
                a.now_ns = deadline_ns;
            }
            if (!kube_lease_may_write(a.lease, a.now_ns)) {
                fail_msg("seed %d: lost after one silence", (int)seed);
            }
            _cleanup_(freep) char *body = NULL;
            const int code = serve(&s, &req, &body);
            const struct kube_response res = response(code, body);
            kube_request_done(&req);
            a.now_ns += S_NS;
            kube_lease_answer(a.lease, a.now_ns, &res);
        }
        assert_true(kube_lease_may_write(a.lease, a.now_ns));
        end(&s, &a, NULL);
    }
}

/* The record says how long its holder may be silent, not who waits for it. */
TEST(waits_as_long_as_the_holder_said)
{
    static const struct {
        json_int_t duration_s;
        unsigned min, max;
    } rows[] = {{40, 38, 43}, {5, 4, 8}, {0, 14, 18}, {-7, 14, 18}, {INT64_MAX, 14, 18}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct server s = {.version = 7,
                           .lease =
                               json_pack("{s:{s:s,s:s}, s:{s:s,s:I}}", "metadata", "name", "benchd",
                                         "resourceVersion", "7", "spec", "holderIdentity", "x",
                                         "leaseDurationSeconds", rows[i].duration_s)};
        struct member a = member_new("a");
        unsigned seconds = 0;
        for (; !kube_lease_may_write(a.lease, a.now_ns) && seconds < 60; seconds++) {
            pass(&a, &s, S_NS);
        }
        if (seconds < rows[i].min || seconds > rows[i].max) {
            fail_msg("duration %lld: expected %u to %u s, got %u", (long long)rows[i].duration_s,
                     rows[i].min, rows[i].max, seconds);
        }
        end(&s, &a, NULL);
    }
}

/* Whoever reads it compares with the server's clock: what is written must be by that clock. */
TEST(dates_by_the_servers_clock)
{
    static const int64_t ahead_ms[] = {0, 1500, -1500, 3600000, -3600000, 86400000};
    for (size_t i = 0; i < N_ROWS(ahead_ms); i++) {
        struct server s = {.date_ms = UNIX_MS};
        struct member a = member_new("a");
        a.ahead_ms = ahead_ms[i];
        for (int second = 0; second < 30; second++) {
            struct err err = {0};
            _cleanup_(freep) char *address = NULL;
            pass(&a, &s, S_NS);
            s.date_ms += 1000;
            const int r = kube_lease_read(s.lease, s.date_ms, &address, &err);
            if (r != 0) {
                fail_msg("%lld ms ahead, after %d s: %s", (long long)ahead_ms[i], second, err.msg);
            }
        }
        _cleanup_(freep) char *address = NULL;
        assert_int_equal(kube_lease_read(s.lease, s.date_ms + 20000, &address, NULL), -ESTALE);
        end(&s, &a, NULL);
    }
}

/* A Date of whole seconds, and its way here: less than 2.5 s is no difference. */
TEST(a_small_difference_is_none)
{
    static const int64_t rows[][2] = {{-2500, -2500}, {-2499, 0}, {2499, 0}, {2500, 2500}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct server s = {.date_ms = UNIX_MS + rows[i][0]};
        struct member a = member_new("a");
        assert_true(turn(&a, &s));
        assert_int_equal(kube_lease_skew_ms(a.lease), rows[i][1]);
        end(&s, &a, NULL);
    }
}

static const char *holder_on(const struct server *s)
{
    return json_string_value(json_object_get(json_object_get(s->lease, "spec"), "holderIdentity"));
}

TEST(a_clean_exit_hands_it_over)
{
    struct server s = {0};
    struct member a = member_new("a"), b = member_new("b");
    settle(&a, &s);
    settle(&b, &s);
    kube_lease_release(b.lease, b.now_ns);
    assert_true(kube_lease_is_released(b.lease, b.now_ns)); /* it was not its */
    assert_false(turn(&b, &s));
    kube_lease_release(a.lease, a.now_ns);
    assert_false(kube_lease_may_write(a.lease, a.now_ns)); /* from now on */
    assert_false(kube_lease_is_released(a.lease, a.now_ns));
    settle(&a, &s);
    assert_true(kube_lease_is_released(a.lease, a.now_ns));
    assert_string_equal(holder_on(&s), "");
    /* The least that the API accepts: whoever goes by the duration alone does not wait either. */
    assert_int_equal(json_integer_value(
                         json_object_get(json_object_get(s.lease, "spec"), "leaseDurationSeconds")),
                     1);
    pass(&a, &s, 60 * S_NS);
    assert_string_equal(holder_on(&s), ""); /* for good */
    struct member c = member_new("c");
    settle(&c, &s);
    assert_true(kube_lease_may_write(c.lease, c.now_ns));
    kube_lease_free(c.lease);
    end(&s, &a, &b);
}

/* A release that comes while a request of `a` is under way. */
TEST(a_release_waits_for_the_answer)
{
    static const struct {
        const char *name;
        bool was_leader;    /* the request renews; else it takes the Lease */
        int answer;         /* 0: as the server has it; else that, and the server has done it */
        const char *other;  /* who has written it meanwhile: "a" a person, "b" another process */
        const char *holder; /* then */
    } rows[] = {
        {"a renewal", true, 0, NULL, ""},
        {"a renewal whose answer is lost", true, 503, NULL, "a"}, /* tried again later */
        {"a renewal that a person overtook", true, 0, "a", ""},
        {"a renewal that another overtook", true, 0, "b", "b"},
        {"being made", false, 0, NULL, ""},
        {"being made, by another too", false, 0, "b", "b"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct server s = {0};
        struct member a = member_new("a");
        struct kube_request req;
        int64_t deadline_ns;
        if (rows[i].was_leader) {
            settle(&a, &s);
            a.now_ns += 3 * S_NS;
        } else {
            assert_true(turn(&a, &s)); /* there is none */
        }
        assert_true(kube_lease_next(a.lease, a.now_ns, UNIX_MS, &req, &deadline_ns));
        if (rows[i].other != NULL) {
            json_decref(s.lease);
            s.lease = json_pack("{s:{s:s, s:s}, s:{s:s}}", "metadata", "name", "benchd",
                                "resourceVersion", "77", "spec", "holderIdentity", rows[i].other);
        }
        kube_lease_release(a.lease, a.now_ns);
        struct kube_request none;
        assert_false(kube_lease_next(a.lease, a.now_ns, UNIX_MS, &none, &deadline_ns));
        assert_int_equal(kube_lease_is_released(a.lease, a.now_ns), false);
        _cleanup_(freep) char *body = NULL;
        const int code = serve(&s, &req, &body);
        const struct kube_response res =
            response(rows[i].answer != 0 ? rows[i].answer : code, body);
        kube_request_done(&req);
        kube_lease_answer(a.lease, a.now_ns, &res);
        settle(&a, &s);
        if (strcmp(holder_on(&s), rows[i].holder) != 0) {
            fail_msg("%s: '%s' holds it, expected '%s'", rows[i].name, holder_on(&s),
                     rows[i].holder);
        }
        pass(&a, &s, 5 * S_NS);
        if (!kube_lease_is_released(a.lease, a.now_ns) || strcmp(holder_on(&s), "a") == 0) {
            fail_msg("%s: not given up in the end", rows[i].name);
        }
        end(&s, &a, NULL);
    }
}

TEST(a_release_of_what_is_gone)
{
    struct server s = {0};
    struct member a = member_new("a");
    settle(&a, &s);
    json_decref(s.lease);
    s.lease = NULL;
    kube_lease_release(a.lease, a.now_ns);
    settle(&a, &s);
    assert_true(kube_lease_is_released(a.lease, a.now_ns));
    assert_null(s.lease); /* not made again */
    end(&s, &a, NULL);
}

TEST(read_by_others)
{
    /* clang-format off */
    static const struct {
        const char *name, *json;
        int64_t later_ms;
        int r;
        const char *text;
    } rows[] = {
        {"alive", "{\"metadata\":{\"name\":\"benchd\",\"annotations\":{\"benchd.io/address\":"
                  "\"http://h:1\"}},\"spec\":{\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,"
                  "\"renewTime\":\"2026-11-20T08:52:51.000000Z\"}}", 15000, 0, "http://h:1"},
        {"no address", "{\"metadata\":{\"name\":\"benchd\"},\"spec\":{\"holderIdentity\":\"a\","
                       "\"leaseDurationSeconds\":15,\"renewTime\":\"2026-11-20T08:52:51Z\"}}",
         -5000, 0, "service"},
        {"dead", "{\"metadata\":{\"name\":\"benchd\"},\"spec\":{\"holderIdentity\":\"a\","
                 "\"leaseDurationSeconds\":15,\"renewTime\":\"2026-11-20T08:52:51Z\"}}", 40000,
         -ESTALE, "'a' last renewed the lease 'benchd' 40 s ago"},
        {"from the future", "{\"metadata\":{\"name\":\"benchd\"},\"spec\":{\"holderIdentity\":\"a\","
                            "\"leaseDurationSeconds\":15,\"renewTime\":\"2026-11-20T08:52:51Z\"}}",
         -40000, -ESTALE, "40 s ahead of the API server's clock"},
        {"absurd", "{\"metadata\":{\"name\":\"benchd\"},\"spec\":{\"holderIdentity\":\"a\","
                   "\"leaseDurationSeconds\":9223372036854775807,\"renewTime\":"
                   "\"2026-11-20T08:52:51Z\"}}", 40000, -ESTALE, "40 s ago"},
        {"given up", "{\"metadata\":{\"name\":\"benchd\"},\"spec\":{\"holderIdentity\":\"\"}}", 0,
         -ENOENT, "nobody holds the lease 'benchd'"},
        {"nonsense", "{}", 0, -EPROTO, "the answer is not a Lease"},
        {"no date", "{\"spec\":{\"holderIdentity\":\"a\",\"renewTime\":\"soon\"}}", 0, -EPROTO,
         "never renewed"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(json_decrefp) json_t *lease = json_loads(rows[i].json, 0, NULL);
        struct err err = {0};
        _cleanup_(freep) char *address = NULL;
        const int r = kube_lease_read(lease, UNIX_MS + rows[i].later_ms, &address, &err);
        const char *got = r == 0 ? address : err.msg;
        if (r != rows[i].r || strstr(got, rows[i].text) == NULL) {
            fail_msg("%s: expected %d '%s', got %d '%s'", rows[i].name, rows[i].r, rows[i].text, r,
                     got);
        }
    }
}

#define KEY_32 "0123456789abcdef0123456789abcdef"
#define KEY_128 KEY_32 KEY_32 KEY_32 KEY_32

/* The key goes into the Lease, and out of it once the next holder wants none. */
TEST(the_key_of_readers)
{
    static const struct {
        const char *key, *read;
    } rows[] = {{"0123abcd", "0123abcd"},
                {KEY_128, KEY_128},
                {KEY_128 "a", NULL},
                {NULL, NULL},
                {"", NULL},
                {"ab\r\nImpersonate-User: root", NULL},
                {"AB", NULL}};
    struct server s = {0};
    struct member a = {.now_ns = S_NS};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        a.lease = kube_lease_new(&(struct kube_lease_params){
            .ns = "n", .name = "benchd", .identity = "a", .read_key = rows[i].key});
        settle(&a, &s);
        const char *read = kube_lease_read_key(s.lease);
        if ((read == NULL) != (rows[i].read == NULL) ||
            (read != NULL && strcmp(read, rows[i].read) != 0)) {
            fail_msg("row %zu: got %s", i, read == NULL ? "none" : read);
        }
        kube_lease_free(a.lease);
        a.now_ns += 60 * S_NS;
    }
    json_decref(s.lease);
}
