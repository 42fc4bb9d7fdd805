/* The kinds of objects that benchd makes for a system that is a job object. benchd makes them for
 * every account that may create a BenchmarkRun, so it refuses all other kinds. Called when a
 * definition is read, and for each object before it is sent: parameters may have set anything.
 * Pure. */
#pragma once

#include <stdbool.h>

#include "spec/template_rules.h"

enum job_use { JOB_ITSELF, JOB_EXTRA }; /* job.template; an item of job.objects */

/* 0, or -EINVAL and the problem: of kind and apiVersion alone, and of a whole object as its
 * definition has it. */
int job_kind_check(const json_t *object, enum job_use use, struct template_problem *ret);
int job_object_check(const json_t *object, enum job_use use, struct template_problem *ret);
/* May the path lead to a part of a pod template, without containers? An override of a TrainJob is
 * one. */
bool job_kind_has_part_at(const json_t *object, const char *path);
