/* The form of a document: a schema of OpenAPI v3, in the part that Kubernetes calls structural, as
 * a tree, with some keys of our own (lib/spec/schema/definition.yaml names them). Pure. */
#pragma once

#include "base/kept.h"
#include "doc/tree.h"

/* Parses a schema that is compiled in and resolves each x-base. Owned; NULL: it is damaged, which a
 * test would have found. */
struct node *schema_parse(const char *text);
/* Adds copies of the keys that the node does not have. `from`: NULL is empty. */
void schema_add(struct node *node, const struct node *from);
/* make(name), made when it is first asked for. Static. */
const struct node *schema_keep(struct kept *kept, struct node *(*make)(const char *),
                               const char *name);
/* The schema of a field of a map, also of one with free keys; of an item of a list. NULL: none. */
const struct node *schema_of_field(const struct node *schema, const char *key);
const struct node *schema_of_item(const struct node *schema);
/* Does it say that a map must have the field? */
bool schema_requires(const struct node *schema, const char *key);
