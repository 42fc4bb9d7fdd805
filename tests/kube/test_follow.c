/* A log over as many streams as it takes: when the next one is opened, and when it is over. The
 * lines themselves: test_log_cursor.c. */
#include "fake_client.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "kube/follow.h"

#define MS_NS INT64_C(1000000)
#define ONE "2026-11-20T08:52:51.1Z one\n"
#define LATER "2026-11-20T08:53:01.2Z later\n" /* than ONE by 10.1 s */
#define TWO "2026-11-20T08:52:51.2Z two\n"

struct reader {
    struct kube_follow *follow;
    struct buf lines;
    unsigned n_ends, n_breaks;
    int r;
};

static void on_line(void *ctx, const char *line, size_t len)
{
    struct reader *r = ctx;
    assert_int_equal(r->n_ends, 0); /* on_end is the last callback */
    buf_append(&r->lines, line, len);
    buf_putc(&r->lines, '\n');
}

static void on_end(void *ctx, int r, const struct err *err)
{
    struct reader *reader = ctx;
    reader->n_ends++;
    reader->r = r;
    assert_int_equal(r == 0, err->msg[0] == '\0');
}

static void on_break(void *ctx)
{
    struct reader *r = ctx;
    assert_int_equal(r->n_ends, 0);
    r->n_breaks++;
}

/* `whole`: file_bytes and what belongs to it. */
static struct reader *start_for(const struct kube_follow_params *whole)
{
    struct reader *r = xnew(struct reader);
    struct kube_follow_params params = *whole;
    params.ns = "n";
    params.pod = "a";
    params.on_line = on_line;
    params.on_break = on_break;
    params.on_end = on_end;
    params.ctx = r;
    params.seed = 1;
    fake_client_init();
    r->follow = kube_follow_new(NULL, &params);
    return r;
}

static struct reader *start(void)
{
    return start_for(&(const struct kube_follow_params){0});
}

static void finish(struct reader *r, const char *lines)
{
    assert_string_equal(buf_cstr(&r->lines), lines);
    kube_follow_free(r->follow);
    buf_done(&r->lines);
    free(r);
    fake_client_done();
}

/* Ends the open stream; returns how long no other was open. */
static int64_t pause_after_end(int http_code)
{
    fake_client_end(fake_client_stream(), http_code);
    const size_t n = fake_client.n_streams;
    const int64_t began_ns = fake_client.now_ns;
    while (fake_client.n_streams == n && fake_client.now_ns < began_ns + 20 * S_NS) {
        fake_client_pass(10 * MS_NS);
    }
    return fake_client.now_ns - began_ns;
}

TEST(goes_on_where_a_stream_ended)
{
    struct reader *r = start();
    const char *path = fake_client_stream()->req.path;
    assert_string_equal(path, "/api/v1/namespaces/n/pods/a/log?follow=true&timestamps=true");
    fake_client_data(fake_client_stream(), ONE);
    assert_in_range(pause_after_end(200), 100 * MS_NS, 210 * MS_NS);
    path = fake_client_stream()->req.path;
    assert_non_null(strstr(path, "&sinceTime=2026-11-20T08%3A52%3A50Z"));
    fake_client_data(fake_client_stream(), ONE TWO);
    assert_int_equal(r->n_ends, 0);
    assert_int_equal(r->n_breaks, 1); /* nobody saw what was written meanwhile */
    kube_follow_container_ended(r->follow);
    kube_follow_container_ended(r->follow); /* twice is harmless */
    fake_client_end(fake_client_stream(), 200);
    assert_int_equal(r->n_ends, 1);
    assert_int_equal(r->n_breaks, 1);
    assert_int_equal(r->r, 0);
    finish(r, "one\ntwo\n");
}

/* The server is away when the container ends: the rest of the log is not lost. */
TEST(the_end_of_a_container_is_not_the_end_of_its_log)
{
    struct reader *r = start();
    fake_client_data(fake_client_stream(), ONE);
    fake_client_end(fake_client_stream(), 0);
    kube_follow_container_ended(r->follow);
    fake_client_pass(0); /* it does not wait for the back-off */
    for (int i = 0; i < 5; i++) {
        (void)pause_after_end(0);
        assert_int_equal(r->n_ends, 0);
    }
    fake_client_data(fake_client_stream(), ONE TWO);
    fake_client_end(fake_client_stream(), 200);
    assert_int_equal(r->n_ends, 1);
    assert_int_equal(r->r, 0);
    finish(r, "one\ntwo\n");
}

