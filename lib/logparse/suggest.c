/* See suggest.h. */
#include "logparse/suggest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "logparse/lines.h"
#include "logparse/words.h"

#define MAX_GROUPS 2048
#define MAX_PIECES 3
#define MAX_COLUMNS 64
#define MAX_TRIED 8         /* rules that are tried on the output */
#define NUMBERED_LINES 3    /* fewer have no time between them that is worth a rule */
#define FIELD "[-+.\\deE]+" /* matches a number in a table, but not the name in its first line */

/* Lines that differ in their numbers only. */
struct group {
    uint64_t shape, n, number; /* a hash, the number of lines, the number of the first line */
    unsigned n_numbers;
    bool is_preparation;
    char *line; /* the first one; owned */
    size_t len, prefix;
};

/* A rule that may read a group. */
struct candidate {
    const struct group *group;
    const struct log_meaning *meaning;
    bool is_mean;
    unsigned score; /* 0 if it is in doubt */
    char *pattern;  /* owned */
    char *value;    /* the number in the group's first line; owned */
};

struct output {
    struct log_matcher *m;
    VEC(struct group) groups;
    struct buf shape;           /* of the line that is read */
    VEC(struct candidate) list; /* the best one first */
    uint64_t n_lines, n_numbered;
    char *numbered; /* a pattern of lines that number their steps; owned; NULL if none does */
};

/* ---- groups ---- */

/* The length of what begins with a digit and looks like one number. */
static size_t number_len(const char *line, size_t len)
{
    size_t n = 1;
    while (n < len && (ascii_is_digit(line[n]) || (strchr(".,:'_", line[n]) != NULL &&
                                                   n + 1 < len && ascii_is_digit(line[n + 1])))) {
        n++;
    }
    return n;
}

static unsigned read_shape(const char *line, size_t len, struct buf *out)
{
    unsigned n = 0;
    buf_clear(out);
    for (size_t i = 0; i < len; i++) {
        if (ascii_is_digit(line[i])) {
            i += number_len(line + i, len - i) - 1;
            buf_putc(out, '#');
            n++;
        } else if (ascii_is_letter(line[i])) {
            buf_putc(out, line[i]);
        }
    }
    return n;
}

/* Makes room: the groups of one line go. */
static void drop_singles(struct output *o)
{
    size_t n = 0;
    vec_each (struct group, g, &o->groups) {
        if (g->n > 1) {
            o->groups.items[n++] = *g;
        } else {
            free(g->line);
        }
    }
    o->groups.len = n;
}

static void on_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    struct output *o = ctx;
    int64_t rank;
    const size_t prefix = log_prefix_len(line, len, &rank);
    const bool is_preparation = log_is_preparation(o->m, line + prefix, len - prefix);
    const unsigned n_numbers = read_shape(line + prefix, len - prefix, &o->shape);
    const uint64_t shape = is_preparation ? 0 : str_hash(buf_cstr(&o->shape), o->shape.len);
    struct group *g = vec_find(&o->groups, it, it->shape == shape);
    o->n_lines++;
    if (g != NULL) {
        g->n++;
        return;
    }
    if (o->groups.len == MAX_GROUPS) {
        drop_singles(o);
    }
    if (o->groups.len < MAX_GROUPS) {
        *vec_push(&o->groups) = (struct group){
            shape, 1, number, n_numbers, is_preparation, xstrndup(line, len), len, prefix};
    }
}

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
            i += number_len(line + i, to - i) - 1;
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

/* Does the pattern take these very numbers out of the line? */
static bool takes(struct log_matcher *m, const char *text, const char *line, size_t len,
                  const struct piece *pieces, size_t n)
{
    struct log_pattern *pattern = NULL;
    struct log_match match;
    size_t offset;
    const bool is_found = log_pattern_new(text, &pattern, &offset, NULL) == 0 &&
                          log_matcher_run(m, pattern, line, len, &match) > 0;
    const bool is_so =
        is_found && array_all(pieces, n, it, match.text[it->group] == line + it->number);
    log_pattern_free(pattern);
    return is_so;
}

/* Owned; NULL if no pattern takes these numbers and no others. */
static char *pattern_of(struct log_matcher *m, const char *line, size_t len,
                        const struct piece *pieces, size_t n)
{
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        struct buf out = BUF_INIT;
        put_pattern(&out, line, pieces, n, is_whole == 1);
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
                            bool is_mean, struct figure *ret)
{
    struct log_match match;
    size_t n = 0;
    for (size_t i = 0; i < log_meaning_count && n < MAX_FIGURES; i++) {
        const struct log_meaning *it = &log_meanings[i];
        if ((it->score > 0) == is_sure && log_find_meaning(m, it, line, len, &match)) {
            ret[n++] = (struct figure){it, is_mean, piece_of(&match, it->group)};
        }
    }
    return n;
}

