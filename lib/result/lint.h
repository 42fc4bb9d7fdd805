/* The linter of results: what a reader must know before believing the numbers. Pure; called once,
 * by result_build, when every figure is there. */
#pragma once

#include "result/result.h"

/* Appends to r->warnings, in the order of enum warning_code. */
void result_lint(struct result *r);
extern const char *const warning_code_names[]; /* "OneTrial", ... */
