/* See exchange_kind.h. */
#include "core/exchange_kind.h"

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
    [EXCHANGE_WIRE_FP32] = "Fp32",
    [EXCHANGE_WIRE_BF16] = "Bf16",
};

int exchange_wire_from_string(const char *s)
{
    return str_index(s, exchange_wire_names, EXCHANGE_WIRE_COUNT);
}

const char *const exchange_transport_names[EXCHANGE_TRANSPORT_COUNT] = {
    [EXCHANGE_TRANSPORT_AUTO] = "Auto",
    [EXCHANGE_TRANSPORT_TCP] = "Tcp",
    [EXCHANGE_TRANSPORT_NCCL] = "Nccl",
};

int exchange_transport_from_string(const char *s)
{
    return str_index(s, exchange_transport_names, EXCHANGE_TRANSPORT_COUNT);
}
