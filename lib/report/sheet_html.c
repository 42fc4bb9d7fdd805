/* A sheet as a part of a page, or as a page of its own, see sheet.h. */
#include "report/sheet.h"
#include "report/style.h"

/* Elements around parts of the same kind that follow one another. */
enum group {
    GROUP_NONE,
    GROUP_LIST,
    GROUP_CHARTS,
};
static const struct element {
    const char *open, *close;
} groups[] = {
    [GROUP_NONE] = {"", ""},
    [GROUP_LIST] = {"<ul>\n", "</ul>\n"},
    [GROUP_CHARTS] = {"<div class=\"charts\">\n", "</div>\n"},
};

static const struct element paragraphs[] = {
    [SHEET_PLAIN] = {"<p>", "</p>"},
    [SHEET_SOFT] = {"<p class=\"soft\">", "</p>"},
    [SHEET_COMMAND] = {"<pre>", "</pre>"},
    [SHEET_FOLDED] = {"<details class=\"source\"><summary>", "</details>"},
    [SHEET_ANSWER] = {"<p class=\"answer\">", "</p>"},
    [SHEET_BAD] = {"<div class=\"bad\">", "</div>"},
};

static const struct element spans[] = {
    [SHEET_PLAIN] = {"", ""},
    [SHEET_SOFT] = {"<span class=\"soft\">", "</span>"},
    [SHEET_STRONG] = {"<strong>", "</strong>"},
    [SHEET_ON_SCREEN] = {"<span class=\"screen\">", "</span>"},
    [SHEET_CODE] = {"<code>", "</code>"},
    [SHEET_TAG] = {"<span class=\"tag \">", "</span>"},
    [SHEET_GOOD_TAG] = {"<span class=\"tag good\">", "</span>"},
    [SHEET_BAD_TAG] = {"<span class=\"tag bad\">", "</span>"},
    [SHEET_TO_NOTES] = {"<a href=\"#notes\">", "</a>"},
};

static void put_heading(struct buf *out, int level, const char *text)
{
    buf_printf(out, "<h%d>", level);
    html_escape(text, out);
    buf_printf(out, "</h%d>\n", level);
}

/* ---- a page of its own ---- */

void html_begin_page(const char *title, const char *program, const char *meta, struct buf *out)
{
    buf_puts(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    buf_puts(out, meta);
    html_put(out,
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
             title, " - ");
    buf_printf(out, "%s</title>\n<style>", program);
    buf_puts(out, page_style);
    buf_puts(out, "</style>\n</head>\n<body>\n<header>\n");
    put_heading(out, 1, title);
}

void html_end_page(struct buf *out)
{
    buf_puts(out, "</main>\n<script>");
    buf_puts(out, page_script);
    buf_puts(out, "</script>\n</body>\n</html>\n");
}

/* ---- parts ---- */

struct writer {
    struct buf *out;
    enum group group;
    const char *heading; /* the last one: what a table is called */
    bool is_page;
    int level;         /* of headings within the section */
    const char *close; /* the end of the section */
};

static enum group group_of(const struct sheet_part *p)
{
    if (p->kind == SHEET_LINE) {
        return p->is_item ? GROUP_LIST : GROUP_NONE;
    }
    return p->kind == SHEET_FIGURE ? GROUP_CHARTS : GROUP_NONE;
}

static void enter(struct writer *w, enum group group)
{
    if (w->group != group) {
        buf_puts(w->out, groups[w->group].close);
        buf_puts(w->out, groups[group].open);
        w->group = group;
    }
}

static void put_title(struct writer *w, int level, const char *text)
{
    put_heading(w->out, level, text);
    w->heading = text;
}

static void open_section(struct writer *w, const struct sheet_part *p)
{
    if (p->look == SHEET_PAGE) {
        _cleanup_(freep) char *policy =
            xasprintf("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'\">\n",
                      page_style_hash, page_script_hash);
        html_begin_page(p->name, "benchd report", policy, w->out);
        w->is_page = true;
        w->close = "</header>\n<main>\n";
    } else if (p->look == SHEET_FOLDED || p->look == SHEET_NOTES) {
        buf_puts(w->out, "<details class=\"fold\"><summary>");
        put_title(w, 2, p->name);
        buf_puts(w->out, p->look == SHEET_NOTES ? "</summary>\n<div id=\"notes\">\n"
                                                : "</summary>\n<div>\n");
        w->close = "</div>\n</details>\n";
        w->level = 3;
    } else {
        buf_puts(w->out, "<section>\n");
        if (p->name != NULL) {
            put_title(w, 2, p->name);
        }
        w->close = "</section>\n";
        w->level = 2;
    }
}

static void put_text(const struct sheet_part *p, struct buf *out)
{
    html_escape(p->text, out);
    vec_each (const struct sheet_piece, span, &p->spans) {
        html_put(out, spans[span->look].open, span->text, spans[span->look].close);
    }
}

static void put_line(const struct sheet_part *p, struct buf *out)
{
    const struct element item = {p->look == SHEET_GOOD  ? "<li class=\"good\">"
                                 : p->look == SHEET_BAD ? "<li class=\"bad\">"
                                                        : "<li>",
                                 "</li>"};
    const struct element *e = p->is_item ? &item : &paragraphs[p->look];
    buf_puts(out, e->open);
    buf_puts(out, p->mark->page == NULL ? "" : p->mark->page);
    put_text(p, out);
    if (p->details != NULL) {
        html_put(out, p->look == SHEET_FOLDED ? "</summary>\n<pre>" : "\n<pre>", p->details,
                 "</pre>");
    }
    buf_printf(out, "%s\n", e->close);
}

static void put_chart(const struct chart *c, int level, struct buf *out)
{
    buf_puts(out, "<figure><figcaption>");
    put_heading(out, level, c->title);
    if (c->subtitle != NULL) {
        html_put(out, spans[SHEET_SOFT].open, c->subtitle, spans[SHEET_SOFT].close);
    }
    buf_puts(out, "</figcaption>\n");
    chart_svg(c, false, out);
    if (c->missing != NULL) {
        html_put(out, paragraphs[SHEET_SOFT].open, c->missing, "</p>\n");
    }
    buf_puts(out, "</figure>\n");
}

static void put_part(struct writer *w, const struct sheet_part *p)
{
    switch (p->kind) {
    case SHEET_OPEN:
        open_section(w, p);
        break;
    case SHEET_CLOSE:
        buf_puts(w->out, w->close);
        w->level = 2;
        break;
    case SHEET_HEAD:
        put_title(w, w->level, p->head.name);
        break;
    case SHEET_TITLE:
        put_title(w, 3, p->text);
        break;
    case SHEET_TABLE:
        if (p->text != NULL) {
            put_title(w, w->level, p->text);
        }
        /* It scrolls where the table is too wide, and the keyboard reaches it. */
        html_put(w->out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
                 p->name == NULL ? w->heading : p->name, "\">\n");
        table_format_html(p->table, w->out);
        buf_puts(w->out, "</div>\n");
        break;
    case SHEET_LINE:
        put_line(p, w->out);
        break;
    case SHEET_FIGURE:
        put_chart(&p->chart, w->level, w->out);
        break;
    case SHEET_TERM: /* of JUnit alone */
        break;
    }
}

void sheet_write_html(const struct sheet *s, struct buf *out)
{
    struct writer w = {.out = out, .heading = "", .level = 2};
    vec_each (const struct sheet_part, p, &s->parts) {
        enter(&w, group_of(p));
        put_part(&w, p);
    }
    enter(&w, GROUP_NONE);
    if (w.is_page) {
        html_end_page(out);
    }
}
