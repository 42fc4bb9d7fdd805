/* See number_role.h. */
#include "logparse/number_role.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "logparse/number_text.h"

#define WORD_SIZE 48

/* ---- numbers ---- */

static bool is_digit(const char *line, size_t len, size_t at)
{
    return at < len && isdigit((unsigned char)line[at]);
}

static bool is_letter(const char *line, size_t len, size_t at)
{
    return at < len && (isalpha((unsigned char)line[at]) || line[at] == '_');
}

static size_t skip_digits(const char *line, size_t len, size_t at)
{
    while (is_digit(line, len, at)) {
        at++;
    }
    return at;
}

/* The end of "1,234.5e+3"; a comma or a point counts only before a digit. */
static size_t number_end(const char *line, size_t len, size_t at)
{
    at = skip_digits(line, len, at);
    while (at < len && (line[at] == ',' || line[at] == '.') && is_digit(line, len, at + 1)) {
        at = skip_digits(line, len, at + 1);
    }
    if (at < len && (line[at] == 'e' || line[at] == 'E')) {
        const size_t sign = at + 1 < len && (line[at + 1] == '+' || line[at + 1] == '-') ? 1 : 0;
        if (is_digit(line, len, at + 1 + sign)) {
            at = skip_digits(line, len, at + 1 + sign);
        }
    }
    return at;
}

/* Is the text from `begin` to `end` a part of something longer: a date, a name, an address? */
static bool is_part(const char *line, size_t len, size_t begin, size_t end)
{
    const char before = begin > 0 ? line[begin - 1] : ' ';
    const char earlier = begin > 1 ? line[begin - 2] : ' ';
    if (isalnum((unsigned char)before) || strchr("_.,", before) != NULL ||
        ((before == '-' || before == '/') && isalnum((unsigned char)earlier)) ||
        (before == ':' && isdigit((unsigned char)earlier))) {
        return true;
    }
    return (end < len && (line[end] == ':' || line[end] == '-' || line[end] == '.')) &&
           is_digit(line, len, end + 1);
}

bool number_role_next_number(const char *line, size_t len, size_t *at, struct number_role *ret)
{
    for (size_t i = *at; i < len;) {
        if (!is_digit(line, len, i)) {
            i++;
            continue;
        }
        const size_t end = number_end(line, len, i);
        double value;
        if (!is_part(line, len, i, end) && log_number(line + i, end - i, &value)) {
            *ret = (struct number_role){.number = i, .number_len = end - i};
            *at = end;
            return true;
        }
        i = end;
    }
    return false;
}

/* ---- words ---- */

struct word {
    char text[WORD_SIZE]; /* in small letters; cut if it is longer */
    size_t begin, end;
};

static struct word word_of(const char *line, size_t begin, size_t end)
{
    struct word w = {.begin = begin, .end = end};
    for (size_t i = 0; i < end - begin && i < WORD_SIZE - 1; i++) {
        w.text[i] = (char)tolower((unsigned char)line[begin + i]);
    }
    return w;
}

static const char *const seconds[] = {"s", "sec", "secs", "second", "seconds", NULL};
static const char *const milliseconds[] = {"ms",          "msec",         "msecs",
                                           "millisecond", "milliseconds", NULL};
static const char *const microseconds[] = {"us", "usec", "usecs", "microseconds", NULL};
static const char *const steps[] = {"step",      "steps",      "it",    "its",     "iter", "iters",
                                    "iteration", "iterations", "batch", "batches", NULL};
/* Units a second that a rule cannot have: they are no work of a training. */
static const char *const others[] = {
    "b",   "kb",   "mb",   "tb",    "kib",   "mib",    "gib",   "tib",    "byte",  "bytes",
    "bit", "bits", "kbit", "mbit",  "gbit",  "kbps",   "mbps",  "gbps",   "epoch", "epochs",
    "m",   "km",   "flop", "flops", "gflop", "gflops", "tflop", "tflops", "rad",   NULL};

