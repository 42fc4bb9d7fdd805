/* Conditions over a jansson document, as `kubectl wait --for=jsonpath` has them: {.path}=VALUE.
 * Pure.
 *
 *   {.a.b[0]}  {$.a.b[0]}   a member; the item of a list, counted from 0
 *   {.a[*].b}               all items of a list, all members of an object
 *   {.a[?(@.b=="c")].d}     the items of which the member b is this text
 *   {.}  {$}                the document
 *
 * A condition holds if the values that the path picks, with a space between two of them, are VALUE.
 * Strings count as they are, other values as JSON. A member or an item that does not exist has no
 * value. What else kubectl accepts (other filters, slices, range) is an error. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"

/* Returns -EINVAL with the place of an error: "character 7: expected .name, [0], ...". */
int json_condition_check(const char *condition, struct err *err);
/* The condition must have passed json_condition_check. */
bool json_condition_holds(const char *condition, const json_t *document);
