/* See json_out.h. */
#include "core/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"

#define INDENT 2

static void put_blanks(struct buf *out, unsigned n)
{
    static const char blanks[] = "                                ";
    for (; n > 0; n -= n < sizeof(blanks) ? n : (unsigned)sizeof(blanks) - 1) {
        buf_append(out, blanks, n < sizeof(blanks) ? n : sizeof(blanks) - 1);
    }
}

static bool is_utf8(const char *text)
{
    size_t n = 1;
    for (; *text != '\0' && n > 0; text += n) {
        n = utf8_length(text);
    }
    return n > 0;
}

static void put_quoted(struct buf *out, const char *text)
{
    static const char named[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    buf_putc(out, '"');
    while (*text != '\0') {
        const char *end = text;
        while ((unsigned char)*end >= ' ' && *end != '"' && *end != '\\') {
            end++;
        }
        buf_append(out, text, (size_t)(end - text));
        const char *name = *end == '\0' ? NULL : strchr(named, *end);
        if (name != NULL) {
            buf_putc(out, '\\');
            buf_putc(out, names[name - named]);
        } else if (*end != '\0') {
            buf_printf(out, "\\u%04X", (unsigned)*end);
        }
        text = end + (*end != '\0');
    }
    buf_putc(out, '"');
}

static void put_text(struct buf *out, const char *text)
{
    if (text == NULL) {
        buf_puts(out, "null");
    } else if (is_utf8(text)) {
        put_quoted(out, text);
    } else {
        _cleanup_(freep) char *clean = xstrdup(text);
        utf8_mend(clean);
        put_quoted(out, clean);
    }
}

/* As jansson writes it: a real number looks like one, and an exponent has no "+" or zeros. */
static void put_number(struct buf *out, double number)
{
    char text[40];
    if (!isfinite(number)) {
        buf_puts(out, "null");
        return;
    }
    (void)snprintf(text, sizeof(text), "%.17g", number);
    char *exponent = strchr(text, 'e');
    if (exponent != NULL) {
        char *digits = exponent + 1, *first = digits + 1; /* after its sign */
        digits += *digits == '-';
        first += strspn(first, "0");
        memmove(digits, first, strlen(first) + 1);
    }
    buf_puts(out, text);
    if (exponent == NULL && strchr(text, '.') == NULL) {
        buf_puts(out, ".0");
    }
}

static void begin(struct json_out *w, const char *key)
{
    if (w->depth > 0) {
        buf_puts(w->out, w->has_items ? ",\n" : "\n");
        put_blanks(w->out, INDENT * w->depth);
    }
    if (key != NULL) {
        put_quoted(w->out, key);
        buf_puts(w->out, ": ");
    }
    w->has_items = true;
}

void json_out_open(struct json_out *w, const char *key, char bracket)
{
    begin(w, key);
    buf_putc(w->out, bracket);
    w->depth++;
    w->has_items = false;
}

void json_out_close(struct json_out *w, char bracket)
{
    w->depth--;
    if (w->has_items) {
        buf_putc(w->out, '\n');
        put_blanks(w->out, INDENT * w->depth);
    }
    buf_putc(w->out, bracket);
    w->has_items = true;
}

void json_out_members(struct json_out *w, const struct json_out_member *members)
{
    for (const struct json_out_member *m = members; m->key != NULL; m++) {
        if (m->value.kind == JSON_IS_LEFT_OUT) {
            continue;
        }
        if (m->value.kind == JSON_IS_OBJECT) {
            json_out_open(w, m->key, '{');
            json_out_members(w, m->value.members);
            json_out_close(w, '}');
            continue;
        }
        begin(w, m->key);
        if (m->value.kind == JSON_IS_TEXT) {
            put_text(w->out, m->value.text);
        } else if (m->value.kind == JSON_IS_NUMBER) {
            put_number(w->out, m->value.number);
        } else {
            buf_printf(w->out, "%" PRId64, m->value.whole);
        }
    }
}

json_t *json_value_tree(struct json_value v)
{
    if (v.kind != JSON_IS_OBJECT) {
        return v.kind == JSON_IS_TEXT     ? json_text_or_null(v.text)
               : v.kind == JSON_IS_NUMBER ? json_number_or_null(v.number)
                                          : json_integer((json_int_t)v.whole);
    }
    json_t *o = json_object();
    for (const struct json_out_member *m = v.members; m->key != NULL; m++) {
        if (m->value.kind != JSON_IS_LEFT_OUT) {
            json_object_set_new(o, m->key, json_value_tree(m->value));
        }
    }
    return o;
}

/* Only lines within the value begin with blanks: texts have no newline. */
void json_out_tree(struct json_out *w, const char *key, json_t *value_take)
{
    if (value_take == NULL) {
        return;
    }
    _cleanup_(freep) char *text = json_dumps(value_take, JSON_INDENT(INDENT) | JSON_ENCODE_ANY);
    json_decref(value_take);
    begin(w, key);
    for (const char *line = text; line != NULL;) {
        const size_t len = strcspn(line, "\n");
        buf_append(w->out, line, len + (line[len] == '\n'));
        line = line[len] == '\0' ? NULL : line + len + 1;
        put_blanks(w->out, line == NULL ? 0 : INDENT * w->depth);
    }
}

void json_out_all(struct json_out *w, json_t *object_take)
{
    const char *key;
    json_t *value;
    json_object_foreach (object_take, key, value) {
        json_out_tree(w, key, json_incref(value));
    }
    json_decref(object_take);
}
