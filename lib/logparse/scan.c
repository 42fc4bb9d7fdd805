/* See scan.h. */
#include "logparse/scan.h"

#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
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

/* After the ')' of the group that begins at `at`. */
static size_t skip_group(const char *text, size_t at)
{
    unsigned depth = 0;
    do {
        depth += text[at] == '(' ? 1 : 0;
        depth -= text[at] == ')' ? 1 : 0;
        at = scan_item(text, at);
    } while (depth > 0 && text[at] != '\0');
    return at;
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

/* ---- literals ---- */

/* What makes the walk below unsure: verbs, comments, quoting, and options, which may mean "any
 * case" or "white space is nothing". */
static bool is_beyond_us(const char *text)
{
    if (strstr(text, "(*") != NULL || strstr(text, "\\Q") != NULL) {
        return true;
    }
    for (const char *at = text; (at = strstr(at, "(?")) != NULL; at += 2) {
        const char *kind = at + 2;
        const bool is_plain = strchr(":<'=!>", *kind) != NULL || str_has_prefix(kind, "P<");
        if (*kind == '\0' || !is_plain) {
            return true;
        }
    }
    return false;
}

/* After a quantifier at `at`; `ret_may_be_none`: what precedes it may be missing. */
static size_t skip_quantifier(const char *text, size_t at, bool *ret_may_be_none)
{
    *ret_may_be_none = text[at] != '\0' && strchr("?*{", text[at]) != NULL;
    if (text[at] == '{') {
        const size_t len = strspn(text + at + 1, "0123456789,");
        at = text[at + 1 + len] == '}' ? at + len + 2 : at + 1;
    } else if (text[at] != '\0' && strchr("?*+", text[at]) != NULL) {
        at++;
    } else {
        return at;
    }
    return at + (text[at] == '?' || text[at] == '+' ? 1 : 0); /* lazy, possessive */
}

static void flush(struct buf *run, struct texts *ret)
{
    if (run->len > 0) {
        *vec_push(&ret->list) = xstrdup(buf_cstr(run));
        buf_clear(run);
    }
}

/* The character that the text at `at` stands for and nothing else; 0: none such. */
static char literal_at(const char *text, size_t at)
{
    if (text[at] == '\\') {
        const unsigned char next = (unsigned char)text[at + 1];
        return ascii_is_alnum(next) || next == '\0' || next >= 0x80 ? 0 : (char)next;
    }
    return strchr(".^$[(){}*+?|", text[at]) != NULL ? 0 : text[at];
}

/* Escapes with arguments, numbers and references (\x41, \g{1}, \12): their arguments would be taken
 * for text. */
static bool has_argument(const char *text, size_t at)
{
    const char next = text[at + 1];
    return text[at] == '\\' && strchr("bBdDsSwWhHvVRtnrAzZ", next) == NULL && ascii_is_alnum(next);
}

void scan_literals(const char *text, struct texts *ret)
{
    *ret = (struct texts){0};
    struct buf run = BUF_INIT;
    bool is_sure = !is_beyond_us(text);
    for (size_t at = 0; text[at] != '\0' && is_sure;) {
        const char literal = literal_at(text, at);
        is_sure = text[at] != '|' && text[at] != ')' && !has_argument(text, at);
        const size_t end = text[at] == '(' ? skip_group(text, at) : scan_item(text, at);
        bool may_be_none;
        const size_t next = skip_quantifier(text, end, &may_be_none);
        if (literal != 0 && !may_be_none) {
            buf_putc(&run, literal);
        }
        if (literal == 0 || next != end) {
            flush(&run, ret);
        }
        at = next;
    }
    flush(&run, ret);
    buf_done(&run);
    if (!is_sure) {
        texts_done(ret);
    }
}
