/* Archives as verbs use them: files, and errors for people. */
#pragma once

#include "ctl/runs/backend.h"
#include "store/archive.h"

/* It begins as a file of Zstandard does; false where it cannot be read. */
bool archive_file_looks_like_one(const char *path);
/* Reads a file and checks all of it: digests, members, and what follows from the records. EXIT_OK,
 * or prints the error; EXIT_ARCHIVE: it is damaged, or not what it says. */
enum exit_code archive_file_open(const char *path, struct archive *ret, struct loaded_run *ret_run);
/* Does the digest begin with what a user typed, with or without "sha256:"? At least 8 digits. */
bool archive_digest_matches(const char *digest, const char *typed);
/* A digest, not a file, by its form. */
bool archive_is_digest(const char *typed);
