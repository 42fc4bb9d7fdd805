/* See rendezvous.h. */
#include "spec/rendezvous.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "doc/reader.h"

#define WORD_CHARS "abcdefghijklmnopqrstuvwxyz_"

/* A value while it is filled in. */
struct filling {
    const struct rendezvous_member *m;
    struct buf out;
    int skip;   /* a role whose addresses are not noted; -1: none */
    int needed; /* the first other role that it has addresses of; -1: none */
};

/* ---- addresses: "host", "ports", "addresses.rest|json" ---- */

enum part { PART_HOST, PART_ADDRESS, PART_PORT, N_PARTS };
static const char *const parts[] = {"host", "address", "port", "hosts", "addresses", "ports"};

/* "[::1]:7164": its host is "::1". */
static void put_part(const char *address, enum part part, struct buf *out)
{
    const char *colon = strrchr(address, ':');
    const bool is_v6 = address[0] == '[';
    if (part == PART_ADDRESS || colon == NULL) {
        buf_puts(out, address);
    } else if (part == PART_PORT) {
        buf_puts(out, colon + 1);
    } else {
        buf_append(out, address + is_v6, (size_t)(colon - address) - 2 * (size_t)is_v6);
    }
}

/* From the one at `first` on. */
static void put_list(char *const *addresses, uint32_t first, uint32_t n, enum part part,
                     bool is_json, struct buf *out)
{
    const char *quote = is_json && part != PART_PORT ? "\"" : "";
    buf_puts(out, is_json ? "[" : "");
    for (uint32_t i = first; addresses != NULL && i < n; i++) {
        buf_puts(out, i == first ? "" : ",");
        buf_puts(out, quote);
        put_part(addresses[i], part, out);
        buf_puts(out, quote);
    }
    buf_puts(out, is_json ? "]" : "");
}

/* `what` of the replica itself, or of all of the role, or its first. False: it is no such word. */
static bool put_addresses(struct filling *f, enum role role, bool is_self, const char *what)
{
    const size_t len = strspn(what, WORD_CHARS);
    const int word = str_index_n(what, len, parts, COUNT_OF(parts));
    const bool is_list = word >= N_PARTS, is_rest = is_list && str_has_prefix(what + len, ".rest");
    const char *end = what + len + (is_rest ? strlen(".rest") : 0);
    const bool is_json = is_list && str_eq(end, "|json");
    char *const *addresses = f->m->of_role[role];
    const uint32_t index = is_self ? f->m->index : 0;
    if (word < 0 || (*end != '\0' && !is_json) || (is_list && is_self)) {
        return false;
    }
    f->needed = f->needed < 0 && (int)role != f->skip ? (int)role : f->needed;
    if (is_list) {
        put_list(addresses, is_rest, f->m->replicas[role], (enum part)(word % N_PARTS), is_json,
                 &f->out);
    } else if (addresses != NULL && index < f->m->replicas[role]) {
        put_part(addresses[index], (enum part)word, &f->out);
    }
    return true;
}

/* ---- numbers ---- */

/* "", "-1" or "+10". */
static bool parse_sum(const char *text, int64_t *ret)
{
    const bool is_plus = text[0] == '+';
    *ret = 0;
    return text[0] == '\0' || ((is_plus || text[0] == '-') && ascii_is_digit(text[1]) &&
                               strlen(text) <= 10 && parse_i64(text + is_plus, ret) == 0);
}

/* The number of that name; -1: there is no such number. */
static int64_t number_of(const struct rendezvous_member *m, const char *name, size_t len)
{
    uint64_t port = 0;
    const char *colon = strrchr(m->listen, ':');
    (void)(colon == NULL ? 0 : parse_u64(colon + 1, &port)); /* 0 without one */
    static const char *const names[] = {"index", "count", "training", "port"};
    const int64_t numbers[] = {m->index, m->replicas[m->role],
                               m->replicas[role_training(m->replicas)], (int64_t)port};
    const int i = str_index_n(name, len, names, COUNT_OF(names));
    const bool is_plural = len > 0 && name[len - 1] == 's';
    const int role = is_plural ? str_index_n(name, len - 1, role_names, ROLE_COUNT) : -1;
    return i >= 0 ? numbers[i] : role >= 0 ? (int64_t)m->replicas[role] : -1;
}

/* ---- a value ---- */

