/* What containers print, how it is read from their node, and what must be true of a log that benchd
 * stored. In some worlds one container prints more than benchd keeps, or a webhook has put a
 * container in front of each pod's own. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/rfc3339.h"
#include "store/store.h"

#define KEPT_BYTES ((size_t)10 << 20) /* of one replica of a small gang: docs/benchd.md */
#define NOISE_LINES 190
#define NOISE_LINE_BYTES 60000

/* ---- printing ---- */

static char *stamped(const struct sim_line *line)
{
    char date[RFC3339_MICRO_SIZE];
    rfc3339_format_micro(sim_unix_ms_of(line->at_ns), date);
    return xasprintf("%s %s", date, line->text);
}

static void feed_later(void *ctx)
{
    logs_feed(ctx);
}

void logs_feed(struct sim_pod *p)
{
    if (p->followers.len > 0 && !p->is_node_gone && node_must_wait(p, feed_later)) {
        return;
    }
    for (size_t i = p->followers.len; i > 0; i--) {
        struct kube_transfer *stream = p->followers.items[i - 1];
        for (size_t k = p->followed.items[i - 1]; k < p->lines.len; k++) {
            _cleanup_(freep) char *text = stamped(&p->lines.items[k]);
            network_send(stream, text, strlen(text));
        }
        if (p->followed.items[i - 1] < p->lines.len) {
            p->followed.items[i - 1] = p->lines.len;
        }
        if (p->container.has_ended || !network_is_open(stream)) {
            network_end(stream);
            network_drop(stream);
            p->followers.items[i - 1] = p->followers.items[--p->followers.len];
            p->followed.items[i - 1] = p->followed.items[--p->followed.len];
        }
    }
}

void logs_print(struct sim_pod *p, char *text_take)
{
    *vec_push(&p->lines) = (struct sim_line){sim.now_ns, text_take};
    logs_feed(p);
}

void logs_rotate(struct sim_pod *p)
{
    p->first_line = p->lines.len;
    for (size_t i = 0; i < p->followed.len; i++) {
        p->followed.items[i] = p->lines.len + sim_below(DRAW_PRINTER, 2);
    }
    sim_trace("node: the log of %s has a new file", p->name);
}

/* More than benchd keeps, in lines of which no two are equal. */
static void shout(void *ctx)
{
    struct sim_pod *p = ctx;
    for (unsigned i = 0; i < NOISE_LINES && !p->container.has_ended; i++) {
        char *line = xmalloc(NOISE_LINE_BYTES + 1);
        const int n = snprintf(line, NOISE_LINE_BYTES, "noise %u of container %" PRIu64 " ", i,
                               p->container.nonce);
        memset(line + n, 'x', NOISE_LINE_BYTES - (size_t)n - 1);
        line[NOISE_LINE_BYTES - 1] = '\n';
        line[NOISE_LINE_BYTES] = '\0';
        logs_print(p, line);
    }
}

/* Of the worlds above 40 one in sixteen has a loud container: one of the first four that start. */
void logs_shout_perhaps(struct sim_pod *p)
{
    if (sim.seed > 40 && sim.seed % 16 == 6 && p->container.nonce == 1 + sim.seed / 16 % 4) {
        sim_trace("node: %s is loud", p->name);
        if (sim_prints(sim.seed)) { /* as if its file was replaced at once */
            promise_excuse(p->run_uid, &p->id.attempt, "its log grows too fast");
        }
        sim_after(sim_time(DRAW_NODE, SIM_S / 2, 2 * SIM_S), shout, p);
    }
}

/* ---- reading ---- */

/* The value of a query's argument. Owned; NULL: it has none. */
static char *argument(const char *path, const char *name)
{
    const char *at = strstr(path, name);
    return at == NULL ? NULL : xstrndup(at + strlen(name), strcspn(at + strlen(name), "&"));
}

/* sinceTime=2026-11-20T08%3A52%3A51Z */
static int64_t since_of(const char *path)
{
    _cleanup_(freep) char *given = argument(path, "sinceTime=");
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    int64_t unix_ns = INT64_MIN;
    for (const char *at = given == NULL ? "" : given; *at != '\0'; at++) {
        const bool is_colon = str_has_prefix(at, "%3A");
        buf_putc(&text, is_colon ? ':' : *at);
        at += is_colon ? 2 : 0;
    }
    (void)rfc3339_parse(buf_cstr(&text), text.len, &unix_ns); /* none: from the start */
    return unix_ns;
}

/* A pod with two containers has two logs. True: it was answered. */
static bool serve_other(const struct sim_pod *p, const char *path, struct sim_answer *ret)
{
    _cleanup_(freep) char *container = argument(path, "container=");
    if (container == NULL && node_has_mesh()) {
        server_status(ret, 400, "BadRequest",
                      "a container name must be specified, choose one of: [" SIM_MESH " m]");
        return true;
    }
    if (container != NULL && str_eq(container, SIM_MESH)) {
        *ret = (struct sim_answer){200, xasprintf("the mesh of %s listens\n", p->name), -1, 0};
        return true;
    }
    return false;
}

