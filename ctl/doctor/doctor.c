/* See doctor.h. */
#include "ctl/doctor/doctor.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"
#include "core/json_field.h"
#include "report/terminal.h"

#define STEAL_RATIO_MAX 0.01 /* more makes throughputs differ from trial to trial */
#define BUSY_RATIO_MAX 0.05

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

bool cpu_times_read(const char *proc_stat, struct cpu_times *ret)
{
    /* user nice system idle iowait irq softirq steal; guests are in user already */
    uint64_t t[8] = {0};
    if (!str_has_prefix(proc_stat, "cpu ")) {
        return false; /* "cpu0" is one of them */
    }
    const char *at = proc_stat + strlen("cpu");
    for (int i = 0; i < 8; i++) {
        at += strspn(at, " ");
        const size_t len = strspn(at, "0123456789");
        _cleanup_(freep) char *digits = xstrndup(at, len);
        if (parse_u64(digits, &t[i]) < 0) {
            return false;
        }
        at += len;
    }
    *ret = (struct cpu_times){.stolen = t[7]};
    for (int i = 0; i < 8; i++) {
        ret->all += t[i];
    }
    ret->busy = ret->all - t[3] - t[4] - t[7];
    return true;
}

static double ratio_of(uint64_t before, uint64_t now, uint64_t all)
{
    return now <= before || all == 0 ? 0 : (double)(now - before) / (double)all;
}

static void check_load(const struct machine_seen *seen, struct checks *c)
{
    const uint64_t all = seen->now.all > seen->before.all ? seen->now.all - seen->before.all : 0;
    if (!seen->has_times || all == 0) {
        checks_skip(c, "steal", "/proc/stat does not say what CPUs do");
        checks_skip(c, "load", "/proc/stat does not say what CPUs do");
        return;
    }
    const double steal = ratio_of(seen->before.stolen, seen->now.stolen, all);
    const double busy = ratio_of(seen->before.busy, seen->now.busy, all);
    if (steal > STEAL_RATIO_MAX) {
        checks_warn(c, "steal",
                    "use a machine whose CPUs are its own, or read intervals with care: other "
                    "virtual machines take its time",
                    "the hypervisor takes %.0f%% of the CPU time", 100 * steal);
    } else {
        checks_ok(c, "steal", "the hypervisor takes %.0f%% of the CPU time", 100 * steal);
    }
    if (busy > BUSY_RATIO_MAX) {
        checks_warn(c, "load", "end other work, or give a run its own CPUs with taskset",
                    "other work uses %.1f of %" PRId64 " CPUs", busy * (double)seen->cpus_online,
                    seen->cpus_online);
    } else {
        checks_ok(c, "load", "%.0f%% of the CPU time is used", 100 * busy);
    }
}

static void check_frequency(const struct machine_seen *seen, struct checks *c)
{
    static const char fix[] = "sudo cpupower frequency-set -g performance";
    if (seen->governor == NULL) {
        checks_skip(c, "frequency",
                    "the kernel shows no frequency control, as in most virtual "
                    "machines");
    } else if (seen->governors_differ) {
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
    check_load(seen, c);
}
