/* A file that is written as a whole: its mode, and what is left next to it. */
#include "tests/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/whole_file.h"

TEST(it_has_the_mode_of_any_new_file)
{
    char folder[] = "/tmp/benchd-whole-file-XXXXXX";
    assert_non_null(mkdtemp(folder));
    _cleanup_(freep) char *path = xasprintf("%s/report.html", folder);
    _cleanup_(freep) char *taken = xasprintf("%s/report.html.part0", folder);
    _cleanup_(freep) char *aside = xasprintf("%s/report.html.part1", folder);
    _cleanup_(buf_done) struct buf text = BUF_INIT, read_back = BUF_INIT;
    static const mode_t masks[] = {027, 022, 077};
    buf_puts(&text, "all of it");
    assert_int_equal(file_replace(taken, &text), 0); /* as a process that was killed leaves it */
    for (size_t i = 0; i < N_ROWS(masks); i++) {
        struct stat st;
        const mode_t before = umask(masks[i]);
        assert_int_equal(file_replace(path, &text), 0);
        (void)umask(before);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0666 & ~masks[i]);
        assert_int_equal(access(aside, F_OK), -1);
    }
    assert_int_equal(file_read(path, 100, &read_back, NULL), 0);
    assert_string_equal(buf_cstr(&read_back), "all of it");
    assert_int_equal(unlink(taken), 0);
    assert_int_equal(file_replace("/no/such/folder/file", &text), -ENOENT);
    assert_int_equal(test_remove_folder(folder), 0);
}
