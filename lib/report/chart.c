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

static void bar_chart_done(struct bar_chart *c)
{
    vec_each (struct bar_row, row, &c->rows) {
        free(row->name);
    }
    vec_done(&c->rows);
    vec_free(&c->parts);
    free(c->missing);
}

void chart_done(struct chart *c)
{
    free(c->title);
    free(c->x_title);
    switch (c->kind) {
    case CHART_NONE:
        break;
    case CHART_LINES:
        vec_done_each(&c->lines.series, chart_series_done);
        vec_free(&c->lines.x_names);
        free(c->lines.y_title);
        break;
    case CHART_DOTS:
        vec_done_each(&c->dots.rows, chart_series_done);
        vec_free(&c->dots.series);
        break;
    case CHART_BARS:
        bar_chart_done(&c->bars);
        break;
    case CHART_SPARK:
        free(c->spark.name);
        free(c->spark.text);
        vec_done(&c->spark.values);
        break;
    }
}
