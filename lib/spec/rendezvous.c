/* See rendezvous.h. */
#include "spec/rendezvous.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "doc/reader.h"

#define WORD_CHARS "abcdefghijklmnopqrstuvwxyz_"

/* What a placeholder says. */
enum term_kind { TERM_NUMBER, TERM_TEXT, TERM_ADDRESSES };
enum part { PART_HOST, PART_ADDRESS, PART_PORT };
struct term {
    enum term_kind kind;
    int word;       /* NUMBER, TEXT: index into numbers[], texts[] */
    int64_t add;    /* NUMBER */
    int selector;   /* ADDRESSES: index into selectors[] */
    enum part part; /* ADDRESSES */
    bool is_list;   /* ADDRESSES: of all replicas; else of the first, or of the replica itself */
    bool is_rest;   /* a list without the first */
    bool is_json;   /* a list as JSON; else with commas */
};

enum number { NUMBER_INDEX, NUMBER_COUNT, NUMBER_TRAINING, NUMBER_PORT, NUMBER_OF_ROLE };
/* pservers, trainers, workers, launchers follow in the order of enum role. */
static const char *const numbers[] = {"index",    "count",    "training", "port",
                                      "pservers", "trainers", "workers",  "launchers"};
enum text { TEXT_ROLE, TEXT_RUN };
static const char *const texts[] = {"role", "run"};
enum selector { SELECT_TRAINING = ROLE_COUNT, SELECT_SELF };
static const char *const selectors[] = {"pserver",  "trainer",  "worker",
                                        "launcher", "training", "self"};
static const char *const parts[] = {"host", "address", "port", "hosts", "addresses", "ports"};

static bool skip(const char **at, const char *text)
{
    if (!str_has_prefix(*at, text)) {
        return false;
    }
    *at += strlen(text);
    return true;
}

static bool parse_sum(const char **at, struct term *ret)
{
    if (**at != '+' && **at != '-') {
        return true;
    }
    const bool is_minus = **at == '-';
    const size_t len = strspn(*at + 1, "0123456789");
    _cleanup_(freep) char *digits = xstrndup(*at + 1, len);
    int64_t n;
    if (len == 0 || len > 9 || parse_i64(digits, &n) < 0) {
        return false;
    }
    ret->add = is_minus ? -n : n;
    *at += 1 + len;
    return true;
}

static bool parse_addresses(const char **at, struct term *ret)
{
    if (!skip(at, ".")) {
        return false;
    }
    const size_t len = strspn(*at, WORD_CHARS);
    const int part = str_index_n(*at, len, parts, COUNT_OF(parts));
    if (part < 0) {
        return false;
    }
    *at += len;
    ret->kind = TERM_ADDRESSES;
    ret->part = (enum part)(part % 3);
    ret->is_list = part >= 3;
    ret->is_rest = ret->is_list && skip(at, ".rest");
    ret->is_json = ret->is_list && skip(at, "|json");
    return !(ret->is_list && ret->selector == SELECT_SELF);
}

/* The placeholder after "${", up to its end; *at moves after it. False if it
 * is not a placeholder. */
static bool parse_term(const char **at, struct term *ret)
{
    const size_t len = strspn(*at, WORD_CHARS);
    const int number = str_index_n(*at, len, numbers, COUNT_OF(numbers));
    const int text = str_index_n(*at, len, texts, COUNT_OF(texts));
    const int selector = str_index_n(*at, len, selectors, COUNT_OF(selectors));
    const char *end = *at + len;
    *ret = (struct term){0};
    bool is_good = false;
    if (selector >= 0 && *end == '.') {
        ret->selector = selector;
        is_good = parse_addresses(&end, ret);
    } else if (number >= 0) {
        *ret = (struct term){.kind = TERM_NUMBER, .word = number};
        is_good = parse_sum(&end, ret);
    } else if (text >= 0) {
        *ret = (struct term){.kind = TERM_TEXT, .word = text};
        is_good = true;
    }
    if (!is_good || *end != '}') {
        return false;
    }
    *at = end + 1;
    return true;
}

