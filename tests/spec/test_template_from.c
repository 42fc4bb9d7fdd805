/* Roles that name a file by templateFrom: it becomes their template, and what is wrong in it is
 * said with its name and place. */
#include "tests/test.h"
#include "small_definition.h"

#include <errno.h>

#include "base/str.h"

static const struct {
    const char *name, *text;
} files[] = {
    {"pod.yaml", "spec:\n  containers:\n  - {name: main, resources: {requests: {cpu: 2}}}\n"},
    {"a/pod.yaml", "spec: {containers: [{name: deep}]}\n"},
    {"json.json", "{\"spec\": {\"containers\": [{\"name\": \"main\"}]}}"},
    {"cpu.yaml", "spec:\n  containers:\n  - name: main\n    resources: {requests: {cpu: much}}\n"},
    {"cpu-2.yaml",
     "spec:\n  containers:\n  - name: main\n    resources: {requests: {cpu: much}}\n"},
    {"restart.yaml", "spec:\n  restartPolicy: Always\n  containers: [{name: main}]\n"},
    {"key.yaml", "kind: Pod\nspec: {containers: [{name: main}]}\n"},
    {"empty-spec.yaml", "metadata: {labels: {a: b}}\n"},
    {"list.yaml", "# a pod\n- spec\n"},
    {"broken.yaml", "spec:\n  containers: [\n"},
    {"empty.yaml", ""},
};

static int read_template(const void *ctx, const char *name, char **ret_path, struct buf *ret_text,
                         struct err *err)
{
    const char *folder = ctx;
    for (size_t i = 0; i < N_ROWS(files); i++) {
        if (str_eq(files[i].name, name)) {
            *ret_path = xasprintf("%s/%s", folder, name);
            buf_puts(ret_text, files[i].text);
            return 0;
        }
    }
    return err_set(err, ENOENT, "no file '%s'", name);
}

static const struct spec_overrides with_files = {.read_template = read_template,
                                                 .read_template_ctx = "dir"};

/* The sample whose roles have these fields in place of their templates. Owned. */
static char *sample(const char *pserver, const char *trainer)
{
    _cleanup_(freep) char *one =
        definition_with("template: &pod {spec: {containers: [{name: main}]}}", pserver);
    const char *at = strstr(one, "template: *pod");
    return xasprintf("%.*s%s%s", (int)(at - one), one, trainer, at + strlen("template: *pod"));
}

TEST(a_file_becomes_the_template)
{
    _cleanup_(freep) char *text = sample("templateFrom: pod.yaml", "templateFrom: a/pod.yaml");
    _cleanup_(freep) char *whole =
        sample("template: {spec: {containers: [{name: main, resources: {requests: {cpu: 2}}}]}}",
               "template: {spec: {containers: [{name: deep}]}}");
    struct spec *spec = definition_load(text, &with_files), *same = definition_load(whole, NULL);
    assert_true(json_equal(spec->definition, same->definition));
    _cleanup_(freep) char *frozen = json_dumps(spec->definition, JSON_COMPACT);
    _cleanup_(freep) char *expected = json_dumps(same->definition, JSON_COMPACT);
    assert_string_equal(frozen, expected); /* also in the order of its fields */
    assert_true(json_equal(spec->roles[ROLE_TRAINER].template, same->roles[ROLE_TRAINER].template));
    spec_free(spec);
    spec_free(definition_load(frozen, NULL)); /* read again without files */
    spec_free(same);
}

TEST(a_launcher_has_one_too)
{
    _cleanup_(freep) char *text =
        definition_with("systems: [{name: benchworker, profile: benchworker}]",
                        "systems: [{name: m, profile: none, image: a, command: [x], roles: "
                        "{launcher: {command: [run]}}}]");
    _cleanup_(freep) char *with = xasprintf("%s", text);
    char *roles = strstr(with, "  measure:");
    _cleanup_(freep) char *all = xasprintf("%.*s    launcher: {templateFrom: json.json}\n%s",
                                           (int)(roles - with), with, roles);
    _cleanup_(spec_freep) struct spec *spec = definition_load(all, &with_files);
    assert_non_null(spec->roles[ROLE_LAUNCHER].template);
}

