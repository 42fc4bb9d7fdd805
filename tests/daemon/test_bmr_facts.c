/* What benchd reads of a BenchmarkRun. */
#include <malloc.h>

#include "tests/test.h"
#include "base/str.h"
#include "daemon/cluster/bmr.h"

TEST(reads_what_is_asked)
{
    json_t *bmr =
        json_pack("{s:{s:s, s:s, s:i, s:s}, s:{s:{s:s}, s:b, s:b, s:{s:i}}, s:{s:{s:{s:i}}, "
                  "s:s, s:[{s:s, s:s, s:s}]}}",
                  "metadata", "name", "r1", "uid", "u1", "generation", 3, "creationTimestamp",
                  "2026-01-01T00:00:00Z", "spec", "benchmarkRef", "name", "b", "cancel", 1,
                  "suspend", 0, "overrides", "steps", 7, "status", "definition", "measure", "steps",
                  5, "phase", "Running", "conditions", "type", "Running", "status", "True",
                  "lastTransitionTime", "1970-01-01T00:00:09Z");
    _cleanup_(freep) struct bmr_facts *f = bmr_facts_decode(bmr);
    json_decref(bmr); /* nothing of it is needed */
    assert_string_equal(f->name, "r1");
    assert_string_equal(f->uid, "u1");
    assert_string_equal(f->created, "2026-01-01T00:00:00Z");
    assert_string_equal(f->benchmark, "b");
    assert_string_equal(f->definition_name, "b");
    assert_int_equal(f->generation, 3);
    assert_true(f->cancel);
    assert_false(f->suspend);
    assert_true(f->is_frozen);
    assert_false(f->is_deleting);
    assert_int_equal(f->phase, RUN_RUNNING);
    assert_int_equal(f->conditions->of[BMR_RUNNING].status, COND_TRUE);
    assert_int_equal(f->conditions->of[BMR_RUNNING].since_unix_ms, 9000);
    assert_int_equal(f->conditions->of[BMR_ACCEPTED].status, COND_NONE);
}

/* It may be anything that a user has written past the schema. */
TEST(any_json_is_decoded)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "{\"metadata\":1,\"spec\":[],\"status\":\"x\"}",
        "{\"spec\":{\"definition\":7},\"status\":{\"conditions\":{},\"succeeded\":\"/\"}}",
        "{\"status\":{\"conditions\":[1,{\"type\":\"Running\",\"status\":\"True\"}]}}",
    };
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        json_t *bmr = json_loads(texts[i], 0, NULL);
        _cleanup_(freep) struct bmr_facts *f = bmr_facts_decode(bmr);
        json_decref(bmr);
        assert_string_equal(f->name, "");
        assert_string_equal(f->definition_name, "");
        assert_int_equal(f->phase, RUN_PENDING);
        assert_int_equal(f->ttl_s, -1);
        assert_int_equal(f->conditions != NULL, i >= 3);
        for (unsigned k = 0; i >= 3 && k < BMR_CONDITION_COUNT; k++) {
            assert_int_equal(f->conditions->of[k].status, COND_NONE); /* without a date */
        }
    }
}

