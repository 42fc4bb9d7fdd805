/* Figures that others published, as data (docs/references.md): a set has tables, a table has rows
 * and columns. Sets that ship are YAML files in benchmarks/reference, compiled into the programs
 * (reference_shipped). A set also has what follows from its figures, such as speedups, and a test
 * (tests/ctl/test_reference.py) computes that of the shipped sets again. All texts of a set are
 * borrowed from its document. Pure: text in, structs out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "doc/embedded.h"
#include "doc/tree.h"

/* How a figure came into the file. */
enum reference_quality {
    REFERENCE_TABLE,   /* printed as text */
    REFERENCE_LABEL,   /* printed on a bar or a point of a picture */
    REFERENCE_READING, /* read off the axis of a picture; reading_error says how well */
    REFERENCE_RAW,     /* written by the program that measured */
};
enum reference_measure {
    REFERENCE_THROUGHPUT, /* more is better */
    REFERENCE_TIME,       /* less is better */
    REFERENCE_RATIO,      /* a speedup or another ratio */
    REFERENCE_OTHER,      /* an accuracy, a share: nothing is derived from it */
};
enum reference_scope { REFERENCE_JOB, REFERENCE_WORKER, REFERENCE_THREAD };
/* What is known at a row and a column. */
enum reference_figure {
    REFERENCE_VALUE,
    REFERENCE_SPEEDUP,
    REFERENCE_EFFICIENCY,  /* a ratio; files write it in percent */
    REFERENCE_PRICE_INDEX, /* k / S^2: price over performance; above 1 it does not pay */
    REFERENCE_COST,        /* hours x price x columns */
};
#define REFERENCE_FIGURE_COUNT 5
/* Which figure of a run is the same quantity as the values of a table. The report has a row for
 * each: what the run's figure is (report/reference_join.c). */
enum reference_quantity {
    REFERENCE_NO_QUANTITY, /* no figure of a run is */
    REFERENCE_RATE,        /* the throughput, or a bus bandwidth: by the unit */
    REFERENCE_SPEEDUP_OF_RATE,
    REFERENCE_EFFICIENCY_OF_RATE,
    REFERENCE_TIME_TO_ACCURACY,    /* to `goal` */
    REFERENCE_SPEEDUP_TO_ACCURACY, /* of that time */
    REFERENCE_ACCURACY_AFTER_TIME, /* after `goal` seconds */
    REFERENCE_ALL_REDUCE_TIME,     /* of one call */
    REFERENCE_EXCHANGE_SHARE,      /* of a step */
};
#define REFERENCE_QUANTITY_COUNT 9

struct reference_source { /* "" where not known */
    const char *id, *title, *repository, *file, *commit;
};

/* Which points of a run a row is compared with; an empty list is that of the row's table, and there
 * that of the set. */
struct reference_kin {            /* lists of texts; NULL is an empty list */
    const struct node *task;      /* words that the point has: its model, texts of parameters */
    const struct node *family;    /* the families of the point's profile, or the system's name */
    const struct node *copied_by; /* families of systems that reimplement the row's program */
};

/* A coordinate that all figures of a table or row have: "batch_size" 128. */
struct reference_at {
    const char *name;
    double value;
};
struct reference_ats { /* a vector (base/vec.h) */
    struct reference_at *items;
    size_t len, cap;
};

#define REFERENCE_MAX_COLUMNS 64
#define REFERENCE_NO_ROW SIZE_MAX
struct reference_row {
    const char *name;
    const char *model;    /* NULL if it is the model of the table */
    const char *workload; /* a model of benchd that trains the same network, or NULL */
    /* The figures by column, NaN if unknown; owned; NULL if the row has no such figure. Published
     * ones are those that the source derived, which may be wrong. Percentages are in percent. */
    double *figures[REFERENCE_FIGURE_COUNT], *published[REFERENCE_FIGURE_COUNT];
    bool has_values;      /* its values are printed in the source, and not recomputed */
    int digits;           /* decimals of the values; -1 if each has its shortest form */
    int published_digits; /* decimals of the published figures */
    struct reference_kin kin;
    struct reference_ats at;       /* besides that of the table */
    const struct node *derivation; /* what the test derives from; NULL if the row has none */
};

