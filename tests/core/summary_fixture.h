/* Summaries for tests of rows. */
#pragma once

#include "tests/test.h"
#include "core/environment.h"
#include "core/phase.h"
#include "core/summary.h"

/* The summary in a line of this replica; NULL of NULL. Owned. */
static inline struct summary *summary_of(const struct replica_id *id, const char *line)
{
    struct record record;
    struct err err = {0};
    if (line == NULL) {
        return NULL;
    }
    if (record_read(line, strlen(line), &record, &err) <= 0 || record.type != RECORD_SUMMARY ||
        record.who.role != id->role || record.who.index != id->index) {
        fail_msg("%s: %s", err.msg, line);
    }
    return xmemdup(&record.summary, sizeof(record.summary));
}

/* The replica has written this line as its summary; NULL: none. */
static inline void replica_set_line(struct replica_row *r, const char *line)
{
    summary_free(r->summary);
    r->summary = summary_of(&r->id, line);
}

/* The text of a JSON object is a start record's; NULL: none came. */
static inline struct environment environment_said(const char *text)
{
    json_auto_t *record = environment_parse(text);
    assert_true(text == NULL || record != NULL);
    return environment_of(record, NULL, NULL);
}

static inline void replica_set_environment(struct replica_row *r, const char *text)
{
    environment_done(&r->environment);
    r->environment = environment_said(text);
}

/* The object is its start record's. */
static inline void replica_take_environment(struct replica_row *r, json_t *record_take)
{
    environment_done(&r->environment);
    r->environment = environment_of(record_take, NULL, NULL);
    json_decref(record_take);
}

/* Its launcher says so. */
static inline void replica_place(struct replica_row *r, const char *node, const char *image_id)
{
    json_auto_t *record = environment_to_json(&r->environment);
    environment_done(&r->environment);
    r->environment = environment_of(record, node, image_id);
}

static inline void assert_facts(const json_t *facts, const char *text)
{
    _cleanup_(freep) char *got = facts == NULL ? NULL : record_environment_canonical(facts);
    assert_string_equal(got == NULL ? "none" : got, text == NULL ? "none" : text);
}

static inline void assert_environment(const struct environment *environment, const char *text)
{
    json_auto_t *whole = environment_to_json(environment);
    assert_facts(whole, text);
}

/* A line of a summary with these measured steps, none if n is 0. */
static inline void write_summary(struct buf *out, const struct record_who *who,
                                 const struct summary *s, const int64_t *step_ns, size_t n)
{
    struct summary with = *s;
    with.series = (struct series){0};
    summary_set_series(&with, step_ns, n);
    record_write_summary(out, who, &with);
    free(with.series.data);
}

/* The replica has written that; what a line does not say is unknown. */
static inline void replica_set_summary(struct replica_row *r, const struct summary *s,
                                       const int64_t *step_ns, size_t n)
{
    const struct record_who who = {r->id.role, r->id.index, r->id.attempt.number};
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    write_summary(&line, &who, s, step_ns, n);
    replica_set_line(r, buf_cstr(&line));
}

/* They say the same of a replica. */
static inline void assert_summary_equal(const struct summary *a, const struct summary *b,
                                        const struct replica_id *id)
{
    _cleanup_(freep) char *x = a == NULL ? NULL : summary_write(a, id);
    _cleanup_(freep) char *y = b == NULL ? NULL : summary_write(b, id);
    assert_string_equal(x == NULL ? "none" : x, y == NULL ? "none" : y);
}
