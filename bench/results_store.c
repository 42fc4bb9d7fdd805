/* Makes the store that `script/bench results` reads: runs of 44 points and five trials, written by the code that writes
 * real ones.
 *
 *   results_store FILE RUNS LARGE TRAINERS
 *
 * FILE must not exist. LARGE of the runs are of TRAINERS trainers with a tenth of that, or three tenths, in servers, all
 * with a summary of their own; the others are of one or two trainers with one or two servers. The figures follow from a
 * seed: trials differ by 1%, runs by 1%, and the newer half of the runs is 5% slower. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/splitmix.h"
#include "load/run_result.h"
#include "made_up.h"
#include "spec/run_def.h"
#include "spec/spec_load.h"
#include "store/store.h"

#define TRIALS 5
#define FIRST_UNIX_MS INT64_C(1760000000000)
#define RUN_MS INT64_C(3600000)

#define DEFINITION                                                                                 \
    "{\"apiVersion\":\"benchd.io/"                                                                 \
    "v1alpha1\",\"kind\":\"Benchmark\",\"metadata\":{\"name\":\"%s\"},"                            \
    "\"spec\":{\"systems\":[{\"name\":\"benchworker\",\"profile\":\"benchworker\"}],"              \
    "\"workload\":{\"model\":\"vgg16-fluid-fc512\",\"dataset\":{\"kind\":\"Synthetic\"},"          \
    "\"batchSize\":64,\"threads\":1,\"seed\":1,"                                                   \
    "\"exchange\":{\"kind\":\"PServer\"},\"compute\":\"Real\"},"                                   \
    "\"sweep\":{\"grid\":{%s}},\"baseline\":{\"kind\":\"Point\",\"where\":{%s}},"                  \
    "\"roles\":{\"pserver\":{\"replicas\":{\"from\":\"pservers\"},\"template\":" TEMPLATE "},"     \
    "\"trainer\":{\"replicas\":{\"from\":\"trainers\"},\"template\":" TEMPLATE "}},"               \
    "\"measure\":{\"warmupSteps\":2,\"steps\":100},"                                               \
    "\"repeats\":{\"min\":5,\"order\":\"Interleaved\"}}}"
#define TEMPLATE "{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}"

static double normal(uint64_t *state)
{
    const double u = (double)((splitmix_next(state) >> 11) + 1) / 9007199254740992.0;
    const double v = (double)((splitmix_next(state) >> 11) + 1) / 9007199254740992.0;
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void put_batches(struct buf *out, unsigned n)
{
    buf_puts(out, "\"batch_size\":[");
    for (unsigned i = 1; i <= n; i++) {
        buf_printf(out, "%s%u", i == 1 ? "" : ",", 8 * i);
    }
    buf_putc(out, ']');
}

/* 44 points of both kinds. */
static char *definition(bool is_large, uint32_t trainers)
{
    struct buf grid = BUF_INIT;
    _cleanup_(freep) char *where = NULL;
    if (is_large) {
        buf_printf(&grid, "\"pservers\":[%u,%u],\"trainers\":[%u],", trainers / 10,
                   3 * trainers / 10, trainers);
        put_batches(&grid, 22);
        where = xasprintf("\"pservers\":%u", trainers / 10);
    } else {
        buf_puts(&grid, "\"pservers\":[1,2],\"trainers\":[1,2],");
        put_batches(&grid, 11);
        where = xstrdup("\"trainers\":1");
    }
    char *text =
        xasprintf(DEFINITION, is_large ? "large-sweep" : "small-sweep", buf_cstr(&grid), where);
    buf_done(&grid);
    return text;
}

static int put_run(struct store *s, struct run_def *def, struct err *err)
{
    char *text = json_dumps(def->spec->definition, JSON_COMPACT);
    const struct run_row row = {
        .uid = def->uid,
        .name = def->name,
        .benchmark = def->spec->name,
        .definition_json = text,
        .created_unix_ms = def->created_unix_ms,
        .cpus = def->cpus,
        .rehearsal = def->rehearsal,
        .status = {.phase = RUN_PENDING, .trials_total = def->n_slots},
    };
    const int r = text == NULL ? err_set(err, EINVAL, "no JSON") : s->ops->put_run(s, &row, err);
    free(text);
    return r;
}

