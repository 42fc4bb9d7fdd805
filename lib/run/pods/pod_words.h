/* What a gang waits for, in words. */
#pragma once

#include "run/launcher.h"

struct pods;
struct pod_gang;

/* A deletion that is refused is the cause of whatever else is waited for. */
void pod_words_removal(const struct pods *l, struct run_wait *ret);
/* What *ret has already; else a creation that is refused, a pod that is not set up, lacks its image
 * or has no place yet, room that the last attempt lacked or lost, a creation without an answer, a
 * node or the addresses. */
void pod_words_wait(const struct pod_gang *g, struct run_wait *ret);
