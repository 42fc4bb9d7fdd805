/* See number_role.h. */
#include "logparse/number_role.h"

#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"
#include "logparse/number_text.h"

#define WORD_SIZE 48

/* ---- numbers ---- */

static bool is_digit(const char *line, size_t len, size_t at)
{
    return at < len && ascii_is_digit(line[at]);
}

static bool is_letter(const char *line, size_t len, size_t at)
{
    return at < len && (ascii_is_letter(line[at]) || line[at] == '_');
}

static size_t skip_digits(const char *line, size_t len, size_t at)
{
    while (is_digit(line, len, at)) {
        at++;
    }
    return at;
}

/* The end of "1,234.5e+3" and of "43.2K"; a comma or a point counts only before a digit. */
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
    const bool is_suffix = at < len && log_suffix_factor(line[at]) > 0 &&
                           !is_letter(line, len, at + 1) &&
                           !(line[at] == 'B' && at + 1 < len && line[at + 1] == '/');
    return is_suffix ? at + 1 : at;
}

/* Does a path or an address begin before `at`, in the same word: "/data/run", "s3://bucket"? */
static bool is_in_path(const char *line, size_t at)
{
    for (size_t i = at; i > 0 && line[i - 1] != ' ' && line[i - 1] != '\t'; i--) {
        if (line[i - 1] == '/' && (i == 1 || strchr(" \t=:\"'([,/.~", line[i - 2]) != NULL)) {
            return true;
        }
    }
    return false;
}

/* Is the text from `begin` to `end` a part of something longer: a date, a name, an address? */
static bool is_part(const char *line, size_t len, size_t begin, size_t end)
{
    const char before = begin > 0 ? line[begin - 1] : ' ';
    const char earlier = begin > 1 ? line[begin - 2] : ' ';
    if (ascii_is_alnum(before) || strchr("_.,", before) != NULL ||
        ((before == '-' || before == '/') && ascii_is_alnum(earlier)) ||
        (before == ':' && ascii_is_digit(earlier))) {
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
        if (!is_part(line, len, i, end) && !is_in_path(line, i) &&
            log_number(line + i, end - i, &value)) {
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
        w.text[i] = ascii_lower(line[begin + i]);
    }
    return w;
}

static const char *const seconds[] = {"s", "sec", "secs", "second", "seconds", NULL};
static const char *const milliseconds[] = {"ms",          "msec",         "msecs",
                                           "millisecond", "milliseconds", NULL};
static const char *const microseconds[] = {"us", "usec", "usecs", "microseconds", NULL};
static const char *const steps[] = {"step",      "steps",      "it",    "its",     "iter", "iters",
                                    "iteration", "iterations", "batch", "batches", NULL};
/* What is counted. A rate of another noun may be anything, such as the speed of a disk. */
static const char *const samples[] = {
    "sample",   "samples",   "img",      "imgs",      "image",    "images",    "example",
    "examples", "ex",        "seq",      "seqs",      "sequence", "sequences", "row",
    "rows",     "frame",     "frames",   "record",    "records",  "item",      "items",
    "instance", "instances", "sentence", "sentences", NULL};
static const char *const tokens[] = {"token", "tokens", "tok", "toks", NULL};
static const char *const words[] = {"word", "words", NULL};

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
    p->score = score;
    p->group = LOG_RATE;
    if (str_is_one_of(noun, samples)) {
        p->unit = UNIT_SAMPLES;
    } else if (str_is_one_of(noun, tokens)) {
        p->unit = UNIT_TOKENS;
    } else if (str_is_one_of(noun, words)) {
        p->unit = UNIT_WORDS;
    } else if (str_eq(noun, "gb")) {
        p->unit = UNIT_GB;
    } else if (str_is_one_of(noun, steps)) {
        p->group = LOG_STEP_RATE;
    } else {
        p->score = 0;
        p->doubt = "it does not say of what: samples, tokens, words or steps";
    }
}

/* ---- after the number: "img/s", "images per second", "ms/step", "ms" ---- */

