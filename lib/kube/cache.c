/* Objects by name, see cache.h. */
#include "kube/cache.h"

#include <string.h>

#include "base/mem.h"
#include "kube/json.h"

/* ---- entries ---- */

const char *kube_entry_name(const struct kube_entry *e)
{
    return e->text;
}

const char *kube_entry_uid(const struct kube_entry *e)
{
    return e->text + e->uid_at;
}

const char *kube_entry_version(const struct kube_entry *e)
{
    return e->text + e->version_at;
}

static struct kube_pack_own own_texts(const struct kube_entry *e)
{
    return (struct kube_pack_own){{kube_entry_name(e), kube_entry_uid(e), kube_entry_version(e)}};
}

static void entry_free(struct kube_cache *c, struct kube_entry *e)
{
    kube_packed_forget(&c->words, e->text + e->packed_at, e->size - e->packed_at);
    free(e);
}

json_t *kube_cache_json(const struct kube_cache *c, const struct kube_entry *e)
{
    const struct kube_pack_own own = own_texts(e);
    return kube_unpack(&c->words, e->text + e->packed_at, &own);
}

static void trim(const struct kube_cache *c, json_t *object)
{
    (void)json_object_del(json_object_get(object, "metadata"), "managedFields"); /* may be absent */
    if (c->params.prune != NULL) {
        c->params.prune(object);
    }
}

/* Of an object that was trimmed. */
static struct kube_entry *entry_new(struct kube_cache *c, const json_t *object)
{
    const struct kube_pack_own own = {{kube_json_metadata(object, "name"),
                                       kube_json_metadata(object, "uid"),
                                       kube_json_metadata(object, "resourceVersion")}};
    uint32_t ends[KUBE_PACK_OWN];
    struct buf text = BUF_INIT;
    for (unsigned i = 0; i < KUBE_PACK_OWN; i++) {
        buf_append(&text, own.text[i], strlen(own.text[i]) + 1);
        ends[i] = (uint32_t)text.len;
    }
    kube_pack(&c->words, object, &own, &text);
    struct kube_entry *e = xmalloc(sizeof(*e) + text.len);
    *e = (struct kube_entry){.mark = c->params.mark == NULL ? 0 : c->params.mark(object),
                             .epoch = c->epoch,
                             .uid_at = ends[0],
                             .version_at = ends[1],
                             .packed_at = ends[2],
                             .size = (uint32_t)text.len};
    memcpy(e->text, text.data, text.len);
    buf_done(&text);
    return e;
}

/* ---- the cache ---- */

void kube_cache_init(struct kube_cache *c, const struct kube_cache_params *params)
{
    *c = (struct kube_cache){.params = *params};
}

static void drop_listed(struct kube_cache *c)
{
    for (size_t i = c->n_put; i < c->listed.len; i++) {
        entry_free(c, c->listed.items[i]);
    }
    vec_done(&c->listed);
    c->n_put = 0;
}

void kube_cache_done(struct kube_cache *c)
{
    drop_listed(c);
    vec_each (struct kube_entry *, it, &c->entries) {
        free(*it);
    }
    vec_done(&c->entries);
    kube_words_done(&c->words);
}

