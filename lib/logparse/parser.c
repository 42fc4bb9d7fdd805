/* See parser.h. */
#include "logparse/parser.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "logparse/lines.h"
#include "logparse/log_metrics.h"
#include "logparse/miss.h"
#include "logparse/tally.h"

#define COMPARED_LINES 10000 /* for the nearest miss: comparing costs more than matching */
#define SLOW_LINE_NS 1000000
#define SLOW_LINES_MAX_NS 10000000
#define MIN_RATE 1e-9 /* a run of 30 years */
#define MAX_RATE 1e15

struct slots { /* by rank + 1; NULL: no line of that rank */
    VEC(struct log_tally *) list;
};

struct rank_state {
    double steps;       /* counted over all lines of kind Step */
    double epoch_steps; /* since the last line of kind Epoch */
    double batch;       /* that its lines have named; 0: none */
    double per_epoch;   /* samples of an epoch that an Info line has named; 0: none */
    double last_step;   /* of a rule with `restart`: the number of the latest step; -1: none */
    bool has_restarted; /* a line of `restart` was read */
    bool has_left;      /* its lines are those of another loop, such as an evaluation */
};

struct log_parser {
    struct log_parser_params params;
    struct log_matcher *matcher;
    struct mllog *mllog;        /* of a rule with this format; else NULL */
    struct mllog_result mlperf; /* what it found */
    struct log_lines streams[LOG_STREAM_COUNT];
    struct slots *slots; /* one for each line of the rule */
    VEC(struct rank_state) ranks;
    struct log_miss miss;
    int64_t now_ns;
    uint64_t n_lines, n_matched, n_warmup, n_refused, n_given_up;
    int64_t slow_ns;       /* on lines that took SLOW_LINE_NS or more */
    uint64_t n_lines_read; /* before the rule was given up; 0: it was not */
    char refusal[160];     /* of the first line that was refused */
    bool needs_batch;      /* some line had a time but no batch size to go with it */
    double loss_first, loss_last, accuracy_last;
    struct evaluations evaluations;
    struct log_metrics metrics;
    bool in_warmup;         /* is the last line with a figure */
    struct log_tally clock; /* of the lines of one process; it begins with training */
    bool is_stamped;        /* the clock is that of time stamps in lines, not of their arrival */
    bool has_elapsed;       /* lines say themselves how long training has gone on */
    bool has_no_begin;      /* the first line that was read is later than the begin of training */
};

static void on_line(void *ctx, const char *line, size_t len);

struct log_parser *log_parser_new(const struct log_parser_params *params)
{
    struct log_parser *p = xnew(struct log_parser);
    p->params = *params;
    p->matcher = log_matcher_new();
    p->mllog = params->rule->format == LOG_RULE_MLPERF ? mllog_new() : NULL;
    p->slots = xnew_array(struct slots, params->rule->lines.len);
    p->loss_first = p->loss_last = p->accuracy_last = NAN;
    for (int i = 0; i < LOG_STREAM_COUNT; i++) {
        log_lines_init(&p->streams[i], on_line, p);
    }
    return p;
}

void log_parser_free(struct log_parser *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->params.rule->lines.len; i++) {
        vec_each (struct log_tally *, it, &p->slots[i].list) {
            if (*it != NULL) {
                log_tally_done(*it);
                free(*it);
            }
        }
        vec_done(&p->slots[i].list);
    }
    for (int i = 0; i < LOG_STREAM_COUNT; i++) {
        log_lines_done(&p->streams[i]);
    }
    log_matcher_free(p->matcher);
    mllog_free(p->mllog);
    vec_done(&p->ranks);
    free(p->slots);
    free(p);
}

/* ---- one line ---- */