/* The time of a word, as a step's. False: it is not a time. */
static bool time_of(const char *word, enum log_group *ret)
{
    if (str_is_one_of(word, seconds)) {
        *ret = LOG_STEP_S;
    } else if (str_is_one_of(word, milliseconds)) {
        *ret = LOG_STEP_MS;
    } else if (str_is_one_of(word, microseconds)) {
        *ret = LOG_STEP_US;
    } else {
        return false;
    }
    return true;
}

/* A rate of this noun: "images", "tokens", "steps". */
static void be_rate(struct number_role *p, const char *noun, unsigned score)
{
    if (str_is_one_of(noun, others)) {
        p->score = 0;
        return;
    }
    p->score = score;
    p->group = LOG_RATE;
    p->unit = strncmp(noun, "tok", 3) == 0    ? UNIT_TOKENS
              : strncmp(noun, "word", 4) == 0 ? UNIT_WORDS
              : strcmp(noun, "gb") == 0       ? UNIT_GB
                                              : UNIT_SAMPLES;
    if (str_is_one_of(noun, steps)) {
        p->group = LOG_STEP_RATE;
    }
}

/* ---- after the number: "img/s", "images per second", "ms/step", "ms" ---- */

struct behind {
    struct word first;  /* "img", "ms"; "" without */
    struct word second; /* "s", "step"; "" where nothing is divided */
};

static size_t word_end(const char *line, size_t len, size_t at)
{
    while (is_letter(line, len, at)) {
        at++;
    }
    return at;
}

