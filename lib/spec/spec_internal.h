/* The steps of spec_load; private to the spec_*.c files. Each reports problems and continues, so
 * that all errors of a definition are reported at once; the spec has what could be read. */
#pragma once

#include "doc/reader.h"
#include "spec/spec.h"

struct profiles;       /* spec/profile.h */
struct spec_overrides; /* spec/spec_load.h */

/* The field `spec` of a definition while it is read. */
struct reading {
    struct diags *diags;
    struct place at; /* spec */
    struct spec *spec;
    const struct profiles *profiles; /* NULL: any profile passes */
    bool is_new;                     /* as of spec_overrides; of a definition with profiles, too */
    bool is_exchange_wrong;          /* noted: which roles it needs is not known */
};

/* spec_merge.c: change the tree; report what cannot be applied. */
void spec_merge_local(struct node *root, struct diags *diags);
void spec_merge_options(struct node *root, const struct spec_overrides *overrides,
                        struct diags *diags);
/* spec_template.c: puts the files that roles name by templateFrom into the definition, if
 * files can be read. */
void spec_inline_templates(struct node *root, const struct spec_overrides *overrides,
                           struct diags *diags);
/* spec_keep_systems.c: only the systems of "a,b", and the roles and sweep names that these use. */
void spec_keep_systems(struct node *root, const char *names, struct diags *diags);
/* spec_read.c: the whole document. */
void spec_read(struct node *root, const struct spec_overrides *overrides, struct spec *spec,
               struct diags *diags);
/* spec_launch.c: image, command, args, env, roles and patches of systems. */
void spec_check_launches(struct reading *r);
/* spec_job.c: the job object of a system, if it is one. */
void spec_read_job(struct reading *r, const struct place *item, struct system *system);
void spec_check_job(struct reading *r, const struct place *item, const struct system *system);
/* spec_systems.c; the check compares the workload with what the profiles support. */
void spec_read_systems(struct reading *r);
void spec_check_systems(struct reading *r);
/* spec_exchange.c: one of the names we know, or any for a foreign system, which is *ret_other. */
bool spec_read_kind(struct reading *r, const struct place *place, bool is_native,
                    const char *const *names, size_t n, int *ret, char **ret_other);
/* What is absent stays as it is. False: it is there and wrong (noted). */
bool spec_read_exchange(struct reading *r, const struct place *place, bool is_native,
                        struct exchange *exchange);
/* What only benchworker knows of the exchange of a system. */
void spec_check_exchange(struct reading *r, const struct place *item, struct system *system);
/* The modes together with the numbers of steps. */
void spec_check_modes(struct reading *r);
/* spec_systems.c, after the workload: a system without an exchange has the workload's. */
void spec_read_system_exchanges(struct reading *r);
/* spec_trace.c: whether trainers compute, and how long layers take that they do not; the check
 * compares this with the sweep, the steps and the systems. */
void spec_read_compute(struct reading *r, const struct place *workload);
void spec_check_compute(struct reading *r);
/* spec_roles.c; parameters must be read first, because the others name them. */
void spec_read_parameters(struct reading *r);
void spec_read_baseline(struct reading *r);
void spec_read_roles(struct reading *r);
/* spec_sweep.c: the points that a sweep lists. NULL: it is a grid, or wrong. */
struct node *spec_list_points(struct node *sweep);
/* spec_sweep.c; parameters must have been read. */
bool spec_is_known_name(const struct reading *r, const char *name); /* built in, or declared */
/* The swept names, as keys. Asks the tree, not what could be read: a parameter with an invalid
 * value is still swept. NULL if none exist. */
const struct node *spec_swept_names(const struct reading *r);
void spec_read_sweep(struct reading *r);
/* At the axis of that name, or else at the sweep. */
void spec_complain_axis(struct reading *r, const char *name, const char *fix, const char *message);
void spec_read_params(struct reading *r, const struct place *place, struct params *ret);
/* spec_check.c: rules between fields. */
void spec_check(struct reading *r);
