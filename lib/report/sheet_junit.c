/* A sheet as JUnit's XML, see sheet.h: a row is a test case of a single suite, a term one
 * of its properties, a line what the suite has printed. */
#include "base/str.h"
#include "report/sheet.h"

/* The columns of its rows, see gate_sheet.c. */
enum column { KIND, OUTCOME, NAME, MESSAGE };

static const char *word(const struct sheet *s, size_t row, enum column column)
{
    return table_text_at(s->table, row, column);
}

/* XML 1.0 has no other control characters than line breaks and tabs. */
static void put_xml(struct buf *out, const char *before, const char *text, const char *after)
{
    _cleanup_(freep) char *clean = xstrdup(text);
    for (char *c = clean; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' && *c != '\n' && *c != '\t' ? '?' : *c;
    }
    html_put(out, before, clean, after);
}

static void put_case(const struct sheet *s, size_t row, const char *suite, struct buf *out)
{
    const char *outcome = word(s, row, OUTCOME), *message = word(s, row, MESSAGE);
    put_xml(out, "    <testcase classname=\"", suite, ".");
    buf_printf(out, "%s\" name", word(s, row, KIND));
    put_xml(out, "=\"", word(s, row, NAME), "\"");
    if (str_eq(outcome, "Passed")) {
        buf_puts(out, "/>\n");
    } else if (str_eq(outcome, "Skipped")) {
        put_xml(out, ">\n      <skipped message=\"", message, "\"/>\n    </testcase>\n");
    } else {
        const char *element = str_eq(outcome, "Failed") ? "failure" : "error";
        buf_printf(out, ">\n      <%s type=\"%s\" message=\"", element, outcome);
        put_xml(out, "", word(s, row, NAME), "\">");
        put_xml(out, "", message, "</");
        buf_printf(out, "%s>\n    </testcase>\n", element);
    }
}

static size_t count(const struct sheet *s, const char *outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < table_n_rows(s->table); i++) {
        n += str_eq(word(s, i, OUTCOME), outcome);
    }
    return n;
}

void sheet_write_junit(const struct sheet *s, struct buf *out)
{
    _cleanup_(buf_done) struct buf counts = BUF_INIT;
    const char *suite = "";
    buf_printf(&counts, "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
               table_n_rows(s->table), count(s, "Failed"), count(s, "Unknown"),
               count(s, "Skipped"));
    buf_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites %s>\n",
               buf_cstr(&counts));
    vec_each (const struct sheet_part, p, &s->parts) {
        if (p->kind == SHEET_HEAD) {
            suite = p->head.name;
            put_xml(out, "  <testsuite name=\"", suite, "\" ");
            buf_printf(out, "%s>\n    <properties>\n", buf_cstr(&counts));
        } else if (p->kind == SHEET_TERM) {
            buf_printf(out, "      <property name=\"%s", p->name);
            put_xml(out, "\" value=\"", p->text, "\"/>\n");
        }
    }
    buf_puts(out, "    </properties>\n");
    for (size_t i = 0; i < table_n_rows(s->table); i++) {
        put_case(s, i, suite, out);
    }
    vec_each (const struct sheet_part, p, &s->parts) {
        if (p->kind == SHEET_LINE) {
            put_xml(out, "    <system-out>", p->text, "</system-out>\n");
        }
    }
    buf_puts(out, "  </testsuite>\n</testsuites>\n");
}
