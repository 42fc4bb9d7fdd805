/* What each test in C begins with: cmocka, with a list of tests that fills itself. `./test_x NAME`
 * runs one of them alone. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_SANITIZED 0
#endif

#define N_ROWS(array) (sizeof(array) / sizeof((array)[0]))

typedef void (*test_fn)(void);

/* `TEST(name) { ... }` is a test of that name; they run in the order of their file. What a test
 * needs goes with its scope: `_cleanup_(world_freep) struct world *w = world_new();`. A failed
 * assertion leaves the test by longjmp, so nothing is cleaned up: its folder in /tmp stays, and
 * a sanitizer reports leaks after the failure. */
#define TEST(name)                                                                                 \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void name##_is_a_test(void)                                \
    {                                                                                              \
        test_add(#name, name);                                                                     \
    }                                                                                              \
    static void name(void)

/* `FREEP(spec_free, struct spec)` makes spec_freep(), for a variable with _cleanup_. */
#define FREEP(free_it, type)                                                                       \
    static inline void free_it##p(type **it)                                                       \
    {                                                                                              \
        free_it(*it);                                                                              \
    }

void test_add(const char *name, test_fn run);

/* Writes a file, and makes the folders that it is in. */
__attribute__((format(printf, 2, 3))) void test_write_file(const char *text, const char *fmt, ...);

/* Removes a folder with all that is in it; 0, or -1. */
int test_remove_folder(const char *path);

/* Fails unless `actual` is that close, as a share of `expected`. */
void assert_near(const char *what, double expected, double actual, double relative);

/* Runs the test `only`, or all if it is NULL; returns what main() does. A program that needs more
 * than that has a main() of its own around it. */
int test_run_all(const char *only);
