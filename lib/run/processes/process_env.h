/* The environment of a local child. Edge file: reads that of this process. Used by processes.c
 * only. */
#pragma once

/* A few variables that programs need on this machine (PATH, HOME, ...: docs/run.md), then those
 * of `contract` ("NAME=value"; they override the former, and the last of equal names counts),
 * then those of `extra`. Nothing else is inherited, so that a run does not depend on who
 * started it. Owned list. */
char **process_env_build(char *const *contract, char *const *extra);
/* The value of `name` in such a list; NULL: not set. Borrowed. */
const char *process_env_get(char *const *list, const char *name);
