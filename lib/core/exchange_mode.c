/* See exchange_mode.h. */
#include "core/exchange_mode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"

const char *const exchange_mode_names[EXCHANGE_MODE_COUNT] = {
    [EXCHANGE_SYNC] = "Sync",
    [EXCHANGE_ASYNC] = "Async",
    [EXCHANGE_BOUNDED] = "BoundedStaleness",
};

/* The fields in the order of the text. */
static const struct {
    const char *name; /* in a definition too */
    size_t at;        /* of a uint32_t in struct exchange_mode */
    int64_t min, max;
} fields[] = {
    {"staleness", offsetof(struct exchange_mode, staleness), 0, EXCHANGE_STALENESS_MAX},
    {"backups", offsetof(struct exchange_mode, backups), 1, EXCHANGE_BACKUPS_MAX},
    {"accumulate", offsetof(struct exchange_mode, accumulate), 2, EXCHANGE_PERIOD_MAX},
    {"localSteps", offsetof(struct exchange_mode, local_steps), 2, EXCHANGE_PERIOD_MAX},
};

static uint32_t *field(struct exchange_mode *mode, size_t i)
{
    return (uint32_t *)(void *)((char *)mode + fields[i].at);
}

uint32_t exchange_mode_period(const struct exchange_mode *mode)
{
    return mode->accumulate > 0 ? mode->accumulate : mode->local_steps > 0 ? mode->local_steps : 1;
}

bool exchange_mode_follows(const struct exchange_mode *mode, uint64_t step)
{
    return (step + 1) % exchange_mode_period(mode) == 0;
}

bool exchange_mode_eq(const struct exchange_mode *a, const struct exchange_mode *b)
{
    return a->kind == b->kind && a->staleness == b->staleness && a->backups == b->backups &&
           a->accumulate == b->accumulate && a->local_steps == b->local_steps;
}

bool exchange_mode_is_single(const struct exchange_mode *mode)
{
    return mode->kind != EXCHANGE_SYNC || mode->backups > 0;
}

bool exchange_mode_may_have(const struct exchange_mode *mode, uint64_t own, uint64_t slowest)
{
    switch (mode->kind) {
    case EXCHANGE_ASYNC:
        return true;
    case EXCHANGE_BOUNDED:
        return own + 1 <= slowest + mode->staleness;
    default:
        return mode->backups > 0 || own + 1 <= slowest;
    }
}

const char *exchange_mode_conflict(const struct exchange_mode *mode, const char **ret_field)
{
    if (mode->accumulate > 0 && mode->local_steps > 0) {
        *ret_field = "accumulate";
        return "a trainer that updates its own parameters in each step has no gradients to add up";
    }
    if (mode->local_steps > 0 && mode->kind != EXCHANGE_SYNC) {
        *ret_field = "localSteps";
        return "parameters are averaged over all trainers, which only mode Sync waits for";
    }
    if (mode->backups > 0 && (mode->kind != EXCHANGE_SYNC || mode->local_steps > 0)) {
        *ret_field = "backups";
        return "only mode Sync, without local steps, waits for trainers";
    }
    if (mode->staleness > 0 && mode->kind != EXCHANGE_BOUNDED) {
        *ret_field = "staleness";
        return "only mode BoundedStaleness has a bound";
    }
    return NULL;
}

void exchange_mode_text(const struct exchange_mode *mode, char ret[static EXCHANGE_MODE_TEXT_MAX])
{
    struct exchange_mode copy = *mode;
    int n = snprintf(ret, EXCHANGE_MODE_TEXT_MAX, "%s", exchange_mode_names[mode->kind]);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (*field(&copy, i) > 0 || (i == 0 && mode->kind == EXCHANGE_BOUNDED)) {
            n += snprintf(ret + n, EXCHANGE_MODE_TEXT_MAX - (size_t)n, " %s=%" PRIu32,
                          fields[i].name, *field(&copy, i));
        }
    }
}

static int parse_field(const char *word, size_t len, struct exchange_mode *mode, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const size_t name_len = strlen(fields[i].name);
        if (len <= name_len || memcmp(word, fields[i].name, name_len) != 0 ||
            word[name_len] != '=') {
            continue;
        }
        char digits[24];
        int64_t value;
        (void)snprintf(digits, sizeof(digits), "%.*s", (int)(len - name_len - 1),
                       word + name_len + 1); /* cut, it has too many digits for its range */
        if (parse_i64_in(digits, fields[i].min, fields[i].max, &value) < 0) {
            return err_set(err, EINVAL, "%s '%s': expected a whole number from %lld to %lld",
                           fields[i].name, digits, (long long)fields[i].min,
                           (long long)fields[i].max);
        }
        *field(mode, i) = (uint32_t)value;
        return 0;
    }
    return err_set(err, EINVAL,
                   "'%.*s': expected staleness=N, backups=N, accumulate=N or localSteps=N",
                   (int)len, word);
}

int exchange_mode_parse(const char *text, struct exchange_mode *ret, struct err *err)
{
    struct exchange_mode mode = EXCHANGE_MODE_SYNC;
    size_t len = strcspn(text, " ");
    int kind = 0;
    while (kind < EXCHANGE_MODE_COUNT && (strlen(exchange_mode_names[kind]) != len ||
                                          memcmp(text, exchange_mode_names[kind], len) != 0)) {
        kind++;
    }
    if (kind == EXCHANGE_MODE_COUNT) {
        return err_set(err, EINVAL, "'%.*s': expected Sync, Async or BoundedStaleness", (int)len,
                       text);
    }
    mode.kind = (enum exchange_mode_kind)kind;
    for (const char *word = text + len; *word == ' '; word += len) {
        word++;
        len = strcspn(word, " ");
        const int r = parse_field(word, len, &mode, err);
        if (r < 0) {
            return r;
        }
    }
    const char *name, *why = exchange_mode_conflict(&mode, &name);
    if (why != NULL) {
        return err_set(err, EINVAL, "%s: %s", name, why);
    }
    *ret = mode;
    return 0;
}
