/* A run of the sample definition and its pods, for tests of the objects that a run makes. */
#pragma once

#include "pod/body.h"

#define UID "0f4c1de2-7777-4a4a-9999-000000000001"

/* Attempt 2 of trial 1 of point 0. */
extern const struct replica_id trainer;

/* "sample-1" of the sample definition, where `from` is replaced by `to`; the caller's. */
struct run_def *make_run(const char *from, const char *to);
/* The same of this one. */
struct run_def *make_run_of(struct spec *spec_take);
/* The pod of `trainer`, with one server and one trainer in the gang; the caller's. Of POD_BY_IP no
 * trainer's address is known. */
json_t *make_pod(const struct run_def *def, enum pod_naming naming);

/* pod_identify of a pod as JSON. */
bool identify(const struct run_def *def, json_t *pod, struct replica_id *ret);

/* Fails unless the path of keys and numbers ("spec/volumes/0") leads to this text, or to a value
 * that is written so; "": it leads nowhere. */
void expect(const json_t *value, const char *path, const char *expected);
/* The value of a variable of the first container, which has it at most once; borrowed,
 * NULL if it has none. */
const char *env_of(const json_t *pod, const char *name);