/* A node that is lost leaves the stream open, or no server answers: 10 s, then it is over. */
TEST(gives_up_ten_seconds_after_the_container)
{
    for (int is_away = 0; is_away <= 1; is_away++) {
        struct reader *r = start();
        fake_client_data(fake_client_stream(), ONE "2026-11-20T08:52:51.3Z half");
        fake_client_pass(60 * S_NS); /* while the container runs, silence is normal */
        struct kube_stream *stream = fake_client_stream();
        kube_follow_container_ended(r->follow);
        const int64_t ended_ns = fake_client.now_ns;
        while (r->n_ends == 0 && fake_client.now_ns < ended_ns + 20 * S_NS) {
            struct kube_stream *last = &fake_client.streams[fake_client.n_streams - 1];
            if (is_away && last->is_open) {
                fake_client_end(last, 0);
            }
            fake_client_pass(10 * MS_NS);
        }
        assert_in_range(fake_client.now_ns - ended_ns, 10 * S_NS, 10 * S_NS + 200 * MS_NS);
        assert_int_equal(r->n_ends, 1);
        assert_int_equal(r->r, -ETIMEDOUT);
        assert_int_equal(stream->is_abandoned, !is_away); /* its connection may be dead */
        finish(r, is_away ? "one\n" : "one\nhalf\n");
    }
}

TEST(a_node_that_refuses_is_asked_five_times)
{
    struct reader *r = start();
    fake_client_data(fake_client_stream(), ONE);
    kube_follow_container_ended(r->follow);
    unsigned n = 0;
    for (; r->n_ends == 0 && n < 10; n++) {
        fake_client_end(fake_client_stream(), 500);
        fake_client_pass(0); /* at once: it will not change its mind */
    }
    assert_int_equal(n, 5);
    assert_int_equal(r->r, -EIO);
    finish(r, "one\n");
}

TEST(what_cannot_change_ends_it)
{
    static const struct {
        int http_code, r;
    } rows[] = {{404, -ENOENT}, {403, -EACCES}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct reader *r = start();
        fake_client_end(fake_client_stream(), rows[i].http_code);
        assert_int_equal(r->n_ends, 1);
        assert_int_equal(r->r, rows[i].r);
        fake_client_pass(60 * S_NS);
        finish(r, "");
    }
}

TEST(waits_longer_until_data_comes)
{
    struct reader *r = start();
    int64_t pause_ns = 0;
    for (int i = 0; i < 6; i++) { /* such as a pod that is not ready */
        pause_ns = pause_after_end(400);
    }
    assert_in_range(pause_ns, 1500 * MS_NS, 3010 * MS_NS);
    fake_client_data(fake_client_stream(), ONE);
    assert_in_range(pause_after_end(200), 100 * MS_NS, 210 * MS_NS);
    fake_client_data(fake_client_stream(), ONE TWO);
    finish(r, "one\ntwo\n"); /* in the middle of a stream: finish() sees that it was cancelled */
}

#define FILE_BYTES (UINT64_C(10) << 20)
#define STARTED_MS INT64_C(1795164770000) /* 08:52:50 */
#define HEAD "2026-11-20T08:52:51.1Z on"
#define GAP_LINE KUBE_LOG_GAP "\n"

static char *many_lines(unsigned n)
{
    struct buf text = BUF_INIT;
    buf_puts(&text, ONE);
    for (unsigned i = 0; i < n; i++) {
        buf_printf(&text, "2026-11-20T08:52:51.2Z %0*u\n", 1000, i);
    }
    return buf_take(&text);
}

