/* Where a replica ran, and on what: keys of the environment that the store keeps of it
 * (docs/contracts/record.md). The replica's start record says most of them; the launcher adds what
 * only it knows. Pure. */
#pragma once

/* Owned; NULL: not said. */
struct placement {
    char *node;     /* the cluster's node; of a local run, this machine's name */
    char *image_id; /* the digest that ran */
    char *cpu_model, *kernel, *cpuset;
};

/* A replica without an environment (NULL) has an empty placement. */
void placement_read(const char *environment_json, struct placement *ret);
void placement_done(struct placement *placement);
/* The environment of a start record (NULL: none came) with the launcher's keys, which override what
 * the replica says; NULL: the launcher does not know. Owned; NULL if nothing is known. */
char *placement_add(const char *environment_json, const char *node, const char *image_id);
