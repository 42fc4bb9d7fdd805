/* The daemon's key and the lock beside its store. */
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "tests/test.h"
#include "base/buf.h"
#include "daemon/cluster/key.h"

static char dir[] = "/tmp/benchd-key-XXXXXX";

static int make_dir(void)
{
    return mkdtemp(dir) == NULL ? -1 : 0;
}

TEST(a_key_is_made_once)
{
    _cleanup_(freep) char *path = xasprintf("%s/key", dir);
    unsigned char first[KEY_SIZE] = {0}, second[KEY_SIZE], none[KEY_SIZE] = {0};
    struct err err = {0};
    assert_int_equal(key_load(path, first, &err), 0);
    assert_memory_not_equal(first, none, KEY_SIZE);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(key_load(path, second, &err), 0);
    assert_memory_equal(first, second, KEY_SIZE);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(key_load(path, second, &err), -EACCES);
    assert_int_equal(chmod(path, 0640), 0); /* a mounted Secret belongs to a group */
    assert_int_equal(key_load(path, second, &err), 0);
    static const int wrong_sizes[] = {KEY_SIZE + 1, KEY_SIZE - 1, 0};
    for (size_t i = 0; i < sizeof(wrong_sizes) / sizeof(wrong_sizes[0]); i++) {
        assert_int_equal(truncate(path, wrong_sizes[i]), 0);
        assert_int_equal(key_load(path, second, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "delete it"));
    }
    /* What cannot be read may be a good one. */
    assert_int_equal(key_load(dir, second, &err), -EISDIR);
    assert_null(strstr(err.msg, "delete it"));
}

/* HMAC-SHA256 by another program (Python): a changed derivation would void every run under way. */
TEST(runs_have_their_own_secrets)
{
    unsigned char key[KEY_SIZE], a[KEY_SIZE], b[KEY_SIZE];
    for (int i = 0; i < KEY_SIZE; i++) {
        key[i] = (unsigned char)i;
    }
    struct err err = {0};
    assert_int_equal(key_derive(key, "u1", a, &err), 0);
    assert_int_equal(key_derive(key, "u2", b, &err), 0);
    static const unsigned char expected[4] = {0xdc, 0xfe, 0x64, 0xb2};
    assert_memory_equal(a, expected, sizeof(expected));
    assert_memory_not_equal(a, b, KEY_SIZE);
}

/* Who holds the Lease: not the key, which may be a copy. */
static char *identity_in(const char *lock)
{
    static const unsigned char key[KEY_SIZE] = {1, 2, 3};
    struct err err = {0};
    const int fd = lock_take(lock, &err);
    assert_true(fd >= 0);
    _cleanup_(freep) char *place = NULL;
    char *identity = NULL;
    assert_int_equal(lock_place(fd, &place, &err), 0);
    assert_int_equal(key_identity(key, "host", place, &identity, &err), 0);
    (void)close(fd);
    return identity;
}

TEST(no_two_processes_have_one_identity)
{
    _cleanup_(freep) char *here = xasprintf("%s/lock", dir);
    _cleanup_(freep) char *copy = xasprintf("%s/copy", dir);
    _cleanup_(freep) char *first = identity_in(here);
    _cleanup_(freep) char *restarted = identity_in(here);
    _cleanup_(freep) char *copied = identity_in(copy);
    assert_string_equal(first, restarted); /* continues at once */
    assert_string_not_equal(first, copied);
    assert_int_equal(strlen(first), strlen("host_") + 16);
    assert_int_equal(unlink(copy), 0);
}

/* The same store on another machine, or after a reboot: another boot id. */
TEST(the_place_names_the_boot_of_the_machine)
{
    _cleanup_(freep) char *path = xasprintf("%s/lock", dir);
    char boot_id[37] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    assert_non_null(f);
    assert_non_null(fgets(boot_id, sizeof(boot_id), f));
    (void)fclose(f);
    struct err err = {0};
    const int fd = lock_take(path, &err);
    _cleanup_(freep) char *place = NULL;
    assert_int_equal(lock_place(fd, &place, &err), 0);
    assert_memory_equal(place, boot_id, 36);
    (void)close(fd);
}

TEST(one_lock_a_store)
{
    _cleanup_(freep) char *path = xasprintf("%s/lock", dir);
    struct err err = {0};
    const int fd = lock_take(path, &err);
    assert_true(fd >= 0);
    assert_int_equal(lock_take(path, &err), -EBUSY);
    assert_non_null(strstr(err.msg, "another benchd uses this store"));
    (void)close(fd);
    const int again = lock_take(path, &err);
    assert_true(again >= 0);
    (void)close(again);
}

TEST(readers_have_a_key_of_their_own)
{
    static const unsigned char one[KEY_SIZE] = {1}, two[KEY_SIZE] = {2};
    _cleanup_(freep) char *a = NULL, *b = NULL, *again = NULL;
    assert_int_equal(key_for_readers(one, &a, NULL), 0);
    assert_int_equal(key_for_readers(one, &again, NULL), 0);
    assert_int_equal(key_for_readers(two, &b, NULL), 0);
    assert_string_equal(a, again);
    assert_string_not_equal(a, b);
    assert_int_equal(strspn(a, "0123456789abcdef"), 32);
    unsigned char secret[KEY_SIZE];
    _cleanup_(buf_done) struct buf hex = BUF_INIT;
    assert_int_equal(key_derive(one, "", secret, NULL), 0);
    for (int i = 0; i < 16; i++) {
        buf_printf(&hex, "%02x", secret[i]);
    }
    assert_string_not_equal(a, buf_cstr(&hex)); /* no reader learns what only replicas know */
}

TEST(a_run_has_a_pair_of_ssh_keys)
{
    static const unsigned char one[KEY_SIZE] = {1}, two[KEY_SIZE] = {2};
    struct ssh_key a, b, again;
    assert_int_equal(key_derive_ssh(one, &a, NULL), 0);
    assert_int_equal(key_derive_ssh(one, &again, NULL), 0);
    assert_int_equal(key_derive_ssh(two, &b, NULL), 0);
    assert_memory_equal(&a, &again, sizeof(a));
    assert_memory_not_equal(a.seed, b.seed, SSH_KEY_SIZE);
    assert_memory_not_equal(a.seed, one, SSH_KEY_SIZE);
    /* The halves belong together: what one signs the other accepts. */
    static const unsigned char text[] = "text";
    unsigned char signature[64];
    size_t len = sizeof(signature);
    EVP_PKEY *private = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, a.seed, SSH_KEY_SIZE);
    EVP_PKEY *public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, a.public, SSH_KEY_SIZE);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(ctx, NULL, NULL, NULL, private), 1);
    assert_int_equal(EVP_DigestSign(ctx, signature, &len, text, sizeof(text)), 1);
    EVP_MD_CTX_free(ctx);
    ctx = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, public), 1);
    assert_int_equal(EVP_DigestVerify(ctx, signature, len, text, sizeof(text)), 1);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(private);
    EVP_PKEY_free(public);
}

int main(void)
{
    int failed = make_dir();
    failed |= test_run_all(NULL);
    return failed | test_remove_folder(dir);
}
