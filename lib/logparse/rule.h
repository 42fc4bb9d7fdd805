/* A log rule: which lines of a program's log are figures, as data (docs/log-rules.md). Rules that
 * ship are YAML files in benchmarks/rules, compiled into the programs (shipped_rules.h); a
 * definition may bring one of its own. Pure: text in, structs out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/record.h"
#include "core/replica.h"
#include "doc/reader.h"
#include "logparse/pattern.h"

/* What a line is about. Where a log has several kinds, the throughput comes from the widest one. */
enum log_kind {
    LOG_KIND_SUMMARY, /* the whole run */
    LOG_KIND_EPOCH,   /* an epoch, a pass */
    LOG_KIND_STEP,    /* a step, or the steps since the line before */
    LOG_KIND_INFO,    /* no throughput: a batch size, a loss, an accuracy */
};
#define LOG_KIND_COUNT 4
/* What a figure covers. */
enum log_scope {
    LOG_SCOPE_REPLICA, /* the process that printed it */
    LOG_SCOPE_EACH,    /* the same, and one process speaks for all: they run in step */
    LOG_SCOPE_JOB,     /* all trainers of the job */
};
/* How the figures of several lines become one. */
enum log_aggregate {
    LOG_MEAN, /* all that the lines cover, divided by the time they cover */
    LOG_MEDIAN,
    LOG_LAST,
    LOG_MAX,
};
/* Where the time comes from. */
enum log_source { LOG_FROM_NUMBERS, LOG_FROM_STAMPS };

enum log_skip_kind { LOG_SKIP_DEFAULT, LOG_SKIP_STEPS, LOG_SKIP_LINES };
struct log_skip { /* the warm-up */
    enum log_skip_kind
        kind; /* Default: the definition's warm-up steps, where lines number theirs */
    int64_t n;
};

struct log_version {             /* which the program prints */
    char *name;                  /* owned */
    struct log_pattern *pattern; /* owned; it has the group `version` */
};

struct log_line_rule {
    enum log_kind kind;
    enum log_scope scope;
    enum log_aggregate aggregate;
    enum log_source source;
    bool roles[ROLE_COUNT];
    enum summary_unit unit;
    double each; /* units that a line stands for when it does not say; 0: unknown */
    struct log_skip skip;
    char *text;                  /* of the pattern, as it was written; owned */
    struct log_pattern *pattern; /* owned */
};

/* A log is read by the lines of the rule, or as events of MLPerf (mllog.h): those have dates. */
enum log_rule_format { LOG_RULE_LINES, LOG_RULE_MLPERF };

#define LOG_RULE_UNNAMED "inline"
struct log_rule {
    char *name; /* owned; never "" */
    enum log_rule_format format;
    struct log_pattern *restart; /* owned; NULL, or of lines at which steps may begin anew */
    struct log_pattern *end;     /* owned; NULL, or of the line without which the program was cut */
    struct log_pattern *header;  /* owned; NULL, or in the comment above a table that counts */
    VEC(struct log_version) versions;
    VEC(struct log_line_rule) lines; /* the first that matches a line decides */
};

/* The form of a rule. Static. */
const struct node *log_rule_schema(void);
/* Reads one document, which may have no name. 0 and an owned rule; or -EINVAL with a diagnostic for
 * every problem. */
int log_rule_load(const char *text, size_t len, struct log_rule **ret, struct diags *diags);
/* Reads a rule that is part of another document. NULL: it has problems, which were noted. */
struct log_rule *log_rule_read(struct diags *d, const struct place *at);
void log_rule_free(struct log_rule *rule);

extern const char *const log_kind_names[LOG_KIND_COUNT]; /* "Step", ... */
