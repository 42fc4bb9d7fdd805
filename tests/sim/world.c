/* The queue of events, random numbers, the trace. See sim.h. */
#include "sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/splitmix.h"
#include "base/str.h"

#define UNIX_START_MS INT64_C(1795164771000)
#define START_NS (1000 * SIM_S)

struct sim sim;

void sim_begin(uint64_t seed, struct sim_outcome *outcome)
{
    const struct sim old = sim;
    sim = (struct sim){.seed = seed,
                       .begin_ns = START_NS,
                       .now_ns = START_NS,
                       .trace_hash = UINT64_C(0xcbf29ce484222325),
                       .is_printing = old.is_printing,
                       .outcome = outcome};
    uint64_t state = seed;
    for (int i = 0; i < DRAW_COUNT; i++) {
        sim.draws[i] = splitmix_next(&state);
    }
}

int64_t sim_unix_ms_of(int64_t at_ns)
{
    return UNIX_START_MS + (at_ns - START_NS) / SIM_MS;
}

int64_t sim_unix_ms(void)
{
    return sim_unix_ms_of(sim.now_ns);
}

/* ---- random numbers ---- */

uint32_t sim_below(enum sim_draw draw, uint32_t n)
{
    return splitmix_below(&sim.draws[draw], n);
}

bool sim_one_in(enum sim_draw draw, uint32_t n)
{
    return sim_below(draw, n) == 0;
}

int64_t sim_time(enum sim_draw draw, int64_t min_ns, int64_t max_ns)
{
    const double part = (double)sim_below(draw, 1000001) / 1e6;
    return min_ns + (int64_t)(part * part * part * (double)(max_ns - min_ns));
}

/* ---- the queue ---- */

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->serial < b->serial;
}

static void put(int64_t at_ns, uint64_t serial, void (*happen)(void *ctx), void *ctx)
{
    const struct sim_event event = {at_ns < sim.now_ns ? sim.now_ns : at_ns, serial, happen, ctx};
    (void)vec_push(&sim.events); /* the room */
    size_t i = sim.events.len - 1;
    struct sim_event *heap = sim.events.items;
    for (; i > 0 && is_before(&event, &heap[(i - 1) / 2]); i = (i - 1) / 2) {
        heap[i] = heap[(i - 1) / 2];
    }
    heap[i] = event;
}

void sim_at(int64_t at_ns, void (*happen)(void *ctx), void *ctx)
{
    put(at_ns, sim.serial++, happen, ctx);
}

void sim_again(int64_t at_ns, void (*happen)(void *ctx), void *ctx)
{
    put(at_ns, sim.serial_now, happen, ctx);
}

void sim_after(int64_t wait_ns, void (*happen)(void *ctx), void *ctx)
{
    sim_at(sim.now_ns + wait_ns, happen, ctx);
}

static struct sim_event take_first(void)
{
    struct sim_event *heap = sim.events.items;
    const struct sim_event first = heap[0];
    const struct sim_event last = heap[--sim.events.len];
    const size_t n = sim.events.len;
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!is_before(&heap[child], &last)) {
            break;
        }
        heap[i] = heap[child];
    }
    if (n > 0) {
        heap[i] = last;
    }
    return first;
}

bool sim_step(void)
{
    const int64_t timer_ns = loop_next_due();
    const int64_t event_ns = sim.events.len == 0 ? INT64_MAX : sim.events.items[0].at_ns;
    if (timer_ns == INT64_MAX && event_ns == INT64_MAX) {
        return false;
    }
    sim.outcome->n_steps++;
    if (event_ns <= timer_ns) {
        const struct sim_event event = take_first();
        sim.now_ns = event.at_ns;
        sim.serial_now = event.serial;
        event.happen(event.ctx);
    } else {
        sim.now_ns = timer_ns > sim.now_ns ? timer_ns : sim.now_ns;
        loop_fire();
    }
    return true;
}

/* ---- the trace ---- */

void sim_trace(const char *format, ...)
{
    char line[1024];
    const int64_t ms = sim.now_ns / SIM_MS - START_NS / SIM_MS;
    int len = snprintf(line, sizeof(line), "%" PRId64 ".%03d ", ms / 1000, (int)(ms % 1000));
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(line + len, sizeof(line) - (size_t)len, format, ap);
    va_end(ap);
    len += n < (int)sizeof(line) - len ? n : (int)sizeof(line) - len - 1;
    for (int i = 0; i < len; i++) {
        sim.trace_hash = (sim.trace_hash ^ (unsigned char)line[i]) * UINT64_C(0x100000001b3);
    }
    if (sim.is_printing) {
        (void)printf("%s\n", line);
    }
}

void sim_broken(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(sim.outcome->verdict, sizeof(sim.outcome->verdict), format, ap);
    va_end(ap);
    sim_trace("BROKEN: %s", sim.outcome->verdict);
    (void)fflush(stdout);
    _exit(SIM_BROKEN);
}

/* ---- what benchd logs ---- */

void __wrap_log_event(enum log_level level, const char *msg, ...);
void __wrap_log_event(enum log_level level, const char *msg, ...)
{
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    va_list ap;
    va_start(ap, msg);
    for (const char *key = va_arg(ap, const char *); key != NULL; key = va_arg(ap, const char *)) {
        buf_printf(&line, " %s='%s'", key, va_arg(ap, const char *));
    }
    va_end(ap);
    sim_trace("log %d: %s%s", (int)level, msg, buf_cstr(&line));
    if (str_has_prefix(msg, "bug:")) {
        sim_broken("%s%s", msg, buf_cstr(&line));
    }
}
