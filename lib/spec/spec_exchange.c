/* Reading how gradients are exchanged, and other names that foreign systems may choose freely. See
 * spec_internal.h. */

#include "base/mem.h"
#include "base/str.h"
#include "doc/openapi_check.h"
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
        return read_enum(r->diags, place, names, n, ret);
    }
    if (!schema_check_text(r->diags, place)) {
        return false;
    }
    char *name = xstrdup(place->node->s);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(name, names[i])) {
            *ret = (int)i;
            free(name);
            return true;
        }
        if (r->is_new && str_eq_nocase(name, names[i])) {
            _cleanup_(freep) char *fix = xasprintf("did you mean '%s'?", names[i]);
            reader_complain(r->diags, place, fix, "'%s' is '%s' in other letters", name, names[i]);
            free(name);
            return false;
        }
    }
    *ret = (int)n;
    *ret_other = name;
    return true;
}

/* Whether the system that exchanges so is benchworker's is checked when that is known, as of wire,
 * transport and threads: perhaps no system uses the workload's exchange. */
static void read_mode(struct diags *d, const struct place *place, struct exchange *exchange)
{
    const struct place kind_place = place_get(place, "mode");
    struct exchange_mode mode = {
        .kind =
            (enum exchange_mode_kind)place_enum(place, "mode", exchange_mode_names, EXCHANGE_SYNC),
        .local_steps = (uint32_t)place_int(place, "localSteps", 0),
    };
    mode.local_steps = mode.local_steps == 1 ? 0 : mode.local_steps; /* as without */
    /* What goes with an unknown mode is not known either. */
    if ((kind_place.node != NULL && kind_place.node->is_wrong) ||
        exchange_mode_eq(&mode, &EXCHANGE_MODE_SYNC)) {
        return;
    }
    const char *field = mode.kind != EXCHANGE_SYNC ? "mode" : "localSteps";
    const struct place at = place_get(place, field);
    const char *why = exchange_mode_conflict(&mode);
    if (why != NULL) {
        reader_complain_key(d, PLACE(place, "localSteps"), "remove it, or write mode: Sync", "%s",
                            why);
    } else if (exchange->kind != EXCHANGE_PSERVER) {
        reader_complain_key(d, &at, "leave it out, or write kind: PServer",
                            "%s: only benchworker's trainers with parameter servers know it",
                            field);
    } else if (mode.local_steps > 0 && exchange->wire != EXCHANGE_WIRE_FP32) {
        reader_complain_key(d, &at, "write wire: Fp32",
                            "localSteps needs wire Fp32: a trainer's own parameters must not be "
                            "rounded");
    } else {
        exchange->mode = mode;
    }
}

bool spec_read_exchange(struct reading *r, const struct place *place, bool is_native,
                        struct exchange *exchange)
{
    struct diags *d = r->diags;
    if (!place_is_good(place)) {
        return place->node == NULL;
    }
    int kind;
    char *other = NULL;
    const bool is_known = spec_read_kind(r, PLACE(place, "kind"), is_native, exchange_kind_names,
                                         EXCHANGE_COUNT, &kind, &other);
    if (is_known) {
        *exchange = (struct exchange){.kind = (enum exchange_kind)kind, .other = other};
    }
    const int wire = place_enum(place, "wire", exchange_wire_names, EXCHANGE_WIRE_FP32);
    const int transport =
        place_enum(place, "transport", exchange_transport_names, EXCHANGE_TRANSPORT_AUTO);
    const int64_t n_threads = place_int(place, "serverThreads", 0);
    if (!is_known) {
        return false; /* what goes with it is not known either */
    }
    const bool has_servers = kind == EXCHANGE_PSERVER;
    const bool is_nccl = transport == EXCHANGE_TRANSPORT_NCCL;
    if (wire != EXCHANGE_WIRE_FP32 && !has_servers) {
        reader_complain(d, PLACE(place, "wire"), "leave wire out, or write kind: PServer",
                        "wire %s: only benchworker's parameter servers send it",
                        exchange_wire_names[wire]);
    } else {
        exchange->wire = (enum exchange_wire)wire;
    }
    read_mode(d, place, exchange);
    if (transport != EXCHANGE_TRANSPORT_AUTO && kind != EXCHANGE_ALL_REDUCE &&
        (is_nccl || !has_servers)) {
        reader_complain(d, PLACE(place, "transport"),
                        is_nccl ? "leave transport out, or write kind: AllReduce"
                                : "leave transport out, or write kind: PServer or AllReduce",
                        "transport %s: only benchworker's workers%s choose it",
                        exchange_transport_names[transport],
                        is_nccl ? "" : ", or trainers with parameter servers,");
    } else {
        exchange->transport = (enum exchange_transport)transport;
    }
    if (n_threads > 1 && !has_servers) {
        reader_complain(d, PLACE(place, "serverThreads"),
                        "leave serverThreads out, or write kind: PServer",
                        "serverThreads: only benchworker's parameter servers have it");
    } else if (n_threads > 1) {
        exchange->server_threads = (uint32_t)n_threads;
    }
    return true;
}

bool spec_exchanges(const struct reading *r, enum exchange_kind kind)
{
    return vec_any(&r->spec->systems, it, it->exchange.kind == kind) ||
           (r->spec->systems.len == 0 && r->spec->workload.exchange.kind == kind);
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
    const struct place workload = place_get(&r->at, "workload");
    const struct place compute = place_get(&workload, "compute");
    vec_each (const struct system, s, &r->spec->systems) {
        check_steps(r, s, "warmupSteps", r->spec->warmup_steps);
        check_steps(r, s, "steps", r->spec->steps);
        if (r->spec->workload.compute == COMPUTE_EMULATED &&
            !exchange_mode_eq(&s->exchange.mode, &EXCHANGE_MODE_SYNC)) {
            char text[EXCHANGE_MODE_TEXT_MAX];
            exchange_mode_text(&s->exchange.mode, text);
            reader_complain(r->diags, &compute,
                            "write 'compute: Real', or exchange after each step",
                            "compute Emulated checks the sums of each step, and system '%s' "
                            "exchanges by '%s'",
                            s->name, text);
        }
        if (r->spec->workload.compute == COMPUTE_EMULATED &&
            s->exchange.transport == EXCHANGE_TRANSPORT_NCCL) {
            reader_complain(r->diags, &compute, "write 'compute: Real', or transport: Tcp",
                            "compute Emulated exchanges over TCP, because its trainers stand for "
                            "machines of their own, and system '%s' asks for Nccl",
                            s->name);
        }
    }
}
