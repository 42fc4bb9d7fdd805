/* Whether the main thread is stuck, see watchdog.h. */
#include "worker/comm/link/watchdog.h"

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
