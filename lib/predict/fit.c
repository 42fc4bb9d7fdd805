/* See fit.h. */
#include "predict/fit.h"

/* The least determinant relative to the products that it is the difference of; less is rounding. */
#define SAME_RATIO 1e-9

double fit_cost(double sum, double x)
{
    return x > 0 && sum > 0 ? sum / x : 0;
}

struct fit fit_costs(const struct fit_row *rows, size_t n)
{
    double xx = 0, xy = 0, yy = 0, xs = 0, ys = 0;
    for (size_t i = 0; i < n; i++) {
        xx += rows[i].x * rows[i].x;
        xy += rows[i].x * rows[i].y;
        yy += rows[i].y * rows[i].y;
        xs += rows[i].x * rows[i].sum;
        ys += rows[i].y * rows[i].sum;
    }
    const struct fit x_alone = {fit_cost(xs, xx), 0}, y_alone = {0, fit_cost(ys, yy)};
    const double det = xx * yy - xy * xy;
    if (det <= SAME_RATIO * xx * yy) {
        return xx > 0 ? x_alone : y_alone;
    }
    const struct fit both = {(xs * yy - ys * xy) / det, (ys * xx - xs * xy) / det};
    return both.b < 0 ? x_alone : both.a < 0 ? y_alone : both;
}
