/* The words of a verb have the names of its synopsis. */
#include "tests/test.h"
#include "ctl/verbs/complete.h"

TEST(words_have_the_names_of_the_synopsis)
{
    static const struct {
        const char *args;
        size_t i;
        const char *name;
    } rows[] = {
        {"RUN", 0, "RUN"},
        {"RUN", 1, NULL},
        {"RUN_A RUN_B [option...]", 1, "RUN_B"},
        {"RUN_A RUN_B [option...]", 2, NULL},
        {"FILE...", 0, "FILE"},
        {"FILE...", 7, "FILE"},
        {"RUN [--point P] [option...]", 1, NULL},
        {"[runs|benchmarks] [NAME...]", 0, "runs|benchmarks"},
        {"[runs|benchmarks] [NAME...]", 1, "NAME"},
        {"[runs|benchmarks] [NAME...]", 5, "NAME"},
        {"[VERB]", 0, "VERB"},
        {"", 0, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *name = complete_word_name(rows[i].args, rows[i].i);
        if (rows[i].name == NULL) {
            assert_null(name);
        } else {
            assert_non_null(name);
            assert_string_equal(name, rows[i].name);
        }
    }
}