static struct log_tally *tally_of(struct log_parser *p, size_t line, int64_t rank)
{
    struct slots *s = &p->slots[line];
    const size_t slot = (size_t)(rank + 1);
    while (s->list.len <= slot) {
        *vec_push(&s->list) = NULL;
    }
    if (s->list.items[slot] == NULL) {
        s->list.items[slot] = xnew(struct log_tally);
    }
    return s->list.items[slot];
}

static struct rank_state *rank_of(struct log_parser *p, int64_t rank)
{
    const size_t slot = (size_t)(rank + 1);
    while (p->ranks.len <= slot) {
        *vec_push(&p->ranks) = (struct rank_state){.last_step = -1};
    }
    return &p->ranks.items[slot];
}

static void refuse(struct log_parser *p, const char *why)
{
    if (p->n_refused++ == 0) {
        text_put(p->refusal, sizeof(p->refusal), "line %llu: %s", (unsigned long long)p->n_lines,
                 why);
    }
}

/* Units of one step; NaN: unknown. */
static double units_of_step(const struct log_parser *p, const struct log_line_rule *line,
                            const struct log_values *v, const struct rank_state *rank)
{
    if (line->unit != UNIT_SAMPLES) {
        return line->unit == UNIT_STEPS ? 1 : NAN;
    }
    if (v->has[LOG_BATCH]) {
        return v->number[LOG_BATCH];
    }
    const double trainers = line->scope == LOG_SCOPE_JOB ? (double)p->params.trainers : 1;
    const double batch = rank->batch > 0 ? rank->batch : (double)p->params.batch_size * trainers;
    return batch > 0 ? batch : NAN;
}

/* The steps that a line covers: of a step line by its number, of an epoch or the whole run what the
 * step lines before it have counted. */
static double covered_steps(struct log_tally *t, const struct log_line_rule *line,
                            const struct log_values *v, struct rank_state *rank)
{
    if (line->kind == LOG_KIND_STEP) {
        const double said = v->has[LOG_STEPS] ? v->number[LOG_STEPS] : 1;
        const double steps = log_tally_covered(t, v->number[LOG_STEP], said);
        rank->steps += steps;
        rank->epoch_steps += steps;
        return steps;
    }
    const double counted = line->kind == LOG_KIND_EPOCH ? rank->epoch_steps : rank->steps;
    rank->epoch_steps = 0;
    return v->has[LOG_STEPS] ? v->number[LOG_STEPS] : counted;
}

/* Units that the line covers, by what it says, by the rule, by what an Info line has said of all
 * epochs, or by its steps; NaN: unknown. */
static double covered_units(const struct log_line_rule *line, const struct log_values *v,
                            const struct rank_state *rank, double steps, double units_of_step)
{
    if (v->has[LOG_SAMPLES]) {
        return v->number[LOG_SAMPLES];
    }
    if (line->each > 0) {
        return line->each;
    }
    if (line->kind == LOG_KIND_EPOCH && rank->per_epoch > 0) {
        return rank->per_epoch;
    }
    return steps > 0 ? steps * units_of_step : NAN;
}

static double own_rate(const struct log_values *v, double units, double units_of_step)
{
    const double step_s = log_values_step_s(v);
    return v->has[LOG_RATE]        ? v->number[LOG_RATE]
           : v->has[LOG_STEP_RATE] ? v->number[LOG_STEP_RATE] * units_of_step
           : !isnan(step_s)        ? units_of_step / step_s
                                   : units / log_values_time_s(v);
}

static double own_step_s(const struct log_values *v, double rate, double units_of_step)
{
    const double step_s = log_values_step_s(v);
    return !isnan(step_s)          ? step_s
           : v->has[LOG_STEP_RATE] ? 1 / v->number[LOG_STEP_RATE]
                                   : units_of_step / rate;
}

/* Of several ranks, the first one speaks. */
static void keep_quality(struct log_parser *p, const struct log_figure *f)
{
    if (f->rank > 0) {
        return;
    }
    if (!isnan(f->loss) && !f->is_warmup) {
        p->loss_first = isnan(p->loss_first) ? f->loss : p->loss_first;
        p->loss_last = f->loss;
    }
    p->accuracy_last = isnan(f->accuracy) ? p->accuracy_last : f->accuracy;
}

