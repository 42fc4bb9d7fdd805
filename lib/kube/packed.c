/* See packed.h. A value is a head (kind, number), the number in more bytes if it is
 * large, and then as many bytes (a text), values (an array) or pairs of key and value (an
 * object) as the number says. */
#include "kube/packed.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

enum kind {
    PACKED_WORD,     /* number: its place */
    PACKED_TEXT,     /* number: its bytes */
    PACKED_OBJECT,   /* number: its members */
    PACKED_ARRAY,    /* number: its items */
    PACKED_INTEGER,  /* number: itself */
    PACKED_NEGATIVE, /* number: -1 - itself */
    PACKED_REAL,     /* a double follows */
    PACKED_ONE_OF,   /* number: of these */
};
enum { ONE_NULL, ONE_FALSE, ONE_TRUE, ONE_OWN }; /* ONE_OWN + i: own->text[i] */

#define NUMBER_BITS 5
#define NUMBER_LONG ((1U << NUMBER_BITS) - 1) /* in the head: more bytes follow */
#define WORD_LEN_MAX 160
#define N_BUCKETS 1024U
#define N_SEEN 512U

/* ---- words ---- */

void kube_words_done(struct kube_words *w)
{
    vec_each (struct kube_word, it, &w->list) {
        free(it->text);
    }
    vec_done(&w->list);
    free(w->buckets);
    free(w->seen);
    *w = (struct kube_words){0};
}

static uint32_t hash_of(const char *text, size_t len)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    }
    return hash;
}

/* place + 1; 0: it is not a word */
static uint32_t find_word(const struct kube_words *w, const char *text, size_t len, uint32_t hash)
{
    uint32_t at = w->buckets == NULL ? 0 : w->buckets[hash % N_BUCKETS];
    for (; at != 0; at = w->list.items[at - 1].next) {
        const struct kube_word *word = &w->list.items[at - 1];
        if (word->hash == hash && word->len == len && memcmp(word->text, text, len) == 0) {
            break;
        }
    }
    return at;
}

static uint32_t add_word(struct kube_words *w, const char *text, size_t len, uint32_t hash)
{
    uint32_t at = w->free;
    if (at != 0) {
        w->free = w->list.items[at - 1].next;
    } else {
        (void)vec_push(&w->list);
        at = (uint32_t)w->list.len;
    }
    if (w->buckets == NULL) {
        w->buckets = xnew_array(uint32_t, N_BUCKETS);
    }
    uint32_t *bucket = &w->buckets[hash % N_BUCKETS];
    w->list.items[at - 1] = (struct kube_word){
        .text = xstrndup(text, len), .len = (uint32_t)len, .hash = hash, .next = *bucket};
    *bucket = at;
    return at;
}

/* True for the second object; a text in between may have taken its place. */
static bool was_seen(struct kube_words *w, uint32_t hash, const struct kube_pack_own *own)
{
    if (w->seen == NULL) {
        w->seen = xnew_array(struct kube_seen, N_SEEN);
    }
    const uint32_t by = hash_of(own->text[0], strlen(own->text[0]));
    struct kube_seen *place = &w->seen[hash % N_SEEN];
    const bool was = place->hash == hash && place->by != by;
    *place = (struct kube_seen){hash, by};
    return was;
}

static void drop_use(struct kube_words *w, uint32_t place)
{
    struct kube_word *word = &w->list.items[place];
    if (--word->n_uses > 0) {
        return;
    }
    uint32_t *link = &w->buckets[word->hash % N_BUCKETS];
    while (*link != place + 1) {
        link = &w->list.items[*link - 1].next;
    }
    *link = word->next;
    free(word->text);
    *word = (struct kube_word){.next = w->free};
    w->free = place + 1;
}

/* ---- packing ---- */

static void put_head(struct buf *b, enum kind kind, uint64_t number)
{
    const uint64_t n = number < NUMBER_LONG ? number : NUMBER_LONG;
    buf_putc(b, (char)((unsigned)kind << NUMBER_BITS | (unsigned)n));
    if (n == NUMBER_LONG) {
        for (number -= NUMBER_LONG; number >= 0x80; number >>= 7) {
            buf_putc(b, (char)(0x80 | (number & 0x7f)));
        }
        buf_putc(b, (char)number);
    }
}

static void put_text(struct kube_words *w, const char *text, size_t len, bool is_key,
                     const struct kube_pack_own *own, struct buf *b)
{
    const bool may_be_word = len > 1 && len <= WORD_LEN_MAX && memchr(text, '\0', len) == NULL;
    const uint32_t hash = hash_of(text, may_be_word ? len : 0);
    uint32_t at = may_be_word ? find_word(w, text, len, hash) : 0;
    if (at == 0 && may_be_word && (is_key || was_seen(w, hash, own))) {
        at = add_word(w, text, len, hash);
    }
    if (at != 0) {
        w->list.items[at - 1].n_uses++;
        put_head(b, PACKED_WORD, at - 1);
    } else {
        put_head(b, PACKED_TEXT, len);
        buf_append(b, text, len);
    }
}

static bool put_own(const struct kube_pack_own *own, const json_t *value, struct buf *b)
{
    const size_t len = json_string_length(value);
    for (unsigned i = 0; i < KUBE_PACK_OWN; i++) {
        if (len > 0 && strlen(own->text[i]) == len &&
            memcmp(own->text[i], json_string_value(value), len) == 0) {
            put_head(b, PACKED_ONE_OF, ONE_OWN + i);
            return true;
        }
    }
    return false;
}

