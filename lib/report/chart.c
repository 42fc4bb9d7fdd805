/* See chart.h. */
#include "report/chart.h"

#include <stdlib.h>

void chart_series_done(struct chart_series *s)
{
    vec_each (struct chart_mark, m, &s->marks) {
        free(m->text);
    }
    vec_done(&s->marks);
    free(s->name);
}

static void line_chart_done(struct line_chart *c)
{
    vec_done_each(&c->series, chart_series_done);
    vec_free(&c->x_names);
    free(c->y_title);
}

static void dot_chart_done(struct dot_chart *c)
{
    vec_done_each(&c->rows, chart_series_done);
    vec_free(&c->series);
}

static void bar_chart_done(struct bar_chart *c)
{
    vec_each (struct bar_row, row, &c->rows) {
        free(row->name);
    }
    vec_done(&c->rows);
    vec_free(&c->parts);
    free(c->missing);
}

static void spark_done(struct spark *s)
{
    free(s->name);
    free(s->text);
    vec_done(&s->values);
}

void chart_done(struct chart *c)
{
    free(c->title);
    free(c->x_title);
    switch (c->kind) {
    case CHART_NONE:
        break;
    case CHART_LINES:
        line_chart_done(&c->lines);
        break;
    case CHART_DOTS:
        dot_chart_done(&c->dots);
        break;
    case CHART_BARS:
        bar_chart_done(&c->bars);
        break;
    case CHART_SPARK:
        spark_done(&c->spark);
        break;
    }
}
