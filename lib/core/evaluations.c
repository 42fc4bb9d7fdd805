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

/* Of each pair the later one. All groups are complete. */
static void halve(struct evaluations *e)
{
    for (uint32_t i = 0; i < EVALUATIONS_MAX / 2; i++) {
        e->list[i] = e->list[2 * i + 1];
    }
    e->n = EVALUATIONS_MAX / 2;
    e->k *= 2;
    e->n_of_last = e->k;
}

bool evaluations_add(struct evaluations *e, double t_s, double accuracy)
{
    int64_t t_ms = 0;
    if (!to_ms(t_s, &t_ms) || !(accuracy >= 0 && accuracy <= 1) ||
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
    }
    e->list[e->n - 1] = (struct evaluation){t_ms, (uint32_t)nearbyint(accuracy * ACCURACY_PPM)};
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
