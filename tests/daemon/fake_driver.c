/* See fake_driver.h. */
#include "fake_driver.h"

#include <stdlib.h>

#include "base/mem.h"

unsigned fake_driver_made;
int fake_driver_finish_code;

int driver_new(const struct driver_params *params, struct driver **ret, struct err *err)
{
    (void)err;
    *ret = xnew(struct driver);
    (*ret)->params = *params;
    fake_driver_made++;
    return 0;
}

void driver_start(struct driver *d)
{
    (void)d;
}

void driver_cancel(struct driver *d)
{
    d->n_cancels++;
}

void driver_abandon(struct driver *d)
{
    d->n_abandons++;
}

void driver_suspend(struct driver *d)
{
    d->n_suspends++;
}

int driver_finish(struct driver *d, struct run_status *ret, struct err *err)
{
    *ret = d->params.status;
    return fake_driver_finish_code == 0
               ? 0
               : err_set(err, -fake_driver_finish_code, "the driver gave up");
}

void driver_free(struct driver *d)
{
    free(d);
}