/* The next placeholder of a value; *at moves after it. False if none exists, *at is at the end, or
 * at a "${" that does not begin a placeholder. */
static bool next_term(const char **at, struct term *ret)
{
    const char *found = strstr(*at, "${");
    if (found == NULL) {
        *at += strlen(*at);
        return false;
    }
    *at = found + 2;
    if (!parse_term(at, ret)) {
        *at = found;
        return false;
    }
    return true;
}

/* ---- reading ---- */

static void check_value(struct diags *d, const struct place *place, const char *value)
{
    const char *at = value;
    struct term term;
    while (next_term(&at, &term)) {
    }
    if (*at != '\0') {
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

static enum role training_role(const struct rendezvous_member *m)
{
    return m->replicas[ROLE_WORKER] > 0 ? ROLE_WORKER : ROLE_TRAINER;
}

static enum role role_of(const struct term *term, const struct rendezvous_member *m)
{
    if (term->selector == SELECT_SELF) {
        return m->role;
    }
    return term->selector == SELECT_TRAINING ? training_role(m) : (enum role)term->selector;
}

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

static void put_list(const struct term *term, char *const *addresses, uint32_t n, struct buf *out)
{
    const bool is_quoted = term->is_json && term->part != PART_PORT;
    if (term->is_json) {
        buf_putc(out, '[');
    }
    for (uint32_t i = term->is_rest; addresses != NULL && i < n; i++) {
        buf_puts(out, i == (uint32_t)term->is_rest ? "" : ",");
        buf_puts(out, is_quoted ? "\"" : "");
        put_part(addresses[i], term->part, out);
        buf_puts(out, is_quoted ? "\"" : "");
    }
    if (term->is_json) {
        buf_putc(out, ']');
    }
}

static void put_addresses(const struct term *term, const struct rendezvous_member *m,
                          struct buf *out)
{
    const enum role role = role_of(term, m);
    char *const *addresses = m->of_role[role];
    const uint32_t index = term->selector == SELECT_SELF ? m->index : 0;
    if (term->is_list) {
        put_list(term, addresses, m->replicas[role], out);
    } else if (addresses != NULL && index < m->replicas[role]) {
        put_part(addresses[index], term->part, out);
    }
}

static void put_number(const struct term *term, const struct rendezvous_member *m, struct buf *out)
{
    uint64_t port = 0;
    const char *colon = strrchr(m->listen, ':');
    (void)(colon == NULL ? 0 : parse_u64(colon + 1, &port)); /* 0 without one */
    const int64_t n = term->word == NUMBER_INDEX      ? m->index
                      : term->word == NUMBER_COUNT    ? m->replicas[m->role]
                      : term->word == NUMBER_TRAINING ? m->replicas[training_role(m)]
                      : term->word == NUMBER_PORT     ? (int64_t)port
                                                      : m->replicas[term->word - NUMBER_OF_ROLE];
    buf_printf(out, "%lld", (long long)(n + term->add));
}

char *rendezvous_value(const struct rendezvous_var *var, const struct rendezvous_member *member)
{
    struct buf out = BUF_INIT;
    const char *at = var->value, *from = at;
    struct term term;
    while (next_term(&at, &term)) {
        const char *begin = strstr(from, "${");
        buf_append(&out, from, (size_t)(begin - from));
        from = at;
        if (term.kind == TERM_NUMBER) {
            put_number(&term, member, &out);
        } else if (term.kind == TERM_TEXT) {
            buf_puts(&out, term.word == TEXT_RUN ? member->run : role_to_string(member->role));
        } else {
            put_addresses(&term, member, &out);
        }
    }
    buf_puts(&out, from);
    return out.data == NULL ? xstrdup("") : buf_take(&out);
}

bool rendezvous_needs_addresses(const struct rendezvous_var *var,
                                const struct rendezvous_member *member, int skip_role,
                                enum role *ret_role)
{
    const char *at = var->value;
    struct term term;
    while (next_term(&at, &term)) {
        if (term.kind == TERM_ADDRESSES && (int)role_of(&term, member) != skip_role) {
            *ret_role = role_of(&term, member);
            return true;
        }
    }
    return false;
}
