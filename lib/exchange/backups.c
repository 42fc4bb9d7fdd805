/* See backups.h. */
#include "exchange/backups.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

void backups_init(struct backups *b, uint32_t n_trainers, uint32_t n_backups, size_t n_slices)
{
    assert(n_backups < n_trainers);
    *b = (struct backups){
        .n_trainers = n_trainers,
        .n_wanted = n_trainers - n_backups,
        .n_slices = n_slices,
        .states = xnew_array(uint8_t, n_trainers * n_slices), /* BACKUPS_THEIRS is 0 */
        .n_in_sum = xnew_array(uint32_t, n_slices),
        .versions = xnew_array(uint32_t, n_slices),
        .n_answers = xnew_array(uint64_t, n_trainers),
        .n_dropped = xnew_array(uint64_t, n_trainers),
    };
}

void backups_done(struct backups *b)
{
    free(b->states);
    free(b->n_in_sum);
    free(b->versions);
    free(b->n_answers);
    free(b->n_dropped);
    *b = (struct backups){0};
}

static uint8_t *state_of(const struct backups *b, size_t trainer, size_t slice)
{
    return &b->states[trainer * b->n_slices + slice];
}

static void answer(struct backups *b, size_t trainer, size_t slice)
{
    *state_of(b, trainer, slice) = BACKUPS_DUE;
    b->n_answers[trainer]++;
}

static void drop(struct backups *b, size_t trainer, size_t slice)
{
    b->n_dropped[trainer]++;
    answer(b, trainer, slice);
}

static bool are_too_few(const struct backups *b)
{
    return b->n_away > b->n_trainers - b->n_wanted;
}

bool backups_arrived(struct backups *b, uint32_t trainer, size_t slice, uint32_t version)
{
    uint8_t *state = state_of(b, trainer, slice);
    assert(*state == BACKUPS_THEIRS && version <= b->versions[slice]);
    b->n_arrived++;
    if (version < b->versions[slice] || are_too_few(b)) {
        drop(b, trainer, slice);
        return false;
    }
    *state = BACKUPS_IN_SUM;
    b->n_in_sum[slice]++;
    return true;
}

bool backups_is_complete(const struct backups *b, size_t slice)
{
    return b->n_in_sum[slice] == b->n_wanted;
}

uint32_t backups_updated(struct backups *b, size_t slice)
{
    assert(backups_is_complete(b, slice));
    b->n_in_sum[slice] = 0;
    for (size_t t = 0; t < b->n_trainers; t++) {
        if (*state_of(b, t, slice) == BACKUPS_IN_SUM) {
            answer(b, t, slice);
        }
    }
    return ++b->versions[slice];
}

size_t backups_send(struct backups *b, uint32_t trainer)
{
    size_t i = b->n_slices;
    do {
        assert(i > 0);
        i--;
    } while (*state_of(b, trainer, i) != BACKUPS_DUE);
    *state_of(b, trainer, i) = BACKUPS_THEIRS;
    return i;
}

void backups_one_stays(struct backups *b)
{
    b->n_away++;
    for (size_t i = 0; are_too_few(b) && i < b->n_slices; i++) {
        b->n_in_sum[i] = 0;
        for (size_t t = 0; t < b->n_trainers; t++) {
            if (*state_of(b, t, i) == BACKUPS_IN_SUM) {
                drop(b, t, i);
            }
        }
    }
}

void backups_all_go_on(struct backups *b)
{
    b->n_away = 0;
    b->n_arrived = 0;
    memset(b->n_dropped, 0, b->n_trainers * sizeof(*b->n_dropped));
}
