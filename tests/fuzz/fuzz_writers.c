/* Texts of strangers through every writer of a result: a swept value, an error and a machine's name
 * that have whatever a format gives a meaning of its own. The same result with tame texts has the
 * same lines, fields and tags. */
#include "fuzz.h"

#include <jansson.h>

#include "base/str.h"
#include "result_fixture.h"
#include "tests/report/sheet_as.h"

#define TEXT_MAX 200
#define VALUE_MAX 63
#define OTHER_VALUE "b" /* of the other point */

/* What spec_sweep.c accepts as a value: printable ASCII. Owned. */
static char *value_of(const char *text)
{
    char *value = xstrndup(text, strnlen(text, VALUE_MAX));
    for (char *at = value; *at != '\0'; at++) {
        *at = *at < ' ' || *at > '~' ? '~' : *at;
    }
    return value;
}

static void build(struct fixture *f, const char *text)
{
    char error[ATTEMPT_ERROR_SIZE];
    text_put(error, sizeof(error), "%s", text);
    fixture_init(
        f,
        "{points: [{pservers: 1, trainers: 1, p: a}, {pservers: 1, trainers: 2, p: " OTHER_VALUE
        "}]}",
        "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 2}\n"
        "  parameters:\n"
        "  - {name: p, targets: [{roles: [trainer], paths: [/spec/priorityClassName]}]}\n",
        0);
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t t = 0; t < 2 - p; t++) {
            struct attempt_row *row = fixture_throughput(f, p, t, 40 + t);
            json_t *environment = json_pack("{s:s, s:s}", "cpu_model", text, "node", text);
            vec_each (struct replica_row, replica, &row->replicas) {
                replica_take_environment(replica, json_incref(environment));
            }
            json_decref(environment);
        }
    }
    (void)fixture_end(f, 1, 1, 0, ATTEMPT_FAILED, error);
    vec_each (struct param, param, &f->def->matrix.points[0].params.list) {
        if (str_eq(param->name, "p")) {
            free(param->value.s);
            param->value.s = value_of(text);
        }
    }
    fixture_build(f, RUN_PARTIALLY_FAILED);
}

static size_t count(const char *text, char c)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == c;
    }
    return n;
}

/* ---- what each form promises ---- */

static void check_lines(const char *text, const char *tame)
{
    must(count(text, '\n') == count(tame, '\n'), "other lines than with a tame text");
}

/* As benchctl prints it: only colours are left of what a terminal obeys. */
static void check_terminal(const char *text, const char *tame)
{
    (void)tame;
    _cleanup_(buf_done) struct buf shown = BUF_INIT;
    text_put_shown(&shown, text, strlen(text));
    for (const char *at = buf_cstr(&shown); *at != '\0'; at++) {
        must(strchr("\n\r\t", *at) != NULL || !ascii_is_control(*at) ||
                 (at[0] == '\033' && at[1] == '['),
             "a control character");
    }
}

static void check_json(const char *text, const char *tame)
{
    (void)tame;
    _cleanup_(json_decrefp) json_t *document = json_loads(text, 0, NULL);
    must(document != NULL, "no JSON");
}

/* Rows and fields as RFC 4180 has them, and none that a spreadsheet takes for a formula. */
static size_t read_csv(const char *text, size_t *ret_fields)
{
    size_t n_rows = 0;
    *ret_fields = 0;
    while (*text != '\0') {
        const bool is_quoted = *text == '"';
        const char first = text[is_quoted];
        const bool is_number = first == '-' && ascii_is_digit(text[is_quoted + 1]);
        must(first == '\0' || strchr("=+-@\t\r", first) == NULL || is_number, "a formula");
        text += is_quoted;
        while (is_quoted ? *text != '"' || text[1] == '"' : strchr(",\n", *text) == NULL) {
            must(*text != '\0' && (is_quoted || *text != '"'), "a quote within a field");
            text += is_quoted && *text == '"' ? 2 : 1;
        }
        text += is_quoted;
        must(*text == ',' || *text == '\n', "something follows a quoted field");
        ++*ret_fields;
        n_rows += *text++ == '\n';
    }
    return n_rows;
}

