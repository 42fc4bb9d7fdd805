/* See mllog.h. */
#include "logparse/mllog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "logparse/number_text.h"
#include "logparse/tally.h"

#define MARKER ":::MLLOG"
#define WARMUP_STEPS 5
#define MIN_LOSSES 3
#define UNET3D_IMAGES 168 /* of an epoch, where the log does not say it */
#define SAME_DATA_SET 0.01
#define COCO_IMAGES 117266 /* what ssd trained on before the rounds of 2022 */
#define NUMBER_MAX 9e12    /* above any count; a time in ms, in the year 2255, still fits in ns */

/* clang-format off */
#define KEYS(X) \
    X(BLOCK_START, "block_start") X(BLOCK_STOP, "block_stop") X(EPOCH_START, "epoch_start") \
    X(EPOCH_STOP, "epoch_stop") X(EVAL_START, "eval_start") X(EVAL_STOP, "eval_stop") \
    X(EVAL_ACCURACY, "eval_accuracy") X(TRACKED_STATS, "tracked_stats") \
    X(TRAIN_LOSS, "train_loss") X(CHECKPOINT, "checkpoint") X(RUN_START, "run_start") \
    X(RUN_STOP, "run_stop") X(BENCHMARK, "submission_benchmark") X(BATCH, "global_batch_size") \
    X(SEQUENCE, "max_sequence_length") X(TRAIN_SAMPLES, "train_samples") \
    X(EPOCH_SAMPLES, "samples_per_epoch")
/* clang-format on */
#define KEY_NAME(name, text) name,
#define KEY_TEXT(name, text) text,
enum key { KEYS(KEY_NAME) KEY_COUNT };
static const char *const keys[] = {KEYS(KEY_TEXT)};

/* What metadata may say of the position. */
enum counter { SAMPLES_COUNT, STEP_NUM, EPOCH_NUM, FIRST_EPOCH_NUM, EPOCH_COUNT, STEP, COUNTERS };
static const char *const counters[COUNTERS] = {
    "samples_count", "step_num", "epoch_num", "first_epoch_num", "epoch_count", "step",
};

struct event {
    double unix_ms;
    size_t order; /* in the file */
    enum key key;
    double value;           /* seconds of a step, an accuracy, a setting; NaN */
    double count[COUNTERS]; /* NaN: it does not say it */
    char *text;             /* the benchmark, or the status of run_stop; owned; NULL */
};

struct mllog {
    VEC(struct event) events;
};

/* Which samples a benchmark counts, and in what. */
enum unit { UNIT_OF_EPOCHS, UNIT_OF_TOKENS, UNIT_OF_STEPS, UNIT_OF_BLOCKS };
static const struct benchmark {
    const char *name;
    enum unit unit;
    double samples;              /* of an epoch */
    enum summary_unit sample;    /* what one is */
    struct goal goal;            /* of eval_accuracy; of two, or of word errors, none */
    double parameters, sequence; /* of models for which 6 N a token holds, as MLPerf fixes them */
} benchmarks[] = {
    {"resnet", UNIT_OF_EPOCHS, 1281167, UNIT_IMAGES, {GOAL_ACCURACY, 0.759}},
    {"ssd", UNIT_OF_EPOCHS, 1170301, UNIT_IMAGES, {GOAL_ACCURACY, 0.34}},
    {"retinanet", UNIT_OF_EPOCHS, 1170301, UNIT_IMAGES, {GOAL_ACCURACY, 0.34}},
    {"maskrcnn", UNIT_OF_EPOCHS, 117266, UNIT_IMAGES, {GOAL_NONE}},
    {"rnnt", UNIT_OF_EPOCHS, 278528, UNIT_SAMPLES, {GOAL_NONE}},
    {"dlrm_dcnv2", UNIT_OF_EPOCHS, 4195197692, UNIT_SAMPLES, {GOAL_ACCURACY, 0.80275}},
    {"gnn", UNIT_OF_EPOCHS, 94605581, UNIT_SAMPLES, {GOAL_ACCURACY, 0.72}},
    {"rgat", UNIT_OF_EPOCHS, 94605581, UNIT_SAMPLES, {GOAL_ACCURACY, 0.72}},
    {"bert", UNIT_OF_EPOCHS, 1 /* a sequence */, UNIT_SEQUENCES, {GOAL_ACCURACY, 0.72}},
    {"gpt3", UNIT_OF_TOKENS, NAN, UNIT_SEQUENCES, {GOAL_LOSS, 2.69}, 175e9, 2048},
    {"stable_diffusion", UNIT_OF_STEPS, NAN, UNIT_IMAGES, {GOAL_NONE}},
    {"unet3d", UNIT_OF_BLOCKS, NAN, UNIT_IMAGES, {GOAL_ACCURACY, 0.908}},
    {"llama2_70b_lora", UNIT_OF_EPOCHS, NAN, UNIT_SEQUENCES, {GOAL_LOSS, 0.925}},
    {"llama31_8b", UNIT_OF_EPOCHS, NAN, UNIT_SEQUENCES, {GOAL_LOSS, 3.3}, 8.03e9, 8192},
    {"llama31_405b", UNIT_OF_EPOCHS, NAN, UNIT_SEQUENCES, {GOAL_LOSS, 5.6}, 405e9, 8192},
    {"flux1", UNIT_OF_EPOCHS, NAN, UNIT_IMAGES, {GOAL_LOSS, 0.586}},
};
static const struct benchmark other = {"", UNIT_OF_EPOCHS, NAN, UNIT_SAMPLES, {GOAL_NONE}};

