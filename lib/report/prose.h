/* What a result says, in sentences. Pure. */
#pragma once

#include "compare/comparison.h"
#include "report/layout.h"
#include "report/sheet.h"

/* ---- the answer: prose_verdict.c ---- */

/* The sentence that answers the question of the definition: which point is the fastest, how fast,
 * how well it scales, and how sure this is. */
void prose_answer_put(const struct layout *l, struct buf *out);

/* ---- what the curves of a result say about scaling: prose_scaling.c ---- */

/* "pservers 2, 4 trainers: 2.87x (72.0%; 95%: 68.1..75.2%); ...": what its widest point reaches,
 * the law or why it has none, and between which numbers of trainers each loses most, and by what.
 * `says_few`: also why two numbers of trainers have no law. Nothing if nothing was measured. */
void prose_curve_say(const struct layout *l, const struct curve *c, bool says_few, struct buf *out);
/* A line for each curve. */
void prose_scaling_put(struct sheet *s, const struct layout *l);
/* "pservers 2" and the tail: what distinguishes this curve; nothing if it is the only one. */
void prose_curve_put(const struct layout *l, const struct curve *c, const char *tail,
                     struct buf *out);
/* "a step of N workers takes 640.2 ms + 21.41 ms log2 N; ...", of a law that is fitted. */
void prose_law_put(const struct curve *c, struct buf *out);
/* "Steps as measured, compared with the law: 1 worker -0.2%, ..." */
void prose_residuals_put(const struct curve *c, struct buf *out);
/* Does each replica of the point train by itself, as its profile says or because no process
 * listened where they were to meet? Then its throughput is no scaling of one program. */
bool prose_is_copies(const struct layout *l, const struct point_result *p);
void prose_copies_put(const struct layout *l, const struct point_result *p, struct buf *out);

/* ---- the notes under the tables, the same for the terminal and for Markdown: notes.c ---- */

#define NOTES_BRIEF 3 /* warnings of a brief sheet */

enum note_kind {
    NOTE_INFO,    /* unit, scope, methods: what a brief sheet leaves out */
    NOTE_BASE,    /* what figures are divided by, if no row of the table shows it */
    NOTE_FAILED,  /* a trial without a result, and why */
    NOTE_PENDING, /* trials that have not ended */
    NOTE_PASSED_THRESHOLD,
    NOTE_FAILED_THRESHOLD,
    NOTE_UNKNOWN_THRESHOLD,
    NOTE_SKIPPED_THRESHOLD, /* the run has no point of it */
    NOTE_DIFFERS,           /* of a comparison: "kernel a -> b" */
    NOTE_ONLY,              /* of a comparison: points that one side has alone */
    NOTE_WARNING,
    NOTE_VERDICT, /* of a comparison */
};

struct note {
    enum note_kind kind;
    char *text; /* one line; owned */
    char *
        details; /* more lines, each with its newline, to be shown as they are; owned; NULL: none */
};

struct notes {
    VEC(struct note) list; /* in the order of enum note_kind, thresholds together */
};

void notes_init(struct notes *notes, const struct layout *l);
void notes_add(struct notes *notes, enum note_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void notes_done(struct notes *notes);

/* The lines under the table of a comparison; the last is the verdict. prose_compare.c. */
void prose_compare_init(struct notes *lines, const struct comparison *c);
/* Have all points these numbers of trials? Then its table has no column of them. */
bool compare_trials(const struct comparison *c, size_t *ret_base, size_t *ret_candidate);
/* Has the ratio of a point an interval? */
bool compare_any_interval(const struct comparison *c);
/* What varies over its common points; its names are for vec_done. compare_sheet.c. */
struct point_words compare_words_of(const struct comparison *c);
