/* Two runs for tests of their comparison: of the same points, with trials that are apart by 0.3%,
 * beside other runs of the base. */
#pragma once

#include "tests/test.h"
#include "compare/comparison.h"
#include "result_fixture.h"

FREEP(comparison_free, struct comparison)

#define GRID "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}" /* four points */
#define POINT_BASELINE "  baseline: {kind: Point, where: {trainers: 1}}\n"

/* The threshold of benchctl, no history, not strict. */
extern const struct compare_params defaults;

/* What trials of one point are apart, as factors: a spread of 0.3%. */
extern const double spread[8];

/* How other runs of the base came out, as factors: as runs of the same thing do. */
extern const double usual[FIXTURE_HISTORY];

void rename_run(struct fixture *f, const char *name);

/* A run of GRID with n trials at each point, about x[point] samples/s; 0: no trial of the
 * point. `shift` moves which trial has which factor, so that two runs do not have the
 * same values by accident. */
void make_run(struct fixture *f, const char *name, size_t n, const double x[4], size_t shift);

/* The comparison of two runs that may be compared, else the test fails; the caller's. `factors`:
 * how other runs of the base came out. */
struct comparison *compare_beside(const struct fixture *a, const struct fixture *b,
                                  const struct compare_params *params,
                                  const double factors[static FIXTURE_HISTORY]);

/* Without other runs: what the trials of the two say. */
struct comparison *compare_alone(const struct fixture *a, const struct fixture *b);

/* Beside runs that came out as the base did: any change is beyond what they differ by. */
struct comparison *compare(const struct fixture *a, const struct fixture *b,
                           const struct compare_params *params);