static char *print_from(const struct sim_pod *p, size_t first, const char *path)
{
    _cleanup_(freep) char *limit = argument(path, "limitBytes=");
    const size_t most = limit == NULL ? SIZE_MAX : strtoull(limit, NULL, 10);
    struct buf text = BUF_INIT;
    const bool has_times = strstr(path, "timestamps=true") != NULL;
    for (size_t i = first; i < p->lines.len && text.len < most; i++) {
        _cleanup_(freep) char *with_time = has_times ? stamped(&p->lines.items[i]) : NULL;
        buf_puts(&text, has_times ? with_time : p->lines.items[i].text);
    }
    char *whole = text.len == 0 ? xstrdup("") : buf_take(&text);
    if (strlen(whole) > most) {
        whole[most] = '\0';
    }
    return whole;
}

void logs_serve(struct sim_pod *p, const char *path, struct kube_transfer *stream,
                struct sim_answer *ret)
{
    if (p->is_node_gone || fault_is_on(FAULT_NODE_LOST, NULL)) {
        server_status(ret, 500, "InternalError", "dial tcp 10.0.0.9:10250: i/o timeout");
        return;
    }
    if (!p->container.has_started) {
        server_status(ret, 400, "BadRequest", "the container is waiting to start");
        return;
    }
    if (serve_other(p, path, ret)) {
        return;
    }
    const int64_t since_ns = since_of(path);
    size_t first = p->first_line;
    while (first < p->lines.len &&
           sim_unix_ms_of(p->lines.items[first].at_ns) * SIM_MS < since_ns) {
        first++;
    }
    *ret = (struct sim_answer){200, NULL, -1, 0};
    if (strstr(path, "follow=true") != NULL) {
        network_hold(stream);
        *vec_push(&p->followers) = stream;
        *vec_push(&p->followed) = first;
        sim_after(SIM_MS, feed_later, p);
    } else {
        ret->body = print_from(p, first, path);
    }
}

/* ---- what was stored ---- */

/* A stored log is the container's lines in their order. Where some are missing a line of benchd
 * says how many bytes, and the line before it may be cut. */
struct comparison {
    const struct sim_pod *pod;
    size_t next;                    /* line of the container that comes next */
    size_t missing, all, n_dropped; /* bytes; n_dropped: what benchd says */
    bool has_gap;                   /* since then no line of the container has come */
};

static bool is_mark(const char *text, size_t *ret_n)
{
    unsigned long long n;
    if (sscanf(text, "[benchd: %llu bytes dropped here", &n) != 1) {
        return false;
    }
    *ret_n = (size_t)n;
    return true;
}

static size_t len_of(const struct comparison *c, size_t i)
{
    return strlen(c->pod->lines.items[i].text);
}

static bool is_line(const struct comparison *c, size_t i, const char *text, size_t len)
{
    return i < c->pod->lines.len && len_of(c, i) == len &&
           memcmp(c->pod->lines.items[i].text, text, len) == 0;
}

/* False: the container printed no such line here. */
static bool take_line(struct comparison *c, const char *text, size_t len)
{
    size_t i = c->next;
    while (c->has_gap && i < c->pod->lines.len && !is_line(c, i, text, len)) {
        c->missing += len_of(c, i++);
    }
    if (!is_line(c, i, text, len)) {
        return false;
    }
    c->has_gap = false;
    c->next = i + 1;
    return true;
}

/* The beginning of a line, without its end. */
static bool take_piece(struct comparison *c, const char *text, size_t len)
{
    if (c->has_gap || (len > 0 && (c->next >= c->pod->lines.len || len_of(c, c->next) < len ||
                                   memcmp(c->pod->lines.items[c->next].text, text, len) != 0))) {
        return false;
    }
    c->missing -= len; /* what was kept of a line that counts as missing */
    return true;
}

/* Returns where it differs; NULL: nowhere. */
static const char *compare(struct comparison *c, const char *text)
{
    for (const char *at = text, *end; *at != '\0'; at = end) {
        const char *newline = strchr(at, '\n');
        end = newline == NULL ? at + strlen(at) : newline + 1;
        size_t n;
        bool is_good;
        if (newline != NULL && is_mark(end, &n)) { /* the next line: this one may be cut */
            is_good = take_piece(c, at, (size_t)(newline - at));
        } else if (is_mark(at, &n)) {
            c->n_dropped += n;
            is_good = c->has_gap = true;
        } else if (newline == NULL) {
            is_good = take_piece(c, at, strlen(at));
            c->missing += strlen(at); /* it ends here: no mark counts what follows */
        } else {
            is_good = take_line(c, at, (size_t)(end - at));
        }
        if (!is_good) {
            return at;
        }
    }
    return NULL;
}

void logs_check(const struct sim_pod *p, const char *text, bool is_whole)
{
    struct comparison c = {.pod = p};
    vec_each (const struct sim_line, line, &p->lines) {
        c.all += strlen(line->text);
    }
    const char *at = compare(&c, text);
    const char *expected = c.next < p->lines.len ? p->lines.items[c.next].text : "";
    if (at != NULL || (is_whole && (c.next < p->lines.len || c.has_gap))) {
        at = at == NULL ? text + strlen(text) : at;
        sim_broken("the log of %s, of %zu bytes, differs at byte %zu of %zu: '%.40s' for '%.40s'",
                   p->name, strlen(text), (size_t)(at - text), c.all, at, expected);
    }
    if (c.n_dropped != c.missing || (c.n_dropped > 0 && c.all <= KEPT_BYTES)) {
        sim_broken("the log of %s says that %zu bytes are missing; %zu of %zu are", p->name,
                   c.n_dropped, c.missing, c.all);
    }
}
