/* A SQLite VFS that behaves like the default one until the n-th operation that changes a file; that
 * one, and every later one, fails. Registered as the default, so the store needs no hook. */
#pragma once

enum fail_kind { FAIL_FULL, FAIL_IO };

void fail_vfs_register(void);
/* Counts from now on; fails from the n-th operation (from 1); 0: never. */
void fail_vfs_arm(long n, enum fail_kind kind);
/* Operations since the last arm. */
long fail_vfs_count(void);
/* Open files that were written after their last sync: a power cut could undo that. */
unsigned fail_vfs_n_dirty(void);
