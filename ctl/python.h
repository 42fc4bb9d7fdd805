/* Python environments of foreign systems: where one lies, and whether it has what a profile needs.
 * They are made by `script/bench peers install NAME`, outside the tree. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "spec/profile.h"

/* The interpreter of a peer whose pins (the bytes of requirements.txt) are these:
 * ${XDG_CACHE_HOME:-~/.cache}/benchd/peers/NAME-HASH/bin/python. Other pins are another folder, so an
 * old environment is never taken for a new one. Owned. bench/peers.py computes the same path. */
char *python_peer_path(const char *name, const char *pins, size_t len);

/* 0: the interpreter is there and has every package in the version that is asked for. -ENOENT: says
 * what is missing in `ret`. */
int python_missing(const struct profile *profile, struct buf *ret);
