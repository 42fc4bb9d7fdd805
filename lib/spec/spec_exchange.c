/* Reading how gradients are exchanged, and other names that foreign systems may choose freely. See
 * spec_internal.h. */
#include "base/mem.h"
#include "base/str.h"
#include "spec/name.h"
#include "spec/spec_internal.h"
#include "spec/spec_names.h"

#define TEXT_MAX 1024

/* A name that only the systems under test know. Owned; NULL: absent or wrong (noted). */
char *spec_read_free_name(struct diags *d, const struct place *place)
{
    const char *name;
    if (!read_text(d, place, TEXT_MAX, &name)) {
        return NULL;
    }
    if (!free_name_is_valid(name)) {
        reader_complain(d, place, NULL,
                        "'%s' is not a valid name: use 1 to 63 of A-Z, a-z, 0-9, '.', '_' and '-'; "
                        "begin and end with a letter or digit",
                        name);
        return NULL;
    }
    return xstrdup(name);
}

/* One of the names we know, or any for a foreign system, which goes to *ret_other. */
bool spec_read_kind(struct reading *r, const struct place *place, bool is_native,
                    const char *const *names, size_t n, int *ret, char **ret_other)
{
    if (is_native) {
        return read_enum(r->diags, place, names, n, NULL, ret);
    }
    char *name = spec_read_free_name(r->diags, place);
    for (size_t i = 0; name != NULL && i < n; i++) {
        if (str_eq(name, names[i])) {
            *ret = (int)i;
            free(name);
            return true;
        }
    }
    *ret = (int)n;
    *ret_other = name;
    return name != NULL;
}

/* Whether the system that exchanges so can send it is checked when that is known: the workload's exchange is
 * perhaps nobody's. */
static void read_wire(struct diags *d, const struct place *place, enum exchange_wire wire,
                      struct exchange *exchange)
{
    const struct place at = place_get(place, "wire");
    if (exchange->kind != EXCHANGE_PSERVER) {
        reader_complain(d, &at, "leave wire out, or write kind: PServer",
                        "wire %s: only benchworker's parameter servers send it",
                        exchange_wire_names[wire]);
        return;
    }
    exchange->wire = wire;
}

bool spec_read_exchange(struct reading *r, const struct place *place, bool is_native,
                        struct exchange *exchange)
{
    struct diags *d = r->diags;
    static const struct field fields[] = {
        {"kind", FIELD_REQUIRED}, {"mode", FIELD_OPTIONAL}, {"wire", FIELD_OPTIONAL}};
    static const char *const modes[] = {"Sync"};
    static const char *const modes_later[] = {"Async", "BoundedStaleness", NULL};
    static const char *const wires_later[] = {"Fp16", NULL};
    if (!read_map(d, place, fields, COUNT_OF(fields))) {
        return place->node == NULL;
    }
    struct place kind_place = place_get(place, "kind");
    int kind;
    char *other = NULL;
    const bool is_known = spec_read_kind(r, &kind_place, is_native, exchange_kind_names,
                                         EXCHANGE_COUNT, &kind, &other);
    if (is_known) {
        *exchange = (struct exchange){.kind = (enum exchange_kind)kind, .other = other};
    }
    (void)read_enum_or(d, place, "mode", modes, COUNT_OF(modes), modes_later, 0); /* checked only */
    const int wire = read_enum_or(d, place, "wire", exchange_wire_names, EXCHANGE_WIRE_COUNT,
                                  wires_later, EXCHANGE_WIRE_FP32);
    if (is_known && wire != EXCHANGE_WIRE_FP32) {
        read_wire(d, place, (enum exchange_wire)wire, exchange);
    }
    return is_known;
}

bool spec_exchanges(const struct reading *r, enum exchange_kind kind)
{
    vec_each (const struct system, it, &r->spec->systems) {
        if (it->exchange.kind == kind) {
            return true;
        }
    }
    return r->spec->systems.len == 0 && r->spec->workload.exchange.kind == kind;
}
