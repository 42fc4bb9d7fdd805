/* The dry run of a run's templates: what the API server says of pods that are not made yet. */
#include "base/mem.h"
#include "base/str.h"
#include "run_world.h"

/* The note of the event that was sent last; owned, NULL: none was. */
static char *last_note(void)
{
    for (size_t i = fake_kube.n; i-- > 0;) {
        const struct kube_request *req = &fake_kube.calls[i].req;
        if (strstr(req->path, "/events") != NULL) {
            _cleanup_(json_decrefp) json_t *event = json_loads(req->body, 0, NULL);
            return xstrdup(json_string_value(json_object_get(event, "note")));
        }
    }
    return NULL;
}

#define PART                                                                                       \
    "allowPrivilegeEscalation != false (container \"main\" must set "                              \
    "allowPrivilegeEscalation=false in it), "
#define LONG_WORDS                                                                                 \
    "violates PodSecurity \"restricted:latest\": " PART PART PART PART PART PART PART PART PART

TEST(templates_are_tried_before_anything_is_made)
{
    static const struct {
        const char *name;
        int r, http_code;
        const char *text;
        bool is_refused, is_accepted; /* else: asked again later */
    } rows[] = {
        {"good", 0, 201, "{}", false, true},
        {"an unknown field", -EINVAL, 400, "strict decoding error: unknown field", true, false},
        {"Pod Security", -EACCES, 403, LONG_WORDS "and the last of them", true, false},
        {"more than an event may say", -EACCES, 403,
         LONG_WORDS "and more, with which the text is longer than any event's note", true, false},
        {"a name that is there", -EEXIST, 409, "already exists", false, true},
        {"a quota", -EDQUOT, 403, "exceeded quota", false, true},
        {"the server away", -EHOSTUNREACH, 0, "no connection", false, false},
        {"a token refused", -EACCES, 401, "Unauthorized", false, true},
    };
    _cleanup_(world_freep) struct world *w = world_new();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake_kube_reset();
        _cleanup_(freep) char *uid = xasprintf("%08zu", i);
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr(uid);
        _cleanup_(run_freep) struct run *run = new_run(w, bmr);
        assert_int_equal(take(run, bmr, NULL), 0);
        assert_int_equal(take(run, bmr, NULL), 0); /* not before all have answered */
        assert_non_null(strstr(open_call(0)->req.body, "\"serviceAccountName\":\"replicas\""));
        fake_kube.http_code = rows[i].http_code;
        assert_int_equal(answer_checks(rows[i].r, rows[i].text), 2);
        const bool is_accepted = take(run, bmr, NULL) == 1;
        const bool is_refused = run->life == LIFE_REFUSED;
        if (is_refused != rows[i].is_refused || is_accepted != rows[i].is_accepted) {
            fail_msg("row '%s': refused %d, accepted %d", rows[i].name, is_refused, is_accepted);
        }
        if (rows[i].is_refused) {
            assert_string_equal(run->status.reason, "InvalidTemplate");
            assert_true(str_has_prefix(run->refusal.text, "template of pserver: "));
            assert_non_null(strstr(run->refusal.text, rows[i].text));
            _cleanup_(freep) char *note = last_note();
            const size_t len = strlen(run->refusal.text);
            const size_t shown = len < EVENT_NOTE_SIZE ? len : EVENT_NOTE_SIZE - 1;
            assert_int_equal(strlen(note), shown);
            assert_memory_equal(note, run->refusal.text, shown);
            assert_string_equal(note, run->status.message);
        } else if (!is_accepted) {
            run->at.retry_ns = 0;
            assert_int_equal(take_good(run, bmr, NULL), 1);
        }
    }
}
