/* What the logs state about the work that they did, such as "hidden_size ..... 6144". Sizes are not
 * one curve if their logs state other models, sequences or batches. Whether another setting changes
 * the work of a step is not known, so those that differ are only named. */
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "core/json_field.h"
#include "ctl/import/import.h"
#include "logparse/lines.h"

#define MAX_SETTINGS 256 /* of a log */

/* The last words of the names of settings that are the work. The values of the last two names are
 * words, and those of the others are whole numbers. */
static const char *const work_names[] = {
    "global_batch_size", "hidden_size", "layers",     "heads",      "n_layer", "n_head", "n_embd",
    "seq_length",        "seq_len",     "block_size", "model_name", "arch"};
#define BATCH_NAME 0
#define FIRST_WORD 10

struct setting {              /* "global batch size: 64" in line 3 */
    char name[40], value[40]; /* "global_batch_size" */
    uint64_t line;
    bool varies; /* a later line of the log has another value */
};

struct settings { /* of one trial, by its first log */
    struct import_trial *trial;
    uint64_t head_end; /* the first line that was measured */
    VEC(struct setting) list;
};

/* -1 if it is not one. */
static int find_work(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(work_names); i++) {
        const size_t len = strlen(name), n = strlen(work_names[i]);
        if (str_has_suffix(name, work_names[i]) && (len == n || name[len - n - 1] == '_')) {
            return (int)i; /* "arch" is no last word of "search" */
        }
    }
    return -1;
}

/* ---- one log ---- */

/* The words that end at `end`, after the last one that begins with a digit. */
static bool take_name(const char *line, size_t end, char ret[static 40])
{
    size_t begin = end, n = 0;
    for (size_t i = end; i > 0 && (ascii_is_alnum(line[i - 1]) || strchr("_- ", line[i - 1]));
         i--) {
        const bool is_start = i == 1 || !(ascii_is_alnum(line[i - 2]) || line[i - 2] == '_');
        if (is_start && ascii_is_digit(line[i - 1])) {
            break;
        }
        begin = is_start && ascii_is_letter(line[i - 1]) ? i - 1 : begin;
    }
    for (; begin < end && n < 39; begin++) {
        ret[n++] = strchr("- ", line[begin]) != NULL ? '_' : ascii_lower(line[begin]);
    }
    ret[n] = '\0';
    return n > 0 && begin == end;
}

/* A whole number, or the name of a model. Settings are read up to the first measured line; later
 * lines only show which of them vary. */
static void take_setting(struct settings *s, uint64_t line_number, const char *line, size_t len,
                         size_t sign)
{
    struct setting new = {.line = line_number};
    size_t end = sign, at = sign, n = 0;
    int64_t number;
    while (end > 0 && strchr(" \"'", line[end - 1]) != NULL) {
        end--;
    }
    while (at < len && strchr(" .=:\"'", line[at]) != NULL) {
        at++;
    }
    for (; at < len && n + 1 < sizeof(new.value); at++) {
        const bool is_comma = line[at] == ',' && at + 1 < len && ascii_is_digit(line[at + 1]);
        if (!is_comma && !ascii_is_alnum(line[at]) && strchr("_-./%", line[at]) == NULL) {
            break;
        }
        new.value[n] = line[at];
        n += !is_comma; /* 6,163,712 */
    }
    new.value[n] = '\0';
    if (!take_name(line, end, new.name) ||
        (parse_i64(new.value, &number) < 0 && find_work(new.name) < FIRST_WORD)) {
        return;
    }
    struct setting *old = vec_find(&s->list, it, str_eq(it->name, new.name));
    if (old != NULL) {
        old->varies = old->varies || !str_eq(old->value, new.value);
    } else if (line_number <= s->head_end && s->list.len < MAX_SETTINGS && n > 0) {
        *vec_push(&s->list) = new;
    }
}

static void on_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    for (size_t i = 1; i + 1 < len; i++) {
        if (line[i] == ':' || line[i] == '=' || (line[i] == '.' && line[i - 1] == ' ')) {
            take_setting(ctx, number, line, len, i);
        }
    }
}

