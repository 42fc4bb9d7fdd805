/* Completion knows each name of a value and of a word that the verb table has. */
#include "tests/test.h"
#include "ctl/verbs/complete.h"
#include "ctl/verbs/complete_offers.h"
#include "ctl/cli/usage.h"
#include "ctl/verbs/verbs.h"

static void check_options(const struct arg_opt *opts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (opts[i].value_name != NULL && !complete_knows(opts[i].value_name)) {
            fail_msg("--%s: no row of complete_offers.c names %s", opts[i].name,
                     opts[i].value_name);
        }
    }
}

TEST(every_name_of_the_verb_table_is_known)
{
    check_options(usage_global_opts, usage_n_global_opts);
    for (size_t i = 0; i < n_verbs; i++) {
        const struct verb *verb = verbs[i];
        check_options(verb->opts, verb->n_opts);
        for (size_t k = 0; k < verb->max_words && k < 4; k++) {
            _cleanup_(freep) char *name = complete_word_name(verb->args, k);
            if (name != NULL && !complete_knows(name)) {
                fail_msg("%s: no row of complete_offers.c names %s", verb->name, name);
            }
        }
    }
    assert_false(complete_knows("NONSENSE"));
}

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
