/* What doctor makes of what it sees of a machine, and how its list looks. */
#include "tests/test.h"
#include "ctl/doctor/doctor.h"

static const struct check *find(const struct checks *c, const char *name)
{
    vec_each (const struct check, check, &c->list) {
        if (strcmp(check->name, name) == 0) {
            return check;
        }
    }
    fail_msg("there is no check '%s'", name);
    return NULL;
}

TEST(test_a_machine)
{
    const struct {
        const char *what;
        struct machine_seen seen;
        const char *check, *result, *found; /* a part of it */
    } rows[] = {
        {"well", {4, 4, "performance"}, "cpus", "ok", "4 of 4"},
        {"well", {4, 4, "performance"}, "frequency", "ok", ""},
        {"one CPU", {4, 1, NULL}, "cpus", "warn", "1 of 4"},
        {"no governor", {4, 4, NULL}, "frequency", "skip", "no frequency"},
        {"saves power", {4, 4, "powersave"}, "frequency", "warn", "'powersave'"},
        {"mixed", {4, 4, "performance and powersave"}, "frequency", "warn", "different"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(checks_done) struct checks c = {0};
        machine_check(&rows[i].seen, &c);
        const struct check *check = find(&c, rows[i].check);
        const char *result = check_outcome_to_string(check->outcome);
        if (strcmp(result, rows[i].result) != 0 || strstr(check->found, rows[i].found) == NULL ||
            (check->outcome == CHECK_WARN && check->fix == NULL)) {
            fail_msg("%s: %s: expected %s '%s', got %s '%s'", rows[i].what, rows[i].check,
                     rows[i].result, rows[i].found, result, check->found);
        }
    }
}

TEST(test_the_list)
{
    _cleanup_(checks_done) struct checks c = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    checks_ok(&c, "worker", "/bin/x");
    checks_warn(&c, "cpus", "use another machine with CPUs of its own, please", "%d%%", 7);
    assert_int_equal(checks_exit_code(&c), EXIT_OK); /* a warning is no failure */
    checks_skip(&c, "dns", "it\033[31m has\nno words");
    checks_fail(&c, "store", EXIT_LOCAL_RESOURCE, "free some", "full");
    checks_fail(&c, "kinds", EXIT_NOT_FOUND, NULL, "none");
    assert_int_equal(checks_exit_code(&c), EXIT_LOCAL_RESOURCE); /* of the first */
    checks_format(&c, 50, &out);
    assert_string_equal(buf_cstr(&out), "ok    worker      /bin/x\n"
                                        "warn  cpus        7%\n"
                                        "                  fix: use another machine with\n"
                                        "                    CPUs of its own, please\n"
                                        "skip  dns         it [31m has no words\n"
                                        "fail  store       full\n"
                                        "                  fix: free some\n"
                                        "fail  kinds       none\n");
    _cleanup_(json_decrefp) json_t *document = checks_to_json(&c);
    _cleanup_(freep) char *text = json_dumps(document, JSON_COMPACT);
    assert_non_null(strstr(text, "\"exitCode\":9"));
    assert_non_null(
        strstr(text, "{\"name\":\"kinds\",\"result\":\"fail\",\"found\":\"none\",\"fix\":null}"));
}

TEST(test_a_text_that_is_no_utf8)
{
    _cleanup_(checks_done) struct checks c = {0};
    checks_fail(&c, "worker", EXIT_LOCAL_RESOURCE, NULL, "/\xff/worker");
    _cleanup_(json_decrefp) json_t *document = checks_to_json(&c);
    const json_t *check = json_array_get(json_object_get(document, "checks"), 0);
    assert_string_equal(json_string_value(json_object_get(check, "found")), "/?/worker");
}
