/* See job_state.h. */
#include "pod/job_state.h"

#include <string.h>

#include "base/mem.h"
#include "core/fact_texts.h"
#include "doc/json_path.h"
#include "doc/json_pointer.h"

/* Of the condition that job.failed names, or else of its status. */
static char *words_of(const struct job *job, const json_t *object)
{
    const json_t *status = json_object_get(object, "status");
    const json_t *list = json_object_get(status, "conditions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        _cleanup_(freep) char *type = xasprintf("\"%s\"", fact_text(item, "type"));
        if (strstr(job->failed, type) != NULL) {
            return xasprintf("%s: %s", fact_text(item, "reason"), fact_text(item, "message"));
        }
    }
    return xstrdup(fact_text(status, "message"));
}

void job_state_read(const struct job *job, const json_t *object, struct job_state *ret)
{
    const json_t *metadata = json_object_get(object, "metadata");
    *ret = (struct job_state){
        .verdict = json_condition_holds(job->failed, object)      ? JOB_FAILED
                   : json_condition_holds(job->succeeded, object) ? JOB_SUCCEEDED
                                                                  : JOB_GOES_ON,
        .is_suspended = json_is_true(json_pointer_get(object, "/spec/suspend")) ||
                        json_is_true(json_pointer_get(object, "/spec/runPolicy/suspend")),
        .made_unix_ms = fact_date(metadata, "creationTimestamp"),
        .uid = xstrdup(fact_text(metadata, "uid")),
    };
    if (ret->verdict == JOB_FAILED) {
        ret->why = words_of(job, object);
    }
}

void job_state_done(struct job_state *state)
{
    free(state->uid);
    free(state->why);
    *state = (struct job_state){0};
}
