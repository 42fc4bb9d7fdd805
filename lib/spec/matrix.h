/* From a spec to its points. Pure.
 *
 * Axes expand in a fixed order (docs/contracts/order.md): systems as written, then sweep names by
 * byte order, values as written, the last name fastest. A system takes the numbers of replicas that
 * its exchange has: the others are 0, and points that thus became the same are one. Swept points
 * have the indices 0..n-1; baseline points follow. A baseline point is added only if no swept point
 * can be the baseline, and never if an exclusion has it: it may be unable to run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "doc/diag.h"
#include "spec/spec.h"

struct point {
    uint32_t index;
    uint32_t system;      /* index into spec->systems */
    bool is_baseline;     /* added for the baseline, not swept */
    struct params params; /* swept values, owned; a baseline point's name what it ran with */
    uint32_t replicas[ROLE_COUNT];
    uint32_t devices;   /* accelerators of all that train; 0: not known of some point of the run */
    bool has_slices;    /* its template asks for parts of a device */
    int64_t batch_size; /* as the sweep or the workload has it; 0 if it is not known */
    int64_t worker_batch; /* the part of each trainer or worker */
    int64_t threads;      /* per trainer */
    enum exchange_kind exchange;
    uint32_t server_threads; /* as of struct exchange */
    struct link link;        /* of each replica */
    /* Index of the point that speedup and efficiency of this one divide by (may be itself). */
    uint32_t baseline_index;
    bool baseline_excluded; /* it has none, and the index is its own */
};

struct matrix {
    struct point *points;
    uint32_t n_points;  /* all */
    uint32_t n_swept;   /* the first n_swept are swept */
    uint64_t excluding; /* bit k: exclusion k left out a point or a baseline */
};

#define MATRIX_MAX_POINTS 10000
#define MATRIX_MAX_COMBINATIONS 100000 /* of a sweep with requirements, before they are checked */

/* 0, or -EINVAL with diagnostics: no point left, too many, duplicate points, zero trainers, a
 * replica count that is not a whole number in 0..SPEC_MAX_REPLICAS. */
int matrix_expand(const struct spec *spec, struct matrix *ret, struct diags *diags);
void matrix_done(struct matrix *m);
/* "Point 1 has no speedup and no efficiency: ..."; nothing where each has a baseline. */
void matrix_describe_unbased(const struct matrix *m, struct buf *out);
/* True if a swept point has all of these values. */
bool matrix_has(const struct matrix *m, const struct params *where);

/* "PServer", or the name of a foreign one. Borrowed. */
const char *point_exchange_name(const struct spec *spec, const struct point *point);
/* The system's, as the definition asks for it, with the point's kind: a baseline without servers
 * sends nothing, adds gradients up as the others do, and has no peer to wait for. Borrowed. */
struct exchange point_exchange(const struct spec *spec, const struct point *point);

/* What those are called that train. Systems may differ: "trainer or worker". */
struct training_words {
    const char *one, *many;
};
struct training_words matrix_training_words(const struct matrix *m);

/* The role that trains, by which speedup and efficiency count: workers, where a point has
 * some, else trainers. */
enum role point_training_role(const struct point *point);
/* The role with the point's figures: the launcher, or else the role that trains. */
enum role point_leading_role(const struct point *point);
uint32_t point_training_replicas(const struct point *point);
/* What speedup and efficiency count by: accelerators where they are known, else the replicas that
 * train. And what these are called. */
uint32_t point_size(const struct point *point);
const char *point_size_word(const struct point *point); /* "device", or the role that trains */
struct training_words matrix_size_words(const struct matrix *m);
/* Replicas of all roles but a launcher, which computes nothing. */
uint32_t point_pods(const struct point *point);

bool param_is_replicas(const struct spec *spec, const char *name); /* of any role */
/* True if struct point has a field for this parameter: replicas, batch_size or threads. */
bool param_is_point_field(const struct spec *spec, const char *name);

/* Busy threads of a point: (trainers + workers) x threads + pservers x theirs. */
int64_t point_busy_threads(const struct point *point);
/* The first point with the most of them. */
const struct point *matrix_busiest(const struct matrix *m);

/* In devices.c: accelerators that a pod asks for. */
#define DEVICES_MAX 1024 /* of a replica */

/* Of one replica of that role at these parameters, by the limits of its template (nvidia.com/gpu,
 * amd.com/gpu, a MIG device, ...). 0: none, or only claims, which do not say how many they have.
 * *ret_slices: some are parts of a device (MIG, or shared in turns). -1: the limit *ret_wrong,
 * owned, is not a number from 0 to DEVICES_MAX. */
int64_t devices_of_template(const struct spec *spec, const struct system *system, enum role role,
                            const struct params *params, bool *ret_slices, char **ret_wrong);

/* In expression.c: whole-number expressions over the values of a point, as sweep.require has them:
 * "tp * pp * dp == devices", "batch_size % workers == 0 && pp < 8". As in C: || && == != < <= > >=
 * + - * / % ! and parentheses, 64 bits. */
/* False: there is no such name, or it has no whole number. */
typedef bool (*expression_value_fn)(const void *ctx, const char *name, int64_t *ret);

/* -EINVAL: it is not an expression, or a name in it has no value; -ERANGE: a divisor is below 1 or
 * a number out of range, and no && or || was decided before it. err says where. */
int expression_eval(const char *text, expression_value_fn value_of, const void *ctx, int64_t *ret,
                    struct err *err);