/* What is between "images" and "s"; 0: nothing is divided. */
static size_t divider_len(const char *line, size_t len, size_t at)
{
    static const char *const dividers[] = {"/", " per ", " a ", " each "};
    for (size_t i = 0; i < COUNT_OF(dividers); i++) {
        const size_t n = strlen(dividers[i]);
        if (len - at > n && strncasecmp(line + at, dividers[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

static struct behind read_behind(const char *line, size_t len, size_t at)
{
    struct behind b = {0};
    at += at < len && line[at] == ' ' ? 1 : 0;
    const size_t end = word_end(line, len, at);
    if (end == at) {
        return b;
    }
    b.first = word_of(line, at, end);
    const size_t next = end + divider_len(line, len, end);
    if (next == end) {
        return b;
    }
    const size_t second_end = word_end(line, len, next);
    if (second_end > next) {
        b.second = word_of(line, next, second_end);
    }
    return b;
}

/* True: the words after the number say what it is, and nothing else does. */
static bool read_unit(const struct behind *b, struct number_role *p)
{
    static const char *const rates[] = {"fps", "ips", "sps", "qps", NULL};
    enum log_group time;
    if (b->second.text[0] == '\0') {
        if (!str_is_one_of(b->first.text, rates)) {
            return false;
        }
        be_rate(p, "samples", 4);
        p->end = b->first.end;
        return true;
    }
    p->end = b->second.end;
    if (str_is_one_of(b->second.text, seconds)) {
        be_rate(p, b->first.text, str_is_one_of(b->first.text, steps) ? 4 : 5);
    } else if (str_is_one_of(b->second.text, steps) && time_of(b->first.text, &time)) {
        p->group = time;
        p->score = 4;
    }
    return true;
}

/* ---- before the number: "throughput: ", "\"step_time\": ", "loss=" ---- */

static bool is_label_char(char c)
{
    return isalnum((unsigned char)c) || strchr("_/().", c) != NULL;
}

/* "" where the number has no name. */
static struct word read_label(const char *line, const struct number_role *p)
{
    size_t end = p->number;
    while (end > 0 && p->number - end < 6 && strchr(" \t\"':=#[", line[end - 1]) != NULL) {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && end - begin < WORD_SIZE - 1 && is_label_char(line[begin - 1])) {
        begin--;
    }
    while (begin < end && !isalpha((unsigned char)line[begin])) {
        begin++; /* "(loss" */
    }
    return end == p->number || begin == end ? (struct word){0} : word_of(line, begin, end);
}

/* "images_per_sec", "tokens/s", "throughput(img/s)": the noun; NULL: it is not a rate. */
static const char *rate_noun(struct word *w)
{
    static const char *const ends[] = {"_per_s",  "_per_sec", "_per_second", "/s",           "/sec",
                                       "/second", "/s)",      "/sec)",       "_per_second)", NULL};
    for (size_t i = 0; ends[i] != NULL; i++) {
        if (str_has_suffix(w->text, ends[i])) {
            w->text[strlen(w->text) - strlen(ends[i])] = '\0';
            char *begin = w->text + strlen(w->text);
            while (begin > w->text && isalpha((unsigned char)begin[-1])) {
                begin--;
            }
            return begin;
        }
    }
    return strstr(w->text, "throughput") != NULL || strcmp(w->text, "ips") == 0 ||
                   strcmp(w->text, "fps") == 0
               ? "samples"
               : NULL;
}

static enum log_group time_in_label(const char *label)
{
    return str_has_suffix(label, "ms") || str_has_suffix(label, "ms)")    ? LOG_STEP_MS
           : str_has_suffix(label, "_us") || str_has_suffix(label, "us)") ? LOG_STEP_US
                                                                          : LOG_STEP_S;
}

static bool has_any(const char *text, const char *const *parts)
{
    for (; *parts != NULL; parts++) {
        if (strstr(text, *parts) != NULL) {
            return true;
        }
    }
    return false;
}

/* A time with a name; of a step only if the name or the line says so. */
static void read_time(const struct word *label, const struct behind *b, struct number_role *p)
{
    static const char *const parts[] = {"time", "took", "spent", "cost", "duration", NULL};
    static const char *const of_step[] = {"step", "iter", "batch", NULL};
    static const char *const of_more[] = {"data", "load", "read",    "epoch", "total",
                                          "eta",  "wall", "elapsed", "stamp", NULL};
    const bool is_dt = strcmp(label->text, "dt") == 0;
    enum log_group time = time_in_label(label->text);
    const bool has_unit = b->second.text[0] == '\0' && time_of(b->first.text, &time);
    const bool is_step_s = has_any(label->text, of_step) && has_unit; /* "time per step: 0.25 s" */
    if (has_any(label->text, of_more) || (!has_any(label->text, parts) && !is_dt && !is_step_s)) {
        return;
    }
    p->group = time;
    p->needs_step = !has_any(label->text, of_step);
    p->score = p->needs_step ? 2 : 3;
    p->end = has_unit ? b->first.end : p->end;
}

static bool is_whole(const char *line, const struct number_role *p)
{
    return memchr(line + p->number, '.', p->number_len) == NULL &&
           memchr(line + p->number, 'e', p->number_len) == NULL;
}

static void read_named(const char *line, struct word *label, const struct behind *b,
                       struct number_role *p)
{
    static const char *const numbers[] = {
        "step", "steps", "iter", "iters", "iteration", "batch", "global_step", "iterations", NULL};
    enum log_group time;
    const bool is_time = time_of(b->first.text, &time);
    if (str_is_one_of(label->text, numbers) && is_whole(line, p) && !is_time) {
        p->group = LOG_STEP;
        p->score = 1;
        return;
    }
    if (strcmp(label->text, "loss") == 0 || strcmp(label->text, "train_loss") == 0) {
        p->group = LOG_LOSS;
        p->score = 1;
        return;
    }
    struct word copy = *label;
    const char *noun = rate_noun(&copy);
    if (noun != NULL) {
        be_rate(p, noun, 5);
    } else {
        read_time(label, b, p);
    }
}

void number_role_read(const char *line, size_t len, struct number_role *piece)
{
    piece->begin = piece->number;
    piece->end = piece->number + piece->number_len;
    const struct behind b = read_behind(line, len, piece->end);
    struct word label = read_label(line, piece);
    const char *separators = line + label.end;
    const bool is_named =
        label.text[0] != '\0' && (memchr(separators, ':', piece->number - label.end) != NULL ||
                                  memchr(separators, '=', piece->number - label.end) != NULL);
    if (read_unit(&b, piece)) {
        piece->begin = is_named ? label.begin : piece->begin;
        return;
    }
    if (label.text[0] != '\0') {
        piece->begin = label.begin;
        read_named(line, &label, &b, piece);
    }
}
