/* The failing VFS, see fail_vfs.h. A file of ours is SQLite's own file object behind our header. */
#include "fail_vfs.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

struct fail_file {
    sqlite3_file base;
    bool is_dirty;       /* written since its last sync */
    sqlite3_file real[]; /* the default VFS's object, as long as it asks for */
};

static struct {
    long count, fail_at;
    enum fail_kind kind;
    unsigned n_dirty; /* open files */
    sqlite3_vfs *real;
    sqlite3_vfs vfs;
    sqlite3_io_methods methods;
} fv;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct fail_file *)file)->real;
}

static bool fails(void)
{
    fv.count++;
    return fv.fail_at > 0 && fv.count >= fv.fail_at;
}

static void set_dirty(sqlite3_file *file, bool is_dirty)
{
    struct fail_file *ours = (struct fail_file *)file;
    fv.n_dirty += is_dirty && !ours->is_dirty;
    fv.n_dirty -= !is_dirty && ours->is_dirty;
    ours->is_dirty = is_dirty;
}

static int code(int io_code)
{
    return fv.kind == FAIL_FULL ? SQLITE_FULL : io_code;
}

#define FORWARD(name, params, args)                                                                \
    static int name params                                                                         \
    {                                                                                              \
        sqlite3_file *real = real_of(file);                                                        \
        return real->pMethods->name args;                                                          \
    }

FORWARD(xRead, (sqlite3_file * file, void *p, int n, sqlite3_int64 at), (real, p, n, at))
FORWARD(xFileSize, (sqlite3_file * file, sqlite3_int64 *size), (real, size))
FORWARD(xLock, (sqlite3_file * file, int level), (real, level))
FORWARD(xUnlock, (sqlite3_file * file, int level), (real, level))
FORWARD(xCheckReservedLock, (sqlite3_file * file, int *out), (real, out))
FORWARD(xFileControl, (sqlite3_file * file, int op, void *arg), (real, op, arg))
FORWARD(xSectorSize, (sqlite3_file * file), (real))
FORWARD(xDeviceCharacteristics, (sqlite3_file * file), (real))
FORWARD(xShmLock, (sqlite3_file * file, int offset, int n, int flags), (real, offset, n, flags))
FORWARD(xShmUnmap, (sqlite3_file * file, int delete_it), (real, delete_it))
FORWARD(xFetch, (sqlite3_file * file, sqlite3_int64 at, int n, void **pp), (real, at, n, pp))
FORWARD(xUnfetch, (sqlite3_file * file, sqlite3_int64 at, void *p), (real, at, p))

static int xClose(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    set_dirty(file, false);
    return real->pMethods == NULL ? SQLITE_OK : real->pMethods->xClose(real);
}

static int xWrite(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    sqlite3_file *real = real_of(file);
    set_dirty(file, true);
    if (fails()) {
        /* Half of it arrives, as on a real disk. */
        (void)real->pMethods->xWrite(real, p, n / 2, at);
        return code(SQLITE_IOERR_WRITE);
    }
    return real->pMethods->xWrite(real, p, n, at);
}

static int xTruncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real = real_of(file);
    return fails() ? code(SQLITE_IOERR_TRUNCATE) : real->pMethods->xTruncate(real, size);
}

static int xSync(sqlite3_file *file, int flags)
{
    (void)flags;
    /* A full disk is noticed by a write. No real sync: no power cut happens in a test. */
    if (fv.kind == FAIL_IO && fails()) {
        return SQLITE_IOERR_FSYNC;
    }
    set_dirty(file, false);
    return SQLITE_OK;
}

static int xShmMap(sqlite3_file *file, int page, int size, int extend, void volatile **pp)
{
    sqlite3_file *real = real_of(file);
    if (extend && fails()) {
        return code(SQLITE_IOERR_SHMSIZE);
    }
    return real->pMethods->xShmMap(real, page, size, extend, pp);
}

static void xShmBarrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int xOpen(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    struct fail_file *ours = (struct fail_file *)file;
    ours->base.pMethods = NULL;
    ours->is_dirty = false;
    if ((flags & SQLITE_OPEN_CREATE) != 0 && fails()) {
        return code(SQLITE_CANTOPEN);
    }
    int rc = fv.real->xOpen(fv.real, name, ours->real, flags, out);
    if (rc == SQLITE_OK) {
        ours->base.pMethods = &fv.methods;
    }
    return rc;
}

void fail_vfs_register(void)
{
    fv.real = sqlite3_vfs_find(NULL);
    fv.vfs = *fv.real;
    fv.vfs.szOsFile += (int)sizeof(struct fail_file);
    fv.vfs.zName = "fail";
    fv.vfs.xOpen = xOpen;
    fv.methods = (sqlite3_io_methods){
        .iVersion = 3,
        .xClose = xClose,
        .xRead = xRead,
        .xWrite = xWrite,
        .xTruncate = xTruncate,
        .xSync = xSync,
        .xFileSize = xFileSize,
        .xLock = xLock,
        .xUnlock = xUnlock,
        .xCheckReservedLock = xCheckReservedLock,
        .xFileControl = xFileControl,
        .xSectorSize = xSectorSize,
        .xDeviceCharacteristics = xDeviceCharacteristics,
        .xShmMap = xShmMap,
        .xShmLock = xShmLock,
        .xShmBarrier = xShmBarrier,
        .xShmUnmap = xShmUnmap,
        .xFetch = xFetch,
        .xUnfetch = xUnfetch,
    };
    sqlite3_vfs_register(&fv.vfs, 1);
}

void fail_vfs_arm(long n, enum fail_kind kind)
{
    fv.count = 0;
    fv.fail_at = n;
    fv.kind = kind;
}

long fail_vfs_count(void)
{
    return fv.count;
}

unsigned fail_vfs_n_dirty(void)
{
    return fv.n_dirty;
}