struct mllog *mllog_new(void)
{
    return xnew(struct mllog);
}

void mllog_free(struct mllog *m)
{
    if (m == NULL) {
        return;
    }
    vec_each (struct event, e, &m->events) {
        free(e->text);
    }
    vec_done(&m->events);
    free(m);
}

/* ---- a line ---- */

double mllog_number(const json_t *v)
{
    double x = json_is_number(v) ? json_number_value(v) : NAN;
    if (json_is_string(v) && !log_number(json_string_value(v), json_string_length(v), &x)) {
        return NAN;
    }
    return fabs(x) <= NUMBER_MAX ? x : NAN;
}

static double step_time_of(const json_t *value)
{
    static const char *const names[] = {"train_step_time", "train_step_timing",
                                        "train_step_timing in s"};
    double s = NAN;
    for (size_t i = 0; i < COUNT_OF(names) && isnan(s); i++) {
        s = mllog_number(json_object_get(value, names[i]));
    }
    return s;
}

void mllog_line(struct mllog *m, const char *line, size_t len)
{
    const char *at = memmem(line, len, MARKER, strlen(MARKER));
    if (at == NULL || m->events.len == MLLOG_EVENTS_MAX) {
        return;
    }
    at += strlen(MARKER);
    json_auto_t *o = json_loadb(at, len - (size_t)(at - line), 0, NULL);
    const json_t *value = json_object_get(o, "value"), *metadata = json_object_get(o, "metadata");
    const char *name = json_string_value(json_object_get(o, "key"));
    const char *text = json_string_value(value);
    const int key = name == NULL ? -1 : str_index(name, keys, KEY_COUNT);
    const double unix_ms = mllog_number(json_object_get(o, "time_ms"));
    const bool is_validation = text != NULL && str_eq(text, "validation_step");
    if (key < 0 || isnan(unix_ms) || (is_validation && key <= EPOCH_STOP)) {
        return; /* the last is a part of an evaluation */
    }
    struct event *e = vec_push(&m->events);
    *e = (struct event){.unix_ms = unix_ms, .order = m->events.len, .key = (enum key)key};
    e->value = key == TRACKED_STATS ? step_time_of(value) : mllog_number(value);
    for (enum counter i = 0; i < COUNTERS; i++) {
        e->count[i] = mllog_number(json_object_get(metadata, counters[i]));
    }
    text = key == RUN_STOP ? json_string_value(json_object_get(metadata, "status")) : text;
    e->text = text == NULL || (key != RUN_STOP && key != BENCHMARK) ? NULL : xstrdup(text);
}

/* ---- the time of training ---- */

struct training {
    bool pauses;   /* an evaluation within a block is not training */
    bool in_block; /* epochs begin and end within the block: it has the time */
    double done_ms;
    double since_ms, paused_ms; /* NaN: off; not paused */
};

