/* See mllog.h. */
#include "logparse/mllog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "base/vec_walk.h"
#include "logparse/number_text.h"

#define MARKER ":::MLLOG"
#define WARMUP_STEPS 5
#define MIN_LOSSES 3
#define UNET3D_IMAGES 168 /* of an epoch, where the log does not say it */
#define SAME_DATA_SET 0.01

enum key {
    BLOCK_START,
    BLOCK_STOP,
    EPOCH_START,
    EPOCH_STOP,
    EVAL_START,
    EVAL_STOP,
    EVAL_ACCURACY,
    TRACKED_STATS,
    TRAIN_LOSS,
    CHECKPOINT,
    RUN_START,
    RUN_STOP,
    /* settings */
    BENCHMARK,
    BATCH,
    SEQUENCE,
    TRAIN_SAMPLES,
    EPOCH_SAMPLES,
    KEY_COUNT,
};
static const char *const keys[KEY_COUNT] = {
    "block_start",          "block_stop",        "epoch_start",         "epoch_stop",
    "eval_start",           "eval_stop",         "eval_accuracy",       "tracked_stats",
    "train_loss",           "checkpoint",        "run_start",           "run_stop",
    "submission_benchmark", "global_batch_size", "max_sequence_length", "train_samples",
    "samples_per_epoch",
};

const char *const mllog_basis_names[MLLOG_BASIS_COUNT] = {"nothing", "steps", "losses",
                                                          "positions"};

/* What metadata may say of the position. */
enum place { SAMPLES_COUNT, STEP_NUM, EPOCH_NUM, FIRST_EPOCH_NUM, EPOCH_COUNT, STEP, PLACE_COUNT };
static const char *const places[PLACE_COUNT] = {
    "samples_count", "step_num", "epoch_num", "first_epoch_num", "epoch_count", "step",
};

struct event {
    double unix_ms;
    size_t order; /* in the file */
    enum key key;
    double value;              /* seconds of a step, an accuracy; NaN */
    double place[PLACE_COUNT]; /* NaN: it does not say it */
};

struct setting { /* the earliest of the log */
    bool is_set;
    double unix_ms, number;
    char *text;
};

struct mllog {
    VEC(struct event) events;
    struct setting settings[KEY_COUNT - BENCHMARK];
    struct setting stop; /* its text: the status */
    VEC(struct mllog_mark) marks;
    bool is_seen, is_full;
};

/* Which samples a benchmark counts, and in what. */
enum unit { UNIT_OF_SAMPLES, UNIT_OF_EPOCHS, UNIT_OF_TOKENS, UNIT_OF_STEPS, UNIT_OF_BLOCKS };
static const struct benchmark {
    const char *name;
    enum unit epoch_num;
    double samples;         /* of an epoch */
    enum goal_kind quality; /* what eval_accuracy is */
} benchmarks[] = {
    {"resnet", UNIT_OF_EPOCHS, 1281167, GOAL_ACCURACY},
    {"ssd", UNIT_OF_EPOCHS, 1170301, GOAL_ACCURACY},
    {"retinanet", UNIT_OF_EPOCHS, 1170301, GOAL_ACCURACY},
    {"maskrcnn", UNIT_OF_EPOCHS, 117266, GOAL_ACCURACY},
    {"rnnt", UNIT_OF_EPOCHS, 278528, GOAL_LOSS},
    {"dlrm_dcnv2", UNIT_OF_EPOCHS, 4195197692, GOAL_ACCURACY},
    {"gnn", UNIT_OF_EPOCHS, 94605581, GOAL_ACCURACY},
    {"rgat", UNIT_OF_EPOCHS, 94605581, GOAL_ACCURACY},
    {"bert", UNIT_OF_SAMPLES, NAN, GOAL_ACCURACY},
    {"gpt3", UNIT_OF_TOKENS, NAN, GOAL_LOSS},
    {"stable_diffusion", UNIT_OF_STEPS, NAN, GOAL_NONE},
    {"unet3d", UNIT_OF_BLOCKS, NAN, GOAL_ACCURACY},
    {"llama2_70b_lora", UNIT_OF_EPOCHS, NAN, GOAL_LOSS},
    {"llama31_8b", UNIT_OF_EPOCHS, NAN, GOAL_LOSS},
    {"llama31_405b", UNIT_OF_EPOCHS, NAN, GOAL_LOSS},
    {"flux1", UNIT_OF_EPOCHS, NAN, GOAL_LOSS},
};
static const struct benchmark other = {"", UNIT_OF_EPOCHS, NAN, GOAL_NONE};

struct mllog *mllog_new(void)
{
    return xnew(struct mllog);
}

