/* `benchworker export` from outside: the files hold what a training with that seed starts from. */
#include "tests/test.h"
#include "base/buf.h"
#include "base/exit_code.h"
#include "child_program.h"
#include "worker/data/dataset.h"
#include "worker/model/model.h"

static char *program, *folder;
static struct child child;

static void run(const char *dir, const char *steps, const char *batch)
{
    char *argv[] = {program,
                    (char *)"export",
                    (char *)"--dir",
                    (char *)dir,
                    (char *)"--steps",
                    (char *)steps,
                    (char *)"--batch",
                    (char *)batch,
                    (char *)"--limit",
                    (char *)"5",
                    (char *)"--seed",
                    (char *)"7",
                    NULL};
    child = (struct child){.argv = argv};
    child_run(&child);
}

/* A whole file of the folder. */
static struct buf contents(const char *name)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    struct buf all = BUF_INIT;
    char chunk[65536];
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), f)) > 0;) {
        buf_append(&all, chunk, n);
    }
    (void)fclose(f); /* only read from */
    return all;
}

TEST(parameters_are_those_of_the_seed)
{
    run(folder, "0", "2");
    assert_int_equal(child.exit_code, EXIT_OK);
    const struct model_def *def = model_def_find("vgg16-fluid-fc512");
    size_t n = model_def_n_params(def);
    _cleanup_(freep) float *expected = xnew_array(float, n);
    model_init_params(def, 7, expected);
    _cleanup_(buf_done) struct buf params = contents("params.f32");
    assert_int_equal(params.len, n * sizeof(float));
    assert_memory_equal(params.data, expected, params.len);
}

TEST(batches_are_those_of_train)
{
    static const uint32_t expected_steps[] = {2, 2, 1, 2}; /* 5 samples, then the next epoch */
    run(folder, "4", "2");
    assert_int_equal(child.exit_code, EXIT_OK);
    struct buf steps = contents("steps.u32"), x = contents("x.f32"), labels = contents("labels.u8");
    assert_int_equal(steps.len, sizeof(expected_steps));
    assert_memory_equal(steps.data, expected_steps, steps.len);
    assert_int_equal(labels.len, 7);
    assert_int_equal(x.len, 7 * DATA_SAMPLE_FLOATS * sizeof(float));
    struct dataset *d;
    struct err err;
    assert_int_equal(dataset_open("synthetic", DATA_TRAIN, 5, 7, &d, &err), 0);
    static float want[2 * DATA_SAMPLE_FLOATS];
    uint8_t want_labels[2];
    struct data_batch last = {.epoch = 1, .shuffle = true, .first = 0, .stride = 1, .n = 2};
    dataset_read(d, &last, want, want_labels);
    assert_memory_equal(x.data + 5 * DATA_SAMPLE_FLOATS * sizeof(float), want, sizeof(want));
    assert_memory_equal(labels.data + 5, want_labels, sizeof(want_labels));
    dataset_free(d);
    buf_done(&steps);
    buf_done(&x);
    buf_done(&labels);
}

TEST(the_description_names_every_tensor)
{
    run(folder, "0", "2");
    _cleanup_(buf_done) struct buf text = contents("export.json");
    size_t n = 0;
    for (const char *at = buf_cstr(&text); (at = strstr(at, "\"tensor\":")) != NULL; at++) {
        n++;
    }
    assert_int_equal(n, 60);
    static const char *const expected[] = {
        "\"dims\": \"RSCK\", \"shape\": [3, 3, 3, 64]}",
        "{\"layer\": 19, \"tensor\": \"weight\", \"dims\": \"KC\", \"shape\": [512, 512]}",
        "{\"layer\": 21, \"tensor\": \"bias\", \"dims\": \"K\", \"shape\": [10]}",
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        if (strstr(buf_cstr(&text), expected[i]) == NULL) {
            fail_msg("expected %s in\n%s", expected[i], buf_cstr(&text));
        }
    }
}

TEST(bad_command_lines)
{
    run("/proc/none", "0", "2");
    assert_int_equal(child.exit_code, EXIT_WORKER_RESOURCE);
    assert_non_null(strstr(child.err, "benchworker export: create directory '/proc/none': "));
    run(folder, "x", "2");
    assert_int_equal(child.exit_code, EXIT_USAGE);
    assert_non_null(strstr(child.err, "--steps 'x': expected a whole number from 0 to 100000"));
    run(folder, "0", "0");
    assert_int_equal(child.exit_code, EXIT_USAGE);
}

int main(void)
{
    static const char *const files[] = {"params.f32", "x.f32", "labels.u8", "steps.u32",
                                        "export.json"};
    char template[] = "/tmp/test-export-XXXXXX";
    folder = mkdtemp(template);
    program = xasprintf("%s/worker/benchworker", getenv("BENCHD_BUILD_DIR"));
    int failed = folder == NULL ? 1 : test_run_all(NULL);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", folder, files[i]);
        (void)unlink(path); /* the folder's removal shows what is left */
    }
    (void)rmdir(template); /* a leftover in /tmp harms nobody */
    free(program);
    return failed;
}
