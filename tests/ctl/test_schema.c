/* What `benchctl explain` explains, which is the form that definitions are checked by. */
#include "tests/test.h"
#include "ctl/definition/crd_schema.h"

#include <errno.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/str.h"
#include "doc/tree.h"
#include "spec/schemas.h"
#include "spec/spec.h"

typedef void (*visit_fn)(void *ctx, const char *path, const struct schema_field *field);

/* Visits every field below `field`; no schema of ours contains itself. */
static void visit(const struct schema_field *field, const char *path, visit_fn each, void *ctx)
{
    struct schema_field child;
    for (size_t i = 0; schema_child(field, i, &child); i++) {
        _cleanup_(freep) char *place =
            xasprintf("%s%s%s", path, path[0] == '\0' ? "" : ".", child.name);
        each(ctx, place, &child);
        visit(&child, place, each, ctx);
    }
}

static void visit_kind(const struct node *kinds, const char *kind, visit_fn each, void *ctx)
{
    struct schema_field root;
    struct err err = {0};
    _cleanup_(freep) char *wrong = NULL;
    assert_int_equal(schema_find(kinds, kind, &root, &wrong, &err), 0);
    visit(&root, "", each, ctx);
}

struct seen {
    unsigned n_bad;
};

/* A choice or a number that may be left out says what it then is. */
static void says_the_default(void *ctx, const char *path, const struct schema_field *field)
{
    struct seen *seen = ctx;
    _cleanup_(buf_done) struct buf bounds = BUF_INIT;
    schema_put_bounds(field, &bounds);
    _cleanup_(buf_done) struct buf description = BUF_INIT;
    schema_put_description(field, &description);
    const char *text = buf_cstr(&description);
    static const char *const words[] = {"efault", "Absent", "xactly one", "equired unless"};
    bool is_said = field->is_required || bounds.len == 0 || !str_has_prefix(path, "spec.");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        is_said |= strstr(text, words[i]) != NULL;
    }
    if (!is_said) {
        print_message("# '%s': no default: %s\n", path, text);
        seen->n_bad++;
    }
}

TEST(defaults_are_said)
{
    struct node *kinds = schema_kinds();
    struct seen seen = {0};
    visit_kind(kinds, "Benchmark", says_the_default, &seen);
    tree_free(kinds);
    assert_int_equal(seen.n_bad, 0);
}

static void has_a_description(void *ctx, const char *path, const struct schema_field *field)
{
    struct seen *seen = ctx;
    const bool is_ours = str_has_prefix(path, "spec") || str_has_prefix(path, "status");
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    schema_put_description(field, &text);
    if (is_ours && text.len == 0) {
        print_message("# %s: '%s' has no description\n", field->kind, path);
        seen->n_bad++;
    }
}

/* The checker takes a pattern that does not compile for one that nothing matches. */
static void compile(const struct node *node, unsigned *n_patterns)
{
    const char *pattern = tree_get_text(node, "pattern");
    for (size_t i = 0; i < node->n_children; i++) {
        compile(node->children[i], n_patterns);
    }
    if (pattern != NULL) {
        int code;
        size_t at;
        pcre2_code *made =
            pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
        assert_non_null(made);
        pcre2_code_free(made);
        ++*n_patterns;
    }
}

TEST(every_pattern_compiles)
{
    unsigned n_patterns = 0;
    compile(schema_definition(), &n_patterns);
    compile(schema_profile(), &n_patterns);
    assert_in_range(n_patterns, 30, UINT_MAX);
}

/* The names that are completed are those that a sweep takes without a declaration. */
TEST(built_in_names_are_described)
{
    const struct node *names =
        tree_path(schema_definition(), "properties", "sweep", "x-names", NULL);
    assert_int_equal(names->n_children, BUILTIN_COUNT);
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        assert_string_equal(names->children[i]->key, builtins[i].name);
    }
}

/* kubectl explain prints the same schema. */
TEST(every_field_is_described)
{
    struct node *kinds = schema_kinds();
    struct seen seen = {0};
    visit_kind(kinds, "Benchmark", has_a_description, &seen);
    visit_kind(kinds, "BenchmarkRun", has_a_description, &seen);
    tree_free(kinds);
    assert_int_equal(seen.n_bad, 0);
}

TEST(finds_fields)
{
    static const struct {
        const char *path, *kind, *type, *bounds;
        bool is_required;
    } rows[] = {
        {"", "Benchmark", "object", "", false},
        {"bm", "Benchmark", "object", "", false},
        {"spec.systems", "Benchmark", "[]object", "", true},
        {"spec.systems[3].name", "Benchmark", "string", "", true},
        {"benchmark.spec.systems.log.lines.kind", "Benchmark", "string",
         "one of Summary, Epoch, Step, Info", true},
        {"spec.workload.batchSize", "Benchmark", "integer", "1 to 2147483648", false},
        {"spec.sweep.grid", "Benchmark", "map[string][]integer or string", "", false},
        {"spec.systems.log", "Benchmark", "string or object", "", false},
        {"spec.systems.patches.value", "Benchmark", "any", "", true},
        {"spec.systems.rendezvous.with", "Benchmark", "[]string",
         "one of pserver, trainer, worker, launcher", false},
        {"bmr.spec.definition.systems.name", "BenchmarkRun", "string", "", true},
        {"benchmarkrun.status.failed", "BenchmarkRun", "integer", "0 or more", false},
    };
    struct node *kinds = schema_kinds();
    struct err err = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct schema_field field;
        char *wrong = NULL;
        assert_int_equal(schema_find(kinds, rows[i].path, &field, &wrong, &err), 0);
        _cleanup_(buf_done) struct buf type = BUF_INIT, bounds = BUF_INIT;
        schema_put_type(&field, &type);
        schema_put_bounds(&field, &bounds);
        if (!str_eq(field.kind, rows[i].kind) || !str_eq(buf_cstr(&type), rows[i].type) ||
            !str_eq(buf_cstr(&bounds), rows[i].bounds) ||
            field.is_required != rows[i].is_required) {
            fail_msg("'%s': %s <%s> '%s' required %d", rows[i].path, field.kind, buf_cstr(&type),
                     buf_cstr(&bounds), field.is_required);
        }
    }
    struct schema_field at;
    _cleanup_(freep) char *wrong = NULL;
    assert_int_equal(schema_find(kinds, "spec.systems.nam.x", &at, &wrong, &err), -ENOENT);
    assert_string_equal(wrong, "nam");
    assert_string_equal(at.name, "systems");
    tree_free(kinds);
}
