/* See suggest.h. */
#include "logparse/suggest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "logparse/shapes.h"
#include "logparse/line_words.h"

#define MAX_PIECES 3
#define MAX_COLUMNS 64
#define MAX_TRIED 8         /* rules that are tried on the output */
#define NUMBERED_LINES 3    /* fewer have no time between them that is worth a rule */
#define FIELD "[-+.\\deE]+" /* matches a number in a table, but not the name in its first line */

/* A rule that may read a group. */
struct candidate {
    const struct shape *group;
    const struct log_meaning *meaning;
    bool is_mean;
    unsigned score; /* 0 if it is in doubt */
    char *pattern;  /* owned */
};

struct output {
    struct log_matcher *m;
    bool is_file; /* only the lines say when they were printed */
    struct shapes shapes;
    VEC(struct candidate) list; /* the best one first */
};

/* ---- patterns ---- */

/* A part of a line that a pattern has: a number with the words that say what it is. */
struct piece {
    size_t begin, number, number_len, end;
    enum log_group group;
};

static struct piece piece_of(const struct log_match *match, enum log_group group)
{
    struct piece p = {match->begin, (size_t)(match->text[group] - match->line), match->len[group],
                      match->end, group};
    while (p.begin < p.number && !ascii_is_letter(match->line[p.begin]) &&
           strchr("/\"", match->line[p.begin]) == NULL) {
        p.begin++; /* the words begin later */
    }
    return p;
}

/* Appends a pattern for the text: other numbers and more blanks may be in their places. */
static void put_text(struct buf *out, const char *line, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const bool is_number = ascii_is_digit(line[i]) && (i == 0 || !ascii_is_letter(line[i - 1]));
        if (is_number) {
            buf_puts(out, "[-+.,:\\w]+?");
            i += shape_number_len(line + i, to - i) - 1;
        } else if (line[i] == ' ' || line[i] == '\t') {
            const bool is_in_bracket = i > 0 && strchr("[(|/", line[i - 1]) != NULL;
            while (i + 1 < to && (line[i + 1] == ' ' || line[i + 1] == '\t')) {
                i++;
            }
            buf_puts(out, is_in_bracket ? " *" : " +");
        } else {
            buf_puts(out, strchr("\\^$.[]|()?*+{}#", line[i]) != NULL ? "\\" : "");
            buf_putc(out, line[i]);
        }
    }
}

/* `is_whole`: with the text between the pieces; without it anything may be there. */
static void put_pattern(struct buf *out, const char *line, const struct piece *pieces, size_t n,
                        bool is_whole)
{
    buf_puts(out, is_whole ? "^" : "");
    for (size_t i = 0; i < n; i++) {
        const struct piece *p = &pieces[i];
        const size_t unit = p->number + p->number_len;
        if (is_whole) {
            put_text(out, line, i == 0 ? 0 : p[-1].end, p->begin);
        } else {
            buf_puts(out, i == 0 ? "" : ".*?");
            buf_puts(out, p->begin == 0 ? "" : p->begin == p->number ? "(?<![\\w.,])" : "(?<!\\w)");
        }
        put_text(out, line, p->begin, p->number);
        buf_printf(out, "(?<%s>)", log_group_names[p->group]);
        put_text(out, line, unit, p->end);
        buf_puts(out, p->end > unit && ascii_is_letter(line[p->end - 1]) ? "\\b" : "");
    }
}

static bool matches(struct log_matcher *m, const char *text, const char *line, size_t len,
                    struct log_match *ret)
{
    struct log_pattern *pattern = NULL;
    size_t offset;
    const bool does = log_pattern_new(text, &pattern, &offset, NULL) == 0 &&
                      log_matcher_run(m, pattern, line, len, ret) > 0;
    log_pattern_free(pattern);
    return does;
}

/* Does the pattern take these very numbers out of the line? */
static bool takes(struct log_matcher *m, const char *text, const char *line, size_t len,
                  const struct piece *pieces, size_t n)
{
    struct log_match match;
    return matches(m, text, line, len, &match) &&
           array_all(pieces, n, it, match.text[it->group] == line + it->number);
}

