/* One chart of a result as a document, see report.h. */
#include "base/str.h"
#include "report/chart_svg.h"
#include "report/charts.h"
#include "report/report.h"

const char *const report_chart_names[] = {"throughput",
                                          "efficiency",
                                          "points",
                                          "throughput-by-pservers",
                                          "efficiency-by-pservers",
                                          "resources",
                                          "trials",
                                          "phases",
                                          NULL};

static bool put_lines(bool (*make)(const struct layout *, struct line_chart *),
                      const struct layout *l, struct buf *out)
{
    struct line_chart lines;
    if (!make(l, &lines)) {
        return false;
    }
    chart_svg_lines(&lines, true, out);
    line_chart_done(&lines);
    return true;
}

static bool put_dots(bool (*make)(const struct layout *, struct dot_chart *),
                     const struct layout *l, struct buf *out)
{
    struct dot_chart dots;
    if (!make(l, &dots)) {
        return false;
    }
    chart_svg_dots(&dots, true, out);
    dot_chart_done(&dots);
    return true;
}

static bool put_bars(const struct layout *l, struct buf *out)
{
    struct bar_chart bars;
    if (!charts_phases(l, &bars)) {
        return false;
    }
    chart_svg_bars(&bars, true, out);
    bar_chart_done(&bars);
    return true;
}

static enum report_chart_answer put(const struct layout *l, const char *chart, struct buf *out)
{
    bool made;
    if (str_eq(chart, "throughput")) {
        made = put_lines(charts_throughput, l, out);
    } else if (str_eq(chart, "efficiency")) {
        made = put_lines(charts_efficiency, l, out);
    } else if (str_eq(chart, "points")) {
        made = put_dots(charts_points, l, out);
    } else if (str_eq(chart, "throughput-by-pservers")) {
        made = put_lines(charts_throughput_by_servers, l, out);
    } else if (str_eq(chart, "efficiency-by-pservers")) {
        made = put_lines(charts_efficiency_by_servers, l, out);
    } else if (str_eq(chart, "resources")) {
        made = put_dots(charts_resources, l, out);
    } else if (str_eq(chart, "trials")) {
        made = put_dots(charts_trials, l, out);
    } else if (str_eq(chart, "phases")) {
        made = put_bars(l, out);
    } else {
        return REPORT_CHART_UNKNOWN;
    }
    return made ? REPORT_CHART_MADE : REPORT_CHART_EMPTY;
}

enum report_chart_answer report_svg(const struct result *r, const char *chart, struct buf *out)
{
    struct layout l;
    layout_init(&l, r);
    const enum report_chart_answer answer = put(&l, chart, out);
    layout_done(&l);
    return answer;
}
