/* Every definition that the build makes of tests/wrong/cases.txt is rejected, with the message and
 * at the place that its head asks for. */
#include "tests/test.h"
#include "small_definition.h"

#include <dirent.h>
#include <regex.h>

#include "base/str.h"
#include "base/whole_file.h"
#include "spec/profile.h"
#include "spec/spec_load.h"

/* What follows "# NAME: " in the head of the file. Owned; NULL: no such tag. */
static char *find_tag(const char *text, const char *name)
{
    _cleanup_(freep) char *start = xasprintf("# %s: ", name);
    const char *at = strstr(text, start);
    if (at == NULL) {
        return NULL;
    }
    at += strlen(start);
    return xstrndup(at, strcspn(at, "\n"));
}

/* The line that ends with "# <- here"; 0: none. */
static unsigned find_here(const char *text)
{
    const char *at = strstr(text, "# <- here");
    unsigned line = at != NULL;
    for (const char *c = text; at != NULL && c < at; c++) {
        line += *c == '\n';
    }
    return line;
}

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    /* glibc knows \b, which the tags use. */
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int r = regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    return r == 0;
}

/* Owned. */
static char *read_case(const char *name)
{
    _cleanup_(freep) char *path =
        xasprintf("%s/tests/wrong_files/%s", getenv("BENCHD_BUILD_DIR"), name);
    struct buf text = BUF_INIT;
    assert_int_equal(file_read(path, 1 << 20, &text, NULL), 0);
    return buf_take(&text);
}

static size_t check_file(const char *name)
{
    _cleanup_(freep) char *text = read_case(name);
    static const struct profiles none = {0};
    _cleanup_(freep) char *errors =
        definition_errors(text, &(struct spec_overrides){.profiles = &none, .is_as_written = true});
    _cleanup_(freep) char *pattern = find_tag(text, "benchd");
    unsigned here = find_here(text);
    _cleanup_(freep) char *place = xasprintf("f.yaml:%u:", here);
    bool is_good = errors[0] != '\0' && pattern != NULL && matches(errors, pattern) &&
                   (here == 0 || strstr(errors, place) != NULL);
    if (!is_good) {
        print_message("# %s: expected a message that matches '%s', at %s\n%s", name, pattern,
                      here == 0 ? "any place" : place, errors);
    }
    return !is_good;
}

TEST(rejects_every_wrong_file)
{
    _cleanup_(freep) char *path = xasprintf("%s/tests/wrong_files", getenv("BENCHD_BUILD_DIR"));
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t n = 0, n_failed = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (str_has_suffix(entry->d_name, ".yaml")) {
            n++;
            n_failed += check_file(entry->d_name);
        }
    }
    (void)closedir(dir); /* only read from */
    assert_true(n >= 15);
    assert_int_equal(n_failed, 0);
}

/* An accuracy that benchworker never has: a stored definition has its results, and whoever names
 * systems left out the one that has it. One log rule is enough. */
TEST(an_accuracy_may_be_unknown)
{
    static const struct profiles none = {0};
    _cleanup_(freep) char *text = read_case("accuracy-unknown.yaml");
    const char *profile = strstr(text, "profile: benchworker}");
    const int before = (int)(profile - text);
    assert_non_null(profile);
    _cleanup_(freep) char *with_log = xasprintf("%.*sprofile: benchworker, log: epochs%s", before,
                                                text, profile + strlen("profile: benchworker"));
    spec_free(definition_load(text, NULL));
    spec_free(definition_load(
        text, &(struct spec_overrides){.profiles = &none, .systems = "benchworker"}));
    spec_free(definition_load(with_log, &(struct spec_overrides){.profiles = &none}));
}
