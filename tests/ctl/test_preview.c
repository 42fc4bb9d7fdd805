/* What `benchctl plan` prints: every figure follows from the definition. */
#include "def_fixture.h"

#include "ctl/definition/preview.h"

static void assert_preview(const char *grid, int64_t cpus, const struct preview_opts *opts,
                           const char *expected)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def(grid, cpus);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    struct err err = {0};
    if (preview_text(def, opts, &out, &err) < 0) {
        fail_msg("plan: %s", err.msg);
    }
    assert_string_equal(buf_cstr(&out), expected);
}

TEST(test_local_text)
{
    struct preview_opts opts = {.is_local = true};
    assert_preview("{trainers: [1, 2], batch_size: [4]}", 8, &opts,
                   "In all points: batch_size=4\n"
                   "POINT   PARAMETERS   PSERVERS   TRAINERS   THREADS   TRIALS\n"
                   "    0                       1          1         2        2\n"
                   "    1                       1          2         3        2\n"
                   "\n4 trials of 2 warm-up + 8 measured steps, one after another.\n"
                   "Largest point: 3 replicas.\n");
}

TEST(test_without_headers)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1]}", 8);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    assert_int_equal(preview_text(def, &(struct preview_opts){.no_headers = true}, &out, NULL), 0);
    assert_null(strstr(buf_cstr(&out), "POINT"));
}

/* What follows `from`, a blank for each space between words; owned. */
static char *words_from(const char *text, const char *from)
{
    struct buf words = BUF_INIT;
    for (const char *at = strstr(text, from); at != NULL && *at != '\0';) {
        const size_t bytes = strcspn(at, " \n");
        buf_append(&words, at, bytes);
        at += bytes;
        at += strspn(at, " \n");
        buf_putc(&words, ' ');
    }
    return buf_take(&words);
}

TEST(test_narrow_terminals_break_nothing_but_lines)
{
    struct run_def *def = make_def("{trainers: [1, 20], threads: [1, 2, 3, 4, 5, 6, 7]}", 8);
    _cleanup_(buf_done) struct buf whole = BUF_INIT;
    assert_int_equal(preview_text(def, &(struct preview_opts){.is_local = true}, &whole, NULL), 0);
    static const size_t widths[] = {40, 60, 69};
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        const struct preview_opts opts = {.is_local = true, .columns = widths[i]};
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        assert_int_equal(preview_text(def, &opts, &out, NULL), 0);
        for (const char *line = buf_cstr(&out); *line != '\0'; line += strcspn(line, "\n") + 1) {
            if (strcspn(line, "\n") > widths[i]) {
                fail_msg("%zu columns: %.*s", widths[i], (int)strcspn(line, "\n"), line);
            }
        }
        _cleanup_(freep) char *expected = words_from(buf_cstr(&whole), "28 trials");
        _cleanup_(freep) char *words = words_from(buf_cstr(&out), "28 trials");
        assert_string_equal(words, expected);
    }
    run_def_free(def);
}

static json_t *template_of(const char *cpu, const char *memory)
{
    return json_pack("{s:{s:[{s:{s:{s:s, s:s}}}]}}", "spec", "containers", "resources", "requests",
                     "cpu", cpu, "memory", memory);
}

TEST(test_resources_of_all_replicas)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1, 4]}", 0);
    def->spec->roles[ROLE_PSERVER].template = template_of("500m", "1Gi");
    def->spec->roles[ROLE_TRAINER].template = template_of("2", "512Mi");
    struct preview_opts opts = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    assert_int_equal(preview_text(def, &opts, &out, NULL), 0);
    static const char expected[] =
        "POINT   PARAMETERS   PSERVERS   TRAINERS     CPU   MEMORY   TRIALS\n"
        "    0                       1          1   2500m    1.5Gi        2\n"
        "    1                       1          4   8500m      3Gi        2\n"
        "\n4 trials of 2 warm-up + 8 measured steps, one after another.\n"
        "Largest point: 5 replicas, 8500m CPU, 3Gi memory.\n";
    if (strncmp(buf_cstr(&out), expected, strlen(expected)) != 0) {
        fail_msg("expected\n%sgot\n%s", expected, buf_cstr(&out));
    }
}

