#!/usr/bin/env python3
"""Prints the table `scipy_rows` of test_scaling.c. Needs SciPy, which the tests do not: made with SciPy 1.17.1.

Another way to the same numbers: the minimum by optimize.least_squares on the logarithms, with no use of their being linear;
covariances from its Jacobian; the ends of intervals by optimize.brentq on the squared t of a ratio."""
import math

import numpy as np
from scipy import optimize, stats

DATA = {  # n: trials
    "four sizes": {1: [101.2, 99.1, 100.4], 2: [189.5, 192.8, 190.1], 4: [330.2, 338.9, 335.0], 8: [490.3, 481.2, 500.9]},
    "falls": {2: [150.2, 153.1, 148.8, 151.9], 4: [210.4, 208.0, 214.6, 211.1], 8: [190.7, 193.3, 188.2, 191.4]},
    "noisy": {1: [95, 108, 99], 2: [210, 188, 190], 4: [350, 390, 402], 16: [1500, 1380, 1290]},
}
MODELS = {
    "SCALING_USL": lambda n: [1, n - 1, n * (n - 1)],
    "SCALING_LOAD": lambda n: [1, 2 * (n - 1) / n],
}
RATIOS = {  # of the second parameter, then the third
    "SCALING_USL": [([0, 1, 0], [1, 0, 0]), ([0, 0, 1], [1, 0, 0])],
}


def fit(model, data):
    basis = MODELS[model]
    rows = [(n, x) for n, trials in data.items() for x in trials]
    h = np.array([basis(n) for n, _ in rows], float)
    y = np.array([math.log(n / x) for n, x in rows])
    start = np.zeros(h.shape[1])
    start[0] = math.exp(y.mean())
    # Coefficients of very different size: scaled by their columns.
    scale = start[0] / np.abs(h).max(axis=0)

    def residual(c):
        m = h @ (c * scale)
        return y - np.log(np.where(m > 0, m, 1e-300))

    done = optimize.least_squares(residual, start / scale, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=10000)
    c = done.x * scale
    jacobian = h / (h @ c)[:, None]
    df = len(rows) - len(c)
    squares = (residual(done.x) ** 2).sum()
    covariance = squares / df * np.linalg.inv(jacobian.T @ jacobian)
    pure = sum(((np.log(t) - np.log(t).mean()) ** 2).sum() for t in map(np.array, data.values()))
    pure_df = len(rows) - len(data)
    lack_df = len(data) - len(c)
    p = float("nan") if lack_df == 0 else stats.f.sf((squares - pure) / lack_df / (pure / pure_df), lack_df, pure_df)
    return c, covariance, df, math.sqrt(squares / df), p


def ends(u, w, c, covariance, df):
    """Where (u - x w) c is t standard errors from 0."""
    u, w = np.array(u, float), np.array(w, float)
    t = stats.t.ppf(0.975, df)

    def excess(x):
        d = u - x * w
        return (d @ c) ** 2 - t * t * (d @ covariance @ d)

    value = (u @ c) / (w @ c)
    step = max(abs(value), 1e-3) * 1e-3
    low, high = value - step, value + step
    while excess(low) < 0:
        low -= (value - low)
    while excess(high) < 0:
        high += (high - value)
    return value, optimize.brentq(excess, low, value, xtol=1e-16), optimize.brentq(excess, value, high, xtol=1e-16)


def alone(c, covariance, df):
    half = stats.t.ppf(0.975, df) * math.sqrt(covariance[0][0]) / c[0]
    return 1 / c[0], math.exp(-math.log(c[0]) - half), math.exp(-math.log(c[0]) + half)


def predict(data, n):
    """Throughput of n trainers by SCALING_LOAD, and its interval: sizes, not trials, are what deviates."""
    c, covariance, df, deviation, _ = fit("SCALING_LOAD", data)
    h = np.array(MODELS["SCALING_LOAD"](n), float)
    means = {k: np.mean([math.log(k / x) for x in t]) for k, t in data.items()}
    squares = sum(len(data[k]) * (y - math.log(np.array(MODELS["SCALING_LOAD"](k)) @ c)) ** 2 for k, y in means.items())
    misfit = max(squares / (len(data) - 2), deviation ** 2)
    trials = sum(map(len, data.values())) / len(data)
    g = h / (h @ c)
    half = stats.t.ppf(0.975, len(data) - 2) * math.sqrt(misfit * (g @ (covariance / deviation ** 2) @ g + 1 / trials))
    return n / (h @ c), n / (h @ c) * math.exp(-half), n / (h @ c) * math.exp(half)


def main():
    for name, data in DATA.items():
        for model in MODELS:
            c, covariance, df, deviation, p = fit(model, data)
            if c[0] <= 0:  # one trainer alone would need no time
                print('    {"%s", %s, NAN, NAN, {{0}}, {0}},' % (name, model))
                continue
            ranges = [alone(c, covariance, df)]
            ranges += [ends(u, w, c, covariance, df) for u, w in RATIOS[model]]
            peak = "{0}"
            if model == "SCALING_USL":
                try:
                    squared = ends([1, -1, 0], [0, 0, 1], c, covariance, df)
                    peak = "{%s}" % ", ".join("%.10g" % math.sqrt(x) for x in squared)
                except (ValueError, OverflowError):
                    pass
            text = ", ".join("{%.10g, %.10g, %.10g}" % r for r in ranges)
            print('    {"%s", %s, %.10g, %s, {%s}, %s},' % (name, model, deviation, "NAN" if p != p else "%.10g" % p, text, peak))
        print("    /* %s, 20 trainers */ {%s}" % (name, ", ".join("%.10g" % x for x in predict(data, 20))))


main()
