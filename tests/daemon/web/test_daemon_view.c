/* When is a new list of runs published? */
#include "tests/test.h"
#include "daemon/web/daemon_view.h"

static struct daemon_runs *list_of(struct daemon_run *a, struct daemon_run *b)
{
    struct daemon_runs *runs = daemon_runs_new();
    *vec_push(&runs->list) = daemon_run_ref(a);
    *vec_push(&runs->list) = daemon_run_ref(b);
    return runs;
}

static void same(struct daemon_runs *a_take, struct daemon_runs *b_take, bool expected)
{
    assert_int_equal(daemon_runs_are_same(a_take, b_take), expected);
    daemon_runs_unref(a_take);
    daemon_runs_unref(b_take);
}

TEST(a_list_is_new_when_a_run_or_a_place_is)
{
    struct daemon_run *a = daemon_run_new("a", "1", "x"), *b = daemon_run_new("b", "2", "x");
    struct daemon_run *changed = daemon_run_new("a", "1", "x");
    same(list_of(a, b), list_of(a, b), true);
    same(list_of(a, b), list_of(b, a), false);
    same(list_of(a, b), list_of(a, a), false); /* one went, one came: as many as before */
    same(list_of(a, b), list_of(changed, b), false);
    struct daemon_runs *one = daemon_runs_new();
    *vec_push(&one->list) = daemon_run_ref(a);
    same(list_of(a, b), one, false);
    same(daemon_runs_new(), daemon_runs_new(), true);
    daemon_run_unref(a);
    daemon_run_unref(b);
    daemon_run_unref(changed);
}
