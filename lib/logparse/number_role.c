/* See number_role.h.
 *
 * The label before a number says what it is ("loss: 2.29", "tok/s: 51,200", "step_time=0.25").
 * Only if it says nothing, the unit after the number does ("800 img/s", "40 ms/step"), unless that
 * unit is the label of the next number. */
#include "logparse/number_role.h"

#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "logparse/number_text.h"

#define WORD_SIZE 64
#define LABEL_GAP 6 /* blanks, quotes and the like between a label and its number */

static const char of_what[] = "it does not say of what: samples, tokens, words or steps";
static const char of_device[] = "it is of one device, and a process may have several";
static const char of_which[] = "its unit is between two numbers and may be of either";
static const char cut_number[] = "the digits before it may be its thousands";

/* ---- the table ---- */

#define SECONDS "s sec secs second seconds"
#define MILLISECONDS "ms msec msecs millisecond milliseconds"
#define MICROSECONDS "us usec usecs microseconds"
#define STEPS                                                                                      \
    "step steps it its iter iters iteration iterations batch batches update updates itr "          \
    "global_step batch_idx num_updates"
/* What is counted. A rate of another noun may be anything, such as the speed of a disk. */
#define SAMPLES                                                                                    \
    "sample samples img imgs image images example examples ex seq seqs sequence sequences row "    \
    "rows "                                                                                        \
    "frame frames record records item items instance instances sentence sentences"
/* Names of what a step or a device has. A number with such a name is never a rate or a time. */
#define OTHER                                                                                      \
    "lr lrm learning_rate wd decay momentum acc acc1 acc5 accuracy top1 top5 auc f1 bleu miou "    \
    "loss "                                                                                        \
    "losses error err mae mse rmse gnorm norm ppl perplexity entropy reward kl mem memory "        \
    "max_mem "                                                                                     \
    "memory_allocated mfu tflops flops epoch epochs eta rank gpu gpus worker trainer replica "     \
    "node "                                                                                        \
    "device world_size bsz wpb batch_size batchsize bs seed scale temperature"

/* What a noun means that is divided by something ("img/s", "ms_per_batch"), or a name by itself.
 * The first row that has the words counts, and of several numbers the one with the highest score.
 * */
static const struct meaning {
    const char *words, *per; /* per is NULL for a name */
    enum log_group group;
    enum summary_unit unit;
    unsigned score; /* 0: a rule cannot read it */
} meanings[] = {
    {SAMPLES, SECONDS, LOG_RATE, UNIT_SAMPLES, 6},
    {"token tokens tok toks", SECONDS, LOG_RATE, UNIT_TOKENS, 6},
    {"word words", SECONDS, LOG_RATE, UNIT_WORDS, 6},
    {"gb", SECONDS, LOG_RATE, UNIT_GB, 6},
    {STEPS, SECONDS, LOG_STEP_RATE, UNIT_SAMPLES, 5},
    {SECONDS, STEPS, LOG_STEP_S, UNIT_SAMPLES, 4},
    {MILLISECONDS, STEPS, LOG_STEP_MS, UNIT_SAMPLES, 4},
    {MICROSECONDS, STEPS, LOG_STEP_US, UNIT_SAMPLES, 4},
    {"ips fps sps", NULL, LOG_RATE, UNIT_SAMPLES, 5},
    {"wps", NULL, LOG_RATE, UNIT_WORDS, 5},
    {"tps", NULL, LOG_RATE, UNIT_TOKENS, 5},
    {"ups", NULL, LOG_STEP_RATE, UNIT_SAMPLES, 4},
    {STEPS, NULL, LOG_STEP, UNIT_SAMPLES, 2},
    {"loss train_loss", NULL, LOG_LOSS, UNIT_SAMPLES, 1},
    {OTHER, NULL, LOG_ACCURACY, UNIT_SAMPLES, 0},
};

