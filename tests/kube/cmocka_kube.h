/* What the tests of lib/kube share. */
#pragma once

#include "tests/test.h"

#define S_NS INT64_C(1000000000)