static struct settings read_settings(struct import_trial *trial)
{
    struct import_log *l = trial->logs.items[0];
    struct settings s = {.trial = trial, .head_end = UINT64_MAX};
    size_t len;
    const char *text = capture_text(&l->capture, &len);
    vec_each (const struct log_span, it, &log_parser_reading(l->parser)->spans) {
        s.head_end = it->use <= LOG_USE_SUMMARY && it->first < s.head_end ? it->first : s.head_end;
    }
    log_lines_each(text, len, on_line, &s);
    return s;
}

/* ---- all of them ---- */

static const struct setting *find(const struct settings *s, const char *name)
{
    return vec_find(&s->list, it, str_eq(it->name, name) && !it->varies);
}

/* Do two logs state different values? The batch of the job may grow with those who train. Settings
 * that are not the work may also be divided among them, and differ between repeats. */
static bool differs(const struct settings *a, const struct settings *b, const char *name)
{
    const struct setting *x = find(a, name), *y = find(b, name);
    const double n_a = (double)a->trial->logs.items[0]->params.trainers;
    const double n_b = (double)b->trial->logs.items[0]->params.trainers;
    const int work = find_work(name);
    int64_t v_a, v_b;
    if (x == NULL || y == NULL || str_eq(x->value, y->value) ||
        (work < 0 && a->trial->row.id.point == b->trial->row.id.point)) {
        return false;
    }
    if (work > BATCH_NAME || parse_i64(x->value, &v_a) < 0 || parse_i64(y->value, &v_b) < 0) {
        return true;
    }
    return (double)v_a * n_b != (double)v_b * n_a &&
           (work == BATCH_NAME || (double)v_a * n_a != (double)v_b * n_b);
}

/* Where the work differs, results give no speedup, by the environment of its logs. */
static void mark(const struct settings *s, const char *name)
{
    const struct setting *own = find(s, name);
    vec_each (struct import_log *const, l, &s->trial->logs) {
        const char *before = json_string_value(json_object_get((*l)->environment, "work"));
        _cleanup_(freep) char *work =
            xasprintf("%s%s%s %s", before == NULL ? "" : before, before == NULL ? "" : ", ", name,
                      own == NULL ? "unsaid" : own->value);
        (*l)->environment = (*l)->environment == NULL ? json_object() : (*l)->environment;
        JSON_ADD((*l)->environment, {"work", json_string(work)});
    }
}

void import_mark_work(struct import *im)
{
    VEC(struct settings) all = {0};
    _cleanup_(buf_done) struct buf others = BUF_INIT;
    vec_each (struct import_trial, it, &im->trials) {
        *vec_push(&all) = read_settings(it);
    }
    for (size_t i = 0; i < all.len; i++) {
        const struct settings *s = &all.items[i];
        vec_each (const struct setting, x, &s->list) {
            const struct settings *other =
                params_get(&s->trial->params, x->name) != NULL || /* it is swept */
                        array_any(all.items, i, it, find(it, x->name) != NULL)
                    ? NULL
                    : vec_find(&all, it, differs(s, it, x->name));
            if (other == NULL) {
                continue;
            }
            const struct setting *y = find(other, x->name);
            if (find_work(x->name) < 0) {
                buf_printf(&others, "%s%s (%s, %s)", others.len > 0 ? ", " : "", x->name, x->value,
                           y->value);
                continue;
            }
            cli_note(im->cli,
                     "%s says %s %s in line %" PRIu64 ", %s says %s in line %" PRIu64
                     ": they are not one curve and have no speedup; import each alone",
                     s->trial->logs.items[0]->path, x->name, x->value, x->line,
                     other->trial->logs.items[0]->path, y->value, y->line);
            vec_each (const struct settings, it, &all) {
                mark(it, x->name);
            }
        }
    }
    if (others.len > 0) {
        cli_note_prose(im->cli,
                       "the logs also state different values of %s; import cannot know whether "
                       "these change the work of a step",
                       buf_cstr(&others));
    }
    vec_each (struct settings, s, &all) {
        vec_done(&s->list);
    }
    vec_done(&all);
}