/* Owned; NULL if no pattern takes these numbers and no others. */
static char *pattern_of(struct log_matcher *m, const char *line, size_t len,
                        const struct piece *pieces, size_t n, bool is_whole)
{
    for (int i = is_whole ? 1 : 0; i < 2; i++) {
        struct buf out = BUF_INIT;
        put_pattern(&out, line, pieces, n, i == 1);
        if (takes(m, buf_cstr(&out), line, len, pieces, n)) {
            return buf_take(&out);
        }
        buf_done(&out);
    }
    return NULL;
}

static void add_piece(struct piece *pieces, size_t *n, const struct piece *p)
{
    size_t at = *n;
    if (array_any(pieces, *n, it, p->begin < it->end && it->begin < p->end)) {
        return; /* a text stands for one thing only */
    }
    while (at > 0 && pieces[at - 1].begin > p->begin) {
        pieces[at] = pieces[at - 1];
        at--;
    }
    pieces[at] = *p;
    (*n)++;
}

/* ---- candidates ---- */

struct figure {
    const struct log_meaning *meaning;
    bool is_mean;
    struct piece piece;
};
#define MAX_FIGURES 32

static size_t find_meanings(struct log_matcher *m, const char *line, size_t len, bool is_sure,
                            bool is_mean, bool has_step, struct figure *ret)
{
    struct log_match match;
    size_t n = 0;
    for (size_t i = 0; i < log_meaning_count && n < MAX_FIGURES; i++) {
        const struct log_meaning *it = &log_meanings[i];
        if ((it->score > 0) == is_sure && (has_step || !it->needs_step) &&
            log_find_meaning(m, it, line, len, &match)) {
            ret[n++] = (struct figure){it, is_mean, piece_of(&match, it->group)};
        }
    }
    return n;
}

/* What may be the figure of a line. Means count if the line has nothing else, and what is in doubt
 * if it has no mean either. */
static size_t find_figures(struct log_matcher *m, const char *line, size_t len, bool has_step,
                           struct figure *ret)
{
    _cleanup_(freep) char *named = xstrndup(line, len);
    log_hide_names(m, named, len);
    _cleanup_(freep) char *plain = xstrndup(named, len);
    log_hide_means(m, plain, len);
    size_t n = find_meanings(m, plain, len, true, false, has_step, ret);
    n = n > 0 ? n : find_meanings(m, named, len, true, true, has_step, ret);
    return n > 0 ? n : find_meanings(m, named, len, false, false, has_step, ret);
}

static void add_candidate(struct output *o, const struct shape *g, const struct figure *f,
                          size_t n_pieces, char *pattern)
{
    const unsigned sure = f->meaning->score == 0 ? 0 : f->is_mean ? 2 : f->meaning->score;
    if (pattern != NULL) {
        *vec_push(&o->list) = (struct candidate){
            .group = g,
            .meaning = f->meaning,
            .is_mean = f->is_mean,
            .score = sure == 0 ? 0 : sure + (unsigned)n_pieces - 1,
            .pattern = pattern,
        };
    }
}

/* The first line of a table with names between its marks, of which one says that it is a figure.
 * The names are read as if each had the value 1. */
static bool read_header(struct output *o, const struct shape *g, char mark)
{
    struct figure found[MAX_FIGURES];
    struct log_match match;
    _cleanup_(buf_done) struct buf names = BUF_INIT, pattern = BUF_INIT;
    const char *at = g->line + g->prefix, *const end = g->line + g->len;
    size_t ends[MAX_COLUMNS], n = 0, n_pieces = 0;
    for (; at <= end && n < MAX_COLUMNS; n++) {
        const char *next = memchr(at, mark, (size_t)(end - at));
        next = next == NULL ? end : next;
        if (at == end || !ascii_is_letter(at[at[0] == '"']) ||
            array_any(at, (size_t)(next - at), c,
                      strchr("|:=", *c) != NULL ||
                          (ascii_is_digit(*c) && !ascii_is_alnum(c[-1])))) {
            return false; /* it has numbers itself */
        }
        buf_printf(&names, "%.*s: 1 | ", (int)(next - at), at);
        ends[n] = names.len;
        at = next + 1;
    }
    const bool has_step = log_find_step(o->m, names.data, names.len, &match);
    const size_t step = has_step ? (size_t)(match.text[LOG_STEP] - match.line) : SIZE_MAX;
    const bool has_loss = log_find_loss(o->m, names.data, names.len, &match);
    const size_t loss = has_loss ? (size_t)(match.text[LOG_LOSS] - match.line) : SIZE_MAX;
    if (n < 2 || find_figures(o->m, names.data, names.len, has_step, found) == 0 ||
        found[0].meaning->score == 0) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t begin = i == 0 ? 0 : ends[i - 1], figure = found[0].piece.number;
        const int group = figure >= begin && figure < ends[i] ? (int)found[0].meaning->group
                          : step >= begin && step < ends[i]   ? LOG_STEP
                          : loss >= begin && loss < ends[i]   ? LOG_LOSS
                                                              : -1;
        buf_putc(&pattern, i == 0 ? '^' : mark);
        if (group < 0) {
            buf_printf(&pattern, "[^%c]*", mark);
        } else {
            buf_printf(&pattern, "(?<%s>" FIELD ")", log_group_names[group]);
            n_pieces++;
        }
    }
    buf_putc(&pattern, '$');
    found[0].piece = (struct piece){0};
    add_candidate(o, g, &found[0], n_pieces, buf_take(&pattern));
    return true;
}

