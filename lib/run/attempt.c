/* What the store keeps of an attempt, see attempt.h. */
#include "run/attempt.h"

#include <string.h>

#include "base/mem.h"
#include "core/record.h"
#include "logparse/lines.h"

static int by_role_and_index(const void *a, const void *b)
{
    const struct replica_id *x = &(*(const struct observed_replica *const *)a)->id;
    const struct replica_id *y = &(*(const struct observed_replica *const *)b)->id;
    if (x->role != y->role) {
        return x->role < y->role ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

void attempt_add_name(struct buf *names, const char *name)
{
    if (name != NULL) {
        buf_printf(names, "%s%s", names->len > 0 ? "|" : "", name);
    }
}

/* Records are for benchd. */
static void on_log_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    static const char record[] = "\"benchd\":";
    if (len == 0 || line[0] != '{' || memmem(line, len, record, sizeof(record) - 1) == NULL) {
        log_miss_remember(ctx, number, line, len);
    }
}

/* Why it failed; of a program that ended by itself with the last lines of its log. Owned. */
static char *failure_of(const struct replica_output *o)
{
    struct buf text = BUF_INIT;
    if (o->failure == NULL) {
        return NULL;
    }
    buf_puts(&text, o->failure);
    if (o->exit_code > 0 && o->log_len > 0 && strchr(o->failure, '\n') == NULL) {
        struct log_miss last = {0};
        log_lines_each(o->log, o->log_len, on_log_line, &last);
        buf_puts(&text, last.n_remembered > 0 ? "\n" : "");
        log_miss_put_last(&last, &text);
    }
    return buf_take(&text);
}

/* -ENOENT is not an error here: the replica was failed_create, or it has just vanished. */
static int collect_one(struct launcher *launcher, const struct observed_replica *seen,
                       struct attempt_output *out, struct err *err)
{
    struct replica_output output = {.exit_code = -1, .failure = seen->message};
    int r = launcher->ops->collect(launcher, &seen->id, &output, err);
    if (r == -EAGAIN) {
        return r;
    }
    if (r < 0 && r != -ENOENT) {
        return err_wrap(err, r, "collect %s/%u", role_to_string(seen->id.role), seen->id.index);
    }
    *vec_push(&out->row.replicas) = (struct replica_row){
        .id = seen->id,
        .exit_code = output.exit_code,
        .signal = output.signal,
        .failure = failure_of(&output),
        .summary = summary_copy(output.summary),
        .environment = environment_copy(output.environment),
        .reading = json_incref(output.reading),
        .log_bytes = output.log_len,
    };
    out->row.simulated = out->row.simulated || output.is_simulated;
    attempt_add_name(&out->pods, output.pod);
    if (out->measured_to_unix_ms == 0) {
        out->measured_to_unix_ms = output.measured_to_unix_ms;
    }
    if (output.log_len > 0) {
        *vec_push(&out->logs) = (struct replica_log){seen->id, output.log, output.log_len};
    }
    return 0;
}

int attempt_collect(struct launcher *launcher, const struct action *action,
                    const struct observed_replica *seen, size_t n_seen, struct attempt_output *ret,
                    struct err *err)
{
    VEC(const struct observed_replica *) members = {0};
    for (size_t i = 0; i < n_seen; i++) {
        const struct replica_id *id = &seen[i].id;
        if (attempt_id_eq(&id->attempt, &action->save.id)) {
            *vec_push(&members) = &seen[i];
        }
    }
    array_sort(members.items, members.len, sizeof(*members.items), by_role_and_index);
    struct attempt_output out = {.row.id = action->save.id};
    int r = 0;
    vec_each (const struct observed_replica *, it, &members) {
        if (r == 0 || r == -EAGAIN) {
            int one = collect_one(launcher, *it, &out, err);
            r = one < 0 ? one : r;
        }
    }
    vec_done(&members);
    if (r < 0) {
        attempt_output_done(&out);
        return r;
    }
    attempt_set_verdict(&out.row, action);
    *ret = out;
    return 0;
}

void attempt_add_metrics(struct attempt_output *output, const uint32_t sizes[static ROLE_COUNT],
                         const struct metrics *metrics)
{
    struct replica_row *row =
        vec_find(&output->row.replicas, it, role_leads(it->id.role, sizes) && it->summary != NULL);
    if (row != NULL) {
        metrics_merge(&row->summary->metrics, metrics);
    }
}

void attempt_set_verdict(struct attempt_row *row, const struct action *action)
{
    row->outcome = action->save.outcome;
    free(row->error);
    row->error = action->save.error[0] == '\0' ? NULL : xstrdup(action->save.error);
}

void attempt_output_done(struct attempt_output *output)
{
    attempt_row_done(&output->row);
    vec_each (struct replica_log, log, &output->logs) {
        free(output->owns_logs ? (void *)log->data : NULL);
    }
    vec_done(&output->logs);
    buf_done(&output->pods);
}
