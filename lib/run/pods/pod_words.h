/* What a gang waits for, in words. */
#pragma once

#include "run/launcher.h"

struct pod_gang;

/* A deletion that fails; else what *ret has already; else a creation that is refused, a pod that is
 * not set up or has no place yet, room that the last attempt lacked or lost, a creation without an
 * answer, a node or the addresses. */
void pod_words_wait(const struct pod_gang *g, struct run_wait *ret);