static double trained_ms(const struct training *t, double now_ms)
{
    const double until = isnan(t->paused_ms) ? now_ms : t->paused_ms;
    return isnan(t->since_ms) ? t->done_ms : t->done_ms + until - t->since_ms;
}

static void train(struct training *t, const struct event *e)
{
    const bool is_on = !isnan(t->since_ms), is_paused = !isnan(t->paused_ms);
    if (t->in_block && e->key == EPOCH_STOP) {
        return;
    }
    t->in_block =
        e->key == BLOCK_START ? t->in_block || !is_on : t->in_block && e->key != BLOCK_STOP;
    switch (e->key) {
    case BLOCK_START:
    case EPOCH_START:
        t->since_ms = is_on ? t->since_ms : e->unix_ms;
        t->paused_ms = NAN; /* the evaluation overlapped training */
        break;
    case BLOCK_STOP:
    case EPOCH_STOP:
        t->paused_ms = NAN;
        t->done_ms = trained_ms(t, e->unix_ms);
        t->since_ms = NAN;
        break;
    case CHECKPOINT:
        t->since_ms = is_on ? e->unix_ms : NAN;
        break;
    case EVAL_START:
        t->paused_ms = t->pauses && is_on && !is_paused ? e->unix_ms : t->paused_ms;
        break;
    case EVAL_STOP:
        t->since_ms += is_paused ? e->unix_ms - t->paused_ms : 0;
        t->paused_ms = NAN;
        break;
    default:
        break;
    }
}

/* ---- what the three bases need ---- */

struct losses {
    double unix_ms, at; /* of the loss before; NaN: none, or an evaluation came after it */
    VEC(double) ms;     /* a sample, of each pair */
};

static void add_loss(struct losses *l, double unix_ms, double at)
{
    if (!(at > 0)) {
        return;
    }
    if (at > l->at) {
        *vec_push(&l->ms) = (unix_ms - l->unix_ms) / (at - l->at);
    }
    l->unix_ms = unix_ms;
    l->at = at;
}

struct positions { /* that rise, in both */
    size_t n, n_any;
    size_t n_stalled; /* above the one before, but no training was between them */
    double first_ms, first, last_ms, last;
};

static void add_position(struct positions *p, double ms, double at)
{
    p->n_any++;
    if (!(ms > p->last_ms && at > p->last)) {
        p->n_stalled += p->n > 0 && at > p->last;
        return;
    }
    if (p->n == 1) { /* the one before is the first of several */
        p->first_ms = p->last_ms;
        p->first = p->last;
    }
    p->last_ms = ms;
    p->last = at;
    p->n++;
}

/* ---- the run ---- */

struct reading {
    const struct benchmark *benchmark;
    double batch, sequence; /* NaN: unknown */
    double of_unit;         /* samples of one that the benchmark counts; NaN: unknown */
    struct training training;
    double seen, steps, seconds, before; /* of step times: the last is a position */
    double evaluating_ms;                /* since when; NaN: it does not evaluate */
    struct losses losses;
    struct positions positions[KEY_COUNT]; /* by the key of the events that have them */
};

static const struct event *first_of(const struct mllog *m, enum key key)
{
    return vec_find(&m->events, it, it->key == key);
}

static double setting(const struct mllog *m, enum key key)
{
    const struct event *e = first_of(m, key);
    return e == NULL ? NAN : e->value;
}

/* Of the unit that the benchmark counts. */
static double samples_of_unit(const struct mllog *m, const struct reading *r)
{
    const double known = r->benchmark->samples, said = setting(m, TRAIN_SAMPLES);
    const struct event *block = first_of(m, BLOCK_START);
    const double images = setting(m, EPOCH_SAMPLES);
    switch (r->benchmark->unit) {
    case UNIT_OF_TOKENS:
        return 1 / r->sequence;
    case UNIT_OF_STEPS:
        return r->batch;
    case UNIT_OF_BLOCKS: /* epochs if a block has fewer than an epoch has images, else images */
        return block == NULL || !(block->count[EPOCH_COUNT] < UNET3D_IMAGES) ? 1
               : images > 0                                                  ? images
                                                                             : UNET3D_IMAGES;
    case UNIT_OF_EPOCHS: /* what the log says if that is the data set, in samples or in batches */
        return fabs(said / known - 1) < SAME_DATA_SET              ? said
               : fabs(said / COCO_IMAGES - 1) < SAME_DATA_SET      ? said
               : fabs(said * r->batch / known - 1) < SAME_DATA_SET ? said * r->batch
                                                                   : known;
    }
    return NAN;
}

