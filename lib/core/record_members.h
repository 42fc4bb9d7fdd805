/* The members of JSON objects as tables: those of records (record_members.c), once for their writer
 * (record.c) and their reader (record_read.c), and those of the API's documents for the reader. */
#pragma once

#include "core/record.h"

#define RECORD_VERSION 1
#define RECORD_LINE_MAX_BYTES (64 * 1024)
#define RECORD_DIGEST_CHARS 64

enum member_kind {
    MEMBER_32,     /* a whole number of 32 bits, from `least` to `most`; 0: UINT32_MAX */
    MEMBER_COUNT,  /* the same of 64 bits; above INT64_MAX it is written as that */
    MEMBER_TIME,   /* int64_t; below 0, a mistake of a clock, it is written as 0 */
    MEMBER_NUMBER, /* a double; NaN: null, or not there */
    MEMBER_FLAG,   /* a bool; false: not there */
    MEMBER_WORD,   /* one of `words`; an enum or a bool has its index */
    MEMBER_TEXT,   /* owned; NULL: null */
    MEMBER_NAME,   /* owned, printable ASCII of 1 to `most` characters */
    MEMBER_DIGEST, /* owned, 64 lower-case hex digits; NULL: null */
    MEMBER_TREE,   /* an object of any content, owned */
    MEMBER_OBJECT, /* of `members`; not written while it is empty */
    MEMBER_EVALUATIONS,
    MEMBER_METRICS,
    MEMBER_SERIES, /* of a summary; record_write_summary has the steps */
};

struct record_member {
    const char *key;
    enum member_kind kind;
    bool is_required;
    size_t offset, size;
    struct {
        size_t offset, size;
    } guard;                  /* size > 0: only written where this member is not zero */
    int64_t least, most;      /* least < 0: an int32_t, else a uint32_t */
    const char *const *words; /* NULL: of no value */
    int n_words;
    const struct record_members *members;
};
struct record_members {
    const struct record_member *list;
    size_t n;
    /* What the members must be to each other, of an object that was read. NULL: anything. */
    int (*check)(const json_t *object, const void *read, struct err *err);
};

#define AT(type, member)                                                                           \
    .offset = offsetof(struct type, member), .size = sizeof(((struct type *)NULL)->member)
#define IF(type, member) .guard = {AT(type, member)}
#define MEMBERS(list, ...)                                                                         \
    {                                                                                              \
        list, COUNT_OF(list), __VA_ARGS__                                                          \
    }

/* record_read.c: the members of `object` into a struct that is all zero. -EPROTO names the key; the
 * caller frees what was read before. */
int record_read_members(const json_t *object, const struct record_members *members, void *into,
                        struct err *err);

extern const struct record_members record_head_members; /* of struct record */
extern const struct record_members
    *const record_type_members[]; /* by type, of a member of the union */
extern const struct record_members record_noise_members;
extern const struct record_members record_evaluations_members; /* without the lists */
extern const struct record_members record_series_members;      /* of struct series_text */

/* --- series.c: step times in few bytes, the `series` of a summary (contracts/summary.md) --- */

#define SERIES_MAX 1000 /* entries; u16 each in base64: 2,668 characters */

struct series {
    uint32_t k;  /* steps an entry is the mean of */
    uint32_t n;  /* entries */
    int32_t min; /* smallest code, added to every entry */
};
struct series_text {
    struct series series;
    char *data; /* base64; owned */
};
/* Encodes n_steps step times into `max` entries at most, 1 to SERIES_MAX; appends base64 to `data`.
 * n_steps must not be 0. */
void series_encode(const int64_t *step_ns, size_t n_steps, size_t max, struct series *ret,
                   struct buf *data);

/* Decodes s->n entries into owned microseconds. -EINVAL unless `data` is exactly s->n u16. */
int series_decode(const struct series *s, const char *data, size_t len, double **ret_us);