void mllog_free(struct mllog *m)
{
    if (m == NULL) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(m->settings); i++) {
        free(m->settings[i].text);
    }
    free(m->stop.text);
    vec_done(&m->events);
    vec_done(&m->marks);
    free(m);
}

/* ---- a line ---- */

/* A number, or a text that holds one; NaN. */
static double number_of(const json_t *v)
{
    double x;
    const bool is_text =
        json_is_string(v) && log_number(json_string_value(v), json_string_length(v), &x);
    return json_is_number(v) ? json_number_value(v) : is_text ? x : NAN;
}

static double step_time_of(const json_t *value)
{
    static const char *const names[] = {"train_step_time", "train_step_timing",
                                        "train_step_timing in s"};
    double s = NAN;
    for (size_t i = 0; i < COUNT_OF(names) && isnan(s); i++) {
        s = number_of(json_object_get(value, names[i]));
    }
    return s;
}

static void set(struct setting *s, double unix_ms, const json_t *value)
{
    if (s->is_set && s->unix_ms <= unix_ms) {
        return;
    }
    free(s->text);
    *s = (struct setting){true, unix_ms, number_of(value),
                          json_is_string(value) ? xstrdup(json_string_value(value)) : NULL};
}

static void add_event(struct mllog *m, enum key key, double unix_ms, const json_t *o)
{
    const json_t *value = json_object_get(o, "value"), *metadata = json_object_get(o, "metadata");
    const char *text = json_string_value(value);
    if (key <= EPOCH_STOP && text != NULL && str_eq(text, "validation_step")) {
        return; /* a part of an evaluation */
    }
    if (m->events.len == MLLOG_EVENTS_MAX) {
        m->is_full = true;
        return;
    }
    struct event *e = vec_push(&m->events);
    *e = (struct event){.unix_ms = unix_ms, .order = m->events.len, .key = key};
    e->value = key == TRACKED_STATS ? step_time_of(value) : number_of(value);
    for (enum place i = 0; i < PLACE_COUNT; i++) {
        e->place[i] = number_of(json_object_get(metadata, places[i]));
    }
    if (key == RUN_STOP) {
        set(&m->stop, unix_ms, json_object_get(metadata, "status"));
    }
}

bool mllog_line(struct mllog *m, const char *line, size_t len, double *ret_unix_ms)
{
    const char *at = memmem(line, len, MARKER, strlen(MARKER));
    if (at == NULL) {
        return false;
    }
    at += strlen(MARKER);
    json_auto_t *o = json_loadb(at, len - (size_t)(at - line), 0, NULL);
    const char *name = json_string_value(json_object_get(o, "key"));
    const int key = name == NULL ? -1 : str_index(name, keys, KEY_COUNT);
    const double unix_ms = number_of(json_object_get(o, "time_ms"));
    if (key < 0 || isnan(unix_ms)) {
        return false;
    }
    if (key >= BENCHMARK) {
        set(&m->settings[key - BENCHMARK], unix_ms, json_object_get(o, "value"));
    } else {
        add_event(m, (enum key)key, unix_ms, o);
    }
    *ret_unix_ms = unix_ms;
    return true;
}

/* ---- positions ---- */

struct reading {
    const struct benchmark *benchmark;
    double batch, sequence;
    double epoch;   /* samples that one of epoch_num stands for; NaN: unknown */
    bool is_begins; /* only the begin of a block has its position */
};

static double setting(const struct mllog *m, enum key key)
{
    const struct setting *s = &m->settings[key - BENCHMARK];
    return s->is_set ? s->number : NAN;
}

/* What the log says if that is the data set, in samples or in batches; else the data set. */
static double samples_of_epoch(const struct mllog *m, const struct benchmark *b, double batch)
{
    const double said = setting(m, TRAIN_SAMPLES);
    return fabs(said / b->samples - 1) < SAME_DATA_SET           ? said
           : fabs(said * batch / b->samples - 1) < SAME_DATA_SET ? said * batch
                                                                 : b->samples;
}

/* unet3d counts epochs if a block has fewer than an epoch has images. */
static double images_of_block(const struct mllog *m)
{
    const struct event *e = vec_find(&m->events, it, it->key == BLOCK_START);
    const double said = setting(m, EPOCH_SAMPLES);
    return e != NULL && e->place[EPOCH_COUNT] > 0 && e->place[EPOCH_COUNT] < UNET3D_IMAGES
               ? (said > 0 ? said : UNET3D_IMAGES)
               : 1;
}

