/* The fields of records, once for their writer (record.c) and their reader (record_read.c); the
 * tables are in record_fields.c. */
#pragma once

#include "core/record.h"
#include "core/series.h"

#define RECORD_VERSION 1
#define RECORD_LINE_MAX_BYTES (64 * 1024)
#define RECORD_DIGEST_CHARS 64

enum field_kind {
    FIELD_32,     /* a whole number of 32 bits, from `least` to `most`; 0: UINT32_MAX */
    FIELD_COUNT,  /* the same of 64 bits; above INT64_MAX it is written as that */
    FIELD_TIME,   /* int64_t; below 0, a mistake of a clock, it is written as 0 */
    FIELD_NUMBER, /* a double; NaN: null, or not there */
    FIELD_FLAG,   /* a bool; false: not there */
    FIELD_WORD,   /* one of `words`; an enum or a bool has its index */
    FIELD_TEXT,   /* owned; NULL: null */
    FIELD_NAME,   /* owned, printable ASCII of 1 to `most` characters */
    FIELD_DIGEST, /* owned, 64 lower-case hex digits; NULL: null */
    FIELD_TREE,   /* an object of any content, owned */
    FIELD_OBJECT, /* of `fields`; not written while it is empty */
    FIELD_EVALUATIONS,
    FIELD_SERIES, /* of a summary; record_write_summary has the steps */
};

struct field {
    const char *key;
    enum field_kind kind;
    bool is_required;
    size_t offset, size;
    struct {
        size_t offset, size;
    } guard; /* size > 0: only written where this member is not zero */
    int64_t least, most;
    const char *const *words; /* NULL: of no value */
    int n_words;
    const struct fields *fields;
};
struct fields {
    const struct field *list;
    size_t n;
    /* What the fields must be to each other, of an object that was read. NULL: anything. */
    int (*check)(const json_t *object, const void *read, struct err *err);
};

extern const struct fields record_head_fields;          /* of struct record */
extern const struct fields *const record_type_fields[]; /* by type, of a member of the union */
extern const struct fields record_noise_fields;
extern const struct fields record_evaluations_fields; /* without the lists */
extern const struct fields record_series_fields;      /* of struct series_text */

struct series_text {
    struct series series;
    char *data; /* base64; owned */
};