static void check_csv(const char *text, const char *tame)
{
    size_t n, n_tame;
    const size_t rows = read_csv(text, &n), tame_rows = read_csv(tame, &n_tame);
    must(rows == tame_rows && n == n_tame, "other fields than with a tame text");
}

static bool is_escaped(const char *text, const char *at)
{
    size_t n = 0;
    while (at - n > text && at[-1 - (ptrdiff_t)n] == '\\') {
        n++;
    }
    return n % 2 == 1;
}

/* Cells, and nothing that a renderer takes for a tag or a link. */
static size_t count_cells(const char *text)
{
    size_t n = 0;
    bool is_code = false; /* within `...`, of the program's own words */
    for (const char *at = text; *at != '\0'; at++) {
        const bool is_bare = !is_escaped(text, at);
        is_code = *at == '\n' ? false : (*at == '`' && is_bare) ? !is_code : is_code;
        n += *at == '|' && is_bare;
        const bool begins_tag =
            *at == '<' && (ascii_is_letter(at[1]) || strchr("/!?", at[1]) != NULL);
        must(is_code || !is_bare || !(begins_tag && at[1] != '\0'), "a tag");
        must(is_code || !is_bare || *at != ']' || at[1] != '(', "a link");
    }
    return n;
}

static void check_markdown(const char *text, const char *tame)
{
    must(count_cells(text) == count_cells(tame), "other cells than with a tame text");
    check_lines(text, tame);
}

/* Every tag is one that a tame page has. */
static void check_html(const char *text, const char *tame)
{
    for (const char *at = text; (at = strchr(at, '<')) != NULL; at++) {
        const size_t len = 1 + strcspn(at + 1, " />\n");
        must(memmem(tame, strlen(tame), at, len) != NULL, "a tag that a tame page lacks");
    }
}

static void html(const struct result *r, struct buf *out)
{
    const struct run_page page = {.result = r, .created = "2026-01-01", .program = "benchctl"};
    sheet_as(sheet_page, &page, out, SHEET_HTML);
}

static const struct {
    void (*write)(const struct result *r, struct buf *out);
    void (*check)(const char *text, const char *tame);
} forms[] = {
    {result_json_put, check_json},
    {html, check_html},
};

static void (*const builders[])(struct sheet *s, const struct result *r) = {
    sheet_nodes, sheet_replicas, sheet_phases, sheet_curves, sheet_points,
};

static void check_sheet(void (*make)(struct sheet *s, const struct result *r), enum sheet_form form,
                        const struct fixture *f, const struct fixture *tame,
                        void (*check)(const char *text, const char *tame))
{
    _cleanup_(buf_done) struct buf out = BUF_INIT, plain = BUF_INIT;
    sheet_as(make, f->result, &out, form, .columns = 100);
    sheet_as(make, tame->result, &plain, form, .columns = 100);
    check(buf_cstr(&out), buf_cstr(&plain));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t len = size < TEXT_MAX ? size : TEXT_MAX;
    json_t *text = json_stringn((const char *)data, len);
    if (text == NULL || memchr(data, '\0', len) != NULL || len == 0 ||
        str_eq(json_string_value(text), OTHER_VALUE)) {
        json_decref(text); /* a definition has UTF-8; a value that does not vary has no column */
        return 0;
    }
    struct fixture f, tame;
    build(&f, json_string_value(text));
    build(&tame, "tame");
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT, plain = BUF_INIT;
        forms[i].write(f.result, &out);
        forms[i].write(tame.result, &plain);
        forms[i].check(buf_cstr(&out), buf_cstr(&plain));
    }
    for (size_t i = 0; i < sizeof(builders) / sizeof(builders[0]); i++) {
        check_sheet(builders[i], SHEET_TEXT, &f, &tame, check_terminal);
        check_sheet(builders[i], SHEET_MARKDOWN, &f, &tame, check_markdown);
        check_sheet(builders[i], SHEET_CSV, &f, &tame, check_csv);
    }
    fixture_done(&f);
    fixture_done(&tame);
    json_decref(text);
    return 0;
}
