/* Segments, see shm_segment.h. */
#include "worker/comm/shm/shm_segment.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE)
#define HUGE_PAGES_FROM_BYTES ((size_t)4 << 20)

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
               "processes can share only atomics without a lock");

static size_t aligned(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static size_t room_of(size_t n_floats)
{
    return aligned(n_floats * sizeof(float) + 1, SHM_ALIGN_BYTES);
}

struct shm_layout shm_layout_of_two(size_t n_grads, size_t n_params, uint32_t n_groups)
{
    const size_t control = sizeof(struct shm_control) + n_groups * sizeof(uint64_t);
    const size_t grads_at = aligned(control, SHM_ALIGN_BYTES);
    return (struct shm_layout){
        .n_grads = n_grads,
        .n_params = n_params,
        .n_groups = n_groups,
        .grads_at = grads_at,
        .params_at = grads_at + room_of(n_grads),
        .bytes = grads_at + room_of(n_grads) + room_of(n_params),
    };
}

struct shm_layout shm_layout_of(size_t n_params, uint32_t n_groups)
{
    return shm_layout_of_two(n_params, n_params, n_groups);
}

/* Maps it at a multiple of the size of a huge page. */
static int map(struct shm_segment *s, int protection, struct err *err)
{
    const size_t bytes = s->layout.bytes;
    uint8_t *room =
        mmap(NULL, bytes + SHM_ALIGN_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        return err_set_errno(err, errno, "find room for %zu bytes of shared memory", bytes);
    }
    const size_t before = aligned((uintptr_t)room, SHM_ALIGN_BYTES) - (uintptr_t)room;
    void *at = mmap(room + before, bytes, protection, MAP_SHARED | MAP_FIXED, s->fd, 0);
    const int code = at == MAP_FAILED ? errno : 0;
    /* What is left of the room, before and after; unmapping cannot fail: it is ours. */
    if (before > 0) {
        (void)munmap(room, before);
    }
    (void)munmap(room + before + bytes, SHM_ALIGN_BYTES - before);
    if (code != 0) {
        (void)munmap(room + before, bytes);
        return err_set_errno(err, code, "map %zu bytes of shared memory", bytes);
    }
    s->at = at;
    s->control = at;
    s->grads = (float *)(void *)((uint8_t *)at + s->layout.grads_at);
    s->params = (float *)(void *)((uint8_t *)at + s->layout.params_at);
    return 0;
}

/* `reserve` takes page after page, so the kernel would end other processes before it refuses more
 * than the machine has. It refuses a private mapping of that size at once. */
static int check_memory(size_t bytes, struct err *err)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        return err_set_errno(err, errno, "this machine has no %zu bytes of memory to share", bytes);
    }
    (void)munmap(at, bytes); /* it is ours, and was never touched */
    return 0;
}

static int reserve(const struct shm_segment *s, size_t at, size_t bytes, struct err *err)
{
    int code;
    do {
        code = bytes == 0 ? 0 : posix_fallocate(s->fd, (off_t)at, (off_t)bytes);
    } while (code == EINTR);
    return code == 0 ? 0 : err_set_errno(err, code, "reserve %zu bytes of shared memory", bytes);
}

/* Only for speed: not every kernel can. */
static void collapse(const struct shm_segment *s, size_t at, size_t bytes)
{
    if (bytes >= HUGE_PAGES_FROM_BYTES && at % SHM_ALIGN_BYTES == 0) {
        (void)madvise((uint8_t *)s->at + at, aligned(bytes, SHM_ALIGN_BYTES), MADV_COLLAPSE);
    }
}

int shm_segment_reserve(struct shm_segment *s, size_t offset, size_t n, struct err *err)
{
    const size_t at = s->layout.params_at + offset * sizeof(float), bytes = n * sizeof(float);
    const int r = reserve(s, at, bytes, err);
    if (r >= 0) {
        collapse(s, at, bytes);
    }
    return r;
}

static int make(struct shm_segment *s, struct err *err)
{
    if (check_memory(s->layout.bytes, err) < 0) {
        return -ENOMEM;
    }
    s->fd = memfd_create("benchworker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (s->fd < 0) {
        return err_set_errno(err, errno, "make shared memory");
    }
    if (ftruncate(s->fd, (off_t)s->layout.bytes) < 0) {
        return err_set_errno(err, errno, "make %zu bytes of shared memory", s->layout.bytes);
    }
    const size_t bytes = s->layout.n_grads * sizeof(float);
    int r = reserve(s, 0, sizeof(struct shm_control) + s->layout.n_groups * sizeof(uint64_t), err);
    r = r < 0 ? r : reserve(s, s->layout.grads_at, bytes, err);
    r = r < 0 ? r : map(s, PROT_READ | PROT_WRITE, err);
    if (r < 0) {
        return r;
    }
    collapse(s, s->layout.grads_at, bytes);
    if (fcntl(s->fd, F_ADD_SEALS, SEALS) < 0) { /* this mapping stays writable */
        return err_set_errno(err, ENOSYS, "seal shared memory: %s", strerrordesc_np(errno));
    }
    return auth_nonce(s->control->nonce, err);
}

int shm_segment_new(struct shm_segment *s, const struct shm_layout *layout, struct err *err)
{
    *s = (struct shm_segment){.layout = *layout, .fd = -1};
    const int r = make(s, err);
    if (r < 0) {
        shm_segment_done(s);
    }
    return r;
}

static int check(const struct shm_segment *s, struct err *err)
{
    struct stat st;
    if (fstat(s->fd, &st) < 0) {
        return err_set_errno(err, errno, "stat shared memory");
    }
    const int seals = fcntl(s->fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS) {
        return err_set(err, EPROTO, "the shared memory is not sealed");
    }
    if (st.st_size < 0 || (size_t)st.st_size != s->layout.bytes) {
        return err_set(err, EPROTO, "the shared memory has %lld bytes, expected %zu",
                       (long long)st.st_size, s->layout.bytes);
    }
    return 0;
}

int shm_segment_open(struct shm_segment *s, const struct shm_layout *layout, int fd,
                     struct err *err)
{
    *s = (struct shm_segment){.layout = *layout, .fd = fd};
    int r = check(s, err);
    r = r < 0 ? r : map(s, PROT_READ, err);
    if (r < 0) {
        shm_segment_done(s);
        return r;
    }
    fd_close(&s->fd); /* the mapping keeps the memory */
    return 0;
}

void shm_segment_done(struct shm_segment *s)
{
    if (s->at != NULL) {
        (void)munmap(s->at, s->layout.bytes); /* cannot fail: it is what map returned */
    }
    fd_close(&s->fd);
    *s = (struct shm_segment){.fd = -1};
}
