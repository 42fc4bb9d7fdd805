/* In place of lib/run's driver: it notes what it is asked for. */
#pragma once

#include "run/driver.h"

struct driver {
    struct driver_params params;
    unsigned n_cancels, n_suspends, n_abandons;
};
extern unsigned fake_driver_made;   /* so far */
extern int fake_driver_finish_code; /* what driver_finish answers */
