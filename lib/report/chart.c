/* See chart.h. */
#include "report/chart.h"

#include <stdlib.h>

#define free_strings(vec)                                                                          \
    do {                                                                                           \
        vec_each (char *, s_, vec) {                                                               \
            free(*s_);                                                                             \
        }                                                                                          \
        vec_done(vec);                                                                             \
    } while (0)

static void line_chart_done(struct line_chart *c)
{
    vec_each (struct chart_series, s, &c->series) {
        vec_each (struct chart_mark, m, &s->marks) {
            free(m->text);
        }
        vec_done(&s->marks);
        free(s->name);
    }
    vec_done(&c->series);
    free_strings(&c->x_names);
    free(c->title);
    free(c->x_title);
    free(c->y_title);
}

static void dot_chart_done(struct dot_chart *c)
{
    vec_each (struct chart_row, row, &c->rows) {
        vec_each (struct chart_dot, dot, &row->dots) {
            free(dot->text);
        }
        vec_done(&row->dots);
        free(row->name);
    }
    vec_done(&c->rows);
    free_strings(&c->series);
    free(c->title);
    free(c->x_title);
}

static void bar_chart_done(struct bar_chart *c)
{
    for (size_t i = 0; i < c->n_rows; i++) {
        free(c->rows[i].name);
    }
    free(c->rows);
    free_strings(&c->parts);
    free(c->missing);
    free(c->title);
    free(c->x_title);
}

static void spark_done(struct spark *s)
{
    free(s->name);
    free(s->text);
    vec_done(&s->values);
}

void chart_done(struct chart *c)
{
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
