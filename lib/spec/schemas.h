/* The schemas of lib/spec/schema, which are compiled in. Pure. */
#pragma once

#include "doc/tree.h"

/* For schema_check. Static. */
const struct node *schema_document(void);   /* of a Benchmark */
const struct node *schema_definition(void); /* of its field `spec` */
const struct node *schema_trace(void);      /* of the times of layers, in a file of their own */
const struct node *schema_profile(void);    /* of a profile.yaml */
/* Both kinds as people read them: the List of CustomResourceDefinitions, with the other schemas in
 * their places. Owned by the caller. */
struct node *schema_kinds(void);
