/* Compares the tables of docs/contracts/golden/retries.txt with the policies. */
#include "tests/test.h"
#include "decide/policy_end.h"
#include "decide/policy_attempt.h"

#include "../golden.h"
#include "base/parse.h"
#include "base/str.h"
#include "failure_names.h"

#define MAX_CELLS 9

struct row {
    char *cells[MAX_CELLS];
    size_t n_cells;
};

/* Cuts "| a | b |" into its cells. */
static struct row cut_row(char *line)
{
    struct row row = {0};
    char *save = NULL;
    for (char *cell = strtok_r(line, "|", &save); cell != NULL && row.n_cells < MAX_CELLS;
         cell = strtok_r(NULL, "|", &save)) {
        cell += strspn(cell, " ");
        cell[strcspn(cell, " ")] = '\0';
        if (cell[0] != '\0') {
            row.cells[row.n_cells++] = cell;
        }
    }
    return row;
}

/* Calls `check` for each row of the table whose head line is `head`; at least `min_rows`. */
static void each_row(const char *head, size_t min_rows, void (*check)(const struct row *row))
{
    _cleanup_(freep) char *text = golden_read("docs/contracts/golden/retries.txt");
    char *at = strstr(text, head);
    assert_non_null(at);
    char *save = NULL;
    size_t n = 0;
    (void)strtok_r(at, "\n", &save);   /* the head itself */
    (void)strtok_r(NULL, "\n", &save); /* |---| */
    for (char *line = strtok_r(NULL, "\n", &save); line != NULL && line[0] == '|';
         line = strtok_r(NULL, "\n", &save)) {
        print_message("# %s\n", line);
        const struct row row = cut_row(line);
        check(&row);
        n++;
    }
    assert_true(n >= min_rows);
}

static int64_t number(const char *cell)
{
    int64_t value = 0;
    assert_int_equal(parse_i64(cell, &value), 0);
    return value;
}

static int name_index(const char *cell, const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        if (str_eq(cell, names[i])) {
            return i;
        }
    }
    print_message("# no such name: '%s'\n", cell);
    fail();
    return -1;
}

static enum on_trial_failure on_trial_failure(const char *cell)
{
    static const char *const names[] = {
        [ON_FAILURE_RETRY] = "Retry", [ON_FAILURE_SKIP] = "Skip", [ON_FAILURE_STOP] = "Stop"};
    return (enum on_trial_failure)name_index(cell, names, 3);
}

static void check_class(const struct row *row)
{
    assert_int_equal(row->n_cells, 4);
    const enum failure_class actual = failure_classify_exit(
        (int)number(row->cells[0]), (int)number(row->cells[1]), str_eq(row->cells[2], "yes"));
    assert_string_equal(failure_names[actual], row->cells[3]);
}

static void check_outcome(const struct row *row)
{
    static const char *const ends[] = {
        [ATTEMPT_END_WELL] = "Well",           [ATTEMPT_END_NO_SUMMARY] = "NoSummary",
        [ATTEMPT_END_NO_ROOM] = "NoRoom",      [ATTEMPT_END_INFRASTRUCTURE] = "Infrastructure",
        [ATTEMPT_END_PERMANENT] = "Permanent", [ATTEMPT_END_TIMED_OUT] = "TimedOut",
        [ATTEMPT_END_NOISY] = "Noisy",         [ATTEMPT_END_WAIT_OVER] = "WaitOver",
        [ATTEMPT_END_PREEMPTED] = "Preempted", [ATTEMPT_END_LACKING] = "Lacking",
    };
    assert_int_equal(row->n_cells, 5);
    const enum attempt_outcome actual = retry_decide(
        (enum attempt_end)name_index(row->cells[0], ends, 10), on_trial_failure(row->cells[1]),
        (uint32_t)number(row->cells[2]), number(row->cells[3]));
    assert_string_equal(attempt_outcome_to_string(actual), row->cells[4]);
}

static void check_invalid(const struct row *row)
{
    assert_int_equal(row->n_cells, 4);
    const enum attempt_end end =
        str_eq(row->cells[0], "Noisy") ? ATTEMPT_END_NOISY : ATTEMPT_END_WELL;
    assert_int_equal(invalid_decide(end, (uint32_t)number(row->cells[1]), number(row->cells[2])),
                     str_eq(row->cells[3], "yes"));
}

static void check_end(const struct row *row)
{
    assert_int_equal(row->n_cells, 9);
    const struct trial_counts counts = {
        .total = (uint32_t)number(row->cells[0]),
        .done = (uint32_t)number(row->cells[1]),
        .failed = (uint32_t)number(row->cells[2]),
        .not_run = (uint32_t)number(row->cells[3]),
        .n_given_up = (uint32_t)number(row->cells[4]),
    };
    const struct failure_policy policy = {on_trial_failure(row->cells[5]), number(row->cells[6])};
    const struct run_end actual = run_end_decide(&counts, &policy);
    assert_string_equal(run_phase_to_string(actual.phase), row->cells[7]);
    assert_string_equal(actual.reason, row->cells[8]);
    assert_int_equal(actual.is_end, run_phase_is_final(actual.phase));
}

TEST(classes)
{
    each_row("| exit code | signal |", 20, check_class);
}

TEST(outcomes)
{
    each_row("| attempt ended |", 18, check_outcome);
}

TEST(ends)
{
    each_row("| trials | done |", 10, check_end);
}

TEST(invalid)
{
    each_row("| ended | invalid before |", 4, check_invalid);
}
