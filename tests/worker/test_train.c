/* `benchworker train` from outside: exit codes, messages, records. */
#include "tests/test.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "child_program.h"
#include "core/record.h"

#define MAX_WORDS 16

static char *program;
static struct child child;

/* Splits `line` at spaces and runs benchworker with it. */
static void run(const char *line, const char *stdout_path, rlim_t max_bytes)
{
    _cleanup_(freep) char *words = xstrdup(line);
    char *argv[MAX_WORDS + 2] = {program}, *at = words;
    for (size_t n = 1; *at != '\0' && n <= MAX_WORDS; n++) {
        argv[n] = at;
        at += strcspn(at, " ");
        if (*at == ' ') {
            *at++ = '\0';
        }
    }
    child.argv = argv;
    child.stdout_path = stdout_path;
    child.max_bytes = max_bytes;
    child_run(&child);
}

TEST(bad_command_lines)
{
    static const struct {
        const char *line;
        int code;
        const char *text; /* on stderr */
    } rows[] = {
        {"", EXIT_USAGE, "Usage: benchworker ROLE"},
        {"trian", EXIT_USAGE, "did you mean train"},
        {"train --bacth 3", EXIT_USAGE, "did you mean --batch"},
        {"train --batch 0", EXIT_USAGE, "--batch '0': expected a whole number from 1 to 4096"},
        {"train --batch 4097", EXIT_USAGE, "from 1 to 4096"},
        {"train --epochs 1.5", EXIT_USAGE, "--epochs '1.5'"},
        {"train --seed -1", EXIT_USAGE, "--seed '-1'"},
        {"train --model vgg", EXIT_USAGE, "unknown model 'vgg'; known models: vgg16-fluid-fc512"},
        {"train --data mnist", EXIT_USAGE, "use synthetic, idx:DIR or cifar10:DIR"},
        {"train -o xml", EXIT_USAGE, "expected text or json"},
        {"train --limit 2 --batch 2 --test-limit 0 now", EXIT_USAGE, "unexpected argument 'now'"},
        {"train --data idx:/nonexistent", EXIT_WORKER_DATA,
         "neither '/nonexistent/train-images-idx3-ubyte' nor"},
        {"train --data cifar10:/nonexistent", EXIT_WORKER_DATA, "data_batch_1.bin"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        run(rows[i].line, NULL, 0);
        if (child.exit_code != rows[i].code || strstr(child.err, rows[i].text) == NULL) {
            fail_msg("'%s': exit %d '%s', expected %d '...%s...'", rows[i].line, child.exit_code,
                     child.err, rows[i].code, rows[i].text);
        }
        assert_string_equal(child.out, "");
    }
}

TEST(help)
{
    run("train --help", NULL, 0);
    assert_int_equal(child.exit_code, EXIT_OK);
    assert_non_null(strstr(child.out, "--no-dropout"));
    assert_string_equal(child.err, "");
}

TEST(text)
{
    run("train --limit 6 --batch 4 --epochs 2 --test-limit 3", NULL, 0);
    assert_int_equal(child.exit_code, EXIT_OK);
    assert_non_null(strstr(child.out, "\nepoch 1/2   loss "));
    assert_non_null(strstr(child.out, "\nepoch 2/2   loss "));
    assert_non_null(strstr(child.out, "test accuracy "));
    assert_string_equal(child.err, "");
}

TEST(full_disk)
{
    run("train --limit 2 --batch 2 --test-limit 0", "/dev/full", 0);
    assert_int_equal(child.exit_code, EXIT_WORKER_RESOURCE);
    assert_non_null(strstr(child.err, "write to stdout: No space left on device"));
    run("train --limit 2 --batch 2 --test-limit 0 -o json", "/dev/full", 0);
    assert_int_equal(child.exit_code, EXIT_WORKER_RESOURCE);
    assert_non_null(strstr(child.err, "No space left on device"));
}

/* Sanitizers reserve terabytes of address space: no limit, no such test in their builds. */
#if !IS_SANITIZED
TEST(no_memory)
{
    run("train --batch 4096", NULL, (rlim_t)2 << 30);
    assert_int_equal(child.exit_code, EXIT_WORKER_RESOURCE);
    assert_non_null(strstr(child.err, "batch of 4096: vgg16-fluid-fc512: no memory for "));
}
#endif

struct seen {
    size_t starts, steps, summaries;
    double loss[8];
    uint32_t samples[8];
    uint64_t total;
    int64_t clock_ns; /* the end of the last step */
    int64_t phase_ns[PHASE_COUNT];
};

/* A step is its phases, and the clock counts training only. */
static void see_step(struct seen *seen, const struct record_step *step)
{
    int64_t sum_ns = 0;
    assert_int_equal(step->step, seen->steps);
    for (int i = 0; i < PHASE_COUNT; i++) {
        const bool has_time =
            i == PHASE_DATA || i == PHASE_FORWARD || i == PHASE_BACKWARD || i == PHASE_UPDATE;
        assert_int_equal(step->phase_ns[i] > 0, has_time);
        sum_ns += step->phase_ns[i];
        seen->phase_ns[i] += step->phase_ns[i];
    }
    assert_int_equal(step->step_ns, sum_ns);
    seen->clock_ns += sum_ns;
    assert_int_equal(step->t_ns, seen->clock_ns);
    assert_false(step->warmup);
    seen->loss[seen->steps] = step->loss;
    seen->samples[seen->steps++] = step->samples;
}

static void see_summary(struct seen *seen, const struct summary *s)
{
    assert_int_equal(s->steps, seen->steps);
    assert_true(s->loss_first == seen->loss[0]);
    assert_true(s->loss_last == seen->loss[seen->steps - 1]);
    assert_int_equal(s->duration_ns, seen->clock_ns);
    assert_memory_equal(s->phase_ns, seen->phase_ns, sizeof(seen->phase_ns));
    seen->total = s->samples;
    seen->summaries++;
}

static struct seen read_records(const char *out)
{
    struct seen seen = {0};
    for (const char *line = out; *line != '\0'; line += strcspn(line, "\n") + 1) {
        _cleanup_(record_done) struct record r;
        struct err err = {0};
        if (record_read(line, strcspn(line, "\n"), &r, &err) != 1) {
            fail_msg("not a record: '%s': %s", line, err.msg);
        }
        assert_int_equal(r.who.role, ROLE_TRAINER);
        seen.starts += r.type == RECORD_START;
        if (r.type == RECORD_START) {
            const char *core = json_string_value(json_object_get(r.start.environment, "blas_core"));
            assert_non_null(core);
        } else if (r.type == RECORD_STEP) {
            see_step(&seen, &r.step);
        } else if (r.type == RECORD_SUMMARY) {
            see_summary(&seen, &r.summary);
        }
    }
    return seen;
}

TEST(records)
{
    static const char line[] =
        "train --limit 6 --batch 4 --epochs 2 --steps 3 --test-limit 0 -o json";
    struct seen seen[2];
    for (int i = 0; i < 2; i++) {
        const int64_t begin_ns = clock_monotonic_ns();
        run(line, NULL, 0);
        assert_int_equal(child.exit_code, EXIT_OK);
        seen[i] = read_records(child.out);
        /* A moment counts for one phase only. */
        assert_true(seen[i].clock_ns <= clock_monotonic_ns() - begin_ns);
    }
    assert_int_equal(seen[0].starts, 1);
    assert_int_equal(seen[0].steps, 3);
    assert_int_equal(seen[0].summaries, 1);
    assert_int_equal(seen[0].total, 4 + 2 + 4); /* the last batch of an epoch is short */
    assert_memory_equal(seen[0].samples, ((uint32_t[]){4, 2, 4}), 3 * sizeof(uint32_t));
    assert_memory_equal(seen[0].loss, seen[1].loss, sizeof(seen[0].loss)); /* bit for bit */
    assert_non_null(strstr(child.err, "epoch 2/2")); /* people's lines do not mix with data */
}

int main(void)
{
    program = xasprintf("%s/worker/benchworker", getenv("BENCHD_BUILD_DIR"));
    int failed = test_run_all(NULL);
    free(program);
    return failed;
}
