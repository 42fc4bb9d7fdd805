/* Reads every tests/golden/reconcile/NAME.txt and compares the plan. With BENCHD_UPDATE_GOLDEN=1
 * the expected part is written anew: read the difference before it is committed. */
#include "tests/test.h"
#include "decide/reconcile.h"
#include "plan_format.h"
#include "scenario.h"

#include <dirent.h>

#include "../golden.h"
#include "base/str.h"

#define MIN_SCENARIOS 15

static void write_expected(const char *name, const char *head, const char *plan)
{
    _cleanup_(freep) char *path = golden_path(name);
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

/* What is seen has no order. */
static void reverse_replicas(struct scenario *s)
{
    for (size_t i = 0, n = s->observed.n_replicas; i < n / 2; i++) {
        const struct observed_replica r = s->replicas[i];
        s->replicas[i] = s->replicas[n - 1 - i];
        s->replicas[n - 1 - i] = r;
    }
}

/* True if the plan is the expected one, in whatever order the replicas are seen. */
static bool check_scenario(const char *name)
{
    _cleanup_(freep) char *text = golden_read(name);
    _cleanup_(freep) char *original = xstrdup(text);
    _cleanup_(freep) struct scenario *s = xnew(struct scenario);
    const char *bad_line = scenario_read(text, s);
    if (bad_line != NULL) {
        print_message("# %s: cannot read '%s'\n", name, bad_line);
        fail();
    }
    _cleanup_(plan_done) struct plan plan = {0}, reversed = {0};
    _cleanup_(buf_done) struct buf actual = BUF_INIT, again = BUF_INIT;
    reconcile(&s->observed, &plan);
    plan_format(&plan, &actual);
    reverse_replicas(s);
    reconcile(&s->observed, &reversed);
    plan_format(&reversed, &again);
    const bool is_same =
        str_eq(buf_cstr(&actual), s->expected) && str_eq(buf_cstr(&again), buf_cstr(&actual));
    if (!is_same && getenv("BENCHD_UPDATE_GOLDEN") != NULL) {
        original[s->expected - text] = '\0';
        write_expected(name, original, buf_cstr(&actual));
    } else if (!is_same) {
        print_message("# %s\n", name);
        print_difference(s->expected, buf_cstr(&actual));
    }
    attempt_history_done(&s->history);
    return is_same;
}

static int is_scenario(const struct dirent *entry)
{
    return str_has_suffix(entry->d_name, ".txt");
}

TEST(scenarios)
{
    _cleanup_(freep) char *dir = golden_path("tests/golden/reconcile");
    _cleanup_(freep) struct dirent **entries = NULL;
    const int n = scandir(dir, &entries, is_scenario, alphasort);
    int n_bad = 0;
    for (int i = 0; i < n; i++) {
        _cleanup_(freep) char *name = xasprintf("tests/golden/reconcile/%s", entries[i]->d_name);
        const bool is_good = check_scenario(name);
        print_message("# %s %s\n", is_good ? "same" : "DIFFERS", entries[i]->d_name);
        n_bad += !is_good;
        free(entries[i]);
    }
    assert_int_equal(n_bad, 0);
    assert_true(n >= MIN_SCENARIOS);
}
