/* Templates of kubectl's `-o jsonpath`, over a jansson document. Pure. json_path_parse.c reads
 * them, json_path.c prints.
 *
 * Text stands for itself, and what braces hold for values of the document:
 *
 *   {.a.b} {.a['b c']} {.a\.b}        a member; several of a list of names: ['a','b']. A dot in
 *                                     quotes is part of the name
 *   {.a[0]} {.a[-1]} {.a[0,2]}        items, from the end if negative
 *   {.a[1:3]} {.a[:2]} {.a[::2]}      items from, to before, by
 *   {.a[*]} {.a.*} {..name}           all of them; `name` anywhere below
 *   {.a[?(@.phase=="Failed")]}        the items for which it holds: == != < <= > >=, or alone: the
 *                                     member exists
 *   {.} {@} {$.a}                     the value itself; the document
 *   {range .a[*]}{.b}{"\n"}{end}      for each: the paths inside begin at it, but for `$`
 *   {"text"} {'text'}                 text, with \n \t \\ \" \'
 *
 * A template without braces is one path; kubectl prints it as it is. Strings are printed as
 * they are, other values as JSON, and the values of one path with a space between them. A
 * member that is not there is nothing, as kubectl has it; so is an item beyond the end of a
 * list, where kubectl fails. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

#define JSON_PATH_MAX_TEXT (8 << 10)    /* bytes of a template */
#define JSON_PATH_MAX_VALUES (1u << 20) /* that a step of a path may have */

struct json_path;

/* -EINVAL with the place, "character 7: ...", or -E2BIG. */
int json_path_parse(const char *template, struct json_path **ret, struct err *err);
void json_path_free(struct json_path *path); /* NULL is fine */
/* Appends what the template says of the document. -E2BIG: a path has too many values; then `out`
 * holds what came before it. */
int json_path_print(const struct json_path *path, const json_t *document, struct buf *out,
                    struct err *err);
