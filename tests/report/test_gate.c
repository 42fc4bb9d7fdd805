/* What a gate prints, report/gate.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/gate.h"

#include <string.h>

#include "../result/result_fixture.h"

/* Two points failed: each says why, and a reader sees where one ends. */
static void reasons_stand_apart(void **state)
{
    (void)state;
    struct fixture f;
    struct gate g;
    struct buf text = BUF_INIT, markdown = BUF_INIT;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n", 0);
    fixture_throughput(&f, 0, 0, 100);
    fixture_end(&f, 1, 0, 0, ATTEMPT_FAILED, "exit code 1");
    fixture_end(&f, 2, 0, 0, ATTEMPT_FAILED, "exit code 2");
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    gate_judge(f.result, NULL, NULL, &g);
    report_gate_text(&g, &(struct report_opts){.columns = 200}, &text);
    report_gate_markdown(&g, &markdown);
    assert_non_null(strstr(buf_cstr(&text), "exit code 1; point 2"));
    struct buf narrow = BUF_INIT;
    report_gate_text(&g, &(struct report_opts){.columns = 24}, &narrow);
    assert_non_null(strstr(buf_cstr(&narrow),
                           "OUTCOME   CHECK\nFailed    every trial\n          has a result\n"));
    buf_done(&narrow);
    assert_non_null(strstr(buf_cstr(&markdown), "exit code 1; point 2"));
    gate_done(&g);
    buf_done(&text);
    buf_done(&markdown);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_stand_apart),
    };
    return cmocka_run_group_tests_name("report/gate", tests, NULL, NULL);
}