/* The number of the step, by words or because a number with a name rises steadily. */
static bool find_step(struct output *o, const struct shape *g, struct piece *ret,
                      bool *ret_is_named)
{
    const char *line = g->line + g->prefix;
    const size_t len = g->len - g->prefix;
    struct log_match match;
    *ret_is_named = log_find_step(o->m, line, len, &match);
    if (*ret_is_named) {
        *ret = piece_of(&match, LOG_STEP);
        return true;
    }
    _cleanup_(freep) char *named = xstrndup(line, len);
    log_hide_names(o->m, named, len);
    bool is_steady = false;
    for (size_t from = 0;
         g->n > NUMBERED_LINES && !is_steady && log_find_index(o->m, named, len, from, &match);
         from = match.end) {
        *ret = piece_of(&match, LOG_STEP);
        (void)shape_rise(g, ret->number, &is_steady);
    }
    *ret = is_steady ? *ret : (struct piece){0};
    return is_steady;
}

/* The time between lines with a number that counts steps. A position may count steps, not each of
 * which is logged, or samples. */
static const struct log_meaning by_time = {1, LOG_STEP, UNIT_SAMPLES, NULL};
static const struct log_meaning by_position = {0, LOG_STEP, UNIT_SAMPLES, NULL};

/* The rule has the words before and after the number, and the time of a line of a file. */
static void add_numbered(struct output *o, const struct shape *g, struct piece step)
{
    const char *line = g->line + g->prefix;
    const size_t len = g->len - g->prefix;
    const bool is_position = line[step.end - 1] == '/';
    bool is_steady;
    const bool is_doubtful = is_position && shape_rise(g, step.number, &is_steady) != 1;
    size_t end = step.end;
    while (end < len && !ascii_is_digit(line[end])) {
        end++;
    }
    while (end > step.end && !ascii_is_letter(line[end - 1])) {
        end--;
    }
    step.end = end;
    char *pattern = pattern_of(o->m, line, len, &step, 1, is_position);
    if (o->is_file && pattern != NULL && pattern[0] != '^') {
        char *stamped = xasprintf("(?<stamp>).*?%s", pattern);
        const bool has_stamp = takes(o->m, stamped, line, len, &step, 1);
        free(has_stamp ? pattern : stamped);
        pattern = has_stamp ? stamped : pattern;
    }
    const struct figure f = {is_doubtful ? &by_position : &by_time, false, step};
    add_candidate(o, g, &f, 1, pattern);
}

static void read_group(struct output *o, const struct shape *g)
{
    const char *line = g->line + g->prefix;
    const size_t len = g->len - g->prefix;
    struct figure figures[MAX_FIGURES];
    struct log_match match;
    struct piece step = {0}, loss = {0};
    if (g->is_preparation || log_is_evaluation(o->m, line, len) || read_header(o, g, ',') ||
        read_header(o, g, ';') || read_header(o, g, '\t') || g->n_numbers == 0) {
        return;
    }
    bool is_named;
    if (find_step(o, g, &step, &is_named) && g->n >= NUMBERED_LINES) {
        add_numbered(o, g, step);
    }
    if (log_find_loss(o->m, line, len, &match)) {
        loss = piece_of(&match, LOG_LOSS);
    }
    const size_t n_figures = find_figures(o->m, line, len, step.number_len > 0, figures);
    for (size_t i = 0; i < n_figures; i++) {
        const struct figure *f = &figures[i];
        if (f->meaning->score == 0 && f->meaning->doubt == NULL && g->n == 1) {
            continue; /* a number in prose */
        }
        struct piece pieces[MAX_PIECES] = {f->piece};
        size_t n = 1;
        if (f->meaning->score > 0 && step.number_len > 0 && (is_named || f->meaning->needs_step)) {
            add_piece(pieces, &n, &step);
        }
        if (f->meaning->score > 0 && loss.number_len > 0) {
            add_piece(pieces, &n, &loss);
        }
        add_candidate(o, g, f, n, pattern_of(o->m, line, len, pieces, n, false));
    }
}

