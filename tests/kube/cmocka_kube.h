/* What the tests of lib/kube share. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S_NS INT64_C(1000000000)
#define LEN(array) (sizeof(array) / sizeof((array)[0]))