struct reference_erratum {
    size_t row;    /* NO_ROW if it names all rows */
    size_t column; /* NO_ROW if it names all columns */
    enum reference_figure figure;
    double printed; /* NaN if it does not say what is printed */
    const char *what;
};

struct reference_table {
    const char *name, *title;
    size_t source; /* index */
    enum reference_quality quality;
    enum reference_measure measure;
    enum reference_scope scope;
    enum reference_quantity quantity;
    double goal;             /* an accuracy or seconds, as the quantity needs; else NaN */
    const char *unit, *axis; /* axis: what the columns vary */
    const char *model, *hardware, *software; /* NULL if the set's are meant */
    double columns[REFERENCE_MAX_COLUMNS];   /* ascending */
    size_t n_columns;
    double reading_error; /* 0 unless a Reading */
    struct reference_kin kin;
    struct reference_ats at;
    VEC(struct reference_row) rows;
    const char *baseline; /* what an efficiency of 100% is: "1 trainer"; NULL if not known */
    const struct node *derivation; /* what the test derives from; NULL if the table has none */
    VEC(struct reference_erratum) errata;
    const struct node *notes; /* a list of texts; NULL: none */
};

struct reference {
    struct node *document;                                                      /* owned */
    const char *name, *title, *description, *model, *hardware, *cpu, *software; /* "" if none */
    int64_t year;
    struct reference_kin kin;
    VEC(struct reference_source) sources;
    VEC(struct reference_table) tables;
    const struct node *notes; /* a list of texts; NULL: none */
};

/* Reads one document (reference_read.c). 0 and an owned set; or -EINVAL with a
 * diagnostic for every problem. */
int reference_load(const char *text, size_t len, struct reference **ret, struct diags *diags);
void reference_free(struct reference *r); /* NULL is fine */

extern const char *const reference_quality_names[REFERENCE_RAW + 1];     /* "Table", ... */
extern const char *const reference_measure_names[REFERENCE_OTHER + 1];   /* "Throughput", ... */
extern const char *const reference_scope_names[REFERENCE_THREAD + 1];    /* "Job", ... */
extern const char *const reference_figure_names[REFERENCE_FIGURE_COUNT]; /* "value", ... */
extern const char *const reference_quantity_names[REFERENCE_QUANTITY_COUNT];
/* Returns the list of the row, else of its table, else of its set, else an empty one. */
#define reference_kin_of(r, t, row, list)                                                          \
    ((row)->kin.list != NULL ? (row)->kin.list                                                     \
     : (t)->kin.list != NULL ? (t)->kin.list                                                       \
     : (r)->kin.list != NULL ? (r)->kin.list                                                       \
                             : &reference_no_words)
extern const struct node reference_no_words;
/* Return what the row, the table or the set says, in this order; "" if none does. Borrowed. */
const char *reference_model(const struct reference *r, const struct reference_table *t,
                            const struct reference_row *row);
const char *reference_hardware(const struct reference *r, const struct reference_table *t);
/* Returns true if the erratum is of this row and column, or of all. */
bool reference_erratum_names(const struct reference_table *t, const struct reference_erratum *e,
                             const struct reference_row *row, size_t column);
/* Returns a figure of the row, or the one that the source prints in its place, NaN if it is
 * unknown. Efficiencies are ratios. */
double reference_figure(const struct reference_row *row, enum reference_figure figure,
                        size_t column);
double reference_published(const struct reference_row *row, enum reference_figure figure,
                           size_t column);
/* Returns true if the figure, rounded as the source rounds, is another one than the source
 * prints. */
bool reference_differs(const struct reference_row *row, enum reference_figure figure,
                       size_t column);
/* Returns true if any row of the table has this figure. */
bool reference_has(const struct reference_table *t, enum reference_figure figure);
/* Returns `digits` if it is not negative, else the decimals of the number's shortest form, at most
 * 12. */
int reference_decimals(double value, int digits);
/* Return SIZE_MAX if there is no such row or column. */
size_t reference_find_row(const struct reference_table *t, const char *name);
size_t reference_find_column(const struct reference_table *t, double column);

/* The sets of benchmarks/reference, compiled in: they print without a file and a network. */
extern const struct embedded reference_shipped[]; /* sorted by name */
extern const size_t reference_shipped_count;

/* Returns NULL if no set of this name ships. Owned. */
struct reference *reference_shipped_load(const char *name);
