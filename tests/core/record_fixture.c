/* See record_fixture.h. */
#include "tests/test.h"
#include "record_fixture.h"

const struct record_who trainer_1 = {.role = ROLE_TRAINER, .index = 1};

void read_ok(const char *line, size_t len, struct record *ret)
{
    struct err err = {0};
    int r = record_read(line, len, ret, &err);
    if (r != 1) {
        fail_msg("read '%.*s': %d: %s", (int)len, line, r, err.msg);
    }
}

uint64_t xorshift_next(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * UINT64_C(2685821657736338717);
}
