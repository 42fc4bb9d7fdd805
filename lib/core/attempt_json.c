/* See attempt_json.h. */
#include "core/attempt_json.h"
#include "core/record_members.h"

/* clang-format off */
static const struct record_member ids[] = {
    {"point", MEMBER_32, true, AT(attempt_id, point)},
    {"trial", MEMBER_32, true, AT(attempt_id, trial)},
    {"attempt", MEMBER_32, true, AT(attempt_id, number)},
};
static const struct record_members id_members = MEMBERS(ids, NULL);
/* clang-format on */

json_t *attempt_id_to_json(const struct attempt_id *id)
{
    return id == NULL ? json_null() : record_members_to_json(&id_members, id);
}

int attempt_id_from_json(const json_t *o, struct attempt_id *ret, struct err *err)
{
    struct attempt_id id = {0};
    const int r = record_read_members(o, &id_members, &id, err);
    *ret = r < 0 ? *ret : id;
    return r;
}
