/* What tells one program from another: the files of its command, and its folder in git. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/str.h"
#include "core/environment.h"
#include "host/identity.h"
#include "host/run_program.h"

#define ARGV(...) ((char *const[]){__VA_ARGS__, NULL})
#define PYTHON (char *)"/bin/sh" /* the program; any file does */

/* A fact of a command; owned. */
static char *fact_of(char *const *argv, const char *key)
{
    json_auto_t *facts = identity_of(argv[0], argv);
    return environment_value_text(json_object_get(facts, key));
}

static void assert_same(bool same, char *const *a, char *const *b)
{
    _cleanup_(freep) char *x = fact_of(a, "program");
    _cleanup_(freep) char *y = fact_of(b, "program");
    assert_int_equal(str_eq(x, y), same);
    assert_int_equal(strlen(x), 16);
}

TEST(files_of_a_command)
{
    char *const *const plain = ARGV(PYTHON, (char *)"a.py");
    test_write_file("one\n", "a.py");
    test_write_file("two\n", "b.py");
    test_write_file("one\n", "copy.py");
    assert_same(true, plain, ARGV(PYTHON, (char *)"copy.py")); /* names do not count */
    assert_same(false, plain, ARGV(PYTHON, (char *)"b.py"));
    assert_same(false, plain, ARGV((char *)"/bin/ls", (char *)"a.py"));
    assert_same(true, plain, ARGV(PYTHON, (char *)"a.py", (char *)"--lr", (char *)"1"));
    assert_same(true, ARGV(PYTHON, (char *)"a.py", (char *)"b.py"),
                ARGV(PYTHON, (char *)"-c", (char *)"exec a.py --config=b.py"));
    assert_same(false, ARGV(PYTHON, (char *)"a.py", (char *)"b.py"),
                ARGV(PYTHON, (char *)"b.py", (char *)"a.py"));
}

static void git(char *const *argv)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    assert_int_equal(run_program(argv, &(struct run_limits){65536, 60000, false}, &out), 0);
}
#define GIT(...)                                                                                   \
    git(ARGV((char *)"git", (char *)"-c", (char *)"user.name=a", (char *)"-c",                     \
             (char *)"user.email=a@b", __VA_ARGS__))

static char *commit_and_ask(void)
{
    GIT((char *)"add", (char *)"-A");
    GIT((char *)"commit", (char *)"-qm", (char *)"x");
    return fact_of(ARGV(PYTHON, (char *)"src/t.py"), "program_folder");
}

TEST(a_folder_in_git)
{
    _cleanup_(buf_done) struct buf version = BUF_INIT;
    char *const *const command = ARGV(PYTHON, (char *)"src/t.py");
    if (run_program(ARGV((char *)"git", (char *)"--version"), &(struct run_limits){99, 60000, true},
                    &version) != 0) {
        skip();
    }
    test_write_file("import m\n", "src/t.py");
    test_write_file("1\n", "src/m.py");
    assert_null(fact_of(command, "program_folder")); /* no work tree */
    GIT((char *)"init", (char *)"-q");
    _cleanup_(freep) char *first = commit_and_ask();
    assert_int_equal(strlen(first), 12);
    test_write_file("other work\n", "README");
    _cleanup_(freep) char *same = commit_and_ask();
    assert_string_equal(same, first);
    test_write_file("22\n", "src/m.py");
    _cleanup_(freep) char *dirty = fact_of(command, "program_folder");
    test_write_file("33\n", "src/m.py");
    _cleanup_(freep) char *other = fact_of(command, "program_folder");
    _cleanup_(freep) char *commit = fact_of(command, "program_commit");
    assert_true(str_has_prefix(dirty, first) && str_has_prefix(dirty + 12, "-dirty-"));
    assert_int_equal(strlen(dirty), 12 + 7 + 8);
    assert_false(str_eq(dirty, other));
    assert_true(str_has_suffix(commit, "-dirty"));
    _cleanup_(freep) char *second = commit_and_ask();
    assert_int_equal(strlen(second), 12);
    assert_false(str_eq(first, second));
}

/* ---- other programs ---- */

TEST(answers_of_programs)
{
    static const struct {
        const char *script;
        struct run_limits limits;
        int result;
    } rows[] = {
        {"echo a", {100, 60000, true}, 0},
        {"echo a; exit 3", {100, -1, true}, 3},
        {"kill -9 $$", {100, -1, true}, 255},
        {"exec yes", {100, -1, true}, -E2BIG},
        {"echo a; exec sleep 1000", {100, 20, true}, -ETIMEDOUT},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].script);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        assert_int_equal(run_program(ARGV((char *)"sh", (char *)"-c", (char *)rows[i].script),
                                     &rows[i].limits, &out),
                         rows[i].result);
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    const int r = run_program(ARGV((char *)"no-such-program"), &rows[0].limits, &out);
    assert_true(r == -ENOENT || r == 127); /* valgrind starts a child first */
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/benchd-identity-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) < 0) {
        return 1;
    }
    const int r = test_run_all(argc > 1 ? argv[1] : NULL);
    (void)test_remove_folder(folder);
    return r;
}
