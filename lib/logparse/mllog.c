/* See mllog.h. */
#include "logparse/mllog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/embedded.h"
#include "doc/tree.h"
#include "logparse/number_text.h"
#include "logparse/tally.h"

extern const struct embedded mlperf_text[]; /* made of mlperf.yaml by embed.py */

#define MARKER ":::MLLOG"
#define WARMUP_STEPS 5
#define MIN_LOSSES 3
#define SAME_DATA_SET 0.01
#define AGREES 0.02
#define LEAST_TIMES 0.8 /* a part of the training may be slower than all of it */
#define MOST_TIMES 3
#define MOST_UNEVEN 1.5
#define MOST_WITH_OTHER 1.5 /* of a rate that is stated with evaluations */
#define QUEUED 1.01         /* times the rate: epochs that end so early are only queued */
#define TOGETHER_MS 50      /* an evaluation that begins with a block does not hold it */
#define NUMBER_MAX 9e12     /* above any count; a time in ms, in the year 2255, still fits in ns */
#define MS_A_YEAR (365.2425 * 86400e3)

/* clang-format off */
#define KEYS(X) \
    X(BLOCK_START, "block_start") X(BLOCK_STOP, "block_stop") X(EPOCH_START, "epoch_start") \
    X(EPOCH_STOP, "epoch_stop") X(EVAL_START, "eval_start") X(EVAL_STOP, "eval_stop") \
    X(EVAL_ACCURACY, "eval_accuracy") X(TRACKED_STATS, "tracked_stats") \
    X(THROUGHPUT, "throughput") X(TRAIN_LOSS, "train_loss") X(CHECKPOINT, "checkpoint") \
    X(RUN_START, "run_start") X(RUN_STOP, "run_stop") X(BENCHMARK, "submission_benchmark") \
    X(BATCH, "global_batch_size") X(SEQUENCE, "max_sequence_length") \
    X(TRAIN_SAMPLES, "train_samples") X(EPOCH_SAMPLES, "samples_per_epoch") \
    X(TARGET, "target_accuracy")
/* clang-format on */
#define KEY_NAME(name, text) name,
#define KEY_TEXT(name, text) text,
enum key { KEYS(KEY_NAME) KEY_COUNT };
static const char *const keys[] = {KEYS(KEY_TEXT)};

/* What metadata may say of the position. */
enum counter {
    SAMPLES_COUNT,
    SAMPLES_SINCE,
    STEP_NUM,
    EPOCH_NUM,
    FIRST_EPOCH_NUM,
    EPOCH_COUNT,
    STEP,
    COUNTERS,
};
static const char *const counters[COUNTERS] = {
    "samples_count",
    "train_samples_since_beginning",
    "step_num",
    "epoch_num",
    "first_epoch_num",
    "epoch_count",
    "step",
};

struct event {
    double unix_ms;
    size_t order; /* in the file */
    enum key key;
    double value;           /* seconds of a step, an accuracy, a setting; NaN */
    double stated;          /* a throughput; NaN */
    double count[COUNTERS]; /* NaN: it does not say it */
    char *text;             /* the benchmark, or the status of run_stop; owned; NULL */
};

struct mllog {
    VEC(struct event) events;
    json_t *benchmarks; /* mlperf.yaml; owned */
};

struct mllog *mllog_new(void)
{
    struct mllog *m = xnew(struct mllog);
    struct diags diags = {0};
    struct node *root = NULL;
    (void)tree_parse(mlperf_text[0].text, strlen(mlperf_text[0].text), &TREE_LIMITS_DEFAULT, &root,
                     &diags); /* tests/logparse/test_mllog.c reads each of its benchmarks */
    m->benchmarks = tree_to_json(root);
    tree_free(root);
    diags_done(&diags);
    return m;
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
    json_decref(m->benchmarks);
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

/* The number under the first of the names that has one; NaN. */
static double number_of(const json_t *o, const char *const *names, size_t n)
{
    double x = NAN;
    for (size_t i = 0; i < n && isnan(x); i++) {
        x = mllog_number(json_object_get(o, names[i]));
    }
    return x;
}
#define NUMBER_OF(o, ...)                                                                          \
    number_of(o, (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__})))

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
    e->value = key == TRACKED_STATS ? NUMBER_OF(value, "train_step_time", "train_step_timing",
                                                "train_step_timing in s")
                                    : mllog_number(value);
    e->stated = key == TRACKED_STATS ? NUMBER_OF(value, "throughput", "imgs_sec")
                : key == THROUGHPUT  ? e->value
                                     : NAN;
    for (enum counter i = 0; i < COUNTERS; i++) {
        e->count[i] = mllog_number(json_object_get(metadata, counters[i]));
    }
    text = key == RUN_STOP ? json_string_value(json_object_get(metadata, "status")) : text;
    e->text = text == NULL || (key != RUN_STOP && key != BENCHMARK) ? NULL : xstrdup(text);
}

