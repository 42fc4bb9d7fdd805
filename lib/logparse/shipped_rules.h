/* The rules of benchmarks/rules, compiled in: benchctl and benchd read the same ones, without a
 * file. */
#pragma once

#include <stddef.h>

#include "doc/embedded.h"
#include "logparse/rule.h"

extern const struct embedded log_shipped[]; /* sorted by name */
extern const size_t log_shipped_count;

/* Owned; NULL: no rule of this name ships. */
struct log_rule *log_shipped_load(const char *name);