/* No figure is taken from a log of which a part may be missing. */
TEST(only_a_whole_log_is_good_for_figures)
{
    static const struct {
        const char *name;
        int64_t age_s; /* of the first line, which comes after wait_s of an open stream */
        bool saw_wait;
        int64_t wait_s;
        const char *text, *again; /* again NULL: the first stream goes on to the end */
        const char *head;
        bool is_whole, is_marked;
        uint64_t file_bytes; /* 0: FILE_BYTES */
    } rows[] = {
        {"a line at once", 1, false, 0, ONE, NULL, HEAD, true, false},
        {"read late, and its first line is young", 10, false, 0, ONE LATER, NULL, HEAD, true,
         false},
        {"... and little was seen", 10, false, 0, ONE TWO, NULL, HEAD, false, false},
        {"... and its line was waited for", 10, true, 4, ONE, NULL, HEAD, false, false},
        {"... for longer than it was not", 10, true, 5, ONE, NULL, HEAD, true, false},
        {"little was seen, and less was not", 3, false, 0, ONE, NULL, HEAD, true, false},
        {"little was seen, and more was not", 4, false, 0, ONE, NULL, HEAD, false, false},
        {"read late, and its first line is late", 11, false, 0, ONE LATER, NULL, HEAD, false, true},
        {"... though the stream was open for long", 30, false, 28, ONE, NULL, HEAD, false, true},
        {"a silent beginning that was watched", 30, true, 20, ONE, NULL, HEAD, true, false},
        {"... from too late on", 30, true, 19, ONE, NULL, HEAD, false, true},
        {"replaced while it was read", 1, true, 0, ONE TWO, NULL, TWO, false, false},
        {"replaced, and empty since", 1, true, 0, ONE TWO, NULL, "", false, false},
        {"a second stream of the same file", 1, true, 0, ONE, ONE TWO, HEAD, true, false},
        {"... of the next file", 1, true, 0, ONE, TWO, TWO, false, true},
        {"... of a file that begins alike", 1, true, 0, ONE, TWO, HEAD, false, true},
        {"no line, watched", 1, true, 0, "", NULL, "", true, false},
        {"no line", 1, false, 0, "", NULL, "", false, false},
        {"the kubelet's own words", 1, true, 0, "cannot read\n", NULL, "cannot read\n", true,
         false},
        {"many lines", 1, true, 0, NULL, NULL, HEAD, false, false},
        {"fewer than those of a larger file", 1, true, 0, NULL, NULL, HEAD, true, false,
         2 * FILE_BYTES},
        {"a fifth of a file", 1, true, 0, ONE, NULL, HEAD, false, false, 5 * (sizeof(ONE) - 2)},
        {"less than a fifth of it", 1, true, 0, ONE, NULL, HEAD, true, false, 5 * sizeof(ONE)},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct reader *r = start_for(&(const struct kube_follow_params){
            .file_bytes = rows[i].file_bytes ?: FILE_BYTES,
            .saw_wait = rows[i].saw_wait,
            .started_unix_ms = STARTED_MS + 1100 - rows[i].age_s * 1000});
        fake_client_pass(rows[i].wait_s * S_NS);
        _cleanup_(freep) char *many = many_lines(2200);
        fake_client_data(fake_client_stream(), rows[i].text == NULL ? many : rows[i].text);
        if (rows[i].again != NULL) {
            (void)pause_after_end(200);
            fake_client_data(fake_client_stream(), rows[i].again);
        }
        kube_follow_container_ended(r->follow);
        fake_client_end(fake_client_stream(), 200);
        assert_int_equal(r->n_ends, 0);
        assert_string_equal(fake_client.calls[0].req.path,
                            "/api/v1/namespaces/n/pods/a/log?timestamps=true&limitBytes=64");
        fake_client_answer(&fake_client.calls[0], 200, rows[i].head);
        assert_int_equal(r->n_ends, 1);
        const bool is_marked = strstr(buf_cstr(&r->lines), KUBE_LOG_GAP) != NULL;
        if (r->r != (rows[i].is_whole ? 0 : -ENODATA) || is_marked != rows[i].is_marked) {
            fail_msg("%s: %d, %s", rows[i].name, r->r, is_marked ? "marked" : "not marked");
        }
        _cleanup_(freep) char *lines = xstrdup(buf_cstr(&r->lines));
        finish(r, lines);
    }
}

/* Where the beginning is missing the stored text begins with the mark. */
TEST(a_late_beginning_is_marked_at_its_place)
{
    struct reader *r = start_for(
        &(const struct kube_follow_params){.file_bytes = FILE_BYTES, .started_unix_ms = 1000});
    fake_client_data(fake_client_stream(), ONE TWO);
    finish(r, GAP_LINE "one\ntwo\n"); /* before its end */
}

/* The first bytes of the file cannot be read, or nobody waits for them any more. */
TEST(a_head_that_cannot_be_read)
{
    for (int is_freed = 0; is_freed <= 1; is_freed++) {
        struct reader *r = start_for(&(const struct kube_follow_params){
            .file_bytes = FILE_BYTES, .started_unix_ms = STARTED_MS});
        fake_client_data(fake_client_stream(), ONE);
        kube_follow_container_ended(r->follow);
        fake_client_end(fake_client_stream(), 200);
        fake_client_pass(60 * S_NS); /* the call has limits of its own */
        if (!is_freed) {
            fake_client_answer(&fake_client.calls[0], 404, "");
            assert_int_equal(r->r, -ENOENT);
        }
        assert_int_equal(r->n_ends, !is_freed);
        finish(r, "one\n");
    }
}

/* Bytes that still come are waited for, however long they take, but not for ever. */
TEST(a_slow_log_is_read_to_its_end)
{
    for (int has_end = 0; has_end <= 1; has_end++) {
        struct reader *r = start();
        fake_client_data(fake_client_stream(), ONE);
        kube_follow_container_ended(r->follow);
        for (int i = 0; i < 3; i++) {
            fake_client_pass(9 * S_NS);
            fake_client_data(fake_client_stream(), TWO);
        }
        if (has_end) {
            fake_client_end(fake_client_stream(), 200);
        }
        fake_client_pass(10 * S_NS);
        assert_int_equal(r->n_ends, 1);
        assert_int_equal(r->r, has_end ? 0 : -ETIMEDOUT);
        finish(r, "one\ntwo\ntwo\ntwo\n");
    }
}
