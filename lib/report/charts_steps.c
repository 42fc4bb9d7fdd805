/* The course of the times of steps, see charts.h. */
#include <math.h>

#include "base/vec_walk.h"
#include "core/summary.h"
#include "report/charts.h"
#include "result/number.h"

#define MS_PER_US 1e-3
#define SPARK_MAX_VALUES 60
#define FIRST_STEP_TIMES 2 /* longer or shorter than the others */
#define FIRST_STEP_MIN 4   /* steps to say so */
#define MOST_OF 0.95       /* of the time that the throughput counts */
#define NS_PER_MS 1e6

/* Means of as many neighbours as it takes to have few values. */
static void take_values(struct spark *spark, const struct summary *s)
{
    const uint32_t k = (s->n_series + SPARK_MAX_VALUES - 1) / SPARK_MAX_VALUES;
    spark->n_steps = s->steps;
    spark->steps_each = s->series_k * k;
    for (uint32_t i = 0; i < s->n_series; i += k) {
        const uint32_t end = i + k < s->n_series ? i + k : s->n_series;
        const double sum = array_sum(s->series_us + i, end - i, us, *us);
        *vec_push(&spark->values) = MS_PER_US * sum / (end - i);
    }
}

/* A first step that is no step like the others: a program that starts something else in it, or
 * returns before it has ended. */
static void put_first_step(const struct spark *spark, const struct summary *s, struct buf *out)
{
    if (spark->steps_each > 1 || spark->values.len < FIRST_STEP_MIN) {
        return;
    }
    const double first = spark->values.items[0];
    const double others = stats_middle(spark->values.items + 1, spark->values.len - 1);
    if (first < FIRST_STEP_TIMES * others && others < FIRST_STEP_TIMES * first) {
        return;
    }
    buf_puts(out, "; the first step differs from the others: ");
    number_format(first, out);
    buf_puts(out, " ms, their median is ");
    number_format(others, out);
    buf_puts(out, " ms. ");
    const double sum_ms = vec_sum(&spark->values, value, *value),
                 ms = (double)s->duration_ns / NS_PER_MS;
    if (first > others) {
        buf_puts(out, "It counts in the throughput; a higher measure.warmupSteps excludes it");
    } else if (sum_ms < MOST_OF * ms) {
        buf_puts(out, "All steps together take ");
        number_format(sum_ms, out);
        buf_puts(out, " of the ");
        number_format(ms, out);
        buf_puts(out, " ms that the throughput counts: the program may return from a step before "
                      "it has ended, and then these are not the times of its steps");
    } else {
        buf_puts(out, "It counts in the throughput");
    }
}

static char *spark_text(const struct spark *spark, const struct trial_result *t,
                        const struct replica_row *rep, const struct summary *s)
{
    double low = INFINITY, high = 0;
    vec_each (double, value, &spark->values) {
        low = fmin(low, *value);
        high = fmax(high, *value);
    }
    struct buf text = BUF_INIT;
    /* A launcher computes nothing: its log has the steps of all. */
    buf_printf(&text,
               "%s%s/%u of trial %u: ", s->source.is_job ? "the whole job, by the log of " : "",
               role_to_string(rep->id.role), rep->id.index, t->trial);
    number_format(low, &text);
    buf_puts(&text, " to ");
    number_format(high, &text);
    buf_puts(&text, " ms a step");
    if (spark->steps_each > 1) {
        buf_printf(&text, ", means of %u steps", spark->steps_each);
    }
    put_first_step(spark, s, &text);
    return buf_take(&text);
}

static bool make_spark(const struct layout *l, const struct point_result *p, struct spark *ret)
{
    const struct trial_result *t = charts_nearest_trial(p);
    point_open(p);
    const struct replica_row *rep =
        t == NULL ? NULL : attempt_row_find_replica(t->row, (int)point_leading_role(p->point), 0);
    struct summary s;
    struct err err = {0};
    if (rep == NULL || summary_read(rep->summary_json, &rep->id, &s, &err) < 0) {
        return false;
    }
    *ret = (struct spark){0};
    if (s.n_series > 1) {
        take_values(ret, &s);
        ret->name = charts_point_name(l, p);
        ret->text = spark_text(ret, t, rep, &s);
    }
    summary_done(&s);
    return ret->name != NULL;
}

bool charts_steps(const struct layout *l, struct sparks *ret)
{
    *ret = (struct sparks){0};
    result_each_swept (p, l->result) {
        struct chart chart = {.kind = CHART_SPARK};
        if (make_spark(l, p, &chart.spark)) {
            *vec_push(&ret->list) = chart;
        }
    }
    return ret->list.len > 0;
}