/* What may be the figure of a line. Means count if the line has nothing else, and what is in doubt
 * if it has no mean either. */
static size_t find_figures(struct log_matcher *m, const char *line, size_t len, struct figure *ret)
{
    _cleanup_(freep) char *named = xstrndup(line, len);
    log_hide_names(m, named, len);
    _cleanup_(freep) char *plain = xstrndup(named, len);
    log_hide_means(m, plain, len);
    size_t n = find_meanings(m, plain, len, true, false, ret);
    n = n > 0 ? n : find_meanings(m, named, len, true, true, ret);
    return n > 0 ? n : find_meanings(m, named, len, false, false, ret);
}

static void add_candidate(struct output *o, const struct group *g, const struct figure *f,
                          size_t n_pieces, char *pattern)
{
    const unsigned sure = f->meaning->score == 0 ? 0 : f->is_mean ? 1 : f->meaning->score;
    if (pattern != NULL) {
        *vec_push(&o->list) = (struct candidate){
            .group = g,
            .meaning = f->meaning,
            .is_mean = f->is_mean,
            .score = sure == 0 ? 0 : sure + (unsigned)n_pieces - 1,
            .pattern = pattern,
            .value = xstrndup(g->line + g->prefix + f->piece.number, f->piece.number_len),
        };
    }
}

/* The first line of a table with names between its marks, of which one says that it is a figure. */
static bool read_header(struct output *o, const struct group *g, char mark)
{
    struct figure best = {0}, found[MAX_FIGURES];
    _cleanup_(buf_done) struct buf pattern = BUF_INIT;
    const char *at = g->line + g->prefix, *const end = g->line + g->len;
    size_t n = 0, n_pieces = 1, n_steps = 0, n_losses = 0, best_at = 0;
    const char *groups[MAX_COLUMNS];
    for (; at <= end && n < MAX_COLUMNS; n++) {
        const char *next = memchr(at, mark, (size_t)(end - at));
        next = next == NULL ? end : next;
        if (at == end || !ascii_is_letter(at[at[0] == '"'])) {
            return false;
        }
        _cleanup_(freep) char *name = xasprintf("%.*s: 1", (int)(next - at), at);
        const size_t len = strlen(name);
        struct log_match match;
        groups[n] = NULL;
        if (strcspn(name, "0123456789") < len - 1) {
            return false;
        }
        if (log_find_step(o->m, name, len, &match) && n_steps++ == 0) {
            groups[n] = log_group_names[LOG_STEP];
        } else if (log_find_loss(o->m, name, len, &match) && n_losses++ == 0) {
            groups[n] = log_group_names[LOG_LOSS];
        } else if (find_figures(o->m, name, len, found) > 0 &&
                   found[0].meaning->score > (best.meaning == NULL ? 0 : best.meaning->score)) {
            best = found[0];
            best_at = n;
        }
        at = next + 1;
    }
    if (n < 2 || best.meaning == NULL || (best.meaning->needs_step && n_steps == 0)) {
        return false;
    }
    groups[best_at] = log_group_names[best.meaning->group];
    for (size_t i = 0; i < n; i++) {
        buf_putc(&pattern, i == 0 ? '^' : mark);
        if (groups[i] == NULL) {
            buf_printf(&pattern, "[^%c]*", mark);
        } else {
            buf_printf(&pattern, "(?<%s>" FIELD ")", groups[i]);
            n_pieces++;
        }
    }
    buf_putc(&pattern, '$');
    best.piece = (struct piece){0};
    add_candidate(o, g, &best, n_pieces - 1, buf_take(&pattern));
    return true;
}

static void read_group(struct output *o, const struct group *g)
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
    if (log_find_step(o->m, line, len, &match)) {
        step = piece_of(&match, LOG_STEP);
        o->n_numbered += g->n;
        free(o->numbered);
        o->numbered = pattern_of(o->m, line, len, &step, 1);
    }
    if (log_find_loss(o->m, line, len, &match)) {
        loss = piece_of(&match, LOG_LOSS);
    }
    const size_t n_figures = find_figures(o->m, line, len, figures);
    for (size_t i = 0; i < n_figures; i++) {
        const struct figure *f = &figures[i];
        struct piece pieces[MAX_PIECES] = {f->piece};
        size_t n = 1;
        if (f->meaning->needs_step && step.number_len == 0) {
            continue; /* the time of anything */
        }
        if (f->meaning->score > 0 && step.number_len > 0) {
            add_piece(pieces, &n, &step);
        }
        if (f->meaning->score > 0 && loss.number_len > 0) {
            add_piece(pieces, &n, &loss);
        }
        add_candidate(o, g, f, n, pattern_of(o->m, line, len, pieces, n));
    }
}

