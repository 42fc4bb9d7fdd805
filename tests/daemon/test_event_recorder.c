/* The action of each Event: the tables of docs/troubleshooting.md name the reasons. */
#include <stdlib.h>

#include "tests/test.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "daemon/cluster/event_recorder.h"
#include "fake_kube.h"

/* The page from this heading to the next one, owned. */
static char *section(const char *heading)
{
    _cleanup_(freep) char *path =
        xasprintf("%s/docs/troubleshooting.md", getenv("BENCHD_SOURCE_DIR"));
    _cleanup_(buf_done) struct buf page = BUF_INIT;
    assert_int_equal(file_read(path, (size_t)1 << 20, &page, NULL), 0);
    const char *begin = strstr(buf_cstr(&page), heading);
    assert_non_null(begin);
    const char *end = strstr(begin + 1, "\n#");
    return xstrndup(begin, (size_t)(end - begin));
}

/* Calls `check` with each cell of this column of its table that is a reason: one word. */
static unsigned each_reason(const char *heading, int column, void (*check)(const char *reason))
{
    _cleanup_(freep) char *text = section(heading);
    unsigned n = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        for (int i = 0; i <= column; i++) {
            (void)strsep(&line, "|");
        }
        const char *cell = line == NULL ? "" : strsep(&line, "|");
        char reason[64] = "";
        if (sscanf(cell, " %63[A-Za-z] ", reason) == 1 && reason[0] >= 'A' && reason[0] <= 'Z') {
            check(reason);
            n++;
        }
    }
    return n;
}

static void expect(const char *reason, const char *action)
{
    if (!str_eq(event_action(reason), action)) {
        fail_msg("%s: expected %s, got %s", reason, action, event_action(reason));
    }
}

static void waits(const char *reason)
{
    expect(reason, "Wait");
}

static void ends(const char *reason)
{
    static const char *const others[] = {"SuspendRequested", /* the event of it is Suspended */
                                         "BelowThreshold",   /* these have no event */
                                         "NotJudged",        "NoSummary", "NoSpace", NULL};
    if (!str_is_one_of(reason, others)) {
        expect(reason, "EndRun");
    }
}

static void is_listed(const char *reason)
{
    if (str_eq(event_action(reason), "EndRun")) {
        fail_msg("%s has no action of its own", reason);
    }
}

TEST(each_reason_has_an_action)
{
    assert_true(each_reason("### What a run waits for", 0, waits) >= 10);
    assert_true(each_reason("### The run", 1, ends) >= 10);
    assert_true(each_reason("## Events", 0, is_listed) >= 10);
}

TEST(an_event_names_it)
{
    struct event_recorder r;
    fake_kube_reset();
    event_recorder_init(&r, NULL, "ns", "me");
    event_recorder_emit(&r, "run", "uid", EVENT_WARNING, "QuotaExceeded", "full");
    event_recorder_emit(&r, "run", "uid", EVENT_NORMAL, "Completed", "all is well");
    assert_int_equal(fake_kube_n_open(), 2);
    assert_non_null(strstr(fake_kube_open(0)->req.body, "\"action\":\"Wait\""));
    assert_non_null(strstr(fake_kube_open(1)->req.body, "\"action\":\"EndRun\""));
    fake_kube_reset();
}