/* What is between "${" and "}". False: it is no placeholder. */
static bool put_term(struct filling *f, const char *term)
{
    const struct rendezvous_member *m = f->m;
    const size_t len = strspn(term, WORD_CHARS);
    const int role = str_index_n(term, len, role_names, ROLE_COUNT);
    const int64_t number = number_of(m, term, len);
    int64_t add;
    if (term[len] == '.') {
        const bool is_training = str_has_prefix(term, "training."),
                   is_self = str_has_prefix(term, "self.");
        const enum role of = is_training ? role_training(m->replicas)
                             : is_self   ? m->role
                                         : (enum role)role;
        return (role >= 0 || is_training || is_self) &&
               put_addresses(f, of, is_self, term + len + 1);
    }
    if (str_eq(term, "role") || str_eq(term, "run")) {
        buf_puts(&f->out, str_eq(term, "run") ? m->run : role_to_string(m->role));
        return true;
    }
    if (number < 0 || !parse_sum(term + len, &add)) {
        return false;
    }
    buf_printf(&f->out, "%lld", (long long)(number + add));
    return true;
}

/* Returns where the first "${" is that begins no placeholder; NULL: each one does. */
static const char *fill(struct filling *f, const char *value)
{
    for (const char *at = value, *begin;; at = begin + strcspn(begin, "}") + 1) {
        begin = strstr(at, "${");
        buf_append(&f->out, at, begin == NULL ? strlen(at) : (size_t)(begin - at));
        if (begin == NULL) {
            return NULL;
        }
        const size_t len = strcspn(begin + 2, "}");
        _cleanup_(freep) char *term = xstrndup(begin + 2, len);
        if (begin[2 + len] != '}' || !put_term(f, term)) {
            return begin;
        }
    }
}

/* ---- reading ---- */

static void check_value(struct diags *d, const struct place *place, const char *value)
{
    const uint32_t none[ROLE_COUNT] = {0};
    char *const *const unknown[ROLE_COUNT] = {NULL};
    const struct rendezvous_member any = {
        .run = "", .replicas = none, .of_role = unknown, .listen = ""};
    struct filling f = {.m = &any};
    const char *at = fill(&f, value);
    buf_done(&f.out);
    if (at != NULL) {
        const size_t len = strcspn(at, "}");
        reader_complain(d, place,
                        "write for example ${index}, ${training}, ${training.host}, "
                        "${pserver.addresses} or ${self.port}; docs/profiles.md has the rest",
                        "unknown placeholder '%.*s%s'", (int)len, at, at[len] == '}' ? "}" : "");
    }
}

void rendezvous_read(struct diags *diags, const struct place *map, struct rendezvous *ret)
{
    static const char *const words[RENDEZVOUS_REPLICAS_COUNT] = {"All", "First", "Rest"};
    place_items (item, map, "rendezvous") {
        const char *name = place_text(&item, "name"), *value = place_text(&item, "value");
        if (name == NULL || value == NULL) {
            continue;
        }
        check_value(diags, PLACE(&item, "value"), value);
        struct rendezvous_var *var = vec_push(&ret->vars);
        *var = (struct rendezvous_var){.name = xstrdup(name), .value = xstrdup(value)};
        if (tree_get(item.node, "roles") == NULL) {
            memset(var->roles, true, sizeof(var->roles));
        }
        place_flags(&item, "roles", role_names, ROLE_COUNT, var->roles);
        place_flags(&item, "with", role_names, ROLE_COUNT, var->with);
        var->replicas = place_enum(&item, "replicas", words, RENDEZVOUS_ALL);
    }
}

void rendezvous_done(struct rendezvous *rendezvous)
{
    vec_each (struct rendezvous_var, it, &rendezvous->vars) {
        free(it->name);
        free(it->value);
    }
    vec_done(&rendezvous->vars);
    *rendezvous = (struct rendezvous){0};
}

/* ---- filling in ---- */

bool rendezvous_applies(const struct rendezvous_var *var, const struct rendezvous_member *member)
{
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (var->with[role] && member->replicas[role] == 0) {
            return false;
        }
    }
    const bool is_among = var->replicas == RENDEZVOUS_ALL ||
                          (var->replicas == RENDEZVOUS_FIRST) == (member->index == 0);
    return var->roles[member->role] && is_among;
}

char *rendezvous_value(const struct rendezvous_var *var, const struct rendezvous_member *member)
{
    struct filling f = {.m = member};
    (void)fill(&f, var->value); /* it was checked */
    return f.out.data == NULL ? xstrdup("") : buf_take(&f.out);
}

bool rendezvous_needs_addresses(const struct rendezvous_var *var,
                                const struct rendezvous_member *member, int skip,
                                enum role *ret_role)
{
    char *const *const unknown[ROLE_COUNT] = {NULL}; /* whichever they are */
    struct rendezvous_member named = *member;
    named.run = named.listen = "";
    named.of_role = unknown;
    struct filling f = {.m = &named, .skip = skip, .needed = -1};
    (void)fill(&f, var->value); /* likewise */
    buf_done(&f.out);
    if (f.needed >= 0) {
        *ret_role = (enum role)f.needed;
    }
    return f.needed >= 0;
}
