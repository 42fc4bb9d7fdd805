/* On which machines, and by which program, the figures of a point were made: what the start
 * records of its replicas say (docs/contracts/record.md). Two runs that are compared differ
 * where these do. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/texts.h"

/* The CPU's clock may change by itself and is no key; compare has its own words for transports. */
#define MACHINE_KEYS_COMPARED 29
enum {
    MACHINE_ACCELERATOR = 15,
    MACHINE_BATCH = 20,
    MACHINE_WORK = 25,
    MACHINE_PROGRAM = 26,
    MACHINE_TRANSPORT = MACHINE_KEYS_COMPARED, /* over what they exchanged, by their summaries */
    MACHINE_KEY_COUNT
};
struct machines {
    struct texts values[MACHINE_KEY_COUNT]; /* no duplicates, sorted by byte; owned */
};

const char *machine_key_name(size_t key); /* "CPU", "kernel", ...; static */
void machines_add_value(struct machines *m, size_t key, const char *text);
/* As JSON by the keys of environments, {"cpu_model": ["x"], ...}; owned; NULL: a text is no UTF-8.
 * And back: adds what it says; false: it is no JSON. */
char *machines_to_text(const struct machines *m);
bool machines_add_text(struct machines *m, const char *text);
void machines_merge(struct machines *m, const struct machines *other);
bool machines_eq(const struct machines *a, const struct machines *b);
/* The same values. A source or program that is unknown on both sides is not the same. */
bool machines_are_same(const struct machines *a, const struct machines *b, size_t key);
/* "x and y", "unknown". Owned. */
char *machines_join(const struct machines *m, size_t key);
void machines_done(struct machines *m);
