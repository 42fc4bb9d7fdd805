/* Writes a record that was read. */
#pragma once

#include "core/record.h"

static inline void record_write_again(const struct record *r, struct buf *out)
{
    switch (r->type) {
    case RECORD_START:
        record_write_start(out, &r->who, r->start.environment);
        break;
    case RECORD_STEP:
        record_write_step(out, &r->who, &r->step);
        break;
    case RECORD_SUMMARY:
        record_write_summary(out, &r->who, &r->summary);
        break;
    case RECORD_ERROR:
        record_write_error(out, &r->who, r->error.code, r->error.peer, r->error.message);
    }
}
