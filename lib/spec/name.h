/* The kinds of names that a document may give. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* ^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$: benchmarks, systems and profiles. These names become parts of
 * pod names and labels. */
#define OBJECT_NAME_MAX 32
bool object_name_is_valid(const char *text);
/* "nvidia-h100" of "NVIDIA H100", at most `max` long; `other` if no letter is first. Owned. */
char *object_name_make(const char *text, size_t max, const char *other);
/* ^[a-z][a-z0-9_]{0,30}$: parameters of a sweep. */
bool sweep_name_is_valid(const char *text);
/* ^[A-Za-z0-9]([-A-Za-z0-9._]{0,61}[A-Za-z0-9])?$: models, data sets and exchanges of foreign
 * systems. */
bool free_name_is_valid(const char *text);
