#include "tests/test.h"
#include "pod/replica_spec.h"

/* The rows of Kubernetes' own test of its expansion, and some more. */
static const struct {
    const char *text, *expected;
} rows[] = {
    {"", ""},
    {"plain", "plain"},
    {"$(A)", "a"},
    {"x$(A)y$(B)z", "xaybz"},
    {"$(A)$(A)", "aa"},
    {"$(EMPTY)", ""},
    {"$(LONGER)", "longer"},
    {"$(LONG)", "$(LONG)"},
    {"$(UNKNOWN)-$(A)", "$(UNKNOWN)-a"},
    {"$$(A)", "$(A)"},
    {"$$$(A)", "$a"},
    {"$$$$(A)", "$$(A)"},
    {"$$$$$(A)", "$$a"},
    {"$$", "$"},
    {"$", "$"},
    {"a$", "a$"},
    {"$x $(A)", "$x a"},
    {"$(", "$("},
    {"$(A", "$(A"},
    {"$((A)", "$((A)"},
    {"$(A))", "a)"},
    {"$()", "$()"},
    {"$(REF)", "$(A)"}, /* a value is not expanded again */
    {"$(A=x)", "$(A=x)"},
};

static struct texts make_env(void)
{
    struct texts env = {0};
    expand_env_set(&env, "A", "old");
    expand_env_set(&env, "B", "b");
    expand_env_set(&env, "A", "a");
    expand_env_set(&env, "EMPTY", "");
    expand_env_set(&env, "LONGER", "longer");
    expand_env_set(&env, "REF", "$(A)");
    return env;
}

TEST(as_kubernetes)
{
    _cleanup_(texts_done) struct texts env = make_env();
    assert_int_equal(env.list.len, 5);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *got = expand(rows[i].text, &env);
        print_message("# '%s'\n", rows[i].text);
        assert_string_equal(got, rows[i].expected);
    }
}

TEST(what_is_escaped_stays)
{
    _cleanup_(texts_done) struct texts env = make_env();
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *escaped = expand_escape(rows[i].text);
        _cleanup_(freep) char *got = expand(escaped, &env);
        print_message("# '%s' as '%s'\n", rows[i].text, escaped);
        assert_string_equal(got, rows[i].text);
    }
}