TEST(test_rehearsal)
{
    static const struct {
        int64_t cpus;
        const char *text;
    } rows[] = {
        {9, ""},
        {0, ""}, /* a cluster: not known */
        {8, "rehearsal: point 3 needs 9 busy threads (4 trainers x 2 + 1 pserver),\n"
            "  but this machine has 8 CPUs: compare the figures within this run only\n"},
        {1, "rehearsal: point 3 needs 9 busy threads (4 trainers x 2 + 1 pserver),\n"
            "  but this machine has 1 CPU: compare the figures within this run only\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct run_def *def = make_def("{trainers: [1, 4], threads: [1, 2]}", rows[i].cpus);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        preview_rehearsal(def, &out);
        assert_string_equal(buf_cstr(&out), rows[i].text);
        run_def_free(def);
    }
    _cleanup_(run_def_freep) struct run_def *ring = make_def("{trainers: [4]}", 1);
    for (uint32_t i = 0; i < ring->matrix.n_points; i++) {
        ring->matrix.points[i].replicas[ROLE_PSERVER] = 0;
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    preview_rehearsal(ring, &out);
    assert_non_null(strstr(buf_cstr(&out), " busy threads (4 trainers x 1),\n")); /* no servers */
}

TEST(test_emulated)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1, 4]}", 9);
    def->spec->workload.compute = COMPUTE_EMULATED;
    def->rehearsal = true;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    preview_rehearsal(def, &out);
    assert_string_equal(buf_cstr(&out),
                        "rehearsal: the trainers are emulated, they sleep instead of computing:\n"
                        "  compare the figures within this run only\n");
    buf_clear(&out);
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        def->matrix.points[i].replicas[ROLE_WORKER] = 1;
    }
    preview_rehearsal(def, &out);
    assert_non_null(strstr(buf_cstr(&out), "rehearsal: the workers are emulated, they sleep"));
}

TEST(test_json)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1, 2]}", 8);
    _cleanup_(json_decrefp) json_t *plan = NULL;
    assert_int_equal(preview_json(def, true, &plan, NULL), 0);
    assert_int_equal(json_array_size(json_object_get(plan, "points")), 2);
    assert_int_equal(json_array_size(json_object_get(plan, "order")), 4);
    assert_int_equal(json_integer_value(json_object_get(plan, "cpus")), 8);
    json_t *second = json_array_get(json_object_get(plan, "points"), 1);
    assert_int_equal(json_integer_value(json_object_get(second, "busyThreads")), 3);
    assert_int_equal(json_integer_value(json_object_get(second, "baselinePoint")), 0);
}

/* Of a server without requests and three trainers with some. */
TEST(test_requests_are_added)
{
    _cleanup_(freep) char *text = xasprintf(
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: x}\nspec:\n"
        "  systems: [{name: a, profile: benchworker}]\n"
        "  workload: {model: vgg16-fluid-fc512, batchSize: 8}\n"
        "  sweep: {grid: {pservers: [1], trainers: [3]}}\n"
        "  roles:\n"
        "    pserver: {replicas: {from: pservers}, template: {spec: {containers: [{name: m}]}}}\n"
        "    trainer: {replicas: {from: trainers}, template: {spec: {containers: [{name: m, "
        "resources: {requests: {cpu: 2500m, memory: 1Gi}}}]}}}\n");
    _cleanup_(run_def_freep) struct run_def *def = make_def_of(text, 0);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    assert_int_equal(preview_text(def, &(struct preview_opts){0}, &out, NULL), 0);
    assert_non_null(strstr(buf_cstr(&out), "Largest point: 4 replicas, 7500m CPU, 3Gi memory."));
}
