/* See doctor.h. */
#include "ctl/doctor/doctor.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "report/terminal.h"

const char *check_outcome_to_string(enum check_outcome outcome)
{
    static const char *const names[] = {"ok", "warn", "fail", "skip"};
    return names[outcome];
}

void checks_done(struct checks *c)
{
    vec_each (struct check, check, &c->list) {
        free(check->found);
        free(check->fix);
    }
    vec_done(&c->list);
}

void checks_add(struct checks *c, struct check check, const char *fix, const char *fmt, ...)
{
    check.found = xasprintf_rest(fmt);
    check.fix = xstrdup_or_null(fix);
    *vec_push(&c->list) = check;
}

enum exit_code checks_exit_code(const struct checks *c)
{
    const struct check *failed = vec_find(&c->list, it, it->outcome == CHECK_FAIL);
    return failed == NULL ? EXIT_OK : failed->code;
}

#define FOUND_AT 18 /* where the texts begin: "warn  kubeconfig  " */

/* Texts of servers may hold anything. */
void checks_format(const struct checks *c, unsigned columns, struct buf *out)
{
    vec_each (const struct check, check, &c->list) {
        _cleanup_(freep) char *found = text_without_control(check->found, "", ' ');
        buf_printf(out, "%-4s  %-10s  ", check_outcome_to_string(check->outcome), check->name);
        wrap_text(out, found, columns, FOUND_AT, FOUND_AT);
        if (check->fix != NULL) {
            _cleanup_(freep) char *fix = text_without_control(check->fix, "", ' ');
            buf_printf(out, "%*sfix: ", FOUND_AT, "");
            wrap_text(out, fix, columns, FOUND_AT + strlen("fix: "), FOUND_AT + 2);
        }
    }
}

json_t *checks_to_json(const struct checks *c)
{
    json_t *list = JSON_ARRAY_OF(vec_each (const struct check, check, &c->list),
                                 json_pack("{s:s, s:s, s:o, s:o}", "name", check->name, "result",
                                           check_outcome_to_string(check->outcome), "found",
                                           json_text_or_null(check->found), "fix",
                                           json_text_or_null(check->fix)));
    return json_pack("{s:s, s:s, s:i, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                     "DoctorReport", "exitCode", (int)checks_exit_code(c), "checks", list);
}

/* ---- this machine ---- */

static void check_frequency(const struct machine_seen *seen, struct checks *c)
{
    static const char fix[] = "sudo cpupower frequency-set -g performance";
    if (seen->governor == NULL) {
        checks_skip(c, "frequency",
                    "the kernel shows no frequency control, as in most virtual "
                    "machines");
    } else if (strstr(seen->governor, " and ") != NULL) {
        checks_warn(c, "frequency", fix, "CPUs have different governors");
    } else if (!str_eq(seen->governor, "performance")) {
        checks_warn(c, "frequency", fix, "the governor is '%s', which slows idle CPUs down",
                    seen->governor);
    } else {
        checks_ok(c, "frequency", "the governor is performance");
    }
}

void machine_check(const struct machine_seen *seen, struct checks *c)
{
    if (seen->cpus_usable < 2) {
        checks_warn(c, "cpus", "use a machine or a container with 2 CPUs or more",
                    "%" PRId64 " of %" PRId64
                    " CPUs may be used: every run with a server or two trainers is a rehearsal",
                    seen->cpus_usable, seen->cpus_online);
    } else {
        checks_ok(c, "cpus", "%" PRId64 " of %" PRId64 " CPUs may be used", seen->cpus_usable,
                  seen->cpus_online);
    }
    check_frequency(seen, c);
}
