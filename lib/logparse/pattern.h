/* A compiled pattern (PCRE2, bytes) and what it takes out of a line. Immutable once compiled, so
 * one serves any number of matchers. Pure: the same line gives the same groups. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "logparse/groups.h"

#define LOG_PATTERN_MAX 1000 /* bytes of a pattern as it is written */

struct log_pattern;

/* -EINVAL: the pattern is wrong; *ret_offset is the place in `text`. */
int log_pattern_new(const char *text, struct log_pattern **ret, size_t *ret_offset,
                    struct err *err);
void log_pattern_free(struct log_pattern *p);
bool log_pattern_has(const struct log_pattern *p, enum log_group group);
struct log_matcher;
struct log_match {
    const char *line;
    size_t begin, end;                 /* the part of it that matched */
    struct log_matcher *matcher;       /* that found it */
    const char *text[LOG_GROUP_COUNT]; /* into the line; NULL if the group took no part */
    size_t len[LOG_GROUP_COUNT];
};

/* What matching needs in addition to the pattern; not to be shared by threads. */
struct log_matcher *log_matcher_new(void);
void log_matcher_free(struct log_matcher *m);
/* Matching ends when `cpu_ns` returns until_ns or more. NULL removes the limit. */
void log_matcher_limit(struct log_matcher *m, int64_t (*cpu_ns)(void), int64_t until_ns);
/* 1: it matches; 0: it does not; -E2BIG: given up, because the pattern tries too much on this line;
 * -ETIME: given up, because the time is over. */
int log_matcher_run(struct log_matcher *m, const struct log_pattern *p, const char *line,
                    size_t len, struct log_match *ret);
/* Finds a pattern of this program's own from a place of the line on, without regard to case and
 * without a limit of its length. Each matcher compiles it once, by its number `slot`. */
#define LOG_MATCHER_SLOTS 44
bool log_matcher_find(struct log_matcher *m, unsigned slot, const char *pattern, const char *line,
                      size_t len, size_t from, struct log_match *ret);

/* ---- scan.c: the text of a pattern, of which it understands just enough to fill groups that have
 * no body ---- */

/* The place after the character, escape or class at `at`. */
size_t scan_item(const char *text, size_t at);
/* Appends the pattern with a body in each group of the vocabulary that has none. */
void scan_fill_groups(const char *text, struct buf *out);
/* A place in the filled pattern as one in the text that was written. */
size_t scan_written_offset(const char *text, size_t filled_offset);
