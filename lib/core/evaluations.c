/* See evaluations.h. */
#include "core/evaluations.h"

#include <math.h>

#define MS_PER_S 1e3

static bool to_ms(double t_s, int64_t *ret_ms)
{
    if (!(t_s >= 0 && t_s * MS_PER_S <= (double)EVALUATION_MAX_MS)) { /* NaN, too */
        return false;
    }
    *ret_ms = (int64_t)nearbyint(t_s * MS_PER_S);
    return true;
}

double evaluation_value(const struct evaluation *e, enum goal_kind kind)
{
    const uint32_t ppm = kind == GOAL_LOSS ? e->loss_ppm : e->accuracy_ppm;
    return ppm == EVALUATION_UNKNOWN ? NAN : (double)ppm / EVALUATION_PPM;
}

/* What is short of a goal stays so: `round` is floor() of an accuracy, ceil() of a loss. The rest
 * is that of a number with six digits. */
static uint32_t to_ppm(double value, double (*round)(double), double max)
{
    const double near = nearbyint(value * EVALUATION_PPM), rest = value * EVALUATION_PPM - near;
    const double ppm = fabs(rest) < 1e-4 ? near : round(value * EVALUATION_PPM);
    return ppm >= 0 && ppm <= max * EVALUATION_PPM && value >= 0 ? (uint32_t)ppm
                                                                 : EVALUATION_UNKNOWN;
}

static void inherit(struct evaluation *e, const struct evaluation *before)
{
    e->accuracy_ppm =
        e->accuracy_ppm == EVALUATION_UNKNOWN ? before->accuracy_ppm : e->accuracy_ppm;
    e->loss_ppm = e->loss_ppm == EVALUATION_UNKNOWN ? before->loss_ppm : e->loss_ppm;
}

/* Of each pair the later one. All groups are complete. */
static void halve(struct evaluations *e)
{
    for (uint32_t i = 0; i < EVALUATIONS_MAX / 2; i++) {
        const struct evaluation before = e->list[2 * i];
        e->list[i] = e->list[2 * i + 1];
        inherit(&e->list[i], &before);
    }
    e->n = EVALUATIONS_MAX / 2;
    e->k *= 2;
    e->n_of_last = e->k;
}

bool evaluations_add(struct evaluations *e, double t_s, double accuracy, double loss)
{
    int64_t t_ms = 0;
    struct evaluation added = {
        .accuracy_ppm = to_ppm(accuracy, floor, 1),
        .loss_ppm = to_ppm(loss, ceil, EVALUATION_LOSS_MAX - 1.0 / EVALUATION_PPM),
    };
    if (!to_ms(t_s, &t_ms) ||
        (added.accuracy_ppm == EVALUATION_UNKNOWN && added.loss_ppm == EVALUATION_UNKNOWN) ||
        (e->n > 0 && t_ms < e->list[e->n - 1].t_ms)) {
        return false;
    }
    e->k = e->k == 0 ? 1 : e->k;
    if (e->n == 0 || e->n_of_last == e->k) {
        if (e->n == EVALUATIONS_MAX) {
            halve(e);
        }
        e->n++;
        e->n_of_last = 0;
    } else {
        inherit(&added, &e->list[e->n - 1]);
    }
    added.t_ms = t_ms;
    e->list[e->n - 1] = added;
    e->n_of_last++;
    e->end_ms = t_ms > e->end_ms ? t_ms : e->end_ms;
    return true;
}

void evaluations_extend(struct evaluations *e, double t_s)
{
    int64_t t_ms = 0;
    if (to_ms(t_s, &t_ms) && t_ms > e->end_ms) {
        e->end_ms = t_ms;
    }
}