static struct reading reading_of(const struct mllog *m)
{
    const char *name = m->settings[0].text;
    const struct benchmark *b =
        name == NULL ? NULL
                     : array_find(benchmarks, COUNT_OF(benchmarks), it, str_eq(it->name, name));
    b = b == NULL ? &other : b;
    struct reading r = {
        .benchmark = b,
        .batch = setting(m, BATCH),
        .sequence = setting(m, SEQUENCE),
        .epoch = NAN,
        .is_begins = b->epoch_num == UNIT_OF_BLOCKS || b->epoch_num == UNIT_OF_STEPS,
    };
    switch (r.benchmark->epoch_num) {
    case UNIT_OF_SAMPLES:
        r.epoch = 1;
        break;
    case UNIT_OF_TOKENS:
        r.epoch = 1 / r.sequence;
        break;
    case UNIT_OF_BLOCKS:
        r.epoch = images_of_block(m);
        break;
    case UNIT_OF_EPOCHS:
        r.epoch = samples_of_epoch(m, r.benchmark, r.batch);
        break;
    case UNIT_OF_STEPS:
        break;
    }
    return r;
}

/* How many samples training has seen; NaN: the event does not say it. */
static double position_of(const struct reading *r, const struct event *e)
{
    if (r->benchmark->epoch_num == UNIT_OF_BLOCKS) {
        return e->key == BLOCK_START ? e->place[FIRST_EPOCH_NUM] * r->epoch : NAN;
    }
    if (!isnan(e->place[SAMPLES_COUNT])) {
        return e->place[SAMPLES_COUNT];
    }
    return r->benchmark->epoch_num == UNIT_OF_STEPS ? e->place[STEP_NUM] * r->batch
                                                    : e->place[EPOCH_NUM] * r->epoch;
}

/* ---- the time of training ---- */

struct training {
    bool pauses; /* an evaluation within a block is not training */
    double done_ms;
    double since_ms, paused_ms;         /* NaN: off; not paused */
    double evaluating_ms, evaluated_ms; /* NaN: no evaluation */
};

static double trained_ms(const struct training *t, double now_ms)
{
    const double until = isnan(t->paused_ms) ? now_ms : t->paused_ms;
    return isnan(t->since_ms) ? t->done_ms : t->done_ms + until - t->since_ms;
}

static void evaluate(struct training *t, const struct event *e)
{
    if (e->key == EVAL_START) {
        t->evaluating_ms = isnan(t->evaluating_ms) ? e->unix_ms : t->evaluating_ms;
        if (t->pauses && !isnan(t->since_ms) && isnan(t->paused_ms)) {
            t->paused_ms = e->unix_ms;
        }
        return;
    }
    if (!isnan(t->evaluating_ms)) {
        t->evaluated_ms += e->unix_ms - t->evaluating_ms;
        t->evaluating_ms = NAN;
    }
    if (!isnan(t->paused_ms)) {
        t->since_ms += e->unix_ms - t->paused_ms;
        t->paused_ms = NAN;
    }
}

static void train(struct training *t, const struct event *e)
{
    switch (e->key) {
    case BLOCK_START:
    case EPOCH_START:
        t->since_ms = isnan(t->since_ms) ? e->unix_ms : t->since_ms;
        t->paused_ms = NAN; /* it overlapped training */
        break;
    case BLOCK_STOP:
    case EPOCH_STOP:
        t->paused_ms = isnan(t->since_ms) ? t->paused_ms : NAN;
        t->done_ms = trained_ms(t, e->unix_ms);
        t->since_ms = NAN;
        break;
    case CHECKPOINT:
        t->since_ms = isnan(t->since_ms) ? NAN : e->unix_ms;
        break;
    case EVAL_START:
    case EVAL_STOP:
        evaluate(t, e);
        break;
    default:
        break;
    }
}

/* ---- the three bases ---- */

struct steps {
    double seen, steps, seconds, before;
};

/* A line stands for as many steps as its position moved, if they are whole. */
static void add_step(struct steps *s, const struct reading *r, const struct event *e)
{
    const bool has_count = !isnan(e->place[SAMPLES_COUNT]);
    const bool is_tokens = r->benchmark->epoch_num == UNIT_OF_TOKENS && r->sequence > 0;
    const double said = has_count ? e->place[SAMPLES_COUNT] : e->place[STEP];
    const double at = is_tokens ? said / r->sequence : said;
    const double moved = (at > s->before ? at - s->before : at) / r->batch; /* or of its block */
    const double n = fabs(moved - nearbyint(moved)) < 1e-6 && moved > 0 ? moved : 1;
    s->before = at > 0 ? at : s->before;
    if (s->seen >= WARMUP_STEPS) {
        s->seconds += e->value * n;
        s->steps += n;
    }
    s->seen += n;
}

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
    double first_ms, first, last_ms, last;
};

