/* One file with named members and their SHA-256: what `benchctl export` writes
 * (docs/contracts/archive.md). A tar in one zstd frame; the first member is the manifest, and its
 * SHA-256 is the digest of the archive. There is one tar for each list of members, and the reader
 * takes no other: the same members are the same bytes, and nothing can hide between them.
 * lib/load/archive_run.c says which members a run has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#define ARCHIVE_VERSION 1
#define ARCHIVE_ENDING ".benchd.tar.zst" /* of a file's name */
#define ARCHIVE_MANIFEST "manifest.json"
/* Of all members together, unpacked: what reader and writer keep in memory. */
#define ARCHIVE_MAX_BYTES ((size_t)1 << 30)
#define ARCHIVE_MAX_MEMBERS 50000
/* Of the manifest, and for readers of what becomes one tree of JSON: a document, or an item of its
 * list. As a tree it takes up to 20 times as much. */
#define ARCHIVE_MAX_MANIFEST_BYTES ((size_t)16 << 20)
#define ARCHIVE_MAX_JSON_BYTES ((size_t)256 << 20)
/* Headers, padding and manifest in addition. */
#define ARCHIVE_OVERHEAD_BYTES ((size_t)1 << 26)
#define ARCHIVE_NAME_MAX 99 /* what a tar header has room for */
#define ARCHIVE_SHA256_SIZE 65

struct archive_member {
    char *name;      /* owned */
    struct buf data; /* of an archive that was read; owned */
    /* Of one that is to be written: */
    size_t len;
    char sha256[ARCHIVE_SHA256_SIZE];
};
struct archive {
    char *program;                      /* the program that wrote it: "benchctl 0.1.0"; owned */
    char *run;                          /* name of the run, as the manifest says; owned */
    VEC(struct archive_member) members; /* without the manifest, in their order */
    char digest[ARCHIVE_SHA256_SIZE]; /* SHA-256 of the manifest, in hex; "" before archive_write */
    /* Of one that is to be written, since its members may need more memory than there is: */
    FILE *room;   /* has the data of the members, one after another; owned */
    size_t bytes; /* of them together; what is beyond ARCHIVE_MAX_BYTES is counted alone */
    struct evp_md_ctx_st *sha; /* of the member that is being made; owned */
    struct buf text;           /* the end of its data */
};
void archive_done(struct archive *a);

/* In hex. -ENOSYS. */
int archive_sha256(const void *data, size_t len, char ret[static ARCHIVE_SHA256_SIZE],
                   struct err *err);

/* An empty one, to be written. The room is in the folder of the file `near`. */
int archive_new(const char *near, const char *program, const char *run, struct archive *ret,
                struct err *err);
/* The next member: its data are appended to what is returned, until archive_end_member. The name is
 * one that archive_name_is_good accepts, and new. The archive is not moved in between. */
struct buf *archive_begin_member(struct archive *a, const char *name);
int archive_end_member(struct archive *a, struct err *err);
/* NULL if none exists. Borrowed. */
const struct buf *archive_find(const struct archive *a, const char *name);
/* Letters, digits, "._-" and "/" between words; no word begins with ".", so no
 * name leaves a folder. */
bool archive_name_is_good(const char *name);

/* Appends the file, with buf_spill, and sets the digest. -E2BIG: more than ARCHIVE_MAX_BYTES. */
int archive_write(struct archive *a, struct buf *out, struct err *err);
/* Reads it whole and checks everything; *ret is written only on success. -EPROTO: no archive,
 * damaged, or not what its manifest says (the text names the first member that differs);
 * -E2BIG: more than `max_bytes` unpacked, whatever the file says; -EPROTONOSUPPORT: a newer
 * version. */
int archive_read(const void *data, size_t len, size_t max_bytes, struct archive *ret,
                 struct err *err);

/* In archive_tar.c, for archive.c: the tar inside an archive. Plain files, one canonical header for
 * each name and size. */
#define TAR_BLOCK 512

/* One file with its header and padding; and what is before and after its data. */
void tar_put(struct buf *out, const char *name, const void *data, size_t len);
void tar_put_header(struct buf *out, const char *name, size_t len);
void tar_put_padding(struct buf *out, size_t len);
/* How many bytes that appends. */
size_t tar_size(size_t len);
/* The two empty blocks. */
void tar_put_end(struct buf *out);

struct tar_reader {
    const char *at;
    size_t left;
};
struct tar_file { /* borrowed from what is read */
    char name[100];
    const char *data;
    size_t len;
};
/* 1: a file; 0: the end, and nothing follows it; -EPROTO: not as tar_put writes it. */
int tar_next(struct tar_reader *r, struct tar_file *ret, struct err *err);