/* The surest meaning, the largest group and the last line come first: a bar of the data has it/s
 * where that of training has s/it. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->score != y->score                  ? (x->score < y->score ? 1 : -1)
           : x->group->n != y->group->n          ? (x->group->n < y->group->n ? 1 : -1)
           : x->meaning != y->meaning            ? (x->meaning > y->meaning ? 1 : -1)
           : x->group->number < y->group->number ? 1
                                                 : -1;
}

static void output_read(struct output *o, const char *text, size_t len)
{
    *o = (struct output){.m = log_matcher_new()};
    shapes_read(&o->shapes, o->m, text, len);
}

static void find_candidates(struct output *o, const struct log_parser_params *who)
{
    o->is_file = who->arrivals == NULL;
    vec_each (const struct shape, g, &o->shapes.list) {
        read_group(o, g);
    }
    if (o->list.len > 0) {
        qsort(o->list.items, o->list.len, sizeof(o->list.items[0]), compare);
    }
}

static void output_done(struct output *o)
{
    vec_each (struct candidate, c, &o->list) {
        free(c->pattern);
    }
    vec_done(&o->list);
    shapes_done(&o->shapes);
    log_matcher_free(o->m);
}

/* ---- the rule ---- */

void log_put_quoted(struct buf *out, const char *pattern)
{
    buf_putc(out, '\'');
    for (const char *p = pattern; *p != '\0'; p++) {
        buf_puts(out, *p == '\'' ? "'" : "");
        buf_putc(out, *p);
    }
    buf_putc(out, '\'');
}

/* Is it the time of an epoch, of which the log does not say how many samples it has? */
static bool is_of_epoch(const struct candidate *c)
{
    return c->meaning->group == LOG_TIME_S || c->meaning->group == LOG_TIME_MS;
}

/* Appends the rule as YAML in one line, in quotes that leave a backslash as it is. */
static void put_rule(struct buf *out, const struct candidate *c)
{
    const enum summary_unit unit = c->meaning->unit;
    buf_puts(out, is_of_epoch(c) ? "{lines: [{kind: Epoch, each: N, " : LOG_SUGGESTED);
    if (unit != UNIT_SAMPLES) {
        buf_printf(out, "unit: %s, ", summary_unit_names[unit]);
    }
    buf_puts(out, c->is_mean                   ? "aggregate: Last, "
                  : c->meaning == &by_time     ? "aggregate: Median, from: TimeStamps, "
                  : c->meaning == &by_position ? "aggregate: Median, from: TimeStamps, each: 1, "
                                               : "");
    buf_puts(out, "pattern: ");
    log_put_quoted(out, c->pattern);
    buf_puts(out, "}]}");
}

/* Reads the output by the rule, as log_guess_try does. */
static int try_rule(const char *rule_text, const char *text, size_t len,
                    const struct log_parser_params *who, struct log_guess *ret)
{
    /* `lines` of a map in one line are those of a document: only the name is missing. */
    _cleanup_(freep) char *document = xasprintf("{name: suggested, %s", rule_text + 1);
    _cleanup_(diags_done) struct diags diags = {0};
    struct log_rule *rule = NULL;
    if (log_rule_load(document, strlen(document), &rule, &diags) < 0) {
        return -ENOENT; /* for instance it is too long */
    }
    const int r = log_guess_try(rule, text, len, who, ret);
    ret->rule = NULL;
    log_rule_free(rule);
    return r;
}

/* The first candidate that gives a figure. After one that the pace of its lines contradicts, and
 * where words leave a doubt, only one that the pace confirms. */
