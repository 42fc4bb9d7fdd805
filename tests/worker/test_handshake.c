/* The handshake against the golden bytes, and everybody who must be turned away. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"
#include "golden_frame.h"
#include "core/exchange_kind.h"
#include "worker/comm/link/handshake.h"
#include "exchange/slices.h"

static struct handshake golden_side(enum role role)
{
    uint64_t run = frame_run_id("vgg16-pserver-sweep-7k3fq", 2, 0);
    struct handshake h = {0};
    struct slices slices = slices_plan(15254602, 1, SLICES_MAX_BYTES);
    for (int i = 0; i < AUTH_SECRET_SIZE; i++) {
        h.secret[i] = (uint8_t)i;
    }
    struct handshake_side *self = role == ROLE_TRAINER ? &h.trainer : &h.server;
    self->id = (struct frame_id){run, 0, role, role == ROLE_TRAINER};
    memset(self->nonce, role == ROLE_TRAINER ? 0x11 : 0x22, sizeof(self->nonce));
    handshake_digest("vgg16-fluid-fc512", 1, &EXCHANGE_MODE_SYNC, EXCHANGE_WIRE_FP32, 2, &slices,
                     self->digest);
    return h;
}

static void assert_golden(const char *name, size_t skip, const void *got, size_t len)
{
    uint8_t want[1024];
    assert_int_equal(golden(name, want, sizeof(want)), skip + len);
    assert_memory_equal(want + skip, got, len);
}

TEST(golden_handshake)
{
    struct handshake t = golden_side(ROLE_TRAINER), s = golden_side(ROLE_PSERVER);
    uint8_t hello[HANDSHAKE_HELLO_SIZE], challenge[HANDSHAKE_CHALLENGE_SIZE];
    uint8_t proof[HANDSHAKE_PROOF_SIZE];
    struct err err = {0};
    struct frame from_t = {.from = t.trainer.id}, from_s = {.from = s.server.id};
    handshake_hello(&t, hello);
    assert_golden("HELLO", FRAME_HEADER_SIZE, hello, sizeof(hello));
    handshake_on_hello(&s, &from_t, hello, challenge);
    assert_golden("CHALLENGE", FRAME_HEADER_SIZE, challenge, sizeof(challenge));
    assert_int_equal(handshake_on_challenge(&t, &from_s, challenge, proof, &err), 0);
    assert_golden("PROOF", FRAME_HEADER_SIZE, proof, sizeof(proof));
    assert_int_equal(handshake_on_proof(&s, &from_t, proof, &err), 0);
    assert_int_equal(handshake_agree(&s.server, &s.trainer, &err), 0);
    assert_int_equal(handshake_agree(&t.trainer, &t.server, &err), 0);
    struct handshake_keys kt, ks;
    handshake_keys(&t, &kt);
    handshake_keys(&s, &ks);
    assert_memory_equal(&kt, &ks, sizeof(kt));
    assert_golden("trainer_key", 0, kt.from_trainer.bytes, sizeof(kt.from_trainer.bytes));
    assert_golden("server_key", 0, kt.from_server.bytes, sizeof(kt.from_server.bytes));
}

enum change {
    NONE,
    SECRET,
    RUN,
    ATTEMPT,
    MODEL,
    SEED,
    MODE,
    WIRE,
    TRAINERS,
    SERVERS,
    OLD_PROOF,
    NEW_RUN,
    NEW_ATTEMPT,
    NEW_ROLE,
    NEW_INDEX
};

static void change_side(struct handshake *h, enum change change)
{
    struct slices slices = slices_plan(15254602, change == SERVERS ? 3 : 1, SLICES_MAX_BYTES);
    h->secret[5] ^= change == SECRET;
    h->trainer.id.run ^= change == RUN;
    h->trainer.id.attempt += change == ATTEMPT;
    const struct exchange_mode mode = {.local_steps = change == MODE ? 2 : 0};
    handshake_digest(change == MODEL ? "vgg16-v2" : "vgg16-fluid-fc512", change == SEED ? 2 : 1,
                     &mode, change == WIRE ? EXCHANGE_WIRE_BF16 : EXCHANGE_WIRE_FP32,
                     change == TRAINERS ? 3 : 2, &slices, h->trainer.digest);
}

static void change_sender(struct frame_id *id, enum change change)
{
    id->run ^= change == NEW_RUN;
    id->attempt += change == NEW_ATTEMPT;
    id->role = change == NEW_ROLE ? ROLE_PSERVER : id->role;
    id->index += change == NEW_INDEX;
}

TEST(turned_away)
{
    static const struct {
        const char *name;
        enum change change;
        int trainer, server; /* what the first failing call on each side answers, 0: none */
        const char *says;
    } rows[] = {
        {"nothing wrong", NONE, 0, 0, NULL},
        {"wrong secret", SECRET, -EPROTO, -EPROTO, "does not know this run's secret"},
        {"another run", RUN, -ESTALE, -ESTALE, "another run, point or trial"},
        {"another attempt", ATTEMPT, -ESTALE, -ESTALE, "to attempt 1, this is attempt 0"},
        {"another model", MODEL, -EPROTO, -EPROTO,
         "model, seed, wire, mode or numbers of replicas or of server threads differ"},
        {"another seed", SEED, -EPROTO, -EPROTO, "model, seed, wire, mode or numbers"},
        {"another mode", MODE, -EPROTO, -EPROTO, "model, seed, wire, mode or numbers"},
        {"another wire", WIRE, -EPROTO, -EPROTO, "model, seed, wire, mode or numbers"},
        {"other number of trainers", TRAINERS, -EPROTO, -EPROTO,
         "model, seed, wire, mode or numbers"},
        {"other number of servers", SERVERS, -EPROTO, -EPROTO,
         "model, seed, wire, mode or numbers"},
        {"a recorded proof", OLD_PROOF, 0, -EPROTO, "does not know this run's secret"},
        {"another run in the proof", NEW_RUN, 0, -EPROTO, "changed its identity"},
        {"another attempt in the proof", NEW_ATTEMPT, 0, -EPROTO, "changed its identity"},
        {"another role in the proof", NEW_ROLE, 0, -EPROTO, "changed its identity"},
        {"another index in the proof", NEW_INDEX, 0, -EPROTO, "changed its identity"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct handshake t = golden_side(ROLE_TRAINER), s = golden_side(ROLE_PSERVER);
        uint8_t hello[64], challenge[96], proof[32];
        struct err t_err = {0}, s_err = {0};
        change_side(&t, rows[i].change);
        struct frame from_t = {.from = t.trainer.id}, from_s = {.from = s.server.id};
        handshake_hello(&t, hello);
        handshake_on_hello(&s, &from_t, hello, challenge);
        int rt = handshake_on_challenge(&t, &from_s, challenge, proof, &t_err);
        if (rt < 0) {
            memset(proof, 7, sizeof(proof)); /* a liar goes on all the same */
        } else {
            rt = handshake_agree(&t.trainer, &t.server, &t_err);
        }
        if (rows[i].change == OLD_PROOF) { /* of this handshake, replayed in the next */
            s.server.nonce[0] ^= 1;
            handshake_on_hello(&s, &from_t, hello, challenge);
        }
        change_sender(&from_t.from, rows[i].change);
        int rs = handshake_on_proof(&s, &from_t, proof, &s_err);
        rs = rs < 0 ? rs : handshake_agree(&s.server, &s.trainer, &s_err);
        print_message("# row '%s': trainer %d %s; server %d %s\n", rows[i].name, rt, t_err.msg, rs,
                      s_err.msg);
        assert_int_equal(rt, rows[i].trainer);
        assert_int_equal(rs, rows[i].server);
        if (rows[i].says != NULL) {
            assert_non_null(strstr(s_err.msg, rows[i].says));
        }
    }
}