static int save_trial(struct store *s, const struct run_def *def, const struct slot *slot,
                      double speed, int64_t started_unix_ms, uint64_t *random, struct err *err)
{
    const struct point *point = &def->matrix.points[slot->point];
    struct attempt_row row = {.id = {slot->point, slot->trial, 0},
                              .outcome = ATTEMPT_SUCCEEDED,
                              .started_unix_ms = started_unix_ms,
                              .ended_unix_ms = started_unix_ms + 60000};
    made_up_replicas(&row, ROLE_PSERVER, point->replicas[ROLE_PSERVER], speed, random);
    made_up_replicas(&row, ROLE_TRAINER, point->replicas[ROLE_TRAINER], speed, random);
    const int r = s->ops->save_attempt(s, def->uid, &row, NULL, 0, err);
    attempt_row_done(&row);
    return r;
}

/* `speed`: of the whole run. */
static int save_run(struct store *s, struct run_def *def, double speed, uint64_t *random,
                    struct err *err)
{
    int r = put_run(s, def, err);
    for (uint32_t i = 0; i < def->n_slots && r >= 0; i++) {
        r = save_trial(s, def, &def->slots[i], speed * exp(0.01 * normal(random)),
                       def->created_unix_ms + 1000 * (int64_t)i, random, err);
    }
    const struct run_status status = {
        .phase = RUN_SUCCEEDED,
        .reason = "Completed",
        .trials_done = def->n_slots,
        .trials_total = def->n_slots,
        .started_unix_ms = def->created_unix_ms,
        .ended_unix_ms = def->created_unix_ms + RUN_MS / 2,
    };
    r = r < 0 ? r : s->ops->put_status(s, def->uid, &status, err);
    return r < 0 ? r : run_figures_keep(s, def->uid, err);
}

struct wanted {
    int64_t runs, large, trainers;
};

static int make_run(struct store *s, const struct wanted *w, int64_t i, uint64_t *random,
                    struct err *err)
{
    /* Spread over the others, so that the newest is a large one. */
    const bool is_large = w->large > 0 && (i + 1) * w->large / w->runs > i * w->large / w->runs;
    _cleanup_(freep) char *text = definition(is_large, (uint32_t)w->trainers);
    _cleanup_(freep) char *name =
        xasprintf("%s-%05" PRId64, is_large ? "large-sweep" : "small-sweep", i);
    _cleanup_(freep) char *uid = xasprintf("0c2e4b8e-0000-4000-8000-%012" PRId64, i);
    struct diags diags = {0};
    struct spec *spec = NULL;
    struct run_def *def = NULL;
    int r = spec_load(text, strlen(text), NULL, &spec, &diags);
    r = r < 0 ? r
              : run_def_new(spec,
                            &(struct run_def_params){.name = name,
                                                     .uid = uid,
                                                     .cpus = 640,
                                                     .created_unix_ms = FIRST_UNIX_MS + i * RUN_MS},
                            &def, &diags);
    if (r < 0) {
        r = err_set(err, EINVAL, "the definition: %s: %s", diags.list.items[0].path,
                    diags.list.items[0].message);
    } else {
        const double level = 2 * i >= w->runs ? 0.95 : 1;
        r = save_run(s, def, level * exp(0.01 * normal(random)), random, err);
    }
    run_def_free(def);
    diags_done(&diags);
    return r;
}

static int make(const char *file, const struct wanted *w, struct err *err)
{
    _cleanup_(freep) char *url = xasprintf("sqlite:%s", file);
    struct store *s = NULL;
    uint64_t random = 20181120;
    int r = store_open(url, true, &s, err);
    for (int64_t i = 0; i < w->runs && r >= 0; i++) {
        r = make_run(s, w, i, &random, err);
    }
    store_close(s);
    return r;
}

int main(int argc, char **argv)
{
    struct wanted w;
    if (argc != 5 || parse_i64_in(argv[2], 1, 1000, &w.runs) < 0 ||
        parse_i64_in(argv[3], 0, w.runs, &w.large) < 0 ||
        parse_i64_in(argv[4], 10, 1000, &w.trainers) < 0) {
        (void)fprintf(stderr, "usage: results_store FILE RUNS LARGE TRAINERS\n");
        return 2;
    }
    struct err err = {0};
    if (make(argv[1], &w, &err) < 0) {
        (void)fprintf(stderr, "results_store: %s\n", err.msg);
        return 1;
    }
    return 0;
}
