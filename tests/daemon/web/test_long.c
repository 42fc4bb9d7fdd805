/* Documents of a large run: they have the bytes that they would have if they were made as a whole,
 * and are never in memory as a whole. */
#include <malloc.h>

#include <jansson.h>

#include "tests/test.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "daemon/web/message.h"
#include "daemon/web/site.h"
#include "result_fixture.h"
#include "store/run_document.h"
#include "tests/report/sheet_as.h"
#include "tests/store/store_folder.h"

enum { SIDE = 20, POINTS = SIDE * SIDE, TRIALS = 3, PAD_BYTES = 4000 };
#define DOCUMENT_MIN_BYTES (3 << 20)
#define MEMORY_MAX_KIB (7 << 10) /* rows and their tree took 60 MiB */

struct rig {
    char folder[64], url[96];
    struct fixture run;
    struct store *store;
    struct site site;
};

static struct rig *rig_new(void)
{
    struct rig *rig = xnew(struct rig);
    rig->store = store_in_folder(rig->folder, rig->url);
    _cleanup_(buf_done) struct buf sweep = BUF_INIT;
    static const char *const names[] = {"batch_size", "threads"};
    buf_puts(&sweep, "{grid: {pservers: [1], trainers: [1]");
    for (int axis = 0; axis < 2; axis++) {
        buf_printf(&sweep, ", %s: [1", names[axis]);
        for (int i = 2; i <= SIDE; i++) {
            buf_printf(&sweep, ",%d", i);
        }
        buf_puts(&sweep, "]");
    }
    buf_puts(&sweep, "}}");
    fixture_init(&rig->run, buf_cstr(&sweep),
                 "  baseline: {kind: Point, where: {batch_size: 1}}\n  repeats: {min: 3}\n", 8);
    store_put_def(rig->store, rig->run.def,
                  &(struct run_status){RUN_SUCCEEDED, .started_unix_ms = 1, .ended_unix_ms = 2});
    char pad[PAD_BYTES + 1];
    memset(pad, 'x', PAD_BYTES);
    pad[PAD_BYTES] = '\0';
    for (uint32_t p = 0; p < POINTS; p++) {
        for (uint32_t t = 0; t < TRIALS; t++) {
            struct attempt_row *attempt = fixture_throughput(&rig->run, p, t, 50 + p + t);
            vec_each (struct replica_row, replica, &attempt->replicas) {
                replica_take_environment(replica,
                                         json_pack("{s:s, s:o, s:s}", "cpu_model", "c", "node",
                                                   json_sprintf("n%u", p % 7), "pad", pad));
            }
            store_put_attempt(rig->store, rig->run.def, attempt, NULL, 0);
        }
    }
    rig->site.store = rig->store;
    rig->site.store_path = rig->url + strlen("sqlite:");
    static struct daemon_runs none;
    rig->site.now.runs = &none;
    return rig;
}

static void rig_freep(struct rig **p)
{
    struct rig *rig = *p;
    store_close(rig->store);
    fixture_done(&rig->run);
    store_folder_remove(rig->folder);
    free(rig);
}

static long status_kib(const char *name)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        kib = str_has_prefix(line, name) ? strtol(line + strlen(name), NULL, 10) : kib;
    }
    fclose(f);
    assert_true(kib > 0);
    return kib;
}

/* The body as it is sent, made in little memory. Owned. */
static char *make(struct rig *rig, site_handler *handler)
{
    const struct web_request req = {.path = "/", .run = rig->run.def->name};
    struct web_response res = {.code = 200};
    (void)malloc_trim(0);
    FILE *f = fopen("/proc/self/clear_refs", "we"); /* 5: the peak begins anew */
    const bool is_measured = f != NULL && fputs("5", f) >= 0;
    assert_int_equal(f == NULL ? 0 : fclose(f), 0);
    const long before_kib = status_kib("VmRSS:");
    handler(&rig->site, &req, &res);
    assert_int_equal(res.code, 200);
    struct body *body = body_of_response(&res);
    const long took_kib = status_kib("VmHWM:") - before_kib;
    print_message("# %zu KiB of text, made with %ld KiB\n", body->len >> 10, took_kib);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(!is_measured || took_kib < MEMORY_MAX_KIB);
#endif
    (void)is_measured;
    assert_true(body->file >= 0 && body->len > DOCUMENT_MIN_BYTES);
    struct buf text = BUF_INIT;
    assert_int_equal(file_read_fd(body->file, "the body", SIZE_MAX, &text, NULL), 0);
    assert_int_equal(text.len, body->len);
    body_free(body);
    return buf_take(&text);
}

static void assert_same(const char *text, const char *whole)
{
    size_t at = 0;
    while (text[at] == whole[at] && text[at] != '\0') {
        at++;
    }
    if (text[at] != whole[at]) {
        fail_msg("byte %zu: '%.60s', expected '%.60s'", at, text + at, whole + at);
    }
}

TEST(results)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    _cleanup_(freep) char *text = make(rig, api_results);
    _cleanup_(buf_done) struct buf whole = BUF_INIT;
    result_json_put(fixture_build(&rig->run, RUN_SUCCEEDED), &whole);
    assert_same(text, buf_cstr(&whole));
}