/* A key for one direction is no key for the other: nothing can be reflected. */
TEST(keys_differ)
{
    struct handshake t = golden_side(ROLE_TRAINER);
    struct handshake_keys k;
    handshake_keys(&t, &k);
    assert_memory_not_equal(&k.from_trainer, &k.from_server, sizeof(k.from_server));
}

TEST(secret_files)
{
    static const struct {
        const char *name;
        size_t size;
        mode_t mode;
        int result;
        const char *says;
    } rows[] = {
        {"good", 32, 0600, 0, NULL},
        {"group may read: a pod's mount", 32, 0440, 0, NULL},
        {"the world may read", 32, 0644, -EACCES, "everyone on this machine can read"},
        {"the world may write", 32, 0602, -EACCES, "can read or change it"},
        {"short", 31, 0600, -EBADMSG, "holds 31 bytes, expected 32"},
        {"long", 33, 0600, -EBADMSG, "at least 33 bytes, expected 32"},
        {"empty", 0, 0600, -EBADMSG, "holds 0 bytes"},
    };
    char dir[] = "/tmp/benchd-secret-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/key", dir);
    uint8_t bytes[64], got[32];
    memset(bytes, 0xab, sizeof(bytes));
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, rows[i].size), (ssize_t)rows[i].size);
        assert_int_equal(fchmod(fd, rows[i].mode), 0);
        assert_int_equal(close(fd), 0);
        struct err err = {0};
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(auth_secret_from_file(path, got, &err), rows[i].result);
        if (rows[i].says != NULL) {
            print_message("# %s\n", err.msg);
            assert_non_null(strstr(err.msg, rows[i].says));
        }
        assert_int_equal(unlink(path), 0);
    }
    struct err err = {0};
    assert_int_equal(auth_secret_from_file(path, got, &err), -ENOENT);
    assert_int_equal(auth_secret_from_fd(987, got, &err), -EBADF);
    assert_int_equal(rmdir(dir), 0);
}
