/* The right to drive a run belongs to one living owner at a time. */
#include "store_fixture.h"

#include <fcntl.h>

TEST(test_claim_belongs_to_one)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    struct store *a = fixture_open(&f), *b = fixture_open(&f);
    struct err err = {0};
    assert_int_equal(b->ops->probe_run(b, UID, NULL), 0);
    assert_int_equal(a->ops->claim_run(a, UID, NULL), 0);
    assert_int_equal(a->ops->claim_run(a, UID, NULL), 0); /* its own already */
    assert_int_equal(b->ops->probe_run(b, UID, NULL), -EBUSY);
    assert_int_equal(b->ops->claim_run(b, UID, &err), -EBUSY);
    char pid[24];
    (void)snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    assert_non_null(strstr(err.msg, pid));
    struct store_space space;
    b->ops->get_space(b, &space);
    assert_false(space.is_full); /* that is another reason */
    a->ops->release_run(a, UID);
    assert_int_equal(b->ops->claim_run(b, UID, NULL), 0);
    assert_int_equal(a->ops->claim_run(a, UID, NULL), -EBUSY);
    store_close(b); /* lets go too */
    assert_int_equal(a->ops->claim_run(a, UID, NULL), 0);
    assert_int_equal(a->ops->claim_run(a, "other", NULL), 0); /* another run is another right */
    a->ops->release_run(a, "other");
    a->ops->release_run(a, "never claimed");
    store_close(a);
    assert_int_equal(access(f.path, F_OK), 0);
    char lock[160];
    (void)snprintf(lock, sizeof(lock), "%s-%s.lock", f.path, UID);
    assert_int_equal(access(lock, F_OK), -1); /* nothing is left behind */
}

/* The linker has claim.c call this one (meson.build): the test lets the owner release its claim
 * between the taker's open and its lock. */
static struct store *owner; /* NULL: nobody releases anything */
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...)
{
    va_list ap;
    va_start(ap, command);
    void *arg = va_arg(ap, void *);
    va_end(ap);
    if (owner != NULL && command == F_OFD_SETLK) {
        struct store *releasing = owner;
        owner = NULL;
        releasing->ops->release_run(releasing, UID);
    }
    return __real_fcntl64(fd, command, arg);
}

TEST(test_a_lock_on_a_deleted_file_is_no_claim)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    struct store *a = fixture_open(&f), *b = fixture_open(&f), *c = fixture_open(&f);
    assert_int_equal(a->ops->claim_run(a, UID, NULL), 0);
    owner = a;
    assert_int_equal(b->ops->claim_run(b, UID, NULL), 0);
    assert_null(owner);                                        /* a has released it in there */
    assert_int_equal(c->ops->claim_run(c, UID, NULL), -EBUSY); /* else two would drive the run */
    assert_int_equal(a->ops->claim_run(a, UID, NULL), -EBUSY);
    store_close(c);
    store_close(b);
    store_close(a);
}

TEST(test_a_link_is_the_same_store)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    struct store *a = fixture_open(&f), *b = NULL;
    char link[160], url[176];
    (void)snprintf(link, sizeof(link), "%s/link.db", f.folder);
    (void)snprintf(url, sizeof(url), "sqlite:%s", link);
    assert_int_equal(symlink(f.path, link), 0);
    assert_int_equal(store_open(url, false, &b, NULL), 0);
    assert_int_equal(a->ops->claim_run(a, UID, NULL), 0);
    assert_int_equal(b->ops->claim_run(b, UID, NULL), -EBUSY);
    store_close(b);
    store_close(a);
    assert_int_equal(unlink(link), 0);
}
