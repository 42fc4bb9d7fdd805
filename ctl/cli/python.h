/* Python environments of other systems: where one is, and whether it has what a profile needs.
 * `script/bench peers install NAME` creates them, outside the tree. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "spec/profile.h"

/* The interpreter of a peer whose pins (the bytes of requirements.txt) are these:
 * ${XDG_CACHE_HOME:-~/.cache}/benchd/peers/NAME-HASH/bin/python. Different pins give a different
 * folder, so an outdated environment is never used. Owned. bench/peers.py computes the same
 * path. */
char *python_peer_path(const char *name, const char *pins, size_t len);

/* 0: the interpreter exists and has every package in the pinned version. -ENOENT: *ret says what is
 * missing. */
int python_missing(const struct profile *profile, struct buf *ret);