struct behind {
    struct word first;  /* "img", "ms"; "" without */
    struct word second; /* "s", "step"; "" where nothing is divided */
    struct word third;  /* of "tokens/s/GPU": "gpu"; else "" */
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
        if (len - at > n && str_eq_nocase_n(line + at, dividers[i], n)) {
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
    const size_t third = second_end + divider_len(line, len, second_end);
    if (second_end > next && third > second_end) {
        b.third = word_of(line, third, word_end(line, len, third));
    }
    return b;
}

/* True: the words after the number say what it is, and nothing else does. */
static bool read_unit(const struct behind *b, struct number_role *p)
{
    static const char *const rates[] = {"fps", "ips", "sps", NULL};
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
    return ascii_is_alnum(c) || strchr("_/().", c) != NULL;
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
    while (begin < end && !ascii_is_letter(line[begin])) {
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
            while (begin > w->text && ascii_is_letter(begin[-1])) {
                begin--;
            }
            return begin;
        }
    }
    return str_eq(w->text, "ips") || str_eq(w->text, "fps") ? "samples"
           : str_has_suffix(w->text, "throughput")          ? "throughput" /* of what? */
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

/* A time with a name; of a step only if the name or the line says so. The time of a part of the
 * step, or of more than steps, does not count. */
static void read_time(const struct word *label, const struct behind *b, struct number_role *p)
{
    static const char *const alone[] = {"time", "took", "spent", "cost", "duration", "dt", NULL};
    static const char *const of_step[] = {"step", "iter", "batch", NULL};
    static const char *const of_else[] = {
        "data",  "load", "read", "epoch", "total", "eta",     "wall",   "elapsed", "stamp",
        "val",   "test", "ward", "fwd",   "bwd",   "compile", "init",   "comm",    "reduce",
        "optim", "save", "ckpt", "max",   "min",   "left",    "remain", NULL};
    enum log_group time = time_in_label(label->text);
    const bool has_unit = b->second.text[0] == '\0' && time_of(b->first.text, &time);
    const bool is_of_step = has_any(label->text, of_step);
    const bool is_time = str_is_one_of(label->text, alone) || /* "time per step: 0.25 s" */
                         (is_of_step && (has_any(label->text, alone) || has_unit));
    if (!is_time || has_any(label->text, of_else)) {
        return;
    }
    p->group = time;
    p->needs_step = !is_of_step;
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
        "step", "steps",       "iter",      "iters",  "iteration", "iterations", "it",
        "itr",  "global_step", "batch_idx", "update", "updates",   "batch",      NULL};
    enum log_group time;
    const bool is_time = time_of(b->first.text, &time);
    if (str_is_one_of(label->text, numbers) && is_whole(line, p) && !is_time) {
        p->group = LOG_STEP;
        p->score = 2;
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

/* "[40/60]", "| 40/60 [00:20<": a step of so many, unless a name says of what else. */
static bool is_step_of_all(const char *line, size_t len, const struct word *label,
                           const struct number_role *p)
{
    static const char *const names[] = {"", "train", "training", "info", NULL};
    const size_t slash = p->number + p->number_len, end = skip_digits(line, len, slash + 1);
    return str_is_one_of(label->text, names) && is_whole(line, p) && end > slash + 1 &&
           line[slash] == '/' && (end == len || strchr("/.-", line[end]) == NULL);
}

/* "timer.py:260": where the line was printed. */
static bool is_source_line(const char *line, const struct word *label, size_t number)
{
    const char *dot = strrchr(label->text, '.');
    return dot != NULL && ascii_is_letter(dot[1]) && strlen(dot) <= 5 && line[number - 1] == ':';
}

/* The speed of a link is in many a product's name, as 400Gb/s. */
static bool is_bandwidth(const char *line, const struct word *label, const struct behind *b)
{
    static const char *const names[] = {"bw", "bandwidth", NULL};
    return has_any(label->text, names) &&
           (b->second.text[0] == '\0' || memcmp(line + b->first.begin, "GB", 2) == 0);
}

/* In a name, or after "tokens/s". */
static bool is_of_device(const char *text)
{
    static const char *const names[] = {"device", "gpu", "tpu", "chip", "rank", NULL};
    return has_any(text, names);
}

void number_role_read(const char *line, size_t len, struct number_role *piece)
{
    piece->begin = piece->number;
    piece->end = piece->number + piece->number_len;
    const struct behind b = read_behind(line, len, piece->end);
    struct word label = read_label(line, piece);
    if (is_source_line(line, &label, piece->number) ||
        (piece->end < len && line[piece->end] == '%')) {
        return;
    }
    const char *separators = line + label.end;
    const bool is_named =
        label.text[0] != '\0' && (memchr(separators, ':', piece->number - label.end) != NULL ||
                                  memchr(separators, '=', piece->number - label.end) != NULL);
    if (read_unit(&b, piece)) {
        piece->begin = is_named ? label.begin : piece->begin;
    } else if (is_step_of_all(line, len, &label, piece)) {
        piece->group = LOG_STEP;
        piece->score = 1;
        piece->end++;
    } else if (label.text[0] != '\0') {
        piece->begin = label.begin;
        read_named(line, &label, &b, piece);
    }
    const bool is_rate = piece->group == LOG_RATE && piece->score > 0;
    if (is_rate && piece->unit == UNIT_GB && !is_bandwidth(line, &label, &b)) {
        piece->score = 0;
    }
    if (is_rate && (is_of_device(label.text) || is_of_device(b.third.text))) {
        piece->score = 0;
        piece->doubt = "it is of one device, and a process may have several";
    }
}