static int choose(const struct output *o, const char *text, size_t len,
                  const struct log_parser_params *who, struct log_suggestion *ret, struct buf *out)
{
    bool is_contradicted = false;
    *ret = (struct log_suggestion){0};
    for (size_t i = 0; i < o->list.len && i < MAX_TRIED; i++) {
        const struct candidate *c = &o->list.items[i];
        const bool is_doubtful = c->score == 0;
        _cleanup_(buf_done) struct buf rule = BUF_INIT;
        struct log_guess guess;
        if (is_doubtful && c->meaning->doubt == NULL) {
            continue;
        }
        put_rule(&rule, c);
        const int r = try_rule(buf_cstr(&rule), text, len, who, &guess);
        const bool is_good = (is_doubtful || is_contradicted)
                                 ? guess.witness == LOG_WITNESS_AGREES
                                 : !log_names_evaluation(o->m, c->pattern);
        if (r == 0 && is_good) {
            *ret = (struct log_suggestion){.number = c->group->number, .guess = guess};
            buf_puts(out, buf_cstr(&rule));
            return 0;
        }
        is_contradicted = is_contradicted || (r == -EBADMSG && !is_doubtful);
        if ((r == -EBADMSG || is_doubtful) && ret->doubt[0] == '\0') {
            ret->number = c->group->number;
            text_put(ret->doubt, sizeof(ret->doubt), "%s",
                     is_doubtful                       ? c->meaning->doubt
                     : str_eq(guess.why, log_why_mean) ? "it is the mean since the start; the rate "
                                                         "between two lines is not in it"
                                                       : guess.why);
        }
    }
    return -ENOENT;
}

int log_suggest_rule(const char *text, size_t len, const struct log_parser_params *who,
                     struct log_suggestion *ret, struct buf *out)
{
    struct output o;
    output_read(&o, text, len);
    find_candidates(&o, who);
    const int r = choose(&o, text, len, who, ret, out);
    output_done(&o);
    return r;
}

struct log_quote log_commonest_line(const char *text, size_t len)
{
    struct output o;
    struct log_quote quote = {0};
    const struct shape *best = NULL;
    output_read(&o, text, len);
    vec_each (const struct shape, g, &o.shapes.list) {
        const bool is_larger = best == NULL || g->n > best->n ||
                               (g->n == 1 && best->n == 1 && g->n_numbers > best->n_numbers);
        best = g->n_numbers > 0 && is_larger ? g : best;
    }
    if (best != NULL) {
        log_quote_put(&quote, best->number, best->line, best->len);
    }
    output_done(&o);
    return quote;
}

/* ---- advice ---- */

#define BUFFERED                                                                                   \
    "a program that writes to a pipe may keep its output in a buffer: run it with "                \
    "PYTHONUNBUFFERED=1, python3 -u or stdbuf -oL, or let it flush each line"

/* The last bytes, from the beginning of a line. */
static const char *tail_of(const char *text, size_t *len)
{
    if (*len <= LOG_ADVICE_BYTES) {
        return text;
    }
    const char *begin = text + *len - LOG_ADVICE_BYTES;
    const char *newline = memchr(begin, '\n', LOG_ADVICE_BYTES);
    begin = newline == NULL ? begin : newline + 1;
    *len -= (size_t)(begin - text);
    return begin;
}

/* "40 lines, 123.4 samples/s" */
static void put_found(const struct log_guess *guess, struct buf *out)
{
    buf_printf(out, "%llu line%s, %.6g %s/s", (unsigned long long)guess->n_lines,
               guess->n_lines == 1 ? "" : "s", guess->rate, summary_unit_names[guess->unit]);
}

/* Appends "if 5760 in line 37 ", of the last line of the group: that of the first may be 0. */
static void put_last(const struct output *o, const struct candidate *c, struct buf *out)
{
    const struct shape *g = c->group;
    struct log_match match;
    const bool is_last = g->n > 1 && matches(o->m, c->pattern, g->last.data, g->last.len, &match);
    if (is_last || matches(o->m, c->pattern, g->line + g->prefix, g->len - g->prefix, &match)) {
        buf_printf(out, "if %.*s in line %llu ", (int)match.len[c->meaning->group],
                   match.text[c->meaning->group],
                   (unsigned long long)(is_last ? g->last_number : g->number));
    }
}

