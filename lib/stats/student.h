/* Student's t: what tests, intervals (lib/result) and the rule that ends a point's repeats
 * (lib/spec/stop_rule.h) have in common. Pure. */
#pragma once

/* I_x(a, b), the regularized incomplete beta function, within 1e-12; a, b > 0, 0 <= x <= 1. */
double student_incomplete_beta(double a, double b, double x);
/* P(|T| >= |t|) for Student's t; df > 0, not only whole numbers. 0 where t is infinite. */
double student_two_sided(double t, double df);
/* The value that |T| exceeds with a probability of alpha (0.05: half of a 95% interval, in standard
 * errors). df > 0, not only whole numbers; 0 < alpha <= 0.2; the inverse of the function above. */
double student_quantile(double df, double alpha);
