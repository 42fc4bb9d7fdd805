/* See parser_internal.h. */
#include "logparse/parser_internal.h"

#include <string.h>

#include "base/str.h"

#define LEAST_LETTERS 8
#define MOST_LETTERS 40
#define LEAST_HEAD 2  /* lines; one alone may be that of an epoch */
#define LEAST_STEPS 5 /* of a run; lines that come again twice sooner are those of each step */

/* The words at the beginning of a line, without its time and its values; 0: it has too few words,
 * it counts epochs, or the shell has printed it. */
static uint64_t key_of(const char *line, size_t len)
{
    char words[MOST_LETTERS + 1];
    size_t n = 0;
    for (size_t i = 0; i < len && n < MOST_LETTERS; i++) {
        if (n >= LEAST_LETTERS && strchr("([{='\"", line[i]) != NULL) {
            break;
        }
        if (ascii_is_letter(line[i])) {
            words[n++] = ascii_lower(line[i]);
        }
    }
    words[n] = '\0';
    const bool is_other = strstr(words, "epoch") != NULL || str_has_prefix(words, "nohup");
    return n < LEAST_LETTERS || is_other ? 0 : str_hash(words, n);
}

void log_starts_note(struct log_starts *s, uint64_t number, const char *line, size_t len)
{
    const uint64_t key = key_of(line, len);
    struct log_head_line *known = array_find(s->lines, s->n, it, it->key == key);
    if (known != NULL && s->n_steps > 0) {
        known->is_back = true;
        s->line = known == s->lines ? number : s->line;
    } else if (known == NULL && s->n_steps == 0 && key != 0 && s->n < LOG_HEAD_LINES) {
        s->lines[s->n++].key = key;
    }
}

uint64_t log_starts_step(struct log_starts *s)
{
    const bool is_early = s->n_steps<LEAST_STEPS, has_first = s->n> 0 && s->lines[0].is_back;
    unsigned n_back = 0, n = 0;
    for (unsigned i = 0; i < s->n; i++) {
        struct log_head_line line = s->lines[i];
        const bool is_of_each_step = is_early && line.is_back && line.was_before;
        n_back += line.is_back;
        line.was_before |= line.is_back;
        line.is_back = false;
        if (!is_of_each_step) {
            s->lines[n++] = line;
        }
    }
    const bool is_start = has_first && n_back >= LEAST_HEAD && 2 * n_back >= s->n;
    s->n = n;
    s->n_steps += is_early;
    return is_start && !is_early ? s->line : 0;
}
