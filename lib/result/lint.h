/* The linter of results: what a reader must know before believing the numbers. Pure; called once,
 * by result_build, when every figure is there. */
#pragma once

#include "result/result.h"

/* Appends to r->warnings, in the order of enum warning_code. */
void result_lint(struct result *r);
const char *warning_code_to_string(enum warning_code code); /* "OneTrial", ... */
