/* A request of any bytes to every handler: a line for the path, then lines
 * "name=value" for the arguments. Each answer has a status that a client can act on, JSON is JSON,
 * and a page has no tag "<x" and no attribute "zz", which may be in the request. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/web/site.h"
#include "result_fixture.h"
#include "tests/store/store_folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ARGS_MAX 16 /* http.c: MAX_ARGS */

static void must(bool holds, const char *what, const char *path)
{
    if (!holds) {
        fprintf(stderr, "fuzz_request: %s: %s\n", path, what);
        abort();
    }
}

/* A run of two points and its baseline with a trial each, and one that failed. */
static struct {
    char folder[64], url[96];
    struct fixture run;
    struct site site;
} world;

static void close_world(void)
{
    site_done(&world.site);
    store_close(world.site.store);
    fixture_done(&world.run);
    store_folder_remove(world.folder);
}

static void save(struct store *s, const struct attempt_row *row)
{
    struct replica_log logs[8];
    size_t n = 0;
    vec_each (struct replica_row, replica, &row->replicas) {
        static const char text[] = "one line\n<b>two</b>\n";
        logs[n++] = (struct replica_log){replica->id, text, sizeof(text) - 1};
    }
    store_put_attempt(s, world.run.def, row, logs, n);
}

static void open_world(void)
{
    static struct daemon_runs none;
    struct store *s = store_in_folder(world.folder, world.url);
    fixture_init(&world.run, "{grid: {pservers: [1], trainers: [1, 2]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 2}\n", 8);
    store_put_def(s, world.run.def,
                  &(struct run_status){.phase = RUN_PARTIALLY_FAILED, .trials_total = 6});
    for (uint32_t point = 0; point < 3; point++) {
        save(s, fixture_throughput(&world.run, point, 0, 50 + point));
    }
    save(s, fixture_end(&world.run, 1, 1, 0, ATTEMPT_FAILED, "trainer/1: lost"));
    world.site =
        (struct site){.store = s, .store_path = world.url + strlen("sqlite:"), .now.runs = &none};
    (void)atexit(close_world);
}

static void check(const struct web_request *req, struct web_response *res)
{
    static const int codes[] = {200, 400, 404, 406, 409};
    bool is_known = false;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        is_known = is_known || res->code == codes[i];
    }
    const bool is_probe = str_eq(req->path, "/readyz") || str_eq(req->path, "/healthz");
    must(is_known || (res->code == 503 && is_probe), "another status", req->path);
    if (str_eq(res->content_type, WEB_JSON) && !res->is_file) {
        _cleanup_(json_decrefp) json_t *document = json_loads(buf_cstr(&res->body), 0, NULL);
        must(document != NULL, "no JSON", req->path);
    }
    if (str_eq(res->content_type, WEB_HTML)) { /* no page has these by itself */
        must(strstr(buf_cstr(&res->body), "<x") == NULL, "a tag of the request", req->path);
        must(strstr(buf_cstr(&res->body), "zz=\"1") == NULL, "an attribute of it", req->path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (world.site.store == NULL) {
        open_world();
    }
    char *text = xstrndup((const char *)data, size), *rest = text;
    struct web_arg args[ARGS_MAX];
    struct web_request req = {.path = strsep(&rest, "\n"), .args = args};
    while (rest != NULL && req.n_args < ARGS_MAX) {
        char *value = strsep(&rest, "\n");
        const char *name = strsep(&value, "=");
        args[req.n_args++] = (struct web_arg){name, value == NULL ? "" : value};
    }
    struct web_response res = {0};
    struct route route;
    routes_find(req.path, &route);
    routes_answer(&world.site, &route, &req, &res);
    check(&req, &res);
    body_free(body_of_response(&res));
    free(text);
    return 0;
}
