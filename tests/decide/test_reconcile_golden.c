/* Reads every tests/golden/reconcile/NAME.txt and compares the plan. With BENCHD_UPDATE_GOLDEN=1
 * the expected part is written anew: read the difference before it is committed. */
#include "tests/test.h"
#include "decide/reconcile.h"
#include "plan_format.h"
#include "scenario.h"

#include <dirent.h>

#include "base/str.h"

#define MIN_SCENARIOS 15

static void read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0) {
        buf_append(out, chunk, n);
    }
    fclose(f);
}

static void write_expected(const char *path, const char *head, const char *plan)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fprintf(f, "%s%s", head, plan);
    fclose(f);
}

/* The line where two texts part, marked on both sides. */
static void print_difference(const char *expected, const char *actual)
{
    unsigned line = 1;
    for (size_t i = 0; expected[i] == actual[i] && expected[i] != '\0'; i++) {
        line += expected[i] == '\n';
    }
    print_message("# differs from line %u of the plan on\n--- expected\n%s+++ actual\n%s", line,
                  expected, actual);
}

/* True if the plan is the expected one. */
static bool check_scenario(const char *path)
{
    struct buf text = BUF_INIT;
    read_file(path, &text);
    char *original = xstrdup(buf_cstr(&text));
    struct scenario *s = xnew(struct scenario);
    const char *bad_line = scenario_read(text.data, s);
    if (bad_line != NULL) {
        print_message("# %s: cannot read '%s'\n", path, bad_line);
        fail();
    }
    struct plan plan = {0};
    struct buf actual = BUF_INIT;
    reconcile(&s->observed, &plan);
    plan_format(&plan, &actual);
    const bool is_same = str_eq(buf_cstr(&actual), s->expected);
    if (!is_same && getenv("BENCHD_UPDATE_GOLDEN") != NULL) {
        original[s->expected - text.data] = '\0';
        write_expected(path, original, buf_cstr(&actual));
    } else if (!is_same) {
        print_message("# %s\n", path);
        print_difference(s->expected, buf_cstr(&actual));
    }
    plan_done(&plan);
    buf_done(&actual);
    buf_done(&text);
    free(original);
    attempt_history_done(&s->history);
    free(s);
    return is_same;
}

static int is_scenario(const struct dirent *entry)
{
    return str_has_suffix(entry->d_name, ".txt");
}

TEST(scenarios)
{
    const char *root = getenv("BENCHD_SOURCE_DIR");
    assert_non_null(root);
    char *dir = xasprintf("%s/tests/golden/reconcile", root);
    struct dirent **entries = NULL;
    const int n = scandir(dir, &entries, is_scenario, alphasort);
    int n_bad = 0;
    for (int i = 0; i < n; i++) {
        char *path = xasprintf("%s/%s", dir, entries[i]->d_name);
        const bool is_good = check_scenario(path);
        print_message("# %s %s\n", is_good ? "same" : "DIFFERS", entries[i]->d_name);
        n_bad += !is_good;
        free(path);
        free(entries[i]);
    }
    free(entries);
    free(dir);
    assert_int_equal(n_bad, 0);
    assert_true(n >= MIN_SCENARIOS);
}
