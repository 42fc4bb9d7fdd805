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
    MEMBER_SERIES, /* the entries of a series, which is what they are read into: n is known */
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
    /* What the members must be to each other, of an object that was read; it is NULL where they
     * were columns, which are all there. NULL: anything. */
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

/* A value of a member, by its limits: of a 32, COUNT or TIME; of a WORD, TEXT, NAME or DIGEST; of
 * any kind that is a JSON object. -EPROTO names the key. */
int record_set_whole(const struct record_member *m, void *at, int64_t value, struct err *err);
int record_set_text(const struct record_member *m, void *at, const char *text, struct err *err);
int record_set_object(const struct record_member *m, void *at, const json_t *v, struct err *err);
/* record.c: is the member of a struct at `from` written? And its value, owned; NULL: none. */
bool record_has_member(const struct record_member *m, const void *from);
json_t *record_member_to_json(const struct record_member *m, const void *at);
/* All of a struct; owned; NULL: none is written. */
json_t *record_members_to_json(const struct record_members *members, const void *from);

extern const struct record_members record_head_members; /* of struct record */
extern const struct record_members
    *const record_type_members[]; /* by type, of a member of the union */
extern const struct record_members record_noise_members;
extern const struct record_members record_evaluations_members; /* without the lists */

/* --- series.c: the `series` of a summary (contracts/summary.md) --- */

#define SERIES_MAX 1000 /* entries; u16 each in base64: 2,668 characters */
#define SERIES_BYTES(n) (2 * (size_t)(n))

/* Means of k step times each, `max` at most (1 to SERIES_MAX). n_steps must not be 0. */
struct series series_of(const int64_t *step_ns, size_t n_steps, size_t max);
/* Of s->n entries. -EPROTO unless it is base64 of exactly so many; NULL is not. */
int series_read(const char *base64, struct series *s, struct err *err);