TEST(what_is_wrong_names_the_file)
{
    static const struct {
        const char *pserver, *trainer, *expected[3];
    } rows[] = {
        {"templateFrom: cpu.yaml",
         "templateFrom: pod.yaml",
         {"dir/cpu.yaml:4:33: error: spec.roles.pserver.template.spec.containers[0].resources."
          "requests.cpu: 'much' is not a Kubernetes quantity\n  fix:",
          "\n1 error in templates of f.yaml\n"}},
        {"templateFrom: cpu.yaml", /* once, if two roles name it */
         "templateFrom: cpu.yaml",
         {"dir/cpu.yaml:4:33: ", "\n1 error in templates of f.yaml\n"}},
        {"templateFrom: cpu.yaml", /* the same place of another file is another mistake */
         "templateFrom: cpu-2.yaml",
         {"dir/cpu.yaml:4:33: ", "dir/cpu-2.yaml:4:33: ", "\n2 errors in templates of f.yaml\n"}},
        {"templateFrom: restart.yaml",
         "templateFrom: pod.yaml",
         {"dir/restart.yaml:2:18: error: spec.roles.pserver.template.spec.restartPolicy: must "
          "be "}},
        {"templateFrom: key.yaml",
         "templateFrom: pod.yaml",
         {"dir/key.yaml:1:1: error: spec.roles.pserver.template.kind: unknown field 'kind'"}},
        {"templateFrom: empty-spec.yaml",
         "templateFrom: pod.yaml",
         {"dir/empty-spec.yaml:1:1: error: spec.roles.pserver.template.spec: required field"}},
        {"templateFrom: list.yaml",
         "templateFrom: pod.yaml",
         {"dir/list.yaml:2:1: error: spec.roles.pserver.template: must be a map, not a list"}},
        {"templateFrom: broken.yaml", "templateFrom: pod.yaml", {"dir/broken.yaml:3:1: error: "}},
        {"templateFrom: empty.yaml",
         "templateFrom: pod.yaml",
         {"dir/empty.yaml:1:1: error: the file is empty"}},
        {"templateFrom: none.yaml",
         "templateFrom: pod.yaml",
         {"f.yaml:18:57: error: spec.roles.pserver.templateFrom: no file 'none.yaml'\n",
          "fix: write the path of a file", "\n1 error in f.yaml\n"}},
        {"templateFrom: none.yaml", /* all of them in one pass */
         "templateFrom: cpu.yaml, extra: 1",
         {"f.yaml:18:57: ", "f.yaml:19:67: ", "\n3 errors in f.yaml and its templates\n"}},
        {"templateFrom: 3", "template: {spec: {containers: [{}]}}", {"f.yaml:18:57: error: "}},
        {"templateFrom: [pod.yaml]", "templateFrom: pod.yaml", {"must be a string, not a list"}},
        {"templateFrom: pod.yaml, template: {spec: {containers: [{}]}}",
         "templateFrom: pod.yaml",
         {"f.yaml:18:43: error: spec.roles.pserver.templateFrom: 'pod.yaml': exactly one of "
          "template and templateFrom"}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = sample(rows[i].pserver, rows[i].trainer);
        _cleanup_(freep) char *errors = definition_errors(text, &with_files);
        for (size_t k = 0; k < 3 && rows[i].expected[k] != NULL; k++) {
            if (strstr(errors, rows[i].expected[k]) == NULL) {
                fail_msg("row %zu\nexpected: %s\ngot:\n%s", i, rows[i].expected[k], errors);
            }
        }
    }
}

TEST(a_name_stays_below_its_folder)
{
    static const char *const rows[] = {"/pod.yaml", "../pod.yaml", "a/../pod.yaml",
                                       "a/..",      "..",          "''"};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *field = xasprintf("templateFrom: %s", rows[i]);
        _cleanup_(freep) char *text = sample(field, "template: {spec: {containers: [{}]}}");
        _cleanup_(freep) char *errors = definition_errors(text, &with_files);
        if (strstr(errors, "must be a relative path without '..'") == NULL) {
            fail_msg("row %zu:\n%s", i, errors);
        }
    }
}

/* A definition that came from the store, an archive or a cluster: no file is opened for it. */
TEST(without_files_it_is_refused)
{
    _cleanup_(freep) char *text =
        sample("templateFrom: pod.yaml", "template: {spec: {containers: [{}]}}");
    _cleanup_(freep) char *errors = definition_errors(text, NULL);
    assert_non_null(strstr(errors, "error: spec.roles.pserver.templateFrom: "
                                   "'pod.yaml' is a file, which only benchctl can read\n"));
    assert_non_null(strstr(errors, "\n1 error in f.yaml\n"));
}
