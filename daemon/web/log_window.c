/* See log_window.h. */
#include "daemon/web/log_window.h"

#include <stdbool.h>
#include <string.h>

#define MIN_QUOTE 8                /* bytes: a shorter line is in any error by chance */
#define SEARCHED ((size_t)1 << 20) /* bytes at the end: an error quotes what came last */

struct line {
    const char *text;
    size_t len;
};

/* The line that begins at *pos, without its newline; moves *pos after it. */
static struct line next_line(const char *text, size_t len, size_t *pos)
{
    const char *end = memchr(text + *pos, '\n', len - *pos);
    struct line line = {text + *pos, end == NULL ? len - *pos : (size_t)(end - text) - *pos};
    *pos += line.len + (end != NULL);
    while (line.len > 0 && (*line.text == ' ' || *line.text == '\t')) {
        line.text++;
        line.len--;
    }
    while (line.len > 0 && strchr(" \t\r", line.text[line.len - 1]) != NULL) {
        line.len--;
    }
    return line;
}

void log_window_find(const char *text, size_t len, const char *error, struct log_window *ret)
{
    const size_t error_len = error == NULL ? 0 : strlen(error);
    size_t quoted = 0, said = 0;
    *ret = (struct log_window){0};
    for (size_t pos = 0; pos < len;) {
        const bool is_searched = len - pos <= SEARCHED;
        const struct line line = next_line(text, len, &pos);
        ret->n_lines++;
        said = line.len > 0 ? ret->n_lines : said;
        if (error != NULL && is_searched && line.len >= MIN_QUOTE &&
            memmem(error, error_len, line.text, line.len) != NULL) {
            quoted = ret->n_lines;
        }
    }
    ret->fault = error == NULL ? 0 : quoted > 0 ? quoted : said;
    const size_t middle = ret->fault == 0 ? ret->n_lines : ret->fault;
    const size_t half = LOG_WINDOW_LINES / 2;
    ret->first = ret->n_lines <= LOG_WINDOW_LINES || middle <= half ? 1 : middle - half;
    if (ret->n_lines > LOG_WINDOW_LINES && ret->first > ret->n_lines - LOG_WINDOW_LINES + 1) {
        ret->first = ret->n_lines - LOG_WINDOW_LINES + 1;
    }
    ret->n = ret->n_lines - ret->first + 1;
    ret->n = ret->n > LOG_WINDOW_LINES ? LOG_WINDOW_LINES : ret->n;
    ret->n = ret->n_lines == 0 ? 0 : ret->n;
    for (size_t i = 1; i < ret->first; i++) {
        (void)next_line(text, len, &ret->from_byte);
    }
}
