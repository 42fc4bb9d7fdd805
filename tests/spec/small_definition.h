/* A small valid definition for tests of core, and ways to change and load it. */
#pragma once

#include "tests/golden.h"
#include "tests/test.h"
#include "doc/tree.h"
#include "spec/run_def.h"
#include "spec/spec_load.h"

FREEP(spec_free, struct spec)

/* Lines are numbered in the tests: change this text and their marks change. */
extern const char definition_text[];

/* The text with the first `from` replaced by `to`; fails the test if `from` is not there. Owned. */
char *definition_with(const char *from, const char *to);

/* Loads, fails the test with the diagnostics if that fails. Owned. */
struct spec *definition_load(const char *text, const struct spec_overrides *overrides);
/* A run of it, which takes it; fails the test if there is none. */
struct run_def *run_def_of(struct spec *spec_take, const struct run_def_params *params);
/* All diagnostics as diags_format prints them for "f.yaml", "" if it loads. Owned. */
char *definition_errors(const char *text, const struct spec_overrides *overrides);
/* For read_template of struct spec_overrides: a template of the source tree. */
int shipped_template_read(const void *ctx, const char *name, char **ret_path, struct buf *ret_text,
                          struct err *err);
/* What --steps and --repeats say (0: not given), for struct spec_overrides. Owned. */
struct node *option_fields(int64_t steps, int64_t repeats);
