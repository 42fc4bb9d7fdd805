/* See exchange_kind.h. */
#include "core/exchange_kind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"

const char *const exchange_kind_names[EXCHANGE_COUNT] = {
    [EXCHANGE_PSERVER] = "PServer",
    [EXCHANGE_NONE] = "None",
    [EXCHANGE_ALL_REDUCE] = "AllReduce",
};

enum exchange_need exchange_need(enum exchange_kind kind, enum role role)
{
    static const enum exchange_need needs[][ROLE_COUNT] = {
        [EXCHANGE_PSERVER] =
            {[ROLE_PSERVER] = EXCHANGE_NEEDS_SOME, [ROLE_TRAINER] = EXCHANGE_NEEDS_SOME},
        [EXCHANGE_NONE] = {[ROLE_TRAINER] = EXCHANGE_NEEDS_SOME},
        [EXCHANGE_ALL_REDUCE] = {[ROLE_WORKER] = EXCHANGE_NEEDS_SOME},
        [EXCHANGE_OTHER] = {[ROLE_PSERVER] = EXCHANGE_NEEDS_OPTIONAL,
                            [ROLE_TRAINER] = EXCHANGE_NEEDS_OPTIONAL,
                            [ROLE_WORKER] = EXCHANGE_NEEDS_OPTIONAL},
    };
    return needs[kind][role];
}

int exchange_kind_from_string(const char *s)
{
    return str_index(s, exchange_kind_names, EXCHANGE_COUNT);
}

const char *const exchange_wire_names[EXCHANGE_WIRE_COUNT] = {
    [EXCHANGE_WIRE_FP32] = "FP32",
    [EXCHANGE_WIRE_BF16] = "BF16",
};

int exchange_wire_from_string(const char *s)
{
    return str_index(s, exchange_wire_names, EXCHANGE_WIRE_COUNT);
}

const char *const exchange_transport_names[EXCHANGE_TRANSPORT_COUNT] = {
    [EXCHANGE_TRANSPORT_AUTO] = "Auto",
    [EXCHANGE_TRANSPORT_TCP] = "TCP",
    [EXCHANGE_TRANSPORT_NCCL] = "NCCL",
};

int exchange_transport_from_string(const char *s)
{
    return str_index(s, exchange_transport_names, EXCHANGE_TRANSPORT_COUNT);
}

/* ---- modes ---- */

const char *const exchange_mode_names[EXCHANGE_MODE_COUNT] = {
    [EXCHANGE_SYNC] = "Sync",
    [EXCHANGE_ASYNC] = "Async",
};

#define LOCAL_STEPS "localSteps="

uint32_t exchange_mode_period(const struct exchange_mode *mode)
{
    return mode->local_steps > 0 ? mode->local_steps : 1;
}

bool exchange_mode_follows(const struct exchange_mode *mode, uint64_t step)
{
    return (step + 1) % exchange_mode_period(mode) == 0;
}

bool exchange_mode_eq(const struct exchange_mode *a, const struct exchange_mode *b)
{
    return a->kind == b->kind && a->local_steps == b->local_steps;
}

const char *exchange_mode_conflict(const struct exchange_mode *mode)
{
    return mode->local_steps > 0 && mode->kind != EXCHANGE_SYNC
               ? "parameters are averaged over all trainers, which only mode Sync waits for"
               : NULL;
}

void exchange_mode_text(const struct exchange_mode *mode, char ret[static EXCHANGE_MODE_TEXT_MAX])
{
    const int n = snprintf(ret, EXCHANGE_MODE_TEXT_MAX, "%s", exchange_mode_names[mode->kind]);
    if (mode->local_steps > 0) {
        (void)snprintf(ret + n, EXCHANGE_MODE_TEXT_MAX - (size_t)n, " " LOCAL_STEPS "%" PRIu32,
                       mode->local_steps); /* fits */
    }
}

static int parse_local_steps(const char *text, uint32_t *ret, struct err *err)
{
    int64_t value;
    if (!str_has_prefix(text, LOCAL_STEPS)) {
        return err_set(err, EINVAL, "'%s': expected " LOCAL_STEPS "N", text);
    }
    if (parse_i64_in(text + strlen(LOCAL_STEPS), 2, EXCHANGE_LOCAL_STEPS_MAX, &value) < 0) {
        return err_set(err, EINVAL, "'%s': expected a whole number from 2 to %d", text,
                       EXCHANGE_LOCAL_STEPS_MAX);
    }
    *ret = (uint32_t)value;
    return 0;
}

int exchange_mode_parse(const char *text, struct exchange_mode *ret, struct err *err)
{
    struct exchange_mode mode = EXCHANGE_MODE_SYNC;
    const size_t len = strcspn(text, " ");
    const int kind = str_index_n(text, len, exchange_mode_names, EXCHANGE_MODE_COUNT);
    if (kind < 0) {
        return err_set(err, EINVAL, "'%.*s': expected Sync or Async", (int)len, text);
    }
    mode.kind = (enum exchange_mode_kind)kind;
    const int r = text[len] == '\0' ? 0 : parse_local_steps(text + len + 1, &mode.local_steps, err);
    if (r < 0) {
        return r;
    }
    const char *why = exchange_mode_conflict(&mode);
    if (why != NULL) {
        return err_set(err, EINVAL, "localSteps: %s", why);
    }
    *ret = mode;
    return 0;
}