/* What may be measured of an output of which no line states a rate that is known. */
static void put_likely(const struct output *o, struct buf *out)
{
    const struct candidate *numbered = vec_find(&o->list, it, it->meaning->group == LOG_STEP);
    const struct candidate *c = numbered != NULL ? numbered : o->list.items;
    if (c == NULL && o->shapes.list.len == 0) {
        return; /* it printed nothing */
    }
    if (c == NULL) {
        buf_puts(out, "no line has a number that could be a figure; print one a step, for example "
                      "'step 7: 123.4 samples/s'\n");
        return;
    }
    const bool is_position = c->meaning == &by_position;
    buf_puts(out, numbered != NULL
                      ? "its lines are numbered, so the time between them is a figure; "
                  : c->meaning->group == LOG_RATE ? "no number has a known unit; "
                                                  : "it is not known what took its time; ");
    if (c->meaning != &by_time) {
        put_last(o, c, out);
        buf_printf(out, "%s, ",
                   is_position                     ? "counts samples"
                   : c->meaning->group == LOG_RATE ? "is the samples a second"
                   : is_of_epoch(c)                ? "is the time of an epoch of N samples"
                                                   : "is the time of a step");
    }
    buf_puts(out, "write in the system:\n  log: ");
    put_rule(out, c);
    buf_puts(out, is_position ? "\nif it counts steps, leave out 'each: 1'\n" : "\n");
}

/* Does the rule, if one missed, read no line at all? */
static bool is_unread(const char *text, size_t len, const struct log_parser_params *who)
{
    struct log_guess guess = {0};
    (void)(who->rule != NULL && log_guess_try(who->rule, text, len, who, &guess));
    return guess.n_lines == 0;
}

/* `is_known`: a shipped rule reads lines of it. */
static void put_suggestion(const char *text, size_t len, const struct log_parser_params *who,
                           bool is_known, struct buf *out)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    struct log_suggestion s;
    struct output o;
    output_read(&o, text, len);
    find_candidates(&o, who);
    if (choose(&o, text, len, who, &s, &rule) == 0) {
        buf_puts(out, "a rule for such lines could be (it reads ");
        put_found(&s.guess, out);
        buf_printf(out, " of this output); write in the system:\n  log: %s\n", buf_cstr(&rule));
    } else if (s.doubt[0] != '\0') {
        buf_printf(out, "line %llu of the output seems to have a figure, but %s\n",
                   (unsigned long long)s.number, s.doubt);
    }
    if (rule.len == 0 && !is_known && is_unread(text, len, who)) {
        put_likely(&o, out);
    }
    output_done(&o);
}

/* What a shipped rule makes of the output, in one line; nothing if none reads it. */
static void put_shipped(const struct log_guess *guess, int r, struct buf *out)
{
    if (r != -ENOENT) {
        buf_printf(out, "the shipped log rule %s reads ", guess->rule);
    }
    if (r == -EBADMSG) {
        buf_printf(out, "%llu of its lines, but: %s\n", (unsigned long long)guess->n_lines,
                   guess->why);
    } else if (r == 0) {
        put_found(guess, out);
        buf_printf(out, ": write 'log: %s' in the system\n", guess->rule);
    }
}

void log_advise(const char *text, size_t len, const struct log_parser_params *who, struct buf *out)
{
    struct log_guess guess;
    text = tail_of(text, &len);
    if (len == 0) {
        buf_puts(out, BUFFERED "\n");
        return;
    }
    const int r = log_guess_rule(text, len, who, &guess);
    const bool is_old = r != -ENOENT && who->rule != NULL && str_eq(guess.rule, who->rule->name);
    put_shipped(&guess, is_old ? -ENOENT : r, out);
    if (r == -ENOENT || is_old || guess.is_time) {
        put_suggestion(text, len, who, r != -ENOENT, out);
    }
}

void log_explain_unread(const char *text, size_t len, const struct log_parser_params *who,
                        struct buf *out)
{
    _cleanup_(buf_done) struct buf last = BUF_INIT;
    struct log_guess guess;
    log_miss_put_tail(text, len, &last);
    text = tail_of(text, &len);
    const int r = log_guess_rule(text, len, who, &guess);
    put_shipped(&guess, r, out);
    buf_puts(out, last.len == 0  ? "it printed nothing; " BUFFERED "\n"
                  : r == -ENOENT ? "no line of its output is a figure that is known\n"
                                 : "");
    buf_puts(out, buf_cstr(&last));
    if (r == -ENOENT || guess.is_time) {
        put_suggestion(text, len, who, r != -ENOENT, out);
    }
}
