/* The environment of a local child. Edge file: reads our own. Used by processes.c only. */
#pragma once

/* A few names of ours that programs need on this machine (PATH, HOME, ...: docs/run.md), then
 * `contract` ("NAME=value", wins over ours; of equal names the last one counts), then `extra`.
 * Nothing else is handed down, so that a run does not depend on who started it. Owned list. */
char **process_env_build(char *const *contract, const char *extra);
/* The value of `name` in such a list, NULL if absent. Borrowed. */
const char *process_env_get(char *const *list, const char *name);
