/* See run_life.h. */
#include "daemon/run/run_life.h"

#include <errno.h>

#define BIT(life) (1U << (life))

/* From any of a set of states to one. */
static const struct {
    const char *name;
    unsigned from;
    enum run_life to;
} arrows[LIFE_EVENT_COUNT] = {
#define UNACCEPTED (BIT(LIFE_WAITING) | BIT(LIFE_CHECKING))
#define READ (BIT(LIFE_READING) | BIT(LIFE_FREEZING) | BIT(LIFE_CHECKING))
#define DRIVEN (BIT(LIFE_DRIVEN) | BIT(LIFE_DONE))
    [LIFE_ON_READ_SENT] = {"read sent", BIT(LIFE_WAITING), LIFE_READING},
    [LIFE_ON_FREEZE_SENT] = {"freeze sent", BIT(LIFE_READING), LIFE_FREEZING},
    [LIFE_ON_CHECK_SENT] = {"check sent", BIT(LIFE_READING) | BIT(LIFE_FREEZING), LIFE_CHECKING},
    [LIFE_ON_SET_BACK] = {"set back", READ, LIFE_WAITING},
    [LIFE_ON_CLAIMED] = {"claimed", UNACCEPTED, LIFE_ACCEPTED},
    [LIFE_ON_FOUND_ENDED] = {"found ended", UNACCEPTED, LIFE_ENDED},
    [LIFE_ON_HELD] = {"held", UNACCEPTED, LIFE_WAITING},
    [LIFE_ON_REFUSED] = {"refused", UNACCEPTED | READ, LIFE_REFUSED},
    [LIFE_ON_FOUND_PAST] = {"found past", UNACCEPTED, LIFE_PAST},
    [LIFE_ON_STARTED] = {"started", BIT(LIFE_ACCEPTED), LIFE_DRIVEN},
    [LIFE_ON_DRIVER_DONE] = {"driver done", BIT(LIFE_DRIVEN), LIFE_DONE},
    [LIFE_ON_STOPPED_FINAL] = {"stopped final", BIT(LIFE_DONE), LIFE_ENDED},
    [LIFE_ON_STOPPED_EARLY] = {"stopped early", BIT(LIFE_DONE), LIFE_ACCEPTED},
    [LIFE_ON_DETACHED] = {"detached", DRIVEN, LIFE_ACCEPTED},
    [LIFE_ON_ENDED_QUEUED] = {"ended queued", BIT(LIFE_ACCEPTED), LIFE_ENDED},
};

static const char *const names[LIFE_COUNT] = {
    [LIFE_WAITING] = "waiting",   [LIFE_READING] = "reading",   [LIFE_FREEZING] = "freezing",
    [LIFE_CHECKING] = "checking", [LIFE_ACCEPTED] = "accepted", [LIFE_DRIVEN] = "driven",
    [LIFE_DONE] = "done",         [LIFE_ENDED] = "ended",       [LIFE_REFUSED] = "refused",
    [LIFE_PAST] = "past",
};

int run_life_next(enum run_life life, enum run_life_event event, enum run_life *ret)
{
    if ((unsigned)life >= LIFE_COUNT || (unsigned)event >= LIFE_EVENT_COUNT ||
        (arrows[event].from & BIT(life)) == 0) {
        return -EINVAL;
    }
    *ret = arrows[event].to;
    return 0;
}

const char *run_life_to_string(enum run_life life)
{
    return names[life];
}

const char *run_life_event_to_string(enum run_life_event event)
{
    return arrows[event].name;
}

bool run_life_is_stored(enum run_life life)
{
    return life == LIFE_ENDED || run_life_is_claimed(life);
}

bool run_life_is_read(enum run_life life)
{
    return (READ & BIT(life)) != 0;
}

bool run_life_is_claimed(enum run_life life)
{
    return life == LIFE_ACCEPTED || run_life_is_driven(life);
}

bool run_life_is_driven(enum run_life life)
{
    return life == LIFE_DRIVEN || life == LIFE_DONE;
}
