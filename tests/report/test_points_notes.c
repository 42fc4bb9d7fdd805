/* A note that only comparisons have does not reach the sheet of a result, which has no mark and no
 * section for it: the linker puts this notes_init() in the place of the real one. */
#include "tests/test.h"
#include "report/prose.h"
#include "report_runs.h"
#include "sheet_as.h"

void __real_notes_init(struct notes *notes, const struct layout *l);
void __wrap_notes_init(struct notes *notes, const struct layout *l);

void __wrap_notes_init(struct notes *notes, const struct layout *l)
{
    __real_notes_init(notes, l);
    notes_add(notes, NOTE_VERDICT, "a verdict");
}

TEST(a_verdict_is_not_printed)
{
    for (size_t i = 0; i < REPORT_RUNS; i++) {
        print_message("# %s\n", report_runs[i].name);
        for (int brief = 0; brief < 2; brief++) {
            _cleanup_(fixture_done) struct fixture f = {0};
            _cleanup_(buf_done) struct buf out = BUF_INIT;
            report_runs[i].make(&f);
            sheet_as(sheet_points, f.result, &out, SHEET_TEXT, .columns = 80, .brief = brief == 1);
            assert_true(out.len > 0);
            assert_null(strstr(buf_cstr(&out), "a verdict"));
        }
    }
}