/* Time since training began; NaN: unknown. It begins with the first line that was read, if that is
 * a step or says something of all epochs, unless lines say how long it has gone on. */
static double training_s(struct log_parser *p, enum log_kind kind, const struct log_values *v,
                         const struct log_figure *f)
{
    if (v->has[LOG_ELAPSED_S]) {
        p->has_elapsed = true;
        return v->number[LOG_ELAPSED_S];
    }
    if (kind == LOG_KIND_SUMMARY && !isnan(log_values_time_s(v))) {
        return log_values_time_s(v);
    }
    if (!p->clock.has_begin) {
        p->is_stamped = v->has_stamp;
        p->has_no_begin = kind == LOG_KIND_EPOCH || kind == LOG_KIND_SUMMARY ||
                          (kind == LOG_KIND_INFO && !isnan(f->accuracy));
    }
    if (v->has_stamp != p->is_stamped) {
        return NAN; /* two clocks */
    }
    const struct log_stamp arrival = {p->now_ns, true};
    const int64_t ns = log_tally_time_ns(&p->clock, v->has_stamp ? &v->stamp : &arrival);
    const bool is_known = !p->has_no_begin && !p->has_elapsed && ns > p->clock.begin_ns;
    return is_known ? (double)(ns - p->clock.begin_ns) / 1e9 : NAN;
}

/* The accuracy and the loss of a step are those of its batch: no evaluation. */
static void keep_evaluation(struct log_parser *p, enum log_kind kind, const struct log_values *v,
                            const struct log_figure *f)
{
    if (f->rank > 0) {
        return;
    }
    const double t_s = training_s(p, kind, v, f);
    if (kind == LOG_KIND_STEP || (isnan(f->accuracy) && isnan(f->loss))) {
        evaluations_extend(&p->evaluations, t_s);
    } else { /* nothing is added where a time, or both values are unknown */
        (void)evaluations_add(&p->evaluations, t_s, f->accuracy, f->loss);
    }
}

static double accuracy_of(const struct log_values *v)
{
    return v->has[LOG_ACCURACY] ? v->number[LOG_ACCURACY] : v->number[LOG_ACCURACY_PERCENT] / 100;
}

static struct log_skip skip_of(const struct log_parser *p, const struct log_line_rule *line,
                               const struct log_values *v)
{
    if (line->skip.kind != LOG_SKIP_DEFAULT) {
        return line->skip;
    }
    const bool is_numbered = line->kind == LOG_KIND_STEP && v->has[LOG_STEP];
    return (struct log_skip){LOG_SKIP_STEPS, is_numbered ? p->params.warmup_steps : 0};
}

/* Steps that begin anew without a line that says so are those of another loop. A line without the
 * number of its step has all of them. An Info line about a step is before that step's figure. */
static bool is_of_another_loop(struct rank_state *rank, enum log_kind kind, double step)
{
    const double now = isnan(step) ? 0 : step;
    rank->has_left = rank->has_left || now <= rank->last_step;
    rank->last_step = now - (kind == LOG_KIND_INFO);
    return rank->has_left;
}

