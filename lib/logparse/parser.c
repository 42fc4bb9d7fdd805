/* See parser.h. */
#include "logparse/parser_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "logparse/line_words.h"

#define MOST_UNITS_RATIO 3 /* of an epoch with its evaluation to the epoch */
#define MAX_LOOPS 8        /* of other numbers of steps */
#define MAX_RUNS 64        /* of a program that starts again in its log */

static void on_line(void *ctx, uint64_t number, const char *line, size_t len);

struct log_parser *log_parser_new(const struct log_parser_params *params)
{
    struct log_parser *p = xnew(struct log_parser);
    p->params = *params;
    p->is_part = params->end_steps > 0;
    p->matcher = log_matcher_new();
    p->mllog = params->rule->format == LOG_RULE_MLPERF ? mllog_new() : NULL;
    p->slots = xnew_array(struct slots, params->rule->lines.len);
    p->signs = log_signs_new();
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
            for (struct log_tally *t = *it, *next; t != NULL; t = next) {
                next = t->next;
                log_tally_done(t);
                free(t);
            }
        }
        vec_done(&p->slots[i].list);
    }
    for (int i = 0; i < LOG_STREAM_COUNT; i++) {
        log_lines_done(&p->streams[i]);
    }
    log_matcher_free(p->matcher);
    mllog_free(p->mllog);
    free(p->mlperf.numbers);
    log_signs_free(p->signs);
    log_reading_done(&p->reading);
    vec_done(&p->ranks);
    vec_done(&p->runs);
    free(p->slots);
    free(p);
}

/* ---- one line ---- */

/* Of the loop that has so many steps. A line without a number of all belongs to the first loop, and
 * so do those of more loops than programs have. */
