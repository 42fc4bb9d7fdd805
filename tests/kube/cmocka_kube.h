/* What the tests of lib/kube share. */
#pragma once

#include "tests/test.h"
#include "kube/status.h"

#define S_NS INT64_C(1000000000)

/* With that body, and no header. */
static inline struct kube_response response_of(enum kube_failure failure, int code,
                                               const char *body)
{
    return (struct kube_response){.failure = failure,
                                  .http_code = code,
                                  .content_type = "",
                                  .body = body,
                                  .body_len = strlen(body),
                                  .retry_after_s = -1,
                                  .date_unix_ms = -1,
                                  .warning = ""};
}
