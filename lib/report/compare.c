/* A comparison on a terminal, as Markdown and as its document, see report.h. */
#include <limits.h>
#include <string.h>

#include "report/compare_layout.h"
#include "report/compare_lines.h"
#include "report/json_text.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"
#include "result/compare.h"

static void put_table(struct buf *out, const struct comparison *c, const struct terminal *term)
{
    struct table *t = compare_layout_table(c, COMPARE_MARKS);
    const bool fits = terminal_table(out, term, t);
    table_free(t);
    if (fits) {
        return;
    }
    /* Too many parameters vary: an index, and a list of what each point is. */
    t = compare_layout_table(c, COMPARE_MARKS | COMPARE_BY_INDEX);
    table_set_gap(t, TERMINAL_TIGHT_GAP);
    buf_putc(out, '\n');
    table_format_parts(t, 1, term->columns, out);
    table_free(t);
    buf_putc(out, '\n');
    struct compare_identity id;
    compare_identity_init(&id, c);
    vec_each (const struct compared_point, p, &c->points) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "Point %u: ", p->base->point->index);
        compare_identity_describe(&id, c, p, &text);
        terminal_wrapped(out, term, buf_cstr(&text), 0, 2);
        buf_done(&text);
    }
    compare_identity_done(&id);
}

static void put_line(struct buf *out, const struct compare_line *line, enum change change,
                     const struct terminal *term)
{
    static const struct {
        const char *mark, *color;
    } marks[CHANGE_COUNT] = {
        [CHANGE_SLOWER] = {"SLOWER", TERMINAL_RED},
        [CHANGE_INCONCLUSIVE] = {"INCONCLUSIVE", TERMINAL_YELLOW},
        [CHANGE_FASTER] = {"Faster", TERMINAL_GREEN},
    };
    const char *mark = marks[change].mark;
    switch (line->kind) {
    case COMPARE_LINE_INFO:
        terminal_wrapped(out, term, line->text, 0, 2);
        return;
    case COMPARE_LINE_DIFFERS:
        terminal_colored(out, term, TERMINAL_YELLOW, "Differs:");
        buf_putc(out, ' ');
        terminal_wrapped(out, term, line->text, sizeof("Differs:"), 2);
        return;
    case COMPARE_LINE_ONLY:
    case COMPARE_LINE_WARNING:
        terminal_colored(out, term, TERMINAL_YELLOW, "!");
        buf_putc(out, ' ');
        terminal_wrapped(out, term, line->text, sizeof("!"), 2);
        return;
    case COMPARE_LINE_VERDICT:
        if (mark != NULL) {
            terminal_colored(out, term, marks[change].color, mark);
            buf_putc(out, ' ');
        }
        terminal_wrapped(out, term, line->text, mark == NULL ? 0 : strlen(mark) + 1, 2);
    }
}

/* The word before the verdict: what was asked decides. */
static enum change shown_change(const struct comparison *c)
{
    static const enum change of_margin[] = {
        [MARGIN_NOT_SLOWER] = CHANGE_NONE,
        [MARGIN_SLOWER] = CHANGE_SLOWER,
        [MARGIN_INCONCLUSIVE] = CHANGE_INCONCLUSIVE,
    };
    return c->margin == MARGIN_NOT_ASKED ? c->change : of_margin[c->margin];
}

/* "RUN_A (base) and RUN_B", or "RUN: build=old (base) and build=new"; broken before the candidate
 * where the terminal is narrower. Returns the characters of the last line. */
static size_t put_sides(const struct comparison *c, const struct terminal *term, struct buf *out)
{
    struct buf run = BUF_INIT, base = BUF_INIT, candidate = BUF_INIT;
    comparison_describe_side(c, true, &base);
    comparison_describe_side(c, false, &candidate);
    if (c->axis != NULL) {
        buf_printf(&run, "%s: ", c->base->def->name);
    }
    const size_t before = run.len + base.len + strlen(" (base) and");
    const bool fits = before + 1 + candidate.len <= term->columns;
    buf_puts(out, buf_cstr(&run));
    terminal_colored(out, term, TERMINAL_BOLD, buf_cstr(&base));
    buf_printf(out, " (base) and%s", fits ? " " : "\n  ");
    terminal_colored(out, term, TERMINAL_BOLD, buf_cstr(&candidate));
    const size_t used = (fits ? before + 1 : 2) + candidate.len;
    buf_done(&run);
    buf_done(&base);
    buf_done(&candidate);
    return used;
}

void report_compare_text(const struct comparison *c, const struct report_opts *opts,
                         struct buf *out)
{
    static const char rehearsal[] = "REHEARSAL";
    const struct terminal term = terminal_of(opts);
    struct compare_lines lines;
    compare_lines_init(&lines, c);
    const size_t used = put_sides(c, &term, out);
    if (c->base->def->rehearsal) {
        buf_puts(out, used + 3 + strlen(rehearsal) <= term.columns ? "   " : "\n  ");
        terminal_colored(out, &term, TERMINAL_YELLOW, rehearsal);
    }
    buf_putc(out, '\n');
    put_table(out, c, &term);
    enum compare_line_kind last = COMPARE_LINE_VERDICT;
    vec_each (const struct compare_line, line, &lines.list) {
        if (line->kind != last) {
            buf_putc(out, '\n');
            last = line->kind;
        }
        put_line(out, line, shown_change(c), &term);
    }
    compare_lines_done(&lines);
}

static const char *markdown_word(enum compare_line_kind kind)
{
    switch (kind) {
    case COMPARE_LINE_INFO:
        return "";
    case COMPARE_LINE_DIFFERS:
        return "**Differs:** ";
    case COMPARE_LINE_ONLY:
    case COMPARE_LINE_WARNING:
        return "**Warning:** ";
    case COMPARE_LINE_VERDICT:
        return "**Verdict:** ";
    }
    return "";
}

void report_compare_markdown(const struct comparison *c, struct buf *out)
{
    struct compare_lines lines;
    compare_lines_init(&lines, c);
    buf_puts(out, "## ");
    struct buf sides = BUF_INIT;
    (void)put_sides(c, &(struct terminal){.columns = UINT_MAX}, &sides); /* a heading is one line */
    markdown_escape(buf_cstr(&sides), out);
    buf_done(&sides);
    buf_puts(out, c->base->def->rehearsal ? "\n\n**rehearsal**\n\n" : "\n\n");
    struct table *t = compare_layout_table(c, COMPARE_MARKS);
    table_format_markdown(t, out);
    table_free(t);
    buf_putc(out, '\n');
    vec_each (const struct compare_line, line, &lines.list) {
        buf_printf(out, "- %s", markdown_word(line->kind));
        markdown_escape(line->text, out);
        buf_putc(out, '\n');
    }
    compare_lines_done(&lines);
}

void report_compare_json(const struct comparison *c, struct buf *out)
{
    json_text_put(comparison_to_json(c), out);
}
