/* Templates of `-o jsonpath`, over a jansson document: the part of kubectl's that picks values.
 * Pure.
 *
 *   {.a.b[0]}  {$.a.b[0]}   a member; the item of a list, counted from 0
 *   {.a[*].b}               all items of a list, all members of an object
 *   {.a[?(@.b=="c")].d}     the items of which the member b is this text
 *   {.}  {$}                the document
 *
 * Text outside braces is printed as it is. A template without braces is one path. Strings are
 * printed as they are, other values as JSON, and the values of one path with a space between them.
 * A member or an item that does not exist prints nothing. What else kubectl has (other filters,
 * slices, range) is an error. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

/* -EINVAL with the place: "character 7: this filter is not supported". */
int json_path_check(const char *template, struct err *err);
/* Appends what a template says of the document; json_path_check has accepted the template. */
void json_path_print(const char *template, const json_t *document, struct buf *out);

/* "{.status.phase}=Running", as `kubectl wait --for=jsonpath` has it. -EINVAL: it is not so. */
int json_condition_check(const char *condition, struct err *err);
/* json_condition_check has accepted it. */
bool json_condition_holds(const char *condition, const json_t *document);
