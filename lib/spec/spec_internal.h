/* The steps behind spec_load; private to the spec*.c files. Each notes problems and goes on, so
 * that a definition's errors are all reported at once; what could be read stands in the spec. */
#pragma once

#include "doc/reader.h"
#include "spec/spec.h"

struct profiles;       /* spec/profile.h */
struct spec_overrides; /* spec/spec_load.h */

/* What stands under `spec`, while it is read. */
struct reading {
    struct diags *diags;
    struct place at; /* spec */
    struct spec *spec;
    const struct profiles *profiles; /* NULL: any profile passes */
};

/* spec_merge.c: change the tree; what cannot be applied is noted. */
void spec_merge_local(struct node *root, struct diags *diags);
void spec_merge_options(struct node *root, const struct spec_overrides *overrides,
                        struct diags *diags);
/* spec_read.c: the whole document. */
void spec_read(const struct node *root, const struct profiles *profiles, struct spec *spec,
               struct diags *diags);
/* spec_systems.c; the check compares the workload with what the profiles can do. */
void spec_read_systems(struct reading *r);
void spec_check_systems(struct reading *r);
/* spec_roles.c; parameters first, for the others name them. */
void spec_read_parameters(struct reading *r);
void spec_read_baseline(struct reading *r);
void spec_read_roles(struct reading *r);
/* spec_sweep.c; parameters must have been read. */
void spec_read_sweep(struct reading *r);
void spec_read_params(struct reading *r, const struct place *place, struct params *ret);
/* spec_template.c: a PodTemplateSpec, as far as a replica depends on it. */
void spec_check_template(struct diags *diags, const struct place *place);
/* spec_check.c: rules between fields. */
void spec_check(struct reading *r);
