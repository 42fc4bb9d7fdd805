/* See roff.h. */
#include "base/roff.h"

#include <ctype.h>
#include <string.h>

#include "base/exit_code.h"
#include "base/str.h"

/* A character that roff would take for something else is escaped; a line must not begin with a
 * request. `b` switches bold at each backquote. */
static void put_char(char c, bool *is_bold, struct buf *out)
{
    if (c == '\\') {
        buf_puts(out, "\\e");
    } else if (c == '-') {
        buf_puts(out, "\\-");
    } else if (c == '`') {
        *is_bold = !*is_bold;
        buf_puts(out, *is_bold ? "\\fB" : "\\fP");
    } else {
        if ((c == '.' || c == '\'') && (out->len == 0 || buf_cstr(out)[out->len - 1] == '\n')) {
            buf_puts(out, "\\&");
        }
        buf_putc(out, c);
    }
}

static void put(const char *text, struct buf *out)
{
    bool is_bold = false;
    for (; text[0] != '\0'; text++) {
        put_char(text[0], &is_bold, out);
    }
}

void roff_begin(const struct roff_page *page, struct buf *out)
{
    buf_puts(out, ".TH ");
    for (const char *c = page->name; *c != '\0'; c++) {
        buf_putc(out, (char)toupper((unsigned char)*c));
    }
    buf_printf(out, " %d \"\" \"benchd %s\"\n.SH NAME\n", page->section, page->version);
    put(page->name, out);
    buf_puts(out, " \\- ");
    put(page->summary, out);
    buf_putc(out, '\n');
}

void roff_section(const char *title, struct buf *out)
{
    buf_printf(out, ".SH %s\n", title);
}

void roff_text(const char *text, struct buf *out)
{
    bool is_bold = false;
    for (; text[0] != '\0'; text++) {
        if (text[0] == '\n' && text[1] == '\n') {
            buf_puts(out, "\n.PP\n");
            text++;
        } else {
            put_char(text[0], &is_bold, out);
        }
    }
    buf_putc(out, '\n');
}

void roff_lines(const char *lines, struct buf *out)
{
    buf_puts(out, ".nf\n");
    put(lines, out);
    if (lines[0] != '\0' && lines[strlen(lines) - 1] != '\n') {
        buf_putc(out, '\n');
    }
    buf_puts(out, ".fi\n");
}

static void begin_item(struct buf *out)
{
    buf_puts(out, ".TP\n");
}

void roff_item(const char *term, const char *text, struct buf *out)
{
    begin_item(out);
    buf_puts(out, "\\fB");
    put(term, out);
    buf_puts(out, "\\fP\n");
    roff_text(text, out);
}

static void put_option(const struct arg_opt *opt, struct buf *out)
{
    begin_item(out);
    if (opt->short_name != 0) {
        buf_printf(out, "\\fB\\-%c\\fP, ", opt->short_name);
    }
    buf_puts(out, "\\fB\\-\\-");
    put(opt->name, out);
    buf_puts(out, "\\fP");
    if (opt->value_name != NULL) {
        buf_puts(out, " \\fI");
        put(opt->value_name, out);
        buf_puts(out, "\\fP");
    }
    buf_putc(out, '\n');
    roff_text(opt->help, out);
}

void roff_options(const struct arg_opt *opts, size_t n_opts, struct buf *out)
{
    for (size_t i = 0; i < n_opts; i++) {
        put_option(&opts[i], out);
    }
}

void roff_exit_codes(const char *program, struct buf *out)
{
    roff_section("EXIT STATUS", out);
    for (size_t i = 0; i < exit_code_n_rows; i++) {
        const struct exit_code_row *row = &exit_code_rows[i];
        if (str_eq(row->programs, "all") || strstr(row->programs, program) != NULL) {
            struct buf code = BUF_INIT;
            buf_printf(&code, "%d", row->code);
            roff_item(buf_cstr(&code), row->meaning, out);
            buf_done(&code);
        }
    }
}

void roff_see_also(const char *const *names, int section, struct buf *out)
{
    roff_section("SEE ALSO", out);
    for (size_t i = 0; names[i] != NULL; i++) {
        buf_puts(out, i == 0 ? "\\fB" : ",\n\\fB");
        put(names[i], out);
        buf_printf(out, "\\fP(%d)", section);
    }
    buf_putc(out, '\n');
}
