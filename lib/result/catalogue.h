/* The catalogue of the figures of a point: a row says how one is called, printed and computed.
 * Tables, pages, CSV, JSON, /metrics, --cells, charts and the tables of the documents walk it.
 * ARCHITECTURE.md, "Add a figure", has what a new one touches. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "core/json_out.h"
#include "result/pivot.h"
#include "result/result.h"

/* What the definition must ask for. */
enum figure_needs { NEEDS_NOTHING, NEEDS_GOAL, NEEDS_TIME };
/* Where it is shown without being asked for. */
enum figure_place {
    PLACE_ASKED,    /* nowhere: --cells shows it */
    PLACE_TABLE,    /* in each table of points */
    PLACE_ROOM,     /* there without its interval, if there is room */
    PLACE_MORE,     /* in the table of more figures, if 0.01 or more and not its efficiency */
    PLACE_ACCURACY, /* in the table of times to an accuracy */
};

struct figure_kind {
    const char *name;    /* of --cells: "efficiency-per-pod" */
    const char *title;   /* "Efficiency per pod" */
    const char *heading; /* of a column for people: "EFF/POD"; NULL: it has none of its own */
    const char *column;  /* of CSV; NULL: CSV does not have it, nor has JSON */
    const char *json;    /* key of a point's object */
    const char *metric;  /* "benchd_point_efficiency", without its unit; NULL: /metrics has none */
    const char *meaning; /* a sentence */
    const char *unit;    /* "s"; NULL: it is a ratio, or that of the throughput */
    bool is_percent;     /* for people */
    bool has_interval;
    bool is_cost;        /* it needs a price */
    bool is_independent; /* of other points: a ratio of two of them has an interval */
    enum figure_needs needs;
    enum figure_place place;
    /* One of these. Where struct point_result, or what it points to, has it (catalogue.c); of a
     * succeeded trial with its replicas, of which a point has the median, unknown if one is NaN; of
     * what is known of the point. A cost that a point has is computed where there is a price. */
    size_t offset;
    double (*of_trial)(const struct trial_result *t, enum role leading);
    struct estimate (*compute)(const struct point_result *p, const struct pivot_price *price);
};
extern const struct figure_kind figure_kinds[]; /* by enum figure_id: the rows of spec/figures.h */
extern const size_t n_figure_kinds;
#define figure_each_kind(k)                                                                        \
    for (const struct figure_kind *k = figure_kinds; k < figure_kinds + n_figure_kinds; k++)
/* Units, and how a metric says them: it is in base units, and its name ends with them. Those of
 * throughputs are the first, of which samples/s is the first. */
extern const struct figure_unit {
    const char *unit;   /* "GB/s" */
    const char *metric; /* "bytes_per_second" */
    double factor;      /* 1e9 */
} figure_units[];
/* Those that a metric of the figure has: one, or of a throughput SUMMARY_UNIT_COUNT. */
const struct figure_unit *figure_units_of(const struct figure_kind *k, size_t *ret_n);

/* The row of this name of --cells; NULL: none. */
const struct figure_kind *figure_find(const char *name);

/* Does the definition ask for it? */
bool figure_is_asked(const struct figure_kind *k, const struct spec *spec);
/* Unknown of a result without what is kept of replicas, and where it needs a price. */
struct figure figure_of(const struct point_result *p, const struct figure_kind *k);
struct estimate figure_at_price(const struct point_result *p, const struct figure_kind *k,
                                const struct pivot_price *price);
size_t figures_n_metrics(void); /* how many /metrics has */
/* Does a threshold bound a figure that a result without replicas does not have? */
bool figures_judge_replicas(const struct spec *spec);
/* How many are collected; and those of one point, while its replicas are in memory. */
size_t figures_n_collected(void);
void figures_collect(struct point_result *p);

/* As documents of results and comparisons have it (docs/contracts/result.md, "Figures"). Owned. */
json_t *figure_to_json(const struct figure *f);
/* The same as a value of core/json_out.h, with room for its members. */
struct json_value figure_json(const struct figure *f, struct json_out_member members[7]);
#define OUT_FIGURE(f) figure_json(f, (struct json_out_member[7]){{.key = NULL}})
