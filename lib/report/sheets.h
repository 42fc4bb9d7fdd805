/* The builders of sheets, one a feature. Pure. */
#pragma once

#include "report/sheet.h"
#include "result/result.h"

/* By point, the tables of a result, a row a point. Below them: unit, scope, interval method, the
 * baseline used, what failed, thresholds and warnings. A brief sheet has what failed first, and no
 * more than a reader must know. Not of JSON (run_walk_put_json). points.c. */
void sheet_points(struct sheet *s, const struct result *r);
/* Its notes alone, those first that say what is wrong. points.c. */
struct layout;
void sheet_notes(struct sheet *s, const struct layout *l);
/* Times to accuracy, more figures and metrics, a table each. points.c. */
void sheet_other_figures(struct sheet *s, const struct layout *l);
/* What a page says of a run: what it is, the answer, charts and the table of its points; folded,
 * the notes and where it ran. run_page.c. */
void sheet_run(struct sheet *s, const struct result *r);
/* The same as a page of its own: one file, which asks for nothing and runs nothing but page_script
 * (style.h), and which says how to run it again. run_page.c. */
struct comparison;
struct reference_beside;
struct run_page {
    const struct result *result;
    const struct comparison *comparison;   /* of this result with another; NULL: none */
    const struct reference_beside *beside; /* published figures for it; NULL: none */
    const char *created;                   /* when the run was made, as text */
    /* The program that makes the page, "benchctl 0.1.0"; NULL: as of sheet_run. */
    const char *program;
};
void sheet_page(struct sheet *s, const struct run_page *page);
/* One of its charts by name (charts.h has the names). run_page.c. */
enum sheet_chart_answer { SHEET_CHART_MADE, SHEET_CHART_EMPTY, SHEET_CHART_UNKNOWN };
enum sheet_chart_answer sheet_chart(struct sheet *s, const struct result *r, const char *name);
/* By node: which were slow or throttled; and of them the table alone, with how times are compared
 * (false: no node is known). nodes_sheet.c. */
void sheet_nodes(struct sheet *s, const struct result *r);
bool sheet_put_nodes(struct sheet *s, const struct result *r);
/* By replica: its work, its exchange, and the slowest of each role. replicas_sheet.c. */
void sheet_replicas(struct sheet *s, const struct result *r);
/* What the lines of each replica's log were taken for, and the verdict on its figure
 * (logparse/reading.h). Points are added in order, with their replicas. lines_sheet.c. */
struct read_logs {
    const struct result *result;
    VEC(struct read_log) list; /* owned */
};
void read_logs_add(struct read_logs *logs, const struct point_result *p);
void read_logs_done(struct read_logs *logs);
void sheet_lines(struct sheet *s, const struct read_logs *logs);
/* Where the time of a step goes, by point and role, and what limits each point. phases_sheet.c. */
void sheet_phases(struct sheet *s, const struct result *r);
/* By curve: what each says of scaling, and the model fitted to it. curves_sheet.c. */
void sheet_curves(struct sheet *s, const struct result *r);
/* A table of one figure over any axes (result/pivot.h). pivot_sheet.c. */
struct pivot;
void sheet_pivot(struct sheet *s, const struct pivot *p);
/* Two runs side by side (docs/contracts/compare.md): a row a common point, below them the tests,
 * what differs, what only one side has, and the verdict. compare_sheet.c. */
void sheet_comparison(struct sheet *s, const struct comparison *c);
/* What a gate says of a run: its checks, the comparison, the verdict. gate_sheet.c. */
struct gate;
void sheet_gate(struct sheet *s, const struct gate *g);
/* One benchmark over time: a row a run, and where it changed. run_history_sheet.c. */
struct run_history;
void sheet_history(struct sheet *s, const struct run_history *h);
/* A set of published figures: each table with what follows from it, its errata, notes and source.
 * Not of CSV. reference_sheet.c. */
struct reference;
void sheet_reference(struct sheet *s, const struct reference *r);
/* The same next to a run: its points in rows with the figures of the same column, and what may not
 * be compared and why. For people alone. reference_beside.c. */
struct reference_beside {
    const struct reference *reference;
    const char *asked; /* as for benchctl results --reference: its name, or its file's path */
    const struct result *result;
    int year;      /* in which the run was made */
    bool is_bound; /* its figures are bounds (predict/bound.h), not measured */
};
void sheet_beside(struct sheet *s, const struct reference_beside *b);
