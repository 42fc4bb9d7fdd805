/* See page_text.h. */
#include "tests/test.h"

#include "page_text.h"

enum { MAX_DEPTH = 32 };

struct reader {
    const char *html;
    const char *open[MAX_DEPTH]; /* names of the elements around the place, not terminated */
    size_t depth;
    struct buf line, *out;
    uint32_t n_cells, n_head_cells, n_titles;
    bool in_svg, in_title;
};

/* Is `name`, which ends where a name of HTML ends, one of the words? */
static bool is_one_of(const char *name, const char *words)
{
    const size_t len = strcspn(name, " >/\n");
    for (const char *w = words; *w != '\0'; w += strcspn(w, " "), w += strspn(w, " ")) {
        if (strcspn(w, " ") == len && strncmp(w, name, len) == 0) {
            return true;
        }
    }
    return false;
}

static void end_line(struct reader *r)
{
    if (r->line.len > 0) {
        buf_printf(r->out, "%s\n", buf_cstr(&r->line));
        buf_clear(&r->line);
    }
}

/* How often `text` is in the page. */
static size_t count(const char *html, const char *text)
{
    size_t n = 0;
    for (const char *at = html; (at = strstr(at, text)) != NULL; at += strlen(text)) {
        n++;
    }
    return n;
}

static char *attribute_dup(const char *tag, const char *end, const char *name)
{
    _cleanup_(freep) char *start = xasprintf(" %s=\"", name),
                          *text = xstrndup(tag, (size_t)(end - tag));
    const char *value = strstr(text, start);
    return value == NULL ? NULL
                         : xstrndup(value + strlen(start), strcspn(value + strlen(start), "\""));
}

static void check_attributes(const struct reader *r, const char *tag, const char *end)
{
    _cleanup_(freep) char *id = attribute_dup(tag, end, "id"),
                          *label = attribute_dup(tag, end, "aria-labelledby");
    _cleanup_(freep) char *whole = xasprintf(" id=\"%s\"", id == NULL ? label : id);
    if ((id != NULL || label != NULL) && count(r->html, whole) != 1) {
        fail_msg("the page has %zu elements with%s", count(r->html, whole), whole);
    }
    _cleanup_(freep) char *text = xstrndup(tag, (size_t)(end - tag));
    if (r->in_svg && (strstr(text, "nan") != NULL || strstr(text, "inf") != NULL)) {
        fail_msg("a chart has <%s>", text);
    }
}

static void begin(struct reader *r, const char *tag, const char *end)
{
    if (is_one_of(tag, "svg")) {
        end_line(r);
        r->in_svg = true;
        r->n_titles = 0;
    }
    check_attributes(r, tag, end);
    r->in_title = is_one_of(tag, "title");
    if (is_one_of(tag, "th td") && r->n_cells++ > 0) {
        buf_puts(&r->line, " | ");
    } else if (!is_one_of(tag, "th td span code") && !r->in_svg) {
        end_line(r);
    }
    if (!is_one_of(tag, "br") && end[-1] != '/') {
        assert_true(r->depth < MAX_DEPTH);
        r->open[r->depth++] = tag;
    }
}

static void end_row(struct reader *r)
{
    r->n_head_cells = r->n_head_cells == 0 ? r->n_cells : r->n_head_cells;
    if (r->n_cells != r->n_head_cells) {
        fail_msg("a row has %u cells, its head %u: %s", r->n_cells, r->n_head_cells,
                 buf_cstr(&r->line));
    }
    r->n_cells = 0;
}

static void finish(struct reader *r, const char *name)
{
    const size_t len = strcspn(name, ">");
    if (r->depth == 0 || strncmp(r->open[--r->depth], name, len) != 0) {
        fail_msg("</%.*s> closes <%.20s", (int)len, name,
                 r->depth == 0 ? "nothing" : r->open[r->depth]);
    }
    if (is_one_of(name, "title")) {
        r->n_titles++;
        r->in_title = false;
    } else if (is_one_of(name, "tr")) {
        end_row(r);
    } else if (is_one_of(name, "table")) {
        r->n_head_cells = 0;
    } else if (is_one_of(name, "svg")) {
        assert_true(r->n_titles > 0);
        buf_printf(r->out, "(chart with %u titles)\n", r->n_titles);
        r->in_svg = false;
    }
    if (!is_one_of(name, "th td span code") && !r->in_svg) {
        end_line(r);
    }
}

void page_text(const char *html, struct buf *out)
{
    struct reader r = {.html = html, .line = BUF_INIT, .out = out};
    while (*html != '\0') {
        if (*html != '<') {
            const size_t len = strcspn(html, "<\n");
            if (len > 0 && !r.in_svg) {
                buf_append(&r.line, html, len);
            }
            html += len + (html[len] == '\n');
            continue;
        }
        const char *end = strchr(html, '>');
        assert_non_null(end);
        if (html[1] == '/') {
            finish(&r, html + 2);
        } else {
            begin(&r, html + 1, end);
        }
        html = end + 1;
    }
    end_line(&r);
    assert_int_equal(r.depth, 1); /* the body, which its script ends */
    buf_done(&r.line);
}
