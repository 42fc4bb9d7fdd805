/* See starts.h. */
#include "logparse/starts.h"

#include <string.h>

#include "base/ascii.h"
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
    unsigned i = 0;
    while (i < s->n && s->keys[i] != key) {
        i++;
    }
    if (key == 0 || i == LOG_HEAD_LINES) {
        return;
    }
    if (s->n_steps == 0) {
        s->keys[i] = key;
        s->n += i == s->n;
        s->head |= 1U << i;
    } else if (i < s->n) {
        s->back |= s->head & 1U << i;
        s->line = (s->head & ((1U << i) - 1)) == 0 ? number : s->line;
    }
}

uint64_t log_starts_step(struct log_starts *s)
{
    const uint32_t back = s->back, first = s->head & (~s->head + 1);
    const int n = __builtin_popcount(back), all = __builtin_popcount(s->head);
    s->back = 0;
    if (s->n_steps < LEAST_STEPS) {
        s->n_steps++;
        s->head &= ~(back & s->once);
        s->once |= back;
        return 0;
    }
    return n >= LEAST_HEAD && 2 * n >= all && (back & first) != 0 ? s->line : 0;
}