/* Does training wait for an evaluation within a block? Then such blocks are longer. */
static bool waits_for_evaluation(const struct mllog *m)
{
    struct blocks {
        double n, ms, evaluating_ms;
    } with = {0}, without = {0};
    double start_ms = NAN, eval_ms = NAN, evaluating_ms = 0;
    vec_each (const struct event, e, &m->events) {
        if (e->key == BLOCK_START) {
            start_ms = e->unix_ms;
            evaluating_ms = 0;
        } else if (e->key == EVAL_START) {
            eval_ms = e->unix_ms;
        } else if (e->key == EVAL_STOP && !isnan(eval_ms)) {
            evaluating_ms += e->unix_ms - eval_ms;
            eval_ms = NAN;
        } else if (e->key == BLOCK_STOP && !isnan(start_ms)) {
            struct blocks *b = evaluating_ms > 0 ? &with : &without;
            b->n++;
            b->ms += e->unix_ms - start_ms;
            b->evaluating_ms += evaluating_ms;
            start_ms = NAN;
        }
    }
    /* Without one of the two kinds this is NaN. */
    return with.ms / with.n - without.ms / without.n > with.evaluating_ms / with.n / 2;
}

static struct reading reading_of(const struct mllog *m)
{
    const struct event *name = first_of(m, BENCHMARK);
    const struct benchmark *b =
        name == NULL || name->text == NULL
            ? NULL
            : array_find(benchmarks, COUNT_OF(benchmarks), it, str_eq(it->name, name->text));
    const double batch = setting(m, BATCH), sequence = setting(m, SEQUENCE);
    struct reading r = {
        .benchmark = b == NULL ? &other : b,
        .batch = batch >= 1 ? batch : NAN,
        .sequence = sequence >= 1 ? sequence : NAN,
        .evaluating_ms = NAN,
        .losses = {.at = NAN},
    };
    r.of_unit = samples_of_unit(m, &r);
    r.training = (struct training){
        .pauses = r.benchmark->unit != UNIT_OF_BLOCKS || waits_for_evaluation(m),
        .since_ms = NAN,
        .paused_ms = NAN,
    };
    return r;
}

/* How many samples training has seen; NaN: the event does not say it. */
static double position_of(const struct reading *r, const struct event *e)
{
    if (r->benchmark->unit == UNIT_OF_BLOCKS) {
        return e->key == BLOCK_START ? e->count[FIRST_EPOCH_NUM] * r->of_unit : NAN;
    }
    const enum counter usual = r->benchmark->unit == UNIT_OF_STEPS ? STEP_NUM : EPOCH_NUM;
    const double count = e->count[SAMPLES_COUNT];
    return isnan(count) ? e->count[usual] * r->of_unit : count;
}

/* A line stands for as many steps as its position moved, if they are whole. */
static void add_step(struct reading *r, const struct event *e)
{
    const double count = e->count[SAMPLES_COUNT], said = isnan(count) ? e->count[STEP] : count;
    const bool is_tokens = r->benchmark->unit == UNIT_OF_TOKENS && r->sequence > 0;
    const double at = is_tokens ? said / r->sequence : said;
    const double moved = (at > r->before ? at - r->before : at) / r->batch; /* or of its block */
    const double n = fabs(moved - nearbyint(moved)) < 1e-6 && moved > 0 ? moved : 1;
    r->before = at > 0 ? at : r->before;
    if (r->seen >= WARMUP_STEPS) {
        r->seconds += e->value * n;
        r->steps += n;
    }
    r->seen += n;
}

