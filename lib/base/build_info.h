/* Which build this program is: for the start record of a replica and for `version`. A library of
 * its own (libbuild_info): a commit compiles build_info.c anew and links the programs, and the rest
 * of the tree stays. */
#pragma once

/* "e95bcff11d02", "e95bcff11d02-dirty-3f9a0c1b" or "unknown": what
 * script/source-id said at the build. */
const char *build_source(void);
/* "gcc 12.2.0" */
const char *build_compiler(void);
/* "buildtype=release optimization=3 ndebug=if-release sanitize=none lto=false args=none" */
const char *build_options(void);
/* The three as lines with a word before each, for `version`. */
const char *build_text(void);