/* A line that has a throughput, or whose time has one. */
static void take_figure(struct log_parser *p, size_t index, const struct log_values *v,
                        struct log_figure *f)
{
    const struct log_line_rule *line = &p->params.rule->lines.items[index];
    struct rank_state *rank = rank_of(p, f->rank);
    struct log_tally *t = tally_of(p, index, f->rank);
    const double unit = units_of_step(p, line, v, rank);
    f->steps = covered_steps(t, line, v, rank);
    f->units = covered_units(line, v, rank, f->steps, unit);
    const bool is_stamped = line->source == LOG_FROM_STAMPS;
    f->rate = is_stamped ? NAN : own_rate(v, f->units, unit) / line->sequence;
    f->units /= line->sequence;
    const struct log_skip skip = skip_of(p, line, v);
    const struct log_stamp arrival = {p->now_ns, true};
    f->t_ns = log_tally_time_ns(t, v->has_stamp ? &v->stamp : &arrival);
    p->in_warmup = f->is_warmup = log_tally_is_warmup(t, &skip, f->t_ns);
    if (isnan(is_stamped ? f->units : f->rate)) {
        p->needs_batch = true; /* the loss may still be good */
        return;
    }
    f->step_s = line->kind == LOG_KIND_STEP ? own_step_s(v, f->rate, unit) : NAN;
    if (f->is_warmup) {
        log_tally_skip(t, f);
        p->n_warmup++;
    } else {
        log_tally_add(t, line, f);
    }
}

static void take_line(struct log_parser *p, size_t index, const struct log_match *match,
                      int64_t rank)
{
    struct log_values v;
    struct err err;
    p->n_matched++;
    if (log_values_read(match, &v, &err) < 0) {
        refuse(p, err.msg);
        return;
    }
    rank = v.has[LOG_RANK] ? (int64_t)v.number[LOG_RANK] : rank;
    if (rank >= LOG_MAX_RANKS) {
        refuse(p, "its rank is too high");
        return;
    }
    const enum log_kind kind = p->params.rule->lines.items[index].kind;
    if (p->params.rule->restart != NULL &&
        is_of_another_loop(rank_of(p, rank), kind, v.number[LOG_STEP])) {
        return;
    }
    const double step_s = log_values_step_s(&v);
    log_metrics_pause(&p->metrics, &v, rank);
    struct log_figure f = {
        .line = index,
        .rank = rank,
        .epoch = v.number[LOG_EPOCH],
        .step = v.number[LOG_STEP],
        .steps = NAN,
        .units = v.number[LOG_SAMPLES],
        .rate = NAN,
        .step_s = NAN,
        .batch = v.number[LOG_BATCH],
        .time_s = isnan(step_s) ? log_values_time_s(&v) : step_s,
        .loss = v.number[LOG_LOSS],
        .accuracy = accuracy_of(&v),
        .phase_s = &v.number[LOG_DATA_S],
        .paused_s = log_metrics_paused_s(&p->metrics),
        .t_ns = v.has_stamp ? v.stamp.ns : p->now_ns,
    };
    const bool is_info = kind == LOG_KIND_INFO;
    if (v.has[LOG_BATCH]) {
        rank_of(p, rank)->batch = v.number[LOG_BATCH];
    }
    if (is_info && v.has[LOG_SAMPLES]) {
        rank_of(p, rank)->per_epoch = v.number[LOG_SAMPLES];
    }
    if (!is_info) {
        take_figure(p, index, &v, &f);
    }
    if (!(is_info ? p->in_warmup : f.is_warmup)) {
        log_metrics_add(&p->metrics, &v, f.steps);
    }
    keep_quality(p, &f);
    keep_evaluation(p, kind, &v, &f);
    if (p->params.on_figure != NULL) {
        p->params.on_figure(p->params.ctx, &f);
    }
}

/* Training begins to count its steps; what is before the first such line was not training. */
static void restart(struct log_parser *p, int64_t rank)
{
    struct rank_state *state = rank_of(p, rank);
    for (size_t i = 0; !state->has_restarted && i < p->params.rule->lines.len; i++) {
        struct log_tally *t = tally_of(p, i, rank);
        log_tally_done(t);
        *t = (struct log_tally){0};
    }
    state->has_restarted = true;
    state->has_left = false;
    state->last_step = -1;
}