/* The object's place, or the one where it belongs. */
static bool find(const struct kube_cache *c, const char *name, size_t *ret)
{
    size_t low = 0, high = c->entries.len;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(kube_entry_name(c->entries.items[middle]), name);
        if (order == 0) {
            *ret = middle;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret = low;
    return false;
}

const struct kube_entry *kube_cache_get(const struct kube_cache *c, const char *name)
{
    size_t at;
    return find(c, name, &at) ? c->entries.items[at] : NULL;
}

/* `json` NULL: it is made, if anybody asks. */
static void tell(const struct kube_cache *c, enum kube_change change, const struct kube_entry *e,
                 const json_t *json)
{
    if (c->params.on_change == NULL) {
        return;
    }
    json_t *made = json == NULL ? kube_cache_json(c, e) : NULL;
    const struct kube_object object = {.name = kube_entry_name(e),
                                       .uid = kube_entry_uid(e),
                                       .resource_version = kube_entry_version(e),
                                       .json = json == NULL ? made : json};
    c->params.on_change(c->params.ctx, change, &object);
    json_decref(made);
}

/* Takes the object out; `last`, if not NULL, is its last state. */
static void take_out(struct kube_cache *c, size_t at, const json_t *last)
{
    struct kube_entry **items = c->entries.items;
    struct kube_entry *e = items[at];
    memmove(&items[at], &items[at + 1], (c->entries.len - 1 - at) * sizeof(items[0]));
    c->entries.len--;
    if (last != NULL) {
        entry_free(c, e);
        e = entry_new(c, last);
    }
    tell(c, KUBE_CHANGE_REMOVED, e, last);
    entry_free(c, e);
}

/* Is it there already, in this state? Then it stays. */
static bool is_known(const struct kube_cache *c, const json_t *object)
{
    const char *version = kube_json_metadata(object, "resourceVersion");
    size_t at;
    if (version[0] == '\0' || !find(c, kube_json_metadata(object, "name"), &at)) {
        return false;
    }
    struct kube_entry *e = c->entries.items[at];
    if (strcmp(kube_entry_uid(e), kube_json_metadata(object, "uid")) != 0 ||
        strcmp(kube_entry_version(e), version) != 0) {
        return false;
    }
    e->epoch = c->epoch;
    return true;
}

/* `json`: as for the observers. */
static void put(struct kube_cache *c, struct kube_entry *e_take, const json_t *json)
{
    size_t at;
    if (find(c, kube_entry_name(e_take), &at)) {
        struct kube_entry *old = c->entries.items[at];
        if (strcmp(kube_entry_uid(old), kube_entry_uid(e_take)) == 0) {
            c->entries.items[at] = e_take;
            entry_free(c, old);
            tell(c, KUBE_CHANGE_UPDATED, e_take, json);
            return;
        }
        take_out(c, at, NULL);
    }
    (void)vec_push(&c->entries); /* the room; its place is made next */
    struct kube_entry **items = c->entries.items;
    memmove(&items[at + 1], &items[at], (c->entries.len - 1 - at) * sizeof(items[0]));
    items[at] = e_take;
    tell(c, KUBE_CHANGE_ADDED, e_take, json);
}

bool kube_cache_put(struct kube_cache *c, json_t *object)
{
    if (kube_json_metadata(object, "name")[0] == '\0') {
        return false;
    }
    if (!is_known(c, object)) {
        trim(c, object);
        put(c, entry_new(c, object), object);
    }
    return true;
}

void kube_cache_remove(struct kube_cache *c, json_t *object)
{
    size_t at;
    if (find(c, kube_json_metadata(object, "name"), &at) &&
        strcmp(kube_entry_uid(c->entries.items[at]), kube_json_metadata(object, "uid")) == 0) {
        trim(c, object);
        take_out(c, at, object);
    }
}

/* ---- lists ---- */

void kube_cache_begin_list(struct kube_cache *c)
{
    drop_listed(c);
    c->epoch++;
}

void kube_cache_add_listed(struct kube_cache *c, json_t *object)
{
    if (kube_json_metadata(object, "name")[0] != '\0' && !is_known(c, object)) {
        trim(c, object);
        *vec_push(&c->listed) = entry_new(c, object);
    }
}

bool kube_cache_end_list(struct kube_cache *c, size_t most)
{
    for (; c->n_put < c->listed.len; most--) {
        if (most == 0) {
            return false;
        }
        put(c, c->listed.items[c->n_put++], NULL);
    }
    for (size_t i = c->entries.len; i > 0; i--) { /* from the end: places before it stay */
        if (c->entries.items[i - 1]->epoch != c->epoch) {
            if (most-- == 0) {
                return false;
            }
            take_out(c, i - 1, NULL);
        }
    }
    drop_listed(c);
    return true;
}
