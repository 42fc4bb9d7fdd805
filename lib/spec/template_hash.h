/* Which pod template a role has, as a short text: for comparisons, where a whole
 * template is too long. Pure. */
#pragma once

#include <jansson.h>

/* 16 hexadecimal digits: FNV-1a of the canonical text (sorted keys, no white space). It
 * distinguishes templates and need not resist attacks. `template` NULL: "none". Owned. */
char *template_hash(const json_t *template);