static void match_line(struct log_parser *p, const char *line, size_t len)
{
    const struct log_rule *rule = p->params.rule;
    int64_t rank = -1;
    const size_t prefix = log_prefix_len(line, len, &rank);
    const char *text = line + prefix;
    const size_t text_len = len - prefix;
    struct log_match match;
    if (rule->restart != NULL && rank < LOG_MAX_RANKS &&
        log_matcher_run(p->matcher, rule->restart, text, text_len, &match) > 0) {
        restart(p, rank);
    }
    for (size_t i = 0; i < rule->lines.len; i++) {
        const struct log_line_rule *l = &rule->lines.items[i];
        const int r = !l->roles[p->params.role]
                          ? 0
                          : log_matcher_run(p->matcher, l->pattern, text, text_len, &match);
        if (r > 0) {
            take_line(p, i, &match, rank);
            return;
        }
        if (r == -ETIME) {
            p->n_lines_read = p->n_lines;
            return;
        }
        p->n_given_up += r < 0 ? 1 : 0;
    }
    if (p->n_matched == 0 && p->n_lines <= COMPARED_LINES) {
        log_miss_compare(&p->miss, rule, p->params.role, p->n_lines, text, text_len);
    }
}

/* Usual lines take some microseconds. */
static void on_line(void *ctx, const char *line, size_t len)
{
    struct log_parser *p = ctx;
    log_miss_remember(&p->miss, ++p->n_lines, line, len);
    if (p->mllog != NULL) {
        mllog_line(p->mllog, line, len);
    }
    if (p->n_lines_read > 0 || log_is_preparation(line, len)) {
        return;
    }
    int64_t (*const cpu_ns)(void) = p->params.cpu_ns;
    const int64_t begin_ns = cpu_ns == NULL ? 0 : cpu_ns();
    log_matcher_limit(p->matcher, cpu_ns, begin_ns + SLOW_LINES_MAX_NS - p->slow_ns);
    match_line(p, line, len);
    const int64_t took_ns = cpu_ns == NULL ? 0 : cpu_ns() - begin_ns;
    p->slow_ns += took_ns >= SLOW_LINE_NS ? took_ns : 0;
}

void log_parser_feed(struct log_parser *p, enum log_stream stream, const char *data, size_t len,
                     int64_t t_ns)
{
    p->now_ns = t_ns;
    log_lines_feed(&p->streams[stream], data, len);
}

void log_parser_end(struct log_parser *p, int64_t t_ns)
{
    p->now_ns = t_ns;
    for (int i = 0; i < LOG_STREAM_COUNT; i++) {
        log_lines_end(&p->streams[i]);
    }
    if (p->mllog != NULL) {
        mllog_conclude(p->mllog, &p->mlperf);
        if (p->mlperf.refusal == NULL &&
            !(p->mlperf.rate >= MIN_RATE && p->mlperf.rate <= MAX_RATE)) {
            p->mlperf.refusal = "its throughput is out of range";
        }
    }
}

/* ---- the result ---- */

/* What the sum over the ranks is multiplied with. */
static double factor_of(const struct log_parser *p, const struct log_line_rule *line,
                        unsigned ranks)
{
    const int64_t trainers = p->params.trainers > 0 ? p->params.trainers : 1;
    return line->scope == LOG_SCOPE_REPLICA ? 1
           : line->scope == LOG_SCOPE_JOB   ? 1.0 / ranks /* each figure is the job's already */
                                            : (double)trainers / ranks;
}

/* Samples and time, of which the quotient is the rate. False: no samples were counted, and these
 * are as many as that rate has in `least_s`. */
static bool put_rate(struct summary *s, double rate, double units, double least_s)
{
    const double seconds = units / rate;
    const bool is_counted = units >= 1 && units < 9e15 && seconds >= 1e-3 && seconds < 9e9;
    const double samples = is_counted ? nearbyint(units) : fmin(ceil(rate * least_s), 9e15);
    s->samples = (uint64_t)samples;
    s->duration_ns = (int64_t)nearbyint(samples / rate * 1e9);
    return is_counted;
}