static struct log_tally *tally_of(struct log_parser *p, size_t line, int64_t rank, double total)
{
    struct slots *s = &p->slots[line];
    const size_t slot = (size_t)(rank + 1);
    while (s->list.len <= slot) {
        *vec_push(&s->list) = NULL;
    }
    struct log_tally **at = &s->list.items[slot];
    for (int n = 0; *at != NULL; at = &(*at)->next) {
        if (isnan(total) || (*at)->total == total || ++n == MAX_LOOPS) {
            return *at;
        }
        if (isnan((*at)->total)) {
            (*at)->total = total;
            return *at;
        }
    }
    *at = xnew(struct log_tally);
    (*at)->total = total;
    return *at;
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

/* Does the line say how long a step took, and nothing about samples? */
static bool has_steps_alone(const struct log_line_rule *line, const struct log_values *v)
{
    return line->unit == UNIT_SAMPLES && line->each == 0 && !v->has[LOG_RATE] &&
           !v->has[LOG_SAMPLES];
}

/* Units of one step; NaN: unknown. Where no batch is known, steps are counted instead. */
static double units_of_step(const struct log_parser *p, const struct log_line_rule *line,
                            const struct log_values *v, const struct rank_state *rank,
                            struct log_tally *t)
{
    if (t->counts_steps) {
        return 1;
    }
    if (v->has[LOG_BYTES]) {
        return v->number[LOG_BYTES] / 1e9;
    }
    if (line->kind == LOG_KIND_STEP && line->each > 0 && !v->has[LOG_BATCH]) {
        return line->each;
    }
    if (line->unit != UNIT_SAMPLES) {
        return line->unit == UNIT_STEPS ? 1 : NAN;
    }
    if (v->has[LOG_BATCH]) {
        return v->number[LOG_BATCH];
    }
    const double trainers = line->scope == LOG_SCOPE_JOB ? (double)p->params.trainers : 1;
    const double batch = rank->batch > 0 ? rank->batch : (double)p->params.batch_size * trainers;
    t->counts_steps = batch <= 0 && has_steps_alone(line, v);
    return batch > 0 ? batch : t->counts_steps ? 1 : NAN;
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
    if (line->kind != LOG_KIND_STEP && line->each > 0) {
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

/* Where steps are numbered, a line of steps without a number is something else, such as the mean of
 * an epoch. */
static bool is_beside_steps(const struct log_tally *t, const struct log_line_rule *line,
                            const struct log_values *v)
{
    return line->kind == LOG_KIND_STEP && t->has_step && !v->has[LOG_STEP] && !v->has[LOG_STEPS] &&
           !v->has[LOG_SAMPLES];
}

/* Of an epoch or a whole run, the rate times the time must be the samples that the line, the rule
 * or an Info line says. The time may have an evaluation in it, and the samples may be those of one
 * process or of all. */
static void check_product(struct log_parser *p, size_t index, const struct log_values *v,
                          double said)
{
    const double rate = v->number[LOG_RATE], time_s = log_values_time_s(v);
    const double n = p->params.trainers > 1 ? (double)p->params.trainers : 1;
    const double ratio = rate * time_s / said; /* NaN: something is not known */
    const bool is_wrong = ratio > MOST_UNITS_RATIO * n || ratio < 1 / (LOG_PACE_TOLERANCE * n);
    if (is_wrong && p->contradiction[0] == '\0') {
        p->contradicted = index;
        text_put(p->contradiction, sizeof(p->contradiction),
                 "line %llu: %.6g a second for %.6g s are %.6g, and not the %.6g that are said",
                 (unsigned long long)p->n_lines, rate, time_s, rate * time_s, said);
    }
}

/* The rate times the time since the start is the units of a step, if it is a mean since then. */
static void watch_mean(struct log_parser *p, struct log_tally *t, const struct log_figure *f,
                       const char *line, size_t len)
{
    struct log_match match;
    double elapsed;
    if (!(f->step > 0) || isnan(f->rate) || !log_find_elapsed(p->matcher, line, len, &match) ||
        !log_number(match.text[LOG_ELAPSED_S], match.len[LOG_ELAPSED_S], &elapsed)) {
        return;
    }
    const char *point = memchr(match.text[LOG_ELAPSED_S], '.', match.len[LOG_ELAPSED_S]);
    const ptrdiff_t digits =
        point == NULL ? 0 : match.text[LOG_ELAPSED_S] + match.len[LOG_ELAPSED_S] - point - 1;
    log_mean_add(&t->mean, f->rate, elapsed, pow(10, -(double)digits), f->step);
}

/* Steps that are counted anew are an epoch if this line or one before it says so. Else it may be
 * another loop: forward passes, and then training. */
static void note_fall(struct log_parser *p, struct log_tally *t, const struct log_values *v,
                      const char *line, size_t len)
{
    if (!t->has_step || !(v->number[LOG_STEP] < t->last_step)) {
        return;
    }
    if (!p->has_epoch && !log_names_epoch(p->matcher, line, len)) {
        log_tally_end_part(t, p->n_lines);
    }
    p->has_epoch = false;
}

/* A line that has a throughput, or whose time has one. */
static void take_figure(struct log_parser *p, size_t index, const struct log_values *v,
                        double total, const char *text, size_t len, struct log_figure *f)
{
    const struct log_line_rule *line = &p->params.rule->lines.items[index];
    struct rank_state *rank = rank_of(p, f->rank);
    struct log_tally *t = tally_of(p, index, f->rank, total);
    if (is_beside_steps(t, line, v)) {
        return;
    }
    if (line->kind == LOG_KIND_STEP && v->has[LOG_STEP] && !t->has_step) {
        log_tally_reset(t); /* lines before the first number are no steps: a compilation */
    }
    const double unit = units_of_step(p, line, v, rank, t);
    note_fall(p, t, v, text, len);
    f->steps = covered_steps(t, line, v, rank);
    f->units = covered_units(line, v, rank, f->steps, unit);
    if (line->kind != LOG_KIND_STEP) {
        check_product(p, index, v, covered_units(line, v, rank, 0, unit));
    }
    const bool is_stamped = line->source == LOG_FROM_STAMPS;
    f->rate = is_stamped ? NAN : own_rate(v, f->units, unit);
    watch_mean(p, t, f, text, len);
    const struct log_skip skip = skip_of(p, line, v);
    const struct log_stamp arrival = {p->now_ns, true};
    f->t_ns = log_tally_time_ns(t, v->has_stamp ? &v->stamp : &arrival);
    p->in_warmup = f->is_warmup = log_tally_is_warmup(t, &skip);
    if (isnan(is_stamped ? f->units : f->rate)) {
        p->needs_batch = true; /* the loss may still be good */
        return;
    }
    f->step_s = line->kind == LOG_KIND_STEP ? own_step_s(v, f->rate, unit) : NAN;
    f->is_counted = v->has[LOG_STEP] || v->has[LOG_STEPS] || v->has[LOG_SAMPLES];
    if (f->is_warmup) {
        log_tally_skip(t, f);
        p->n_warmup++;
    } else {
        log_tally_add(t, line, f);
    }
}

/* Where the line itself numbers its step, that counts as if the rule read it. */
static void add_step(const struct log_line_rule *rule, const char *line, size_t len,
                     struct log_match *match)
{
    struct log_match step;
    if (rule->kind == LOG_KIND_STEP && !log_pattern_has(rule->pattern, LOG_STEP) &&
        !log_pattern_has(rule->pattern, LOG_STEPS) &&
        log_find_step(match->matcher, line, len, &step)) {
        match->text[LOG_STEP] = step.text[LOG_STEP];
        match->len[LOG_STEP] = step.len[LOG_STEP];
    }
}

/* The 100 of "3/100" and of "3 of 100"; NaN: the line does not say how many steps there are. */
static double total_of(const struct log_match *match, const char *end)
{
    const char *at = match->text[LOG_STEP];
    if (at == NULL) {
        return NAN;
    }
    at += match->len[LOG_STEP];
    while (at < end && *at == ' ') {
        at++;
    }
    const size_t left = (size_t)(end - at);
    const size_t mark = left > 0 && *at == '/' ? 1 : left > 3 && memcmp(at, "of ", 3) == 0 ? 3 : 0;
    at += mark;
    while (mark > 0 && at < end && *at == ' ') {
        at++;
    }
    size_t n = 0;
    while (at + n < end && ascii_is_digit(at[n])) {
        n++;
    }
    double total;
    return mark > 0 && n > 0 && log_number(at, n, &total) ? total : NAN;
}

static enum log_use use_of(const struct log_line_rule *line, const struct log_figure *f)
{
    const bool is_unknown = isnan(line->source == LOG_FROM_STAMPS ? f->units : f->rate);
    return line->kind == LOG_KIND_INFO   ? LOG_USE_INFO
           : line->kind != LOG_KIND_STEP ? LOG_USE_SUMMARY
           : isnan(f->steps)             ? LOG_USE_OTHER
           : is_unknown                  ? LOG_USE_REFUSED
           : f->is_warmup                ? LOG_USE_WARMUP
                                         : LOG_USE_STEP;
}

/* When the line was printed, as benchd has seen it; of a file, by the line itself. 0: unknown. */
static int64_t arrival_of(const struct log_parser *p, const struct log_values *v, const char *line,
                          size_t len)
{
    struct log_stamp stamp = {0};
    if (p->now_ns == 0 && !v->has_stamp) {
        (void)log_line_stamp(line, len, &stamp); /* else it stays 0 */
    }
    return p->now_ns != 0 ? p->now_ns : v->has_stamp ? v->stamp.ns : stamp.ns;
}

/* By the words of the line, or by the name of the rate itself. */
static bool is_evaluation(const struct log_match *match, const char *line, size_t len)
{
    const char *rate = match->text[LOG_RATE];
    return log_is_evaluation(match->matcher, line, len) ||
           (rate != NULL && log_is_evaluation_at(match->matcher, line, (size_t)(rate - line)));
}

/* Training begins to count its steps; what is before the first such line was not training. */
static void restart(struct log_parser *p, int64_t rank)
{
    struct rank_state *state = rank_of(p, rank);
    for (size_t i = 0; !state->has_restarted && i < p->params.rule->lines.len; i++) {
        for (struct log_tally *t = tally_of(p, i, rank, NAN); t != NULL; t = t->next) {
            log_tally_reset(t);
        }
    }
    state->has_restarted = true;
    state->has_left = false;
    state->last_step = -1;
}

/* The program has started again, so what was read until here is of another run. */
static void begin_again(struct log_parser *p, uint64_t line)
{
    struct log_result r;
    if (p->runs.len < MAX_RUNS && log_lines_result(p, &r) == 0 &&
        (r.line->kind != LOG_KIND_STEP || r.n_lines >= LOG_PACE_MIN_LINES)) {
        *vec_push(&p->runs) = r.rate;
    }
    for (size_t i = 0; i < p->ranks.len; i++) {
        const struct rank_state *it = &p->ranks.items[i];
        p->ranks.items[i] = (struct rank_state){.batch = it->batch, .per_epoch = it->per_epoch};
        restart(p, (int64_t)i - 1);
    }
    log_reading_choose(&p->reading, -1);
    p->started = line;
    p->loss_first = p->loss_last = p->accuracy_last = NAN;
    p->contradiction[0] = '\0';
    p->clock = (struct log_tally){0};
    p->evaluations = (struct evaluations){0};
    p->metrics = (struct log_metrics){0};
}

static enum log_use take_line(struct log_parser *p, size_t index, const struct log_match *match,
                              int64_t rank, const char *line, size_t len)
{
    struct log_values v;
    struct err err;
    p->n_matched++;
    p->last_matched = p->n_lines;
    if (log_values_read(match, &v, &err) < 0) {
        refuse(p, err.msg);
        return LOG_USE_REFUSED;
    }
    rank = v.has[LOG_RANK] ? (int64_t)v.number[LOG_RANK] : rank;
    if (rank >= LOG_MAX_RANKS) {
        refuse(p, "its rank is too high");
        return LOG_USE_REFUSED;
    }
    const enum log_kind kind = p->params.rule->lines.items[index].kind;
    if (p->params.rule->restart != NULL &&
        is_of_another_loop(rank_of(p, rank), kind, v.number[LOG_STEP])) {
        log_reading_add(&p->reading, LOG_USE_OTHER, NAN, p->n_lines, NAN);
        return LOG_USE_OTHER;
    }
    if (kind != LOG_KIND_INFO && is_evaluation(match, line, len) &&
        !log_names_evaluation(p->matcher, p->params.rule->lines.items[index].text)) {
        log_reading_add(&p->reading, LOG_USE_EVALUATION, NAN, p->n_lines, v.number[LOG_RATE]);
        return LOG_USE_EVALUATION;
    }
    const uint64_t start = kind == LOG_KIND_INFO ? 0 : log_starts_step(&p->starts);
    if (start > 0) {
        begin_again(p, start);
    }
    const double step_s = log_values_step_s(&v);
    log_metrics_pause(&p->metrics, &v, rank);
    struct log_figure f = {
        .line = index,
        .n_bytes = array_sum(match->line + match->begin, match->end - match->begin, c,
                             (size_t)(*c != ' ')),
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
        .arrival_ns = arrival_of(p, &v, line, len),
    };
    const double total = total_of(match, line + len);
    const bool is_info = kind == LOG_KIND_INFO;
    if (v.has[LOG_BATCH]) {
        rank_of(p, rank)->batch = v.number[LOG_BATCH];
    }
    if (is_info && v.has[LOG_SAMPLES]) {
        rank_of(p, rank)->per_epoch = v.number[LOG_SAMPLES];
    }
    if (!is_info) {
        take_figure(p, index, &v, total, line, len, &f);
    }
    if (!(is_info ? p->in_warmup : f.is_warmup)) {
        log_metrics_add(&p->metrics, &v, f.steps);
    }
    keep_quality(p, &f);
    keep_evaluation(p, kind, &v, &f);
    const enum log_use use = use_of(&p->params.rule->lines.items[index], &f);
    log_reading_add(&p->reading, use, use == LOG_USE_STEP || use == LOG_USE_WARMUP ? total : NAN,
                    p->n_lines, f.rate);
    if (p->params.on_figure != NULL) {
        p->params.on_figure(p->params.ctx, &f);
    }
    return use;
}

/* LOG_USE_COUNT: no line of the rule matches it. */
static enum log_use match_line(struct log_parser *p, const char *text, size_t len, int64_t rank)
{
    struct log_found f;
    log_find(p, text, len, &f);
    if (f.restarts && rank < LOG_MAX_RANKS) {
        restart(p, rank);
    }
    p->n_given_up += f.n_given_up;
    if (f.r <= 0) {
        return LOG_USE_COUNT;
    }
    add_step(&p->params.rule->lines.items[f.index], text, len, &f.match);
    return take_line(p, f.index, &f.match, rank, text, len);
}

/* Does the line say that what the log measured is no result? Programs get over errors before their
 * first step, and the first steps of a scaled loss are skipped. */
static void check_signs(struct log_parser *p, enum log_use use, const char *line, size_t len)
{
    const bool is_step = use == LOG_USE_STEP || use == LOG_USE_INFO;
    p->n_steps += use == LOG_USE_STEP;
    p->n_read += is_step;
    if (!is_step && use != LOG_USE_COUNT) {
        return;
    }
    const struct log_sign *sign = log_signs_find(p->signs, is_step, line, len);
    if (sign == NULL || (sign->when == LOG_SIGN_TRAINING && p->n_steps + p->n_warmup == 0)) {
        return;
    }
    p->n_bad_steps += is_step;
    /* A step may be forgiven, the end of a run is not; of its signs the later ones say more. */
    if (p->sign == NULL || (!is_step && (p->sign->when == LOG_SIGN_STEP || sign > p->sign))) {
        p->sign = sign;
        log_quote_put(&p->sign_at, p->n_lines, line, len);
    }
}

static void on_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    struct log_parser *p = ctx;
    (void)number; /* of one of the two streams */
    p->n_lines = p->streams[LOG_STDOUT].number + p->streams[LOG_STDERR].number;
    log_miss_remember(&p->miss, p->n_lines, line, len);
    if (p->mllog != NULL) {
        mllog_line(p->mllog, line, len);
    }
    int64_t rank = -1;
    const size_t prefix = log_prefix_len(line, len, &rank);
    line += prefix;
    len -= prefix;
    if (p->params.is_labelled && prefix == 0) {
        rank = log_label_rank(line, len); /* it stays in the line: rules may have read it */
    }
    if (p->n_lines_read > 0) {
        return;
    }
    if (log_is_preparation(p->matcher, line, len)) {
        log_reading_add(&p->reading, LOG_USE_PREPARATION, NAN, p->n_lines, NAN);
        return;
    }
    const enum log_use use = match_line(p, line, len, rank);
    if (use == LOG_USE_COUNT) {
        log_starts_note(&p->starts, p->n_lines, line, len);
    }
    if (use != LOG_USE_STEP && p->n_steps + p->n_warmup > 0 && !p->has_epoch) {
        p->has_epoch = log_names_epoch(p->matcher, line, len);
    }
    if (p->mllog == NULL) {
        check_signs(p, use, line, len);
    }
}

void log_parser_feed(struct log_parser *p, enum log_stream stream, const char *data, size_t len,
                     int64_t t_ns)
{
    p->now_ns = t_ns;
    log_lines_feed(&p->streams[stream], data, len);
}

void log_parser_read(struct log_parser *p, const char *text, size_t len)
{
    const struct log_arrivals *a = p->params.arrivals;
    const char *at = text, *end = text + len;
    int64_t t_ns = 0;
    for (size_t i = 0; a != NULL && i < a->n; i++) {
        const char *part_end = a->text + a->parts[i].end < end ? a->text + a->parts[i].end : end;
        t_ns = a->parts[i].t_ns;
        if (part_end > at) {
            log_parser_feed(p, LOG_STDOUT, at, (size_t)(part_end - at), t_ns);
            at = part_end;
        }
    }
    log_parser_feed(p, LOG_STDOUT, at, (size_t)(end - at), t_ns);
    p->is_part = true;
    log_parser_end(p, t_ns);
}

void log_parser_end(struct log_parser *p, int64_t t_ns)
{
    p->now_ns = t_ns;
    for (int i = 0; i < LOG_STREAM_COUNT; i++) {
        log_lines_end(&p->streams[i]);
    }
    if (p->mllog != NULL) {
        mllog_conclude(p->mllog, (double)p->params.trainers, &p->mlperf);
        if (p->mlperf.refusal == NULL &&
            !(p->mlperf.rate >= MIN_RATE && p->mlperf.rate <= MAX_RATE)) {
            p->mlperf.refusal = "its throughput is out of range";
        }
    }
    log_conclude(p);
}