/* Results of a file that benchctl sent inline carry the file's name, as --local does. */
TEST(an_inline_definition_has_the_name_of_its_label)
{
    static const struct {
        const char *name, *benchmark, *label, *definition;
    } rows[] = {
        {"none", NULL, NULL, "r1"},
        {"the label", NULL, "tiny", "tiny"},
        {"a label that is no name", NULL, "A_b", "r1"},
        {"a reference goes before", "b", "tiny", "b"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        json_t *bmr = json_pack("{s:{s:s, s:{s:s*}}, s:{s:{s:s*}}}", "metadata", "name", "r1",
                                "labels", "benchd.io/benchmark", rows[i].label, "spec",
                                "benchmarkRef", "name", rows[i].benchmark);
        _cleanup_(freep) struct bmr_facts *f = bmr_facts_decode(bmr);
        if (!str_eq(f->definition_name, rows[i].definition)) {
            fail_msg("row '%s': expected '%s', got '%s'", rows[i].name, rows[i].definition,
                     f->definition_name);
        }
        json_decref(bmr);
    }
}

/* There are thousands of finished objects: all that is large is left out. */
TEST(little_is_kept_of_a_settled_object)
{
    static const struct {
        const char *phase, *deleted;
        int observed;
        bool is_settled;
        const char *erase;
    } rows[] = {
        {"Succeeded", NULL, 4, false, "Now"},
        {"Succeeded", NULL, 4, true},
        {"Cancelled", NULL, 4, true},
        {"Running", NULL, 4, false},
        {"Suspended", NULL, 4, false},
        {"Succeeded", NULL, 3, false},
        {"Succeeded", "2026-01-01T00:00:00Z", 4, false},
        {"", NULL, 4, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(json_decrefp) json_t *bmr =
            json_pack("{s:{s:s, s:s, s:i, s:s*, s:{s:s*}}, s:{s:{s:{s:i}}, s:{}}, s:{s:s, s:i, "
                      "s:s, s:[{s:s}]}}",
                      "metadata", "name", "r", "uid", "u", "generation", 4, "deletionTimestamp",
                      rows[i].deleted, "annotations", "benchd.io/erase", rows[i].erase, "spec",
                      "definition", "runPolicy", "ttlSecondsAfterFinished", 60, "overrides",
                      "status", "phase", rows[i].phase, "observedGeneration", rows[i].observed,
                      "completionTime", "1970-01-01T00:00:05Z", "conditions", "type", "Complete");
        _cleanup_(freep) struct bmr_facts *f = bmr_facts_decode(bmr);
        if (f->is_settled != rows[i].is_settled) {
            fail_msg("row %zu", i);
        }
        assert_int_equal(f->conditions == NULL, rows[i].is_settled);
        assert_int_equal(f->ttl_s, 60);
        assert_int_equal(f->ended_unix_ms, 5000);
        assert_string_equal(f->uid, "u");
        assert_int_equal(f->generation, 4);
    }
}

/* The garbage collector deletes an object whose owner does not exist. */
TEST(an_object_with_owners_takes_no_results_with_it)
{
    for (int has_owner = 0; has_owner < 2; has_owner++) {
        json_auto_t *owners = has_owner ? json_pack("[{s:s}]", "kind", "ConfigMap") : json_array();
        json_auto_t *bmr = json_pack("{s:{s:{s:s}, s:O}}", "metadata", "annotations",
                                     "benchd.io/erase", "Now", "ownerReferences", owners);
        _cleanup_(freep) struct bmr_facts *facts = bmr_facts_decode(bmr);
        assert_int_equal(facts->erase, !has_owner);
    }
}

/* A creator chooses the size of each of these texts, and how many objects there are. */
TEST(nothing_large_is_kept_of_any_object)
{
    _cleanup_(freep) char *text = xmalloc(1000001);
    memset(text, 'x', 1000000);
    text[1000000] = '\0';
    for (int is_settled = 0; is_settled < 2; is_settled++) {
        json_auto_t *bmr = json_pack(
            "{s:{s:s, s:s, s:{s:s, s:s}, s:{s:s}}, s:{s:{s:s}, s:{s:s}, s:{s:s}}, s:{s:{s:s}, "
            "s:[], s:s*}}",
            "metadata", "name", "r", "uid", "u", "annotations", "benchd.io/erase", text, "x", text,
            "labels", "benchd.io/benchmark", text, "spec", "definition", "x", text, "overrides",
            "x", text, "scheduling", "x", text, "status", "definition", "x", text, "conditions",
            "phase", is_settled ? "Failed" : NULL);
        _cleanup_(freep) struct bmr_facts *f = bmr_facts_decode(bmr);
        assert_in_range(malloc_usable_size(f), sizeof(*f), 1024);
    }
}