void kube_pack(struct kube_words *w, const json_t *value, const struct kube_pack_own *own,
               struct buf *ret)
{
    const char *key;
    json_t *child;
    size_t i;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        put_head(ret, PACKED_OBJECT, json_object_size(value));
        json_object_foreach ((json_t *)value, key, child) {
            put_text(w, key, strlen(key), true, own, ret);
            kube_pack(w, child, own, ret);
        }
        break;
    case JSON_ARRAY:
        put_head(ret, PACKED_ARRAY, json_array_size(value));
        json_array_foreach (value, i, child) {
            kube_pack(w, child, own, ret);
        }
        break;
    case JSON_STRING:
        if (!put_own(own, value, ret)) {
            put_text(w, json_string_value(value), json_string_length(value), false, own, ret);
        }
        break;
    case JSON_INTEGER: {
        const json_int_t n = json_integer_value(value);
        put_head(ret, n < 0 ? PACKED_NEGATIVE : PACKED_INTEGER, (uint64_t)(n < 0 ? -1 - n : n));
        break;
    }
    case JSON_REAL: {
        const double real = json_real_value(value);
        put_head(ret, PACKED_REAL, 0);
        buf_append(ret, &real, sizeof(real));
        break;
    }
    case JSON_TRUE:
    case JSON_FALSE:
        put_head(ret, PACKED_ONE_OF, json_is_true(value) ? ONE_TRUE : ONE_FALSE);
        break;
    case JSON_NULL:
        put_head(ret, PACKED_ONE_OF, ONE_NULL);
        break;
    }
}

/* ---- unpacking ---- */

struct head {
    enum kind kind;
    uint64_t number;
};

static struct head take_head(const char **at)
{
    const unsigned char first = (unsigned char)*(*at)++;
    struct head h = {(enum kind)(first >> NUMBER_BITS), first & NUMBER_LONG};
    if (h.number == NUMBER_LONG) {
        unsigned char c;
        unsigned shift = 0;
        do {
            c = (unsigned char)*(*at)++;
            h.number += (uint64_t)(c & 0x7f) << shift;
            shift += 7;
        } while (c >= 0x80);
    }
    return h;
}

/* The bytes after the head that are no head. */
static size_t n_raw_bytes(struct head h)
{
    return h.kind == PACKED_TEXT ? h.number : h.kind == PACKED_REAL ? sizeof(double) : 0;
}

static json_t *take_value(const struct kube_words *w, const char **at,
                          const struct kube_pack_own *own);

static json_t *take_object(const struct kube_words *w, const char **at,
                           const struct kube_pack_own *own, uint64_t n)
{
    json_t *object = json_object();
    for (uint64_t i = 0; i < n; i++) {
        const struct head h = take_head(at);
        const char *text = h.kind == PACKED_WORD ? w->list.items[h.number].text : *at;
        const size_t len = h.kind == PACKED_WORD ? w->list.items[h.number].len : h.number;
        *at += n_raw_bytes(h);
        /* Fails for a NULL value and without memory only. */
        (void)json_object_setn_new_nocheck(object, text, len, take_value(w, at, own));
    }
    return object;
}

static json_t *take_one_of(const struct kube_pack_own *own, uint64_t which)
{
    switch (which) {
    case ONE_NULL:
        return json_null();
    case ONE_FALSE:
        return json_false();
    case ONE_TRUE:
        return json_true();
    default:
        return json_string_nocheck(own->text[which - ONE_OWN]);
    }
}

static json_t *take_value(const struct kube_words *w, const char **at,
                          const struct kube_pack_own *own)
{
    const struct head h = take_head(at);
    const char *raw = *at;
    *at += n_raw_bytes(h);
    switch (h.kind) {
    case PACKED_WORD:
        return json_stringn_nocheck(w->list.items[h.number].text, w->list.items[h.number].len);
    case PACKED_TEXT:
        return json_stringn_nocheck(raw, h.number);
    case PACKED_OBJECT:
        return take_object(w, at, own, h.number);
    case PACKED_ARRAY: {
        json_t *array = json_array();
        for (uint64_t i = 0; i < h.number; i++) {
            (void)json_array_append_new(array, take_value(w, at, own)); /* the same */
        }
        return array;
    }
    case PACKED_INTEGER:
        return json_integer((json_int_t)h.number);
    case PACKED_NEGATIVE:
        return json_integer(-1 - (json_int_t)h.number);
    case PACKED_REAL: {
        double real;
        memcpy(&real, raw, sizeof(real));
        return json_real(real);
    }
    case PACKED_ONE_OF:
        break;
    }
    return take_one_of(own, h.number);
}

json_t *kube_unpack(const struct kube_words *w, const char *data, const struct kube_pack_own *own)
{
    return take_value(w, &data, own);
}

void kube_packed_forget(struct kube_words *w, const char *data, size_t len)
{
    for (const char *end = data + len; data < end;) {
        const struct head h = take_head(&data);
        data += n_raw_bytes(h);
        if (h.kind == PACKED_WORD) {
            drop_use(w, (uint32_t)h.number);
        }
    }
}