/* The figure of one line of the rule over all ranks. False: it has none. */
static bool add_up(const struct log_parser *p, size_t index, struct log_result *ret)
{
    const struct log_line_rule *line = &p->params.rule->lines.items[index];
    const struct log_tally *first = NULL;
    double rate = 0, units = 0, steps = 0;
    uint64_t n_lines = 0;
    unsigned n = 0;
    vec_each (struct log_tally *const, it, &p->slots[index].list) {
        const double one = *it == NULL ? NAN : log_tally_rate(*it, line);
        if (isnan(one)) {
            continue;
        }
        first = first == NULL ? *it : first;
        rate += one;
        units += (*it)->has_unknown_units ? NAN : (*it)->units;
        steps = fmax(steps, (*it)->steps);
        n_lines += (*it)->n;
        n++;
    }
    const double factor = n == 0 ? 0 : factor_of(p, line, n);
    if (!(rate * factor >= MIN_RATE && rate * factor <= MAX_RATE)) {
        return false; /* no line, or nonsense */
    }
    *ret = (struct log_result){
        .summary = {.steps = (uint32_t)fmin(steps, UINT32_MAX)},
        .rate = rate * factor,
        .line = line,
        .n_lines = n_lines,
        .n_ranks = n,
        .step_ns = first->step_ns.items,
        .n_step_ns = first->step_ns.len,
    };
    const bool is_counted =
        put_rate(&ret->summary, ret->rate, units * factor, log_tally_least_s(first));
    for (int k = 0; is_counted && k < PHASE_COUNT; k++) { /* parts of that time */
        ret->summary.phase_ns[k] = llrint(fmin(1e9 * first->phase_s[k], 9e18));
    }
    return true;
}

/* "mean of 98 step lines". Owned. */
static char *method_of(const struct log_result *r)
{
    static const char *const aggregates[] = {"mean", "median", "last", "maximum"};
    static const char *const kinds[] = {"summary", "epoch", "step", "info"};
    char ranks[32] = "";
    if (r->n_ranks > 1) {
        (void)snprintf(ranks, sizeof(ranks), ", %u ranks", r->n_ranks); /* fits */
    }
    return xasprintf("%s of %llu %s line%s%s%s", aggregates[r->line->aggregate],
                     (unsigned long long)r->n_lines, kinds[r->line->kind],
                     r->n_lines == 1 ? "" : "s", ranks,
                     r->line->source == LOG_FROM_STAMPS ? ", by their time stamps" : "");
}

/* What does not follow from the line that decided. */
static void complete(const struct log_parser *p, const struct evaluations *evaluations,
                     char *method_take, struct log_result *r)
{
    struct summary *s = &r->summary;
    s->loss_first = p->loss_first;
    s->loss_last = p->loss_last;
    s->source = (struct summary_source){
        .rule = xstrdup(p->params.rule->name),
        .method = method_take,
        .unit = r->line->unit,
        .is_job = r->line->scope != LOG_SCOPE_REPLICA,
        .accuracy_last = p->mllog == NULL ? p->accuracy_last : p->mlperf.accuracy_last,
    };
    log_metrics_put(&p->metrics, &s->metrics);
    if (evaluations->n > 0) {
        s->evaluations = xnew(struct evaluations);
        *s->evaluations = *evaluations;
    }
}

/* "mean of 215 step times". Owned. */
static char *mlperf_method(const struct mllog_result *m)
{
    return m->basis == MLLOG_STEPS ? xasprintf("mean of %zu step times", m->n)
           : m->basis == MLLOG_LOSSES
               ? xasprintf("median time between %zu pairs of losses", m->n)
               : xasprintf("training time between the first and the last of "
                           "%zu positions%s",
                           m->n, m->has_evaluation ? "" : ", maybe with evaluations");
}