/* The surest meaning, the largest group and the last line come first. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->score != y->score                  ? (x->score < y->score ? 1 : -1)
           : x->meaning != y->meaning            ? (x->meaning > y->meaning ? 1 : -1)
           : x->group->n != y->group->n          ? (x->group->n < y->group->n ? 1 : -1)
           : x->group->number < y->group->number ? 1
                                                 : -1;
}

static void output_read(struct output *o, const char *text, size_t len)
{
    *o = (struct output){.m = log_matcher_new()};
    log_lines_each(text, len, on_line, o);
}

static void find_candidates(struct output *o)
{
    vec_each (const struct group, g, &o->groups) {
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
        free(c->value);
    }
    vec_done(&o->list);
    vec_each (struct group, g, &o->groups) {
        free(g->line);
    }
    vec_done(&o->groups);
    free(o->numbered);
    buf_done(&o->shape);
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

/* Appends the rule as YAML in one line, in quotes that leave a backslash as it is. */
static void put_rule(struct buf *out, const struct candidate *c)
{
    const enum summary_unit unit = c->meaning->unit;
    buf_puts(out, LOG_SUGGESTED);
    if (unit != UNIT_SAMPLES) {
        buf_printf(out, "unit: %s, ", summary_unit_names[unit]);
    }
    buf_puts(out, c->is_mean ? "aggregate: Last, pattern: " : "pattern: ");
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
            break;
        }
        put_rule(&rule, c);
        const int r = try_rule(buf_cstr(&rule), text, len, who, &guess);
        const bool is_good = (is_doubtful || is_contradicted)
                                 ? guess.verdict == LOG_VERDICT_AGREES
                                 : !log_names_evaluation(o->m, c->pattern);
        if (r == 0 && is_good) {
            *ret = (struct log_suggestion){.number = c->group->number, .guess = guess};
            buf_puts(out, buf_cstr(&rule));
            return 0;
        }
        is_contradicted = is_contradicted || (r == -EBADMSG && !is_doubtful);
        if (is_doubtful && ret->doubt == NULL) {
            ret->number = c->group->number;
            ret->doubt = c->meaning->doubt;
        }
    }
    return -ENOENT;
}

int log_suggest_rule(const char *text, size_t len, const struct log_parser_params *who,
                     struct log_suggestion *ret, struct buf *out)
{
    struct output o;
    output_read(&o, text, len);
    find_candidates(&o);
    const int r = choose(&o, text, len, who, ret, out);
    output_done(&o);
    return r;
}

struct log_quote log_commonest_line(const char *text, size_t len)
{
    struct output o;
    struct log_quote quote = {0};
    const struct group *best = NULL;
    output_read(&o, text, len);
    vec_each (const struct group, g, &o.groups) {
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

/* What may be measured of an output of which no line states a rate that is known. */
static void put_likely(const struct output *o, struct buf *out)
{
    const struct candidate *c = o->list.len == 0 ? NULL : o->list.items;
    if (o->n_numbered >= NUMBERED_LINES && o->numbered != NULL) {
        buf_puts(out,
                 "its lines number their steps, so the time between them is a figure; write in "
                 "the system:\n  log: {lines: [{kind: Step, from: TimeStamps, pattern: ");
        log_put_quoted(out, o->numbered);
        buf_puts(out, "}]}\n");
    } else if (c != NULL) {
        buf_printf(out,
                   "no number has a known unit; if %s in line %llu is the samples a second, write "
                   "in the system:\n  log: ",
                   c->value, (unsigned long long)c->group->number);
        put_rule(out, c);
        buf_putc(out, '\n');
    } else if (o->n_lines > 0) {
        buf_puts(out, "no line has a number that could be a figure; print one a step, for example "
                      "'step 7: 123.4 samples/s'\n");
    }
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
    find_candidates(&o);
    if (choose(&o, text, len, who, &s, &rule) == 0) {
        buf_puts(out, "a rule for such lines could be (it reads ");
        put_found(&s.guess, out);
        buf_printf(out, " of this output); write in the system:\n  log: %s\n", buf_cstr(&rule));
    } else if (s.doubt != NULL) {
        buf_printf(out, "line %llu of the output seems to have a rate, but %s\n",
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
    if (r == -ENOENT || is_old || guess.unit == UNIT_RUNS) {
        put_suggestion(text, len, who, r != -ENOENT, out);
    }
}

void log_explain_unread(const char *text, size_t len, const struct log_parser_params *who,
                        struct buf *out)
{
    struct log_guess guess;
    size_t tail_len = len;
    const char *tail = tail_of(text, &tail_len);
    const int r = log_guess_rule(tail, tail_len, who, &guess);
    put_shipped(&guess, r, out);
    buf_puts(out, len == 0       ? "it printed nothing; " BUFFERED "\n"
                  : r == -ENOENT ? "no line of its output is a figure that is known\n"
                                 : "");
    log_miss_put_tail(text, len, out);
    if (len > 0 && (r == -ENOENT || guess.unit == UNIT_RUNS)) {
        put_suggestion(tail, tail_len, who, r != -ENOENT, out);
    }
}
