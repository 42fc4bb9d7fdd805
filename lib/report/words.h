/* Points and figures in words: in sentences, in rows of charts, at marks. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "stats/stats.h"
#include "spec/matrix.h"
#include "result/result.h"

struct figure_kind; /* result/catalogue.h */

/* What a figure means in a run: the catalogue's sentence counts by trainers, the run perhaps by
 * workers or devices. Owned. */
char *words_meaning(const struct figure_kind *k, const struct run_def *def);

/* Names of parameters, each once, in byte order: a vector (base/vec.h). The names are borrowed. */
struct words_names {
    const char **items;
    size_t len, cap;
};
bool words_has_name(const struct words_names *names, const char *name);
/* Where it is not there yet. */
void words_add_name(struct words_names *names, const char *name);

/* The words that distinguish points. All are borrowed except the vector of the names. */
struct point_words {
    const struct spec *spec;
    struct words_names names; /* of parameters */
    bool systems;             /* their systems differ, too */
    const char *without;      /* one of the names, to be left out; NULL: none */
};
/* Adds the parameters of a point that the first one lacks or has with another value, and the
 * systems if theirs differ. */
void words_add_differences(struct point_words *words, const struct point *first,
                           const struct point *p);
/* Adds the system and every parameter of every point. */
void words_add_all(struct point_words *words, const struct result *r);
/* "fluid, batch_size 16, pservers 2", with "-" for a parameter that the point does not have; `none`
 * where the points have no distinct words. */
void words_put_point(const struct point_words *words, const struct point *p, const char *none,
                     struct buf *out);
/* One parameter of it: "pservers 2"; `v` NULL: "-" in place of the value. */
void words_put_value(const char *name, const struct value *v, struct buf *out);

/* "point", "points": the end of a word for n of them. */
static inline const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* "120.7 samples/s (95%: 118.1..122.9)"; without an interval, or with a `unit` "", without that. */
void words_put_estimate(const struct estimate *e, const char *unit, struct buf *out);
void words_put_figure(const struct figure *f, struct buf *out);
/* A ratio: "64.8% (95%: 56.4..75.1%)". */
void words_put_percent(const struct estimate *e, struct buf *out);

#define MARK_COUNT 4
/* What a run is other than measured: "rehearsal" and others, which its head has in every output.
 * Static; NULL: the run does not have the i-th. */
const char *mark_of(const struct result *r, int i);