/* ---- the time of training ---- */

struct training {
    bool in_block; /* Epochs begin and end within the block, which has the time. */
    double done_ms;
    double since_ms, paused_ms; /* NaN while it is off, or not paused. */
    double block_ms;            /* The start of the last block. */
    double epoch_ms, epochs_ms; /* The start of the epoch, NaN without one, and all that ended. */
};

static double trained_ms(const struct training *t, double now_ms)
{
    const double until = isnan(t->paused_ms) ? now_ms : t->paused_ms;
    return isnan(t->since_ms) ? t->done_ms : t->done_ms + until - t->since_ms;
}

static double in_epochs_ms(const struct training *t, double now_ms)
{
    return t->epochs_ms + fmax(now_ms - t->epoch_ms, 0); /* 0 for NaN */
}

static void train(struct training *t, const struct event *e)
{
    const bool is_on = !isnan(t->since_ms), is_paused = !isnan(t->paused_ms);
    if (e->key == EPOCH_STOP) {
        t->epochs_ms = in_epochs_ms(t, e->unix_ms);
        t->epoch_ms = NAN;
    }
    /* A block has the time of its epochs. The next one may begin in the millisecond of its end. */
    if ((e->key == EPOCH_STOP && t->in_block) ||
        (e->key == BLOCK_STOP && t->block_ms == e->unix_ms && t->since_ms < e->unix_ms)) {
        return;
    }
    t->block_ms = e->key == BLOCK_START ? e->unix_ms : t->block_ms;
    t->epoch_ms = e->key == EPOCH_START ? e->unix_ms : t->epoch_ms;
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
        if (is_on && !is_paused && e->unix_ms - fmax(t->block_ms, t->epoch_ms) >= TOGETHER_MS) {
            t->paused_ms = e->unix_ms;
        }
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

/* What is between positions that rise in both. */
struct stretch {
    double samples, ms; /* The time is that of training. */
    double epochs_ms;   /* This much of the time is within epochs. */
};

struct positions {
    size_t n_stalled;    /* Those above the one before, without training between them. */
    size_t n;            /* Those that rise. */
    struct stretch last; /* Up to the last one. */
    double fastest;      /* Samples a second, between two of them. */
    struct stretch first, after;
};

static void add_position(struct positions *p, const struct training *t, double now_ms, double at)
{
    const struct stretch now = {at, trained_ms(t, now_ms), in_epochs_ms(t, now_ms)};
    const double samples = now.samples - p->last.samples, ms = now.ms - p->last.ms;
    if (!(ms > 0 && samples > 0)) {
        p->n_stalled += samples > 0;
        return;
    }
    struct stretch *s = p->n == 0 ? &p->first : &p->after;
    s->samples += samples;
    s->ms += ms;
    s->epochs_ms += now.epochs_ms - p->last.epochs_ms;
    p->fastest = p->n == 0 ? 0 : fmax(p->fastest, 1e3 * samples / ms);
    p->last = now;
    p->n++;
}

/* ---- the run ---- */

enum counts { COUNTS_EPOCHS, COUNTS_SEQUENCES, COUNTS_TOKENS, COUNTS_STEPS, COUNTS_BLOCKS };
static const char *const counts_names[] = {"Epochs", "Sequences", "Tokens", "Steps", "Blocks"};

struct claim {
    enum mllog_basis basis; /* MLLOG_NOTHING: there is no figure */
    double rate, seconds;   /* samples a second, measured over */
    double other;           /* the rate of a part that contradicts it, or 0 */
    size_t n;
};
#define CLAIMS 7

struct reading {
    const json_t *benchmark; /* of mlperf.yaml; NULL */
    enum counts counts;
    double batch, sequence; /* NaN: unknown */
    double of_unit;         /* samples of one that the benchmark counts; NaN: unknown */
    double first, least;    /* the position where nothing is trained yet, and the least after it */
    struct training training;
    double seen, steps, seconds, before; /* of step times: the last is a position */
    double evaluating_ms;                /* since when; NaN: it does not evaluate */
    double evaluated;                    /* the position of the last evaluation; NaN: unknown */
    bool has_ranks;                      /* several print the same evaluation */
    double run_ms;                       /* since run_start */
    /* The highest position, not of a start, and when it was: since run_start, less evaluations. */
    double most, most_ms, most_busy_ms;
    double trained;  /* a train_samples after positions, which is what it has trained; 0: none */
    bool has_blocks; /* the start of each has the position */
    struct losses losses;
    struct positions positions[KEY_COUNT]; /* by the key of the events that have them */
    VEC(double) stated;                    /* seconds a sample */
};

static double benchmark_number(const struct reading *r, const char *name)
{
    return mllog_number(json_object_get(r->benchmark, name));
}

static const struct event *first_of(const struct mllog *m, enum key key)
{
    return vec_find(&m->events, it, it->key == key);
}

static double setting(const struct mllog *m, enum key key)
{
    const struct event *e = first_of(m, key);
    return e == NULL ? NAN : e->value;
}

/* How many samples one of what the benchmark counts has; NaN: unknown. */
static double samples_of_unit(const struct mllog *m, const struct reading *r)
{
    const double known = benchmark_number(r, "samples"), said = setting(m, TRAIN_SAMPLES);
    const struct event *block = first_of(m, BLOCK_START);
    const double stated = setting(m, EPOCH_SAMPLES), images = isnan(stated) ? said : stated;
    switch (r->counts) {
    case COUNTS_SEQUENCES:
        return 1;
    case COUNTS_TOKENS:
        return 1 / r->sequence;
    case COUNTS_STEPS:
        return r->batch;
    case COUNTS_BLOCKS: /* images if a block has those of whole epochs, else epochs */
        return block == NULL || isnan(block->count[EPOCH_COUNT]) || isnan(images) ? NAN
               : fmod(block->count[EPOCH_COUNT], images) > 0                      ? images
                                                                                  : 1;
    case COUNTS_EPOCHS: /* what the log says, in samples or in batches, if that is the data set */
        return isnan(known) || fabs(said / known - 1) < SAME_DATA_SET ? said
               : fabs(said * r->batch / known - 1) < SAME_DATA_SET    ? said * r->batch
                                                                      : known;
    }
    return NAN;
}

static const json_t *find_benchmark(const struct mllog *m)
{
    const struct event *name = first_of(m, BENCHMARK), *start = first_of(m, RUN_START);
    const json_t *b =
        json_object_get(m->benchmarks, name == NULL || name->text == NULL ? "" : name->text);
    const json_t *earlier = json_object_get(b, "earlier");
    const double year = start == NULL ? NAN : 1970 + start->unix_ms / MS_A_YEAR;
    return year < mllog_number(json_object_get(earlier, "before")) ? earlier : b;
}

static struct reading reading_of(const struct mllog *m)
{
    const double batch = setting(m, BATCH), sequence = setting(m, SEQUENCE);
    struct reading r = {
        .benchmark = find_benchmark(m),
        .batch = batch >= 1 ? batch : NAN,
        .sequence = sequence >= 1 ? sequence : NAN,
        .training = {.since_ms = NAN, .paused_ms = NAN, .epoch_ms = NAN},
        .evaluating_ms = NAN,
        .evaluated = NAN,
        .losses = {.at = NAN},
    };
    const char *counts = json_string_value(json_object_get(r.benchmark, "counts"));
    const int index = counts == NULL ? -1 : str_index(counts, counts_names, COUNT_OF(counts_names));
    r.counts = index < 0 ? COUNTS_EPOCHS : (enum counts)index;
    r.has_blocks = r.counts == COUNTS_STEPS || r.counts == COUNTS_BLOCKS;
    r.of_unit = samples_of_unit(m, &r);
    const struct event *since = vec_find(&m->events, it, !isnan(it->count[SAMPLES_SINCE]));
    r.first = fmax(benchmark_number(&r, "first") * r.of_unit, 0); /* 0 for NaN */
    r.first = since == NULL ? r.first : since->count[SAMPLES_SINCE];
    r.least = fmax(r.batch, setting(m, TRAIN_SAMPLES) / 100); /* the other one for NaN */
    return r;
}

/* How many samples training has seen; NaN: the event does not say it. */
static double position_of(const struct reading *r, const struct event *e)
{
    if (r->counts == COUNTS_BLOCKS) {
        return e->key == BLOCK_START ? e->count[FIRST_EPOCH_NUM] * r->of_unit : NAN;
    }
    const bool is_block = e->key == BLOCK_START && r->counts == COUNTS_EPOCHS;
    const enum counter number = is_block ? FIRST_EPOCH_NUM : EPOCH_NUM;
    const enum counter usual = r->counts == COUNTS_STEPS ? STEP_NUM : number;
    const double count =
        isnan(e->count[SAMPLES_COUNT]) ? e->count[SAMPLES_SINCE] : e->count[SAMPLES_COUNT];
    const double at = (isnan(count) ? e->count[usual] * r->of_unit : count) - r->first;
    if (r->counts != COUNTS_SEQUENCES) {
        return at;
    }
    /* Logs of older rounds number epochs or steps there, and have all samples at their end. */
    const bool is_end = e->key == TRAIN_SAMPLES && r->training.done_ms > 0;
    return is_end ? e->value : isnan(count) && !(at >= r->least) ? NAN : at;
}

/* A line stands for as many steps as its position moved, if they are whole. */
static void add_step(struct reading *r, const struct event *e)
{
    const double count = e->count[SAMPLES_COUNT], said = isnan(count) ? e->count[STEP] : count;
    const bool is_tokens = r->counts == COUNTS_TOKENS && r->sequence > 0;
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

/* ---- figures, and what speaks against them ---- */

/* A single mark counts where no event has more of them: an end may be followed by others. */
static struct claim claim_of(const struct reading *r, enum key key)
{
    const struct positions *p = &r->positions[key], *blocks = &r->positions[BLOCK_START];
    const bool is_single = p->n == 1;
    const struct stretch *s = is_single ? &p->first : &p->after;
    const bool may_be_size = is_single && (key == BLOCK_STOP || key == EPOCH_STOP);
    const bool has_more = is_single && array_any(r->positions, KEY_COUNT, it, it->n > 1);
    const bool has_figure = p->n_stalled < p->n && !may_be_size && !has_more;
    const double rate = 1e3 * s->samples / s->ms, by_epochs = 1e3 * s->samples / s->epochs_ms;
    const double by_blocks = 1e3 * blocks->after.samples / blocks->after.ms;
    const bool is_queued = by_epochs > rate * QUEUED && s->epochs_ms > 0;
    const bool differs = fabs(by_blocks / rate - 1) > AGREES && p->n > 2 && blocks->n > 2;
    double other = p->fastest > rate * MOST_UNEVEN && !r->has_blocks ? p->fastest : 0;
    other = differs ? by_blocks : other;
    return (struct claim){.basis = has_figure ? MLLOG_POSITIONS : MLLOG_NOTHING,
                          .rate = rate,
                          .seconds = s->ms / 1e3,
                          .other = is_queued ? by_epochs : other,
                          .n = p->n};
}

/* In the order in which they are preferred. */
static void put_claims(struct reading *r, bool has_evaluation, struct claim ret[CLAIMS])
{
    const bool has_steps = r->steps >= WARMUP_STEPS && r->seconds > 0 && r->batch > 0;
    const bool has_losses = !has_evaluation && r->losses.ms.len >= MIN_LOSSES;
    ret[0] = (struct claim){.basis = has_steps ? MLLOG_STEPS : MLLOG_NOTHING,
                            .rate = r->batch * r->steps / r->seconds,
                            .seconds = r->seconds,
                            .n = (size_t)r->steps};
    ret[1] = (struct claim){
        .basis = has_losses ? MLLOG_LOSSES : MLLOG_NOTHING, .seconds = NAN, .n = r->losses.ms.len};
    ret[1].rate = has_losses ? 1e3 / log_median(r->losses.ms.items, r->losses.ms.len) : NAN;
    static const enum key usual[] = {EVAL_START, BLOCK_STOP, EVAL_ACCURACY, EPOCH_STOP,
                                     TRAIN_SAMPLES};
    for (size_t i = 0; i < COUNT_OF(usual); i++) {
        ret[2 + i] = claim_of(r, !r->has_blocks ? usual[i] : i == 0 ? BLOCK_START : EPOCH_START);
    }
}

/* Does the rate give the samples of the log in its time? About all of them at least, and not many
 * times as many, whatever of it was start, evaluation and other things. */
static bool is_plausible(const struct reading *r, double rate)
{
    return r->most == 0 || (rate * r->most_ms / 1e3 >= r->most * LEAST_TIMES &&
                            rate * r->most_busy_ms / 1e3 <= r->most * MOST_TIMES);
}

/* The rate that the log states, in samples of the job, if it lies between that of the claim and
 * what that is with all that is not training, of which it may have a third; else NaN. It may be of
 * one accelerator, or count tokens. */
static double stated_of_job(const struct reading *r, const struct claim *c, double trainers,
                            double stated)
{
    const double slowest = r->counts == COUNTS_BLOCKS
                               ? c->rate
                               : fmax(1e3 * r->most / r->run_ms, c->rate / MOST_WITH_OTHER);
    const double scales[] = {stated, stated * trainers, stated / r->sequence};
    const double *scaled =
        array_find(scales, COUNT_OF(scales), it,
                   *it >= slowest * (1 - AGREES) && *it <= c->rate * (1 + AGREES));
    return scaled == NULL ? NAN : *scaled;
}

/* What the log states, over its samples or in the middle: a part of an epoch may be stated too, and
 * the first one has the warm-up. Returns false if it contradicts the claim. */
static bool put_stated(struct reading *r, const struct claim *c, double trainers, double *ret)
{
    const size_t skipped = r->stated.len > 1;
    const size_t n = r->stated.len - skipped;
    double *s = r->stated.items + skipped;
    if (n == 0) {
        return true;
    }
    const double mean = (double)n / array_sum(s, n, it, *it), middle = 1 / log_median(s, n);
    const double by_mean = stated_of_job(r, c, trainers, mean);
    const double agreed = isnan(by_mean) ? stated_of_job(r, c, trainers, middle) : by_mean;
    *ret = isnan(agreed) ? mean : agreed;
    return !isnan(agreed);
}

static void put_rate(struct reading *r, double trainers, struct mllog_result *ret)
{
    struct claim claims[CLAIMS];
    put_claims(r, ret->has_evaluation, claims);
    const struct claim *any = array_find(claims, CLAIMS, it, it->basis != MLLOG_NOTHING);
    const struct claim *c =
        array_find(claims, CLAIMS, it, it->basis != MLLOG_NOTHING && is_plausible(r, it->rate));
    const bool agrees = c == NULL || put_stated(r, c, trainers, &ret->stated);
    const double most = benchmark_number(r, "epochs") * r->of_unit;
    const double trained = r->trained > 0 ? r->trained : fmin(r->most, most); /* that for NaN */
    if (any == NULL) {
        const bool has_position = array_any(r->positions, KEY_COUNT, it, it->n_stalled > 0);
        ret->refusal = has_position
                           ? "no training time: no start of an epoch or block before a position"
                           : "no step times, no positions";
    } else if (c == NULL) {
        ret->refusal = "its figure contradicts the length of its training";
        ret->numbers =
            xasprintf("%.6g %s/s by its events, but it has seen %.6g in %.6g s", any->rate,
                      summary_unit_names[ret->unit], r->most, r->most_busy_ms / 1e3);
    } else if (r->counts == COUNTS_EPOCHS && fabs(trained / r->most - 1) > AGREES) {
        ret->refusal = "its positions are not what it has trained";
        ret->numbers =
            xasprintf("%.6g samples by its positions, and it has trained %.6g", r->most, trained);
    } else if (isnan(ret->stated) && c->other > 0) {
        ret->refusal = "its parts contradict each other";
        ret->numbers = xasprintf("%.6g %s/s by its events, and %.6g by some of them", c->rate,
                                 summary_unit_names[ret->unit], c->other);
    } else if (!agrees) {
        ret->refusal = "what it states is another figure";
        ret->numbers = xasprintf("%.6g %s/s by its events, and it states %.6g", c->rate,
                                 summary_unit_names[ret->unit], ret->stated);
    } else {
        ret->basis = c->basis;
        ret->rate = c->rate;
        ret->seconds = c->seconds;
        ret->n = c->n;
    }
}

/* ---- the events ---- */

/* Several ranks print the start of an evaluation before the first of them has ended it. */
static bool is_of_other_rank(struct reading *r, const struct event *e, double at)
{
    const bool is_again = e->key == EVAL_START && at == r->evaluated;
    r->has_ranks = r->has_ranks || (is_again && !isnan(r->evaluating_ms));
    r->evaluated = e->key == EVAL_START ? at : r->evaluated;
    return is_again && r->has_ranks;
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
    if (e->stated > 0) {
        *vec_push(&r->stated) = 1 / e->stated;
    }
    if (!is_of_other_rank(r, e, at)) {
        add_evaluation(r, e, &ret->evaluation_s);
        train(&r->training, e);
    }
    if (e->key == TRACKED_STATS && e->value > 0) {
        add_step(r, e);
    } else if (e->key == TRAIN_LOSS) {
        add_loss(&r->losses, e->unix_ms, at);
    } else if (e->key == EVAL_ACCURACY) {
        r->losses.at = NAN;
        const double loss = ret->goal.kind == GOAL_LOSS ? e->value : NAN;
        ret->accuracy_last = ret->goal.kind == GOAL_ACCURACY ? e->value : NAN;
        (void)evaluations_add(&ret->evaluations, t_s, ret->accuracy_last, loss); /* if in range */
    }
    if (!isnan(at)) {
        add_position(&r->positions[e->key], &r->training, e->unix_ms, at);
        const bool is_start = e->key == EPOCH_START || (e->key == BLOCK_START && !r->has_blocks);
        const bool is_less = e->key == EPOCH_STOP || (e->key == TRAIN_SAMPLES && r->most > 0);
        if (!is_start && !is_less && at > r->most) {
            const double evaluating_s = fmax((e->unix_ms - r->evaluating_ms) / 1e3, 0);
            r->most = at;
            r->most_ms = 1e3 * t_s;
            r->most_busy_ms = 1e3 * (t_s - fmax(ret->evaluation_s, 0) - evaluating_s);
        }
    }
    r->trained = e->key == TRAIN_SAMPLES && r->most > 0 ? e->value : r->trained;
    r->run_ms = 1e3 * t_s;
    evaluations_extend(&ret->evaluations, t_s);
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    const int order = (x->unix_ms > y->unix_ms) - (x->unix_ms < y->unix_ms);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* The target that the log names, or that of the benchmark. One that the first evaluation is above
 * is to be fallen to. */
static struct goal goal_of(const struct mllog *m, const struct reading *r)
{
    const double said = setting(m, TARGET), loss = benchmark_number(r, "loss");
    const double known = isnan(loss) ? benchmark_number(r, "accuracy") : loss;
    const double value = isnan(said) ? known : said;
    const bool falls = isnan(said) ? !isnan(loss) : setting(m, EVAL_ACCURACY) > said;
    return (struct goal){isnan(value) ? GOAL_NONE
                         : falls      ? GOAL_LOSS
                                      : GOAL_ACCURACY,
                         isnan(value) ? 0 : value};
}

static enum summary_unit unit_of(const struct reading *r)
{
    const char *name = json_string_value(json_object_get(r->benchmark, "unit"));
    const int unit = name == NULL ? -1 : str_index(name, summary_unit_names, SUMMARY_UNIT_COUNT);
    return unit >= 0                                 ? (enum summary_unit)unit
           : r->benchmark == NULL && r->sequence > 0 ? UNIT_SEQUENCES
                                                     : UNIT_SAMPLES;
}

void mllog_conclude(struct mllog *m, double trainers, struct mllog_result *ret)
{
    array_sort(m->events.items, m->events.len, sizeof(*m->events.items), by_time);
    const struct event *start = first_of(m, RUN_START), *stop = first_of(m, RUN_STOP);
    struct reading r = reading_of(m);
    *ret = (struct mllog_result){
        .batch = r.batch,
        .rate = NAN,
        .stated = NAN,
        .unit = unit_of(&r),
        .parameters = fmax(benchmark_number(&r, "parameters"), 0), /* 0 for NaN */
        .sequence = fmax(benchmark_number(&r, "sequence"), 0),
        .goal = goal_of(m, &r),
        .seconds = NAN,
        .has_evaluation = first_of(m, EVAL_START) != NULL,
        .evaluation_s = NAN,
        .accuracy_last = NAN,
        .status = stop == NULL ? NULL : stop->text,
        .refusal = json_string_value(json_object_get(r.benchmark, "refused")),
    };
    if (m->events.len == MLLOG_EVENTS_MAX) {
        ret->refusal = "the log has too many MLPerf events";
    } else if (start == NULL) {
        ret->refusal = m->events.len > 0 ? "the log has no run_start"
                                         : "the log has no events in the form of MLPerf since v0.7";
    } else {
        vec_each (const struct event, e, &m->events) {
            if (e->unix_ms >= start->unix_ms && !(stop != NULL && e->unix_ms > stop->unix_ms)) {
                take(&r, e, (e->unix_ms - start->unix_ms) / 1e3, ret);
            }
        }
        if (ret->refusal == NULL) {
            put_rate(&r, trainers, ret);
        }
    }
    vec_done(&r.losses.ms);
    vec_done(&r.stated);
}
