/* Files of runs whose bytes were changed: a failure has words, and what is accepted is a run. Each
 * four bytes of input are the place of a byte of an honest file, and what is there instead; a first
 * byte that is odd has the file sealed again, as one who changes rows can do. */
#include "fuzz.h"

#include <sqlite3.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "result_fixture.h"
#include "store/run_file.h"
#include "tests/store/store_folder.h"

static char folder[64], path[128], made[128];
static struct buf honest;

static void make_honest(void)
{
    char url[96], digest[RUN_FILE_DIGEST_SIZE];
    struct fixture f;
    struct store *s = store_in_folder(folder, url);
    (void)snprintf(path, sizeof(path), "%s/run", folder);
    (void)snprintf(made, sizeof(made), "%s/made", folder);
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2]}}", "  repeats: {min: 1}\n", 4);
    (void)fixture_throughput(&f, 0, 0, 60);
    (void)fixture_throughput(&f, 1, 0, 90);
    json_t *spec = json_object_get(f.def->spec->definition, "spec");
    require(json_object_set_new(spec, "files", json_pack("[s]", "a/b.py")) == 0);
    store_put_def(s, f.def, &(struct run_status){.phase = RUN_SUCCEEDED});
    vec_each (const struct attempt_row, it, &f.rows) {
        store_put_attempt(s, f.def, it, NULL, 0);
    }
    const struct program_file file = {.name = (char *)"a/b.py"};
    require(s->ops->put_file(s, f.def->uid, &file, NULL) == 0);
    require(file_replace(path, &BUF_INIT) == 0);
    require(run_file_make(s, f.def->uid, &RUN_FILE_ALL, "fuzz", path, digest, NULL) == 0);
    require(file_read(path, RUN_FILE_MAX_BYTES, &honest, NULL) == 0);
    store_close(s);
    fixture_done(&f);
}

static void check(struct err *err)
{
    struct store *file = NULL, *taken = NULL;
    struct run_file_head head = {0};
    struct run_row row = {0};
    int r = run_file_open(path, &file, &head, err);
    if (r >= 0) {
        must(strlen(head.digest) == RUN_FILE_DIGEST_SIZE - 1 && head.program != NULL, "no head");
        require(file_replace(made, &BUF_INIT) == 0);
        r = run_file_take(file, made, &taken, err);
        if (r >= 0) {
            must(run_file_run(taken, &row, NULL) == 0, "no run was taken");
        }
    }
    must(r == 0 || r == -EPROTO || r == -EPROTONOSUPPORT, "another return value");
    must((r < 0) == (err->code != 0 && err->msg[0] != '\0'), "an error without words");
    run_row_done(&row);
    run_file_head_done(&head);
    store_close(taken);
    store_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    if (honest.len == 0) {
        make_honest();
        require(file_replace(path, &honest) == 0);
        check(&err);
        must(err.code == 0, "an honest file is refused");
    }
    _cleanup_(buf_done) struct buf bytes = BUF_INIT;
    buf_append(&bytes, honest.data, honest.len);
    for (size_t i = 0; i + 4 <= size; i += 4) {
        const size_t at = (size_t)data[i] << 16 | (size_t)data[i + 1] << 8 | data[i + 2];
        bytes.data[at % bytes.len] = (char)data[i + 3];
    }
    require(file_replace(path, &bytes) == 0);
    check(&err);
    return 0;
}
