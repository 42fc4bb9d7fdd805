/* The API server's lists. A list is of one version, whatever its way takes. benchd asks for one
 * field selector: runs whose status does not say that they are over. In some worlds the definition
 * of the kind is of before, and has no field to select by; in some the list of all runs takes as
 * long as one of many thousands. */
#include "sim.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

#define HAS_NO_FIELDS (sim.seed % 4 == 3)
#define HAS_LONG_LISTS (sim.seed % 2 == 0)

/* The selector's text; "": there is none. Owned. */
static char *selector_of(const char *path)
{
    static const char key[] = "fieldSelector=";
    struct buf text = BUF_INIT;
    const char *at = strstr(path, key);
    for (at = at == NULL ? "" : at + strlen(key); *at != '\0' && *at != '&'; at++) {
        const bool is_escaped = *at == '%';
        const char code[] = {is_escaped ? at[1] : '\0', is_escaped ? at[2] : '\0', '\0'};
        buf_putc(&text, is_escaped ? (char)strtol(code, NULL, 16) : *at);
        at += is_escaped ? 2 : 0;
    }
    return buf_take(&text);
}

static bool is_selected(const struct sim_object *o, const char *selector)
{
    const char *phase =
        json_string_value(json_object_get(json_object_get(o->json, "status"), "phase"));
    if (selector[0] == '\0' || phase == NULL) {
        return true;
    }
    _cleanup_(freep) char *without = xasprintf("status.phase!=%s", phase);
    return strstr(selector, without) == NULL;
}

void list_serve(enum sim_kind kind, const char *path, struct sim_answer *ret)
{
    _cleanup_(freep) char *selector = selector_of(path);
    const bool is_all = selector[0] == '\0';
    if (!is_all && HAS_NO_FIELDS) {
        server_status(ret, 400, "BadRequest", "field label not supported: status.phase");
        return;
    }
    watch_listed(kind);
    struct buf text = BUF_INIT;
    buf_printf(&text,
               "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"},\"items\":[",
               server_version());
    const char *comma = "";
    for (size_t i = 0; i < server_count(kind); i++) {
        if (is_selected(server_get(kind, i), selector)) {
            _cleanup_(freep) char *one = json_dumps(server_get(kind, i)->json, JSON_COMPACT);
            buf_printf(&text, "%s%s", comma, one);
            comma = ",";
        }
    }
    buf_puts(&text, "]}");
    const bool is_long = kind == KIND_RUNS && is_all && HAS_LONG_LISTS;
    *ret = (struct sim_answer){.code = 200,
                               .body = buf_take(&text),
                               .retry_after_s = -1,
                               .way_ns = is_long ? sim_time(DRAW_NETWORK, 0, 5 * SIM_S) : 0};
}