static void add_position(struct positions *p, double ms, double at)
{
    p->n_any++;
    if (!(ms > p->last_ms && at > p->last)) {
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

/* ---- the whole log ---- */

struct all {
    struct training training;
    struct steps steps;
    struct losses losses;
    struct positions blocks, evaluations, accuracies;
    bool has_evaluation;
    double end_ms;
};

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    const int order = (x->unix_ms > y->unix_ms) - (x->unix_ms < y->unix_ms);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static void take(struct mllog *m, const struct reading *r, const struct event *e, double start_ms,
                 struct all *all)
{
    const double at = position_of(r, e);
    if (e->key == TRACKED_STATS && e->value > 0) {
        add_step(&all->steps, r, e);
    } else if (e->key == TRAIN_LOSS) {
        add_loss(&all->losses, e->unix_ms, at);
    } else if (e->key == EVAL_ACCURACY) {
        all->losses.at = NAN;
        *vec_push(&m->marks) = (struct mllog_mark){(e->unix_ms - start_ms) / 1e3, e->value};
    }
    train(&all->training, e);
    struct positions *list = e->key == (r->is_begins ? BLOCK_START : BLOCK_STOP) ? &all->blocks
                             : r->is_begins                                      ? NULL
                             : e->key == EVAL_START                              ? &all->evaluations
                             : e->key == EVAL_ACCURACY                           ? &all->accuracies
                                                                                 : NULL;
    if (list != NULL && !isnan(at)) {
        add_position(list, trained_ms(&all->training, e->unix_ms), at);
    }
    all->end_ms = e->unix_ms;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), by_value);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The first basis that has a figure. */
static void put_rate(struct all *all, double batch, struct mllog_result *ret)
{
    const struct steps *s = &all->steps;
    const struct positions *p = all->evaluations.n_any > 0 ? &all->evaluations
                                : all->blocks.n_any > 0    ? &all->blocks
                                                           : &all->accuracies;
    if (s->steps >= WARMUP_STEPS && s->seconds > 0 && batch > 0) {
        ret->basis = MLLOG_STEPS;
        ret->rate = batch * s->steps / s->seconds;
        ret->seconds = s->seconds;
        ret->n = (size_t)s->steps;
    } else if (!all->has_evaluation && all->losses.ms.len >= MIN_LOSSES) {
        ret->basis = MLLOG_LOSSES;
        ret->n = all->losses.ms.len;
        ret->rate = 1e3 / median(all->losses.ms.items, ret->n);
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

static void read_run(struct mllog *m, const struct event *start, const struct reading *r,
                     struct mllog_result *ret)
{
    struct all all = {
        .training = {r->benchmark->epoch_num != UNIT_OF_BLOCKS, 0, NAN, NAN, NAN, 0},
        .losses = {.at = NAN},
        .has_evaluation = vec_any(&m->events, it, it->key == EVAL_START),
        .end_ms = start->unix_ms,
    };
    vec_each (const struct event, e, &m->events) {
        if (e->unix_ms >= start->unix_ms && !(m->stop.is_set && e->unix_ms > m->stop.unix_ms)) {
            take(m, r, e, start->unix_ms, &all);
        }
    }
    put_rate(&all, r->batch, ret);
    vec_done(&all.losses.ms);
    ret->training_s = trained_ms(&all.training, all.end_ms) / 1e3;
    ret->evaluation_s = all.has_evaluation ? all.training.evaluated_ms / 1e3 : NAN;
    ret->first_unix_ms = start->unix_ms;
    ret->last_unix_ms = all.end_ms;
    ret->status = m->stop.text;
    if (ret->status != NULL && str_eq(ret->status, "success")) {
        ret->to_target_s = (m->stop.unix_ms - start->unix_ms) / 1e3;
    }
}

void mllog_conclude(struct mllog *m, struct mllog_result *ret)
{
    if (m->events.len > 0) {
        qsort(m->events.items, m->events.len, sizeof(*m->events.items), by_time);
    }
    vec_done(&m->marks);
    const struct reading r = reading_of(m);
    *ret = (struct mllog_result){
        .benchmark = m->settings[0].text,
        .batch = r.batch,
        .rate = NAN,
        .seconds = NAN,
        .training_s = NAN,
        .evaluation_s = NAN,
        .first_unix_ms = NAN,
        .last_unix_ms = NAN,
        .to_target_s = NAN,
        .quality = r.benchmark->quality,
    };
    const struct event *start = vec_find(&m->events, it, it->key == RUN_START);
    if (m->is_full) {
        ret->refusal = "the log has too many MLPerf events";
    } else if (start == NULL) {
        const bool has_any =
            m->events.len > 0 || array_any(m->settings, COUNT_OF(m->settings), it, it->is_set);
        ret->refusal = has_any ? "the log has no run_start" : "the log has no MLPerf events";
    } else {
        read_run(m, start, &r, ret);
    }
    ret->marks = m->marks.items;
    ret->n_marks = m->marks.len;
}
