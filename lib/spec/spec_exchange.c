/* Reading how gradients are exchanged, and other names that foreign systems may choose freely. See
 * spec_internal.h. */

#include "base/mem.h"
#include "base/str.h"
#include "doc/openapi_check.h"
#include "spec/profile.h"
#include "spec/spec_internal.h"

/* One of the names we know, or any for a foreign system, which goes to *ret_other. One of ours in
 * other letters (Allreduce) is refused: it would be another exchange, with other rules for its
 * roles and its baseline. Runs that are stored so stay readable. */
bool spec_read_kind(struct reading *r, const struct place *place, bool is_native,
                    const char *const *names, size_t n, int *ret, char **ret_other)
{
    if (!place_is_good(place)) {
        return false;
    }
    if (is_native) {
        *ret = schema_check_word(r->diags, place, names, n);
        return *ret >= 0;
    }
    if (!schema_check_value(r->diags, place)) {
        return false;
    }
    const char *name = place->node->s,
               *ours = array_find_item(names, n, it, str_eq_nocase(name, it));
    *ret = str_index(name, names, n);
    if (*ret < 0 && ours != NULL && r->is_new) {
        return schema_check_word(r->diags, place, &ours, 1) >= 0;
    }
    if (*ret < 0) {
        *ret = (int)n;
        *ret_other = xstrdup(name);
    }
    return true;
}

bool spec_read_exchange(struct reading *r, const struct place *place, bool is_native,
                        struct exchange *exchange)
{
    const struct place local_steps = place_get(place, "localSteps");
    int kind;
    char *other = NULL;
    if (!place_is_good(place)) {
        return place->node == NULL;
    }
    if (!spec_read_kind(r, PLACE(place, "kind"), is_native, exchange_kind_names, EXCHANGE_COUNT,
                        &kind, &other)) {
        return false; /* what goes with it is not known either */
    }
    const int64_t n_steps = place_int(place, "localSteps", 0),
                  n_threads = place_int(place, "serverThreads", 0);
    *exchange = (struct exchange){
        .kind = (enum exchange_kind)kind,
        .other = other,
        .wire = place_enum(place, "wire", exchange_wire_names, EXCHANGE_WIRE_FP32),
        .mode = {place_enum(place, "mode", exchange_mode_names, EXCHANGE_SYNC),
                 n_steps > 1 ? (uint32_t)n_steps : 0}, /* 1 is as without */
        .transport =
            place_enum(place, "transport", exchange_transport_names, EXCHANGE_TRANSPORT_AUTO),
        .server_threads = n_threads > 1 ? (uint32_t)n_threads : 0,
    };
    const char *why = exchange_mode_conflict(&exchange->mode);
    if (why != NULL) {
        reader_complain_key(r->diags, &local_steps, "remove it, or write mode: Sync", "%s", why);
    } else if (exchange->mode.local_steps > 0 && exchange->wire != EXCHANGE_WIRE_FP32) {
        reader_complain_key(r->diags, &local_steps, "write wire: FP32",
                            "localSteps needs wire FP32: a trainer's own parameters must not be "
                            "rounded");
    }
    if (why != NULL || exchange->wire != EXCHANGE_WIRE_FP32) {
        exchange->mode.local_steps = 0; /* nothing follows from it */
    }
    return true;
}

/* Another system would exchange in its own way, and its row would say something else. Its own mode
 * says what its program does; the workload's says what benchworker shall do. */
void spec_check_exchange(struct reading *r, const struct place *item, struct system *system)
{
    const struct exchange *e = &system->exchange;
    const struct place own = place_get(item, "exchange");
    const bool is_own = own.node != NULL, is_native = str_eq(system->profile, PROFILE_NATIVE);
    const struct place at = is_own ? own : place_get(PLACE(&r->at, "workload"), "exchange");
    const bool has_servers = e->kind == EXCHANGE_PSERVER;
    const bool is_nccl = e->transport == EXCHANGE_TRANSPORT_NCCL;
    const struct {
        const char *field, *value;
        bool is_said, is_known, is_of_others; /* is_known: by this kind of exchange */
        const char *whose, *kinds;
    } rows[] = {
        {"wire", exchange_wire_names[e->wire], e->wire != EXCHANGE_WIRE_FP32, has_servers, false,
         "parameter servers have it", "PServer"},
        {"serverThreads", "", e->server_threads > 0, has_servers, false,
         "parameter servers have it", "PServer"},
        {"mode", exchange_mode_names[e->mode.kind], e->mode.kind != EXCHANGE_SYNC, has_servers,
         is_own, "trainers with parameter servers know it", "PServer"},
        {"localSteps", "", e->mode.local_steps > 0, has_servers, is_own,
         "trainers with parameter servers know it", "PServer"},
        {"transport", exchange_transport_names[e->transport],
         e->transport != EXCHANGE_TRANSPORT_AUTO,
         e->kind == EXCHANGE_ALL_REDUCE || (has_servers && !is_nccl), false,
         is_nccl ? "workers choose it" : "workers, trainers and parameter servers choose it",
         is_nccl ? "AllReduce" : "PServer or AllReduce"},
    };
    const size_t n_before = r->diags->list.len;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct place place = place_get(&at, rows[i].field);
        _cleanup_(freep) char *what =
            xasprintf("%s%s%s: only benchworker's %s", rows[i].field,
                      rows[i].value[0] == '\0' ? "" : " ", rows[i].value, rows[i].whose);
        if (rows[i].is_said && !rows[i].is_known) {
            _cleanup_(freep) char *fix =
                xasprintf("leave %s out, or write kind: %s", rows[i].field, rows[i].kinds);
            reader_complain(r->diags, &place, fix, "%s", what);
        } else if (rows[i].is_said && !is_native && !rows[i].is_of_others) {
            reader_complain(
                r->diags, is_own ? &place : item,
                is_own ? "leave it out" : "give the system an exchange of its own, without it",
                "%s, and system '%s' has profile '%s'", what, system->name, system->profile);
        }
    }
    if (r->diags->list.len > n_before) { /* nothing follows from it */
        system->exchange = (struct exchange){.kind = e->kind, .other = e->other};
    }
}

/* The field of measure that is no multiple of the period. */
static void check_steps(struct reading *r, const struct system *system, const char *field,
                        int64_t steps)
{
    const uint32_t period = exchange_mode_period(&system->exchange.mode);
    if (steps % period == 0) {
        return;
    }
    _cleanup_(freep) char *fix =
        xasprintf("write %s: %lld", field, (long long)((steps + period - 1) / period * period));
    reader_complain(r->diags, PLACE(PLACE(&r->at, "measure"), field), fix,
                    "%lld is not a multiple of the %u steps after which system '%s' exchanges",
                    (long long)steps, period, system->name);
}

void spec_check_modes(struct reading *r)
{
    vec_each (const struct system, s, &r->spec->systems) {
        check_steps(r, s, "warmupSteps", r->spec->warmup_steps);
        check_steps(r, s, "steps", r->spec->steps);
    }
}
