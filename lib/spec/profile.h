/* A profile: how to start a system under test, as data (profile.yaml, docs/profiles.md).
 *
 * The native worker needs no file: PROFILE_NATIVE always exists, and lib/pod/replica_spec.c has its
 * command. The program reads every other profile, sets where its files and its interpreter are
 * (profile_place) and passes all of them to spec_load. Pure: text in, structs out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "core/replica.h"
#include "doc/diag.h"
#include "doc/embedded.h"
#include "spec/spec.h"

#define PROFILE_NATIVE "benchworker"
#define PROFILE_NONE "none" /* no variables by which processes find each other */

struct profile {
    struct node *root; /* the file, owned; what a definition takes over is read there */
    const char *name;  /* borrowed from it, as all texts that are const */
    const char *description;
    struct texts models;          /* all that it can train; none: any */
    bool datasets[DATASET_COUNT]; /* none: any, also of a foreign name; likewise exchanges */
    bool exchanges[EXCHANGE_COUNT];
    const char *requirements; /* file with all pins, next to profile.yaml; NULL without `python` */
    char *folder;             /* where its files lie, once placed; owned, as what follows */
    char *interpreter;        /* of its Python, once placed; NULL: none */
    char *install;            /* the command that installs what it needs; NULL: none */
    struct texts commands[ROLE_COUNT]; /* of local processes */
};

struct profiles {
    VEC(struct profile *) list; /* owned */
};

/* Reads profile.yaml. 0 and an owned profile; or -EINVAL with a diagnostic for every problem. */
int profile_load(const char *text, size_t len, struct profile **ret, struct diags *diags);
/* One that is part of this program. Owned; NULL: none has that name. */
struct profile *profile_load_shipped(const char *name);
bool profile_is_shipped(const char *name);
void profile_free(struct profile *profile);

/* Fills in what depends on the machine, once: words that start with "./" are files in `folder`, the
 * absolute path (without links) of profile.yaml's folder; the word "python" of a command becomes
 * `interpreter` (NULL: it is kept). */
void profile_place(struct profile *profile, const char *folder, const char *interpreter);

/* Is it of this family, such as "TensorFlow": by its own name, or by the list `family` of a profile
 * of benchmarks/profiles? */
bool profile_has_family(const char *name, const char *family);

/* NULL: there is no such profile, or no list. */
const struct profile *profiles_find(const struct profiles *profiles, const char *name);
void profiles_done(struct profiles *profiles);
/* Gives the foreign systems of a stored definition their commands. -ENOENT: a profile is gone. */
int profiles_set_commands(const struct profiles *profiles, struct spec *spec, struct err *err);

/* --- profile_merge.c --- */

/* What a definition takes over from the profiles of its systems, so that it is whole without them:
 * in a cluster, and when it is resumed. A system without a rendezvous gets that of its profile. A
 * role with an entrypoint gets it as its command, and what the system runs (command and args) as
 * its arguments, unless the system has a command for the role itself. A definition that was merged
 * stays as it is. With `profiles` NULL the shipped ones alone are known. */
void profiles_merge(const struct profiles *profiles, struct node *definition);

/* The profiles that are part of every program: those that only say how processes find each other.
 * Their texts are benchmarks/profiles/NAME/profile.yaml. */
extern const struct embedded shipped_profiles[]; /* sorted by name */
extern const size_t shipped_profiles_count;

/* What each profile of benchmarks/profiles is, in a line: its `description`. A run's definition
 * names profiles and does not have their files, so code that shows a run looks here. */
extern const struct embedded profile_descriptions[]; /* sorted by name */
extern const size_t profile_descriptions_count;
/* Their families, ",PyTorch,Gloo,"; "" without. As many, in the same order. */
extern const struct embedded profile_families[];
