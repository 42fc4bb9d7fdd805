/* See pattern.h. */
#include "logparse/pattern.h"

#include <string.h>

#include "base/str.h"
#include "logparse/groups.h"

#define CLASS_NAME "^abcdefghijklmnopqrstuvwxyz"

/* The length of "[:alpha:]" or "[:^alpha:]" at `at`; 0: something else is there, as in "[[:]". */
static size_t posix_class(const char *text, size_t at)
{
    const char *name = text + at + 2;
    const size_t len = text[at] == '[' && text[at + 1] == ':' ? strspn(name, CLASS_NAME) : 0;
    return len > 0 && str_has_prefix(name + len, ":]") ? len + 4 : 0;
}

/* After the ']' of the class that begins at `at`. */
static size_t skip_class(const char *text, size_t at)
{
    at++;
    at += text[at] == '^' ? 1 : 0;
    at += text[at] == ']' ? 1 : 0; /* the first one is a member */
    while (text[at] != '\0' && text[at] != ']') {
        if (text[at] == '\\' && text[at + 1] != '\0') {
            at += 2;
        } else {
            const size_t len = posix_class(text, at);
            at += len == 0 ? 1 : len;
        }
    }
    return text[at] == '\0' ? at : at + 1;
}

size_t scan_item(const char *text, size_t at)
{
    if (text[at] == '\\' && text[at + 1] != '\0') {
        return at + 2;
    }
    return text[at] == '[' ? skip_class(text, at) : at + 1;
}

/* How the pattern separates the group from `at` to `end`. A comma before a blank is punctuation. */
static enum log_column column_of(const char *text, size_t at, size_t end)
{
    const char before = at > 0 ? text[at - 1] : ' ', *next = text + end;
    const bool is_escaped = at > 1 && text[at - 2] == '\\';
    if (before == ',' || before == '_' || (before == '.' && is_escaped)) {
        return LOG_LATER_COLUMN;
    }
    const bool is_point = str_has_prefix(next, "\\.(") || str_has_prefix(next, "\\.\\d");
    const bool is_mark = (*next == ',' || *next == '_') && next[1] != ' ' && next[1] != '\0' &&
                         !str_has_prefix(next + 1, "\\s");
    return is_point || is_mark ? LOG_FIRST_COLUMN : LOG_NO_COLUMN;
}

/* The length of an empty group of the vocabulary at `at`, without its ')', and what fills it; 0
 * without such a group. */
static size_t empty_group(const char *text, size_t at, const char **ret_body)
{
    const char *name = str_has_prefix(text + at, "(?<")    ? text + at + 3
                       : str_has_prefix(text + at, "(?P<") ? text + at + 4
                                                           : NULL;
    const size_t len = name == NULL ? 0 : strcspn(name, ">");
    if (len == 0 || name[len] == '\0' || name[len + 1] != ')') {
        return 0;
    }
    const int group = log_group_find(name, len);
    if (group < 0) {
        return 0;
    }
    const size_t head = (size_t)(name + len + 1 - (text + at));
    *ret_body = log_group_body((enum log_group)group, column_of(text, at, at + head + 1));
    return head;
}

void scan_fill_groups(const char *text, struct buf *out)
{
    size_t at = 0;
    while (text[at] != '\0') {
        const char *body;
        const size_t head = text[at] == '(' ? empty_group(text, at, &body) : 0;
        const size_t next = head > 0 ? at + head : scan_item(text, at);
        buf_append(out, text + at, next - at);
        if (head > 0) {
            buf_puts(out, body);
        }
        at = next;
    }
}

size_t scan_written_offset(const char *text, size_t filled_offset)
{
    size_t at = 0, filled = 0;
    while (text[at] != '\0' && filled < filled_offset) {
        const char *body;
        const size_t head = text[at] == '(' ? empty_group(text, at, &body) : 0;
        const size_t next = head > 0 ? at + head : scan_item(text, at);
        if (filled + (next - at) >= filled_offset) {
            return at + (filled_offset - filled);
        }
        filled += next - at + (head > 0 ? strlen(body) : 0);
        at = next;
    }
    return at;
}