static int mlperf_result(const struct log_parser *p, struct log_result *ret)
{
    const struct mllog_result *m = &p->mlperf;
    if (m->refusal != NULL) {
        return -ENODATA;
    }
    *ret = (struct log_result){
        .summary = {.steps =
                        m->basis == MLLOG_STEPS ? (uint32_t)fmin((double)m->n, UINT32_MAX) : 0},
        .rate = m->rate,
        .line = p->params.rule->lines.items,
        .n_lines = m->n,
        .n_ranks = 1,
    };
    (void)put_rate(&ret->summary, m->rate, m->rate * m->seconds, 1); /* there are no phases */
    complete(p, &m->evaluations, mlperf_method(m), ret);
    ret->summary.source.unit = m->unit;
    metrics_set(&ret->summary.metrics, "evaluation_s", m->evaluation_s);
    return 0;
}

int log_parser_result(const struct log_parser *p, struct log_result *ret)
{
    if (p->mllog != NULL) {
        return mlperf_result(p, ret);
    }
    const size_t n = p->n_lines_read > 0 ? 0 : p->params.rule->lines.len;
    for (enum log_kind kind = LOG_KIND_SUMMARY; kind <= LOG_KIND_STEP; kind++) {
        for (size_t i = 0; i < n; i++) {
            if (p->params.rule->lines.items[i].kind == kind && add_up(p, i, ret)) {
                complete(p, &p->evaluations, method_of(ret), ret);
                return 0;
            }
        }
    }
    return -ENODATA;
}

const struct mllog_result *log_parser_mlperf(const struct log_parser *p)
{
    return &p->mlperf;
}

char *log_result_to_record(const struct log_result *r, const struct record_who *who)
{
    struct buf out = BUF_INIT;
    record_write_summary(&out, who, &r->summary, r->step_ns, r->n_step_ns);
    out.data[out.len - 1] = '\0'; /* without its newline, as other summaries are kept */
    return buf_take(&out);
}

/* ---- no result ---- */

static void put_reason(const struct log_parser *p, struct buf *out)
{
    const struct log_rule *rule = p->params.rule;
    const bool is_own = str_eq(rule->name, LOG_RULE_UNNAMED);
    _cleanup_(freep) char *name =
        xasprintf("the log rule %s", is_own ? "of the definition" : rule->name);
    const unsigned long long n = p->n_lines, matched = p->n_matched;
    if (n == 0) {
        buf_printf(out, "the program printed nothing for %s", name);
    } else if (p->n_lines_read > 0) {
        buf_printf(out, "%s was given up at line %llu: its patterns take too long", name,
                   (unsigned long long)p->n_lines_read);
    } else if (matched == 0) {
        buf_printf(out, "no line of %llu matched %s", n, name);
    } else if (p->mllog != NULL) {
        buf_printf(out, "%llu events of MLPerf: %s", matched, p->mlperf.refusal);
    } else if (p->needs_batch) {
        buf_printf(out, "%llu lines matched %s, but the samples of a step are unknown", matched,
                   name);
    } else if (p->n_warmup > 0) {
        buf_printf(out,
                   "%llu lines matched %s, %llu of them in the warm-up, and no throughput follows "
                   "from the others; lower measure.warmupSteps, or let the program run longer",
                   matched, name, (unsigned long long)p->n_warmup);
    } else {
        buf_printf(out, "%llu lines matched %s, but no throughput follows from them", matched,
                   name);
    }
    if (p->n_refused > 0) {
        buf_printf(out, "; %llu refused, %s", (unsigned long long)p->n_refused, p->refusal);
    }
    if (p->n_given_up > 0) {
        buf_printf(out, "; the pattern tries too much, it was given up %llu times",
                   (unsigned long long)p->n_given_up);
    }
}

void log_parser_explain(const struct log_parser *p, struct buf *out)
{
    put_reason(p, out);
    buf_putc(out, '\n');
    log_miss_format(&p->miss, p->params.rule, out);
}
