/* The schemas of lib/spec/schema, which are compiled in. Pure. */
#pragma once

#include "doc/tree.h"

/* For schema_check. Static. */
const struct node *schema_document(void);   /* of a Benchmark */
const struct node *schema_definition(void); /* of its field `spec` */
/* Of the field `spec` of a BenchmarkRun; its definition and overrides are left to the one above. */
const struct node *schema_run(void);
/* The schema of a field of it, "scheduling.queueName", also within its definition; NULL: none. */
const struct node *schema_run_field(const char *path);
const struct node *schema_trace(void);   /* of the times of layers, in a file of their own */
const struct node *schema_profile(void); /* of a profile.yaml */
/* Both kinds as people read them: the List of CustomResourceDefinitions, with the other schemas in
 * their places. Owned by the caller. */
struct node *schema_kinds(void);
