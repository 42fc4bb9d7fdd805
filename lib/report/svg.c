/* One chart of a result as a document, see report.h. */
#include "base/str.h"
#include "report/chart_svg.h"
#include "report/charts.h"
#include "report/report.h"

const char *const report_chart_names[] = {"throughput", "efficiency", "resources",
                                          "trials",     "phases",     NULL};

enum report_chart_answer report_svg(const struct result *r, const char *chart, struct buf *out)
{
    struct layout l;
    struct line_chart lines;
    struct dot_chart dots;
    struct bar_chart bars;
    enum report_chart_answer answer = REPORT_CHART_EMPTY;
    layout_init(&l, r);
    const bool is_throughput = str_eq(chart, "throughput"),
               is_resources = str_eq(chart, "resources");
    if (is_throughput || str_eq(chart, "efficiency")) {
        if (is_throughput ? charts_throughput(&l, &lines) : charts_efficiency(&l, &lines)) {
            chart_svg_lines(&lines, true, out);
            line_chart_done(&lines);
            answer = REPORT_CHART_MADE;
        }
    } else if (is_resources || str_eq(chart, "trials")) {
        if (is_resources ? charts_resources(&l, &dots) : charts_trials(&l, &dots)) {
            chart_svg_dots(&dots, true, out);
            dot_chart_done(&dots);
            answer = REPORT_CHART_MADE;
        }
    } else if (str_eq(chart, "phases")) {
        if (charts_phases(&l, &bars)) {
            chart_svg_bars(&bars, true, out);
            bar_chart_done(&bars);
            answer = REPORT_CHART_MADE;
        }
    } else {
        answer = REPORT_CHART_UNKNOWN;
    }
    layout_done(&l);
    return answer;
}