/* Is the word one of those in the list? */
static bool is_in(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; n > 0 && (at = strstr(at, word)) != NULL; at++) {
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* A word that is divided by nothing, `per` is "", may be a name. */
static const struct meaning *find_meaning(const char *word, const char *per)
{
    const bool is_name = per[0] == '\0';
    return array_find(meanings, COUNT_OF(meanings), it,
                      (it->per == NULL) == is_name && is_in(it->words, word) &&
                          (is_name || is_in(it->per, per)));
}

/* Does the text have one of these parts? `parts` is a list of words with blanks between them. */
static bool has_any(const char *text, const char *parts)
{
    for (const char *at = parts; *at != '\0'; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (memmem(text, strlen(text), at, n) != NULL) {
            return true;
        }
        at += n;
    }
    return false;
}

/* The group of a step's time in this unit. False if the word is not a unit of time. */
static bool time_of(const char *word, enum log_group *ret)
{
    const struct meaning *m = find_meaning(word, "step");
    *ret = m == NULL ? *ret : m->group;
    return m != NULL;
}

/* ---- numbers ---- */

static bool is_digit(const char *line, size_t len, size_t at)
{
    return at < len && ascii_is_digit(line[at]);
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
    return end < len && strchr(":-.", line[end]) != NULL && is_digit(line, len, end + 1);
}

bool number_role_next_number(const char *line, size_t len, size_t *at, struct number_role *ret)
{
    for (size_t i = *at; i < len;) {
        if (!is_digit(line, len, i)) {
            i++;
            continue;
        }
        const size_t end = i + log_number_len(line + i, len - i);
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

/* ---- phrases ---- */

/* A label or a unit in small letters, cut if it is longer. In "throughput(images/s)" and "images
 * per second" images are divided by seconds. */
struct phrase {
    char text[WORD_SIZE]; /* all of it; "" without a phrase */
    char word[WORD_SIZE]; /* what is divided, or all */
    char per[WORD_SIZE];  /* what it is divided by, or "" */
    bool is_of_gpu, is_of_device;
    size_t begin, end;
};

static void copy_lower(char *to, const char *from, size_t len)
{
    const size_t n = len < WORD_SIZE - 1 ? len : WORD_SIZE - 1;
    for (size_t i = 0; i < n; i++) {
        to[i] = ascii_lower(from[i]);
    }
    to[n] = '\0';
}

static const char *const dividers[] = {"/", " per ", " a ", " each ", "_per_"};

static struct phrase phrase_of(const char *line, size_t begin, size_t end)
{
    struct phrase p = {.begin = begin, .end = end};
    copy_lower(p.text, line + begin, end - begin);
    p.is_of_gpu = has_any(p.text, "gpu rank");
    p.is_of_device = p.is_of_gpu || has_any(p.text, "device tpu chip");
    char rest[WORD_SIZE];
    copy_lower(rest, p.text, strlen(p.text));
    copy_lower(p.word, rest, strlen(rest));
    for (char *at = rest + strlen(rest); at > rest && p.per[0] == '\0'; at--) {
        const char *const *divider =
            array_find(dividers, COUNT_OF(dividers), it, str_has_prefix(at, *it));
        if (divider == NULL) {
            continue;
        }
        const char *per = at + strlen(*divider);
        *at = '\0';
        if (!has_any(per, "gpu rank device tpu chip")) {
            copy_lower(p.per, per, strcspn(per, ")]"));
            while (at > rest && ascii_is_letter(at[-1])) {
                at--;
            }
            copy_lower(p.word, at, strlen(at));
        }
    }
    return p;
}

static size_t word_end(const char *line, size_t len, size_t at)
{
    while (at < len && (ascii_is_letter(line[at]) || line[at] == '_')) {
        at++;
    }
    return at;
}

/* What is at `at`: "img/s", "images per second", "ms", "tokens/s/GPU". */
static struct phrase read_unit(const char *line, size_t len, size_t at)
{
    size_t end = word_end(line, len, at);
    for (size_t i = 0; end > at && i < COUNT_OF(dividers) - 1; i++) {
        const size_t n = strlen(dividers[i]);
        if (len - end > n && str_eq_nocase_n(line + end, dividers[i], n) &&
            word_end(line, len, end + n) > end + n) {
            end = word_end(line, len, end + n);
            i = (size_t)-1; /* "tokens/s/GPU" has another */
        }
    }
    return phrase_of(line, at, end);
}

static struct phrase read_behind(const char *line, size_t len, size_t at)
{
    return read_unit(line, len, at + (at < len && line[at] == ' '));
}

static bool is_label_char(char c)
{
    return ascii_is_alnum(c) || strchr("_/().", c) != NULL;
}

/* The word before a number at `number`, with only blanks, quotes and signs between them. */
static struct phrase read_label(const char *line, size_t number)
{
    size_t end = number;
    while (end > 0 && number - end < LABEL_GAP && strchr(" \t\"':=#[", line[end - 1]) != NULL) {
        end--;
    }
    end -= end > 1 && line[end - 1] == ']' && ascii_is_letter(line[end - 2]);
    size_t begin = end;
    while (begin > 0 && end - begin < WORD_SIZE - 1 &&
           (is_label_char(line[begin - 1]) ||
            (begin > 4 && begin < end && memcmp(line + begin - 5, " per ", 5) == 0))) {
        begin -= is_label_char(line[begin - 1]) ? 1 : 5;
    }
    while (begin < end && !ascii_is_letter(line[begin])) {
        begin++; /* "(loss" */
    }
    return end == number || begin == end ? (struct phrase){.begin = end, .end = end}
                                         : phrase_of(line, begin, end);
}

/* The label with the words before it, such as "elapsed time per iteration (ms)", in small letters.
 * */
static void read_context(const char *line, const struct phrase *label, char ret[static WORD_SIZE])
{
    size_t begin = label->begin;
    while (begin > 0 && label->end - begin < WORD_SIZE - 1 &&
           (ascii_is_letter(line[begin - 1]) || strchr("_/()-. ", line[begin - 1]) != NULL)) {
        begin--;
    }
    copy_lower(ret, line + begin, label->end - begin);
}

/* What a label by itself means, if it is a name or a unit. */
static const struct meaning *meaning_of(const struct phrase *label)
{
    const struct meaning *m = find_meaning(label->word, label->per);
    for (const char *at = label->text; m == NULL && *at != '\0'; at += strspn(at, "_/.()")) {
        char part[WORD_SIZE]; /* of "total_loss", "val/acc" */
        const size_t n = strcspn(at, "_/.()");
        copy_lower(part, at, n);
        m = is_in(OTHER, part) ? &meanings[COUNT_OF(meanings) - 1] : NULL;
        at += n;
    }
    return m;
}

/* True if the label says that its number is neither a rate nor a time of training. */
static bool is_otherwise(const struct phrase *label)
{
    static const char *const phases[] = {"eval", "val_", "val/", "valid", "test"};
    const struct meaning *m = meaning_of(label);
    return (m != NULL && (m->score == 0 || m->group == LOG_STEP || m->group == LOG_LOSS)) ||
           array_any(phases, COUNT_OF(phases), it, str_has_prefix(label->text, *it));
}

/* ---- a unit between two numbers ---- */

enum owner { OWNER_BEFORE, OWNER_AFTER, OWNER_UNKNOWN };

/* Which number has the unit from `begin` to `end`. has_before says that a number is before it. */
static enum owner owner_of(const char *line, size_t len, size_t begin, size_t end, bool has_before)
{
    size_t after = end, gap;
    bool has_sign = false;
    while (after < len && strchr("\"')]", line[after]) != NULL) {
        after++;
    }
    for (gap = after; after < len && strchr(" \t:=\"'[", line[after]) != NULL; after++) {
        has_sign = has_sign || line[after] == ':' || line[after] == '=';
    }
    const size_t mark = after < len && (line[after] == '-' || line[after] == '.') ? 1 : 0;
    if (after == gap || !is_digit(line, len, after + mark)) {
        return OWNER_BEFORE;
    }
    const size_t number_end = begin - (begin > 0 && line[begin - 1] == ' ');
    size_t start = number_end;
    while (start > 0 && (ascii_is_alnum(line[start - 1]) || strchr(".,'_", line[start - 1]))) {
        start--;
    }
    if (has_sign ||
        !(has_before || (start < number_end &&
                         log_number_len(line + start, number_end - start) == number_end - start))) {
        return OWNER_AFTER;
    }
    const struct phrase label = read_label(line, start);
    if (is_otherwise(&label) || (start > 0 && line[start - 1] == '/')) {
        return OWNER_AFTER;
    }
    after += mark;
    const struct phrase next =
        read_behind(line, len, after + log_number_len(line + after, len - after));
    enum log_group time;
    return find_meaning(next.word, next.per) != NULL || time_of(next.text, &time) ||
                   is_in("gb gib mb mib w", next.text) ||
                   has_any(label.text, "speed throughput rate time took spent cost dt")
               ? OWNER_BEFORE
               : OWNER_UNKNOWN;
}

/* ---- roles ---- */

static bool is_whole(const char *line, const struct number_role *p)
{
    double v;
    return log_number(line + p->number, p->number_len, &v) && floor(v) == v &&
           (memchr(line + p->number, '.', p->number_len) == NULL ||
            memchr(line + p->number, 'e', p->number_len) != NULL);
}

static void take(struct number_role *p, const struct meaning *m)
{
    p->group = m->group;
    p->unit = m->unit;
    p->score = m->score;
}

/* True if the label decides what the number is. */
static bool read_name(const char *line, size_t len, const struct phrase *label,
                      const struct phrase *behind, struct number_role *p)
{
    enum log_group time;
    const struct meaning *m = meaning_of(label);
    const bool is_other = is_otherwise(label);
    if (m != NULL && m->group == LOG_STEP && (!is_whole(line, p) || time_of(behind->text, &time))) {
        return false;
    }
    if (m != NULL && m->per == NULL && m->score >= 4 &&
        find_meaning(behind->word, behind->per) != NULL) {
        return false; /* "ips: 5 words/s" */
    }
    const bool is_rate = is_in(SECONDS, label->per) || (m != NULL && m->score >= 4);
    const enum owner owner =
        is_rate ? owner_of(line, len, label->begin, label->end, false) : OWNER_AFTER;
    if ((m == NULL && !is_other && !is_rate) || owner == OWNER_BEFORE) {
        return false;
    }
    if (is_rate && !is_other) {
        p->doubt = owner == OWNER_UNKNOWN ? of_which : m == NULL ? of_what : NULL;
    }
    if (m != NULL && p->doubt == NULL && (!is_other || !is_rate)) {
        take(p, m);
        p->begin = label->begin;
    }
    return true;
}

/* True if a unit after the number decides what it is. */
static bool read_rate(const struct phrase *behind, enum owner owner, struct number_role *p)
{
    const bool is_divided = behind->per[0] != '\0';
    const struct meaning *m = find_meaning(behind->word, behind->per);
    if (!is_divided && (m == NULL || m->score < 4)) {
        return false;
    }
    if (owner == OWNER_UNKNOWN || (m == NULL && is_in(SECONDS, behind->per))) {
        p->doubt = m == NULL ? of_what : of_which;
    } else if (m != NULL) {
        take(p, m);
        p->end = behind->end;
    }
    return true;
}

/* "[40/60]", "| 40 / 60 [00:20<": the number of a step and all steps, unless it has another name.
 * */
static bool is_step_of_all(const char *line, size_t len, const struct phrase *label,
                           struct number_role *p)
{
    size_t slash = p->end;
    slash += slash < len && line[slash] == ' ';
    size_t total = slash + 1;
    while (total < len && line[total] == ' ') {
        total++;
    }
    size_t end = total;
    while (is_digit(line, len, end)) {
        end++;
    }
    const bool has_name = label->text[0] != '\0' && !is_in("train training info", label->text);
    if (has_name || !is_whole(line, p) || end == total || line[slash] != '/' ||
        (end < len && strchr("/.-", line[end]) != NULL)) {
        return false;
    }
    p->group = LOG_STEP;
    p->score = 1;
    p->end = slash + 1;
    return true;
}

static enum log_group time_in_label(const char *label)
{
    return str_has_suffix(label, "ms") || str_has_suffix(label, "ms)")    ? LOG_STEP_MS
           : str_has_suffix(label, "_us") || str_has_suffix(label, "us)") ? LOG_STEP_US
                                                                          : LOG_STEP_S;
}

/* A named time is a step's only if the name or the line says so. The time of a part of a step, or
 * of more than steps, does not count. */
static void read_time(const struct phrase *label, const char *context, const struct phrase *behind,
                      struct number_role *p)
{
    static const char alone[] = "time took spent cost duration dt seconds";
    static const char of_else[] = "data load read epoch total eta eval wall elapsed stamp val_ "
                                  "valid test ward fwd bwd compile init "
                                  "comm reduce optim save ckpt max min left remain";
    enum log_group time = time_in_label(label->text);
    const bool has_unit = behind->per[0] == '\0' && time_of(behind->text, &time);
    const bool is_of_step = has_any(context, "step iter batch");
    const bool is_time =
        is_in(alone, label->text) || (is_of_step && (has_any(context, alone) || has_unit));
    if (!is_time || has_any(context, of_else)) {
        return;
    }
    p->group = time;
    p->needs_step = !is_of_step;
    p->score = p->needs_step ? 2 : 3;
    p->begin = label->begin;
    p->end = has_unit ? behind->end : p->end;
}

/* A name without a unit. In a JSON line another field may have it: "unit": "samples/s". */
static void read_unit_field(const char *line, size_t len, const char *label, struct number_role *p)
{
    const char *at = memmem(line, len, "unit\"", 5);
    size_t begin = at == NULL ? len : (size_t)(at - line) + 5;
    while (begin < len && strchr(" :\"", line[begin]) != NULL) {
        begin++;
    }
    const struct phrase unit = read_unit(line, len, begin);
    const struct meaning *m = find_meaning(unit.word, unit.per);
    p->doubt = str_has_suffix(label, "throughput") ? of_what : NULL;
    if (m != NULL && m->unit != UNIT_GB && !unit.is_of_device) {
        take(p, m);
        p->doubt = NULL;
        p->unit_begin = (size_t)(at - line);
        p->unit_end = unit.end;
    }
}

/* "timer.py:260": where the line was printed. */
static bool is_source_line(const char *line, const struct phrase *label, size_t number)
{
    const char *dot = strrchr(label->text, '.');
    return dot != NULL && ascii_is_letter(dot[1]) && strlen(dot) <= 5 && line[number - 1] == ':';
}

/* Finds what makes a number doubtful although words say what it is, and means since the start. */
static void check_role(const char *line, size_t len, const char *context,
                       const struct phrase *label, const struct phrase *behind,
                       struct number_role *p)
{
    static const char means[] = "avg average mean overall running cumul";
    char after[WORD_SIZE];
    copy_lower(after, line + p->end, len - p->end < 6 ? len - p->end : 6);
    const bool is_rate = p->group == LOG_RATE, is_gb = is_rate && p->unit == UNIT_GB;
    const bool has_unit = p->end > p->number + p->number_len;
    const bool is_bandwidth = has_any(context, "bw bandwidth") &&
                              (!has_unit || memcmp(line + behind->begin, "GB", 2) == 0);
    const bool is_device = is_rate && !is_gb && (label->is_of_device || behind->is_of_device);
    size_t cut;
    p->is_of_gpu = is_device && (label->is_of_gpu || behind->is_of_gpu);
    p->doubt = is_device                                                      ? of_device
               : number_role_may_be_cut(line, p->number, p->number_len, &cut) ? cut_number
                                                                              : NULL;
    p->is_mean = p->group != LOG_STEP && p->group != LOG_LOSS &&
                 (has_any(context, means) || has_any(after, "(avg (mean"));
    /* The speed of a link is in many a product's name, as 400Gb/s. */
    const bool is_good = p->doubt == NULL && (!is_gb || is_bandwidth);
    p->score = !is_good ? 0 : p->is_mean ? 1 : p->score;
}

void number_role_read(const char *line, size_t len, struct number_role *piece)
{
    piece->begin = piece->number;
    piece->end = piece->number + piece->number_len;
    struct phrase behind = read_behind(line, len, piece->end);
    const enum owner owner = owner_of(line, len, behind.begin, behind.end, true);
    if (owner == OWNER_AFTER) {
        behind = (struct phrase){.begin = behind.begin, .end = behind.begin};
    }
    const struct phrase label = read_label(line, piece->number);
    char context[WORD_SIZE];
    read_context(line, &label, context);
    if (is_source_line(line, &label, piece->number) ||
        (piece->end < len && line[piece->end] == '%')) {
        return;
    }
    const char *gap = line + label.end;
    const size_t gap_len = piece->number - label.end;
    const bool is_named = label.text[0] != '\0' &&
                          (memchr(gap, ':', gap_len) != NULL || memchr(gap, '=', gap_len) != NULL);
    if (!read_name(line, len, &label, &behind, piece)) {
        if (read_rate(&behind, owner, piece)) {
            piece->begin = is_named ? label.begin : piece->begin;
        } else if (!is_step_of_all(line, len, &label, piece)) {
            read_time(&label, context, &behind, piece);
            const bool is_rate = str_has_suffix(label.text, "throughput") ||
                                 (is_named && is_in("value speed rate", label.text));
            if (piece->score == 0 && is_rate) {
                piece->begin = label.begin;
                read_unit_field(line, len, label.text, piece);
            }
        }
    }
    if (piece->score > 0) {
        check_role(line, len, context, &label, &behind, piece);
    }
}

bool number_role_may_be_cut(const char *line, size_t number, size_t number_len, size_t *ret_begin)
{
    size_t digits = 0, begin = number > 0 ? number - 1 : 0;
    while (digits < number_len && ascii_is_digit(line[number + digits])) {
        digits++;
    }
    while (begin > 0 && ascii_is_digit(line[begin - 1])) {
        begin--;
    }
    *ret_begin = begin;
    const size_t n = number - begin - 1;
    const char before = begin > 0 ? line[begin - 1] : ' ';
    if (digits != 3 || number < 2 || line[number - 1] != ' ' || n < 1 || n > 3 ||
        line[begin] == '0' || ascii_is_alnum(before) || strchr("._,:/-'", before) != NULL ||
        (unsigned char)before >= 0x80) {
        return false;
    }
    const struct phrase label = read_label(line, begin);
    return !is_otherwise(&label);
}

bool number_role_find_step(const char *line, size_t len, struct number_role *ret)
{
    struct number_role piece;
    *ret = (struct number_role){0};
    for (size_t at = 0; number_role_next_number(line, len, &at, &piece);) {
        number_role_read(line, len, &piece);
        /* Of "[1/3] [40/60]" the last one is that of the step. */
        const bool is_inner = piece.score == 1 && ret->score == 1;
        if (piece.group == LOG_STEP && (piece.score > ret->score || is_inner)) {
            *ret = piece;
        }
    }
    return ret->score > 0;
}
