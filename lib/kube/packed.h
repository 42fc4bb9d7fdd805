/* JSON in few bytes, for callers that keep thousands of objects and rarely read one: one block an
 * object instead of a tree of small ones. Pure. Used by cache.c.
 *
 * Objects of one kind say the same again and again (keys, labels, images). Such texts are words:
 * kept once, with a count of their uses, in a struct kube_words that all objects share. A key is a
 * word at once, a value when a second object says it: an object that is packed again has said its
 * own before. What a packed object says in `own` (its name, say) costs a byte. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/vec.h"

struct kube_word {
    char *text; /* owned; NULL: a free place */
    uint32_t len, hash, n_uses;
    uint32_t next; /* place + 1 in the list of its bucket, or of the free ones; 0: the last */
};
/* A value that one object has said so far. */
struct kube_seen {
    uint32_t hash, by; /* by: the object, by the hash of its first own text */
};
struct kube_words {
    VEC(struct kube_word) list;
    uint32_t *buckets; /* by hash: place + 1 of the first; NULL until the first word */
    struct kube_seen *seen;
    uint32_t free; /* place + 1 of the first free one */
};
void kube_words_done(struct kube_words *w);

/* Texts that are kept next to the packed object and are often in it; the
 * first one identifies it. */
#define KUBE_PACK_OWN 3
struct kube_pack_own {
    const char *text[KUBE_PACK_OWN];
};

/* Appends; the words in it stay until kube_packed_forget. */
void kube_pack(struct kube_words *w, const json_t *value, const struct kube_pack_own *own,
               struct buf *ret);
/* What kube_pack was given; owned. `data` is of kube_pack with the same words and own texts. */
json_t *kube_unpack(const struct kube_words *w, const char *data, const struct kube_pack_own *own);
/* Before it is freed. */
void kube_packed_forget(struct kube_words *w, const char *data, size_t len);
