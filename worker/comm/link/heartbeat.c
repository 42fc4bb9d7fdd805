/* Heartbeats, see heartbeat.h. */
#include "worker/comm/link/heartbeat.h"

static bool leaves_doubt(const struct heartbeat_self *self, int64_t away_ns)
{
    return away_ns >= heartbeat_limit_ns(self->silence_ns) - HEARTBEAT_DOUBT_NS;
}

static int64_t since_turn(const struct heartbeat_self *self, int64_t now_ns)
{
    return self->last_turn_ns == 0 ? 0 : now_ns - self->last_turn_ns;
}

int64_t heartbeat_limit_ns(int64_t silence_ns)
{
    return silence_ns == 0 ? HEARTBEAT_SILENCE_NS : silence_ns;
}

void heartbeat_begin(struct heartbeat_self *self, int64_t silence_ns, int64_t now_ns)
{
    *self = (struct heartbeat_self){.silence_ns = silence_ns, .last_turn_ns = now_ns};
}

bool heartbeat_was_away(struct heartbeat_self *self, int64_t now_ns, int64_t *ret_away_ns)
{
    int64_t away_ns = since_turn(self, now_ns);
    self->last_turn_ns = now_ns;
    if (leaves_doubt(self, away_ns)) {
        self->woke_ns = now_ns;
        self->away_ns = away_ns;
    }
    if (away_ns < heartbeat_limit_ns(self->silence_ns)) {
        return false;
    }
    *ret_away_ns = away_ns;
    return true;
}

bool heartbeat_may_be_given_up(const struct heartbeat_self *self, int64_t now_ns,
                               int64_t *ret_away_ns)
{
    int64_t away_ns = since_turn(self, now_ns);
    if (leaves_doubt(self, away_ns)) {
        *ret_away_ns = away_ns;
        return true;
    }
    if (self->away_ns == 0 || now_ns - self->woke_ns > HEARTBEAT_AFTERMATH_NS) {
        return false;
    }
    *ret_away_ns = self->away_ns;
    return true;
}

void heartbeat_init(struct heartbeat *h, int64_t now_ns)
{
    *h = (struct heartbeat){.last_sent_ns = now_ns, .last_heard_ns = now_ns};
}

bool heartbeat_is_due(struct heartbeat *h, int64_t now_ns)
{
    if (now_ns - h->last_sent_ns < HEARTBEAT_PERIOD_NS) {
        return false;
    }
    h->last_sent_ns = now_ns;
    return true;
}

bool heartbeat_is_lost(const struct heartbeat *h, const struct heartbeat_self *self, int64_t now_ns)
{
    return now_ns - h->last_heard_ns >= heartbeat_limit_ns(self->silence_ns);
}

bool watchdog_is_stuck(struct watchdog *w, int64_t cpu_ns, int64_t now_ns)
{
    int64_t since_ns = w->has_looked ? now_ns - w->looked_ns : 0;
    w->looked_ns = now_ns;
    if (!w->has_looked || cpu_ns - w->cpu_ns >= WATCHDOG_CPU_NS) {
        w->has_looked = true;
        w->cpu_ns = cpu_ns;
        w->idle_ns = 0;
        return false;
    }
    w->idle_ns += since_ns < WATCHDOG_LOOK_NS ? since_ns : WATCHDOG_LOOK_NS;
    return w->idle_ns >= WATCHDOG_LIMIT_NS;
}