/* The first basis that has a figure. */
static void put_rate(struct reading *r, struct mllog_result *ret)
{
    const enum unit unit = r->benchmark->unit;
    const struct positions *const all = r->positions;
    const struct positions *p = unit == UNIT_OF_STEPS || unit == UNIT_OF_BLOCKS ? &all[BLOCK_START]
                                : all[EVAL_START].n_any > 0                     ? &all[EVAL_START]
                                : all[BLOCK_STOP].n_any > 0                     ? &all[BLOCK_STOP]
                                                            : &all[EVAL_ACCURACY];
    if (r->steps >= WARMUP_STEPS && r->seconds > 0 && r->batch > 0) {
        ret->basis = MLLOG_STEPS;
        ret->rate = r->batch * r->steps / r->seconds;
        ret->seconds = r->seconds;
        ret->n = (size_t)r->steps;
    } else if (!ret->has_evaluation && r->losses.ms.len >= MIN_LOSSES) {
        ret->basis = MLLOG_LOSSES;
        ret->n = r->losses.ms.len;
        ret->rate = 1e3 / log_median(r->losses.ms.items, ret->n);
    } else if (p->n_stalled > p->n) {
        ret->refusal =
            "its positions rise while it does not train: it evaluates after the training";
    } else if (p->n > 0) {
        ret->basis = MLLOG_POSITIONS;
        ret->n = p->n;
        ret->seconds = (p->last_ms - p->first_ms) / 1e3;
        ret->rate = (p->last - p->first) / ret->seconds;
    } else {
        ret->refusal = p->n_any > 0
                           ? "no training time: no start of an epoch or block before a position"
                           : "no step times, no positions";
    }
}

/* From each start to the stop after it. */
static void add_evaluation(struct reading *r, const struct event *e, double *evaluation_s)
{
    if (e->key == EVAL_START) {
        r->evaluating_ms = isnan(r->evaluating_ms) ? e->unix_ms : r->evaluating_ms;
    } else if (e->key == EVAL_STOP && !isnan(r->evaluating_ms)) {
        *evaluation_s = fmax(*evaluation_s, 0) + (e->unix_ms - r->evaluating_ms) / 1e3;
        r->evaluating_ms = NAN;
    }
}

static void take(struct reading *r, const struct event *e, double t_s, struct mllog_result *ret)
{
    const double at = position_of(r, e);
    if (e->key == TRACKED_STATS && e->value > 0) {
        add_step(r, e);
    } else if (e->key == TRAIN_LOSS) {
        add_loss(&r->losses, e->unix_ms, at);
    } else if (e->key == EVAL_ACCURACY) {
        r->losses.at = NAN;
        const double loss = r->benchmark->goal.kind == GOAL_LOSS ? e->value : NAN;
        ret->accuracy_last = r->benchmark->goal.kind == GOAL_ACCURACY ? e->value : NAN;
        (void)evaluations_add(&ret->evaluations, t_s, ret->accuracy_last, loss); /* if in range */
    }
    add_evaluation(r, e, &ret->evaluation_s);
    train(&r->training, e);
    if (!isnan(at)) {
        add_position(&r->positions[e->key], trained_ms(&r->training, e->unix_ms), at);
    }
    evaluations_extend(&ret->evaluations, t_s);
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    const int order = (x->unix_ms > y->unix_ms) - (x->unix_ms < y->unix_ms);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

void mllog_conclude(struct mllog *m, struct mllog_result *ret)
{
    array_sort(m->events.items, m->events.len, sizeof(*m->events.items), by_time);
    const struct event *start = first_of(m, RUN_START), *stop = first_of(m, RUN_STOP);
    struct reading r = reading_of(m);
    *ret = (struct mllog_result){
        .batch = r.batch,
        .rate = NAN,
        .unit = r.benchmark->sample,
        .parameters = r.benchmark->parameters,
        .sequence = r.benchmark->sequence,
        .goal = r.benchmark->goal,
        .seconds = NAN,
        .has_evaluation = first_of(m, EVAL_START) != NULL,
        .evaluation_s = NAN,
        .accuracy_last = NAN,
        .status = stop == NULL ? NULL : stop->text,
    };
    if (m->events.len == MLLOG_EVENTS_MAX) {
        ret->refusal = "the log has too many MLPerf events";
    } else if (start == NULL) {
        ret->refusal =
            m->events.len > 0 ? "the log has no run_start" : "the log has no MLPerf events";
    } else {
        vec_each (const struct event, e, &m->events) {
            if (e->unix_ms >= start->unix_ms && !(stop != NULL && e->unix_ms > stop->unix_ms)) {
                take(&r, e, (e->unix_ms - start->unix_ms) / 1e3, ret);
            }
        }
        put_rate(&r, ret);
    }
    vec_done(&r.losses.ms);
}
