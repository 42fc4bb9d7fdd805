/* What pages load from benchd itself: the style sheet and the script. They are made from
 * web.css and live.js of this folder by embed.py; the script of charts, and most of the
 * style, is that of reports. */
#include "daemon/web/assets.h"
#include "daemon/web/site.h"
#include "report/style.h"

void assets_style(struct site *site, const struct web_request *req, struct web_response *res)
{
    (void)site, (void)req;
    res->content_type = "text/css; charset=utf-8";
    buf_puts(&res->body, page_style);
    buf_puts(&res->body, asset_style);
}

void assets_script(struct site *site, const struct web_request *req, struct web_response *res)
{
    (void)site, (void)req;
    res->content_type = "text/javascript; charset=utf-8";
    buf_puts(&res->body, asset_script);
}

void assets_chart_script(struct site *site, const struct web_request *req, struct web_response *res)
{
    (void)site, (void)req;
    res->content_type = "text/javascript; charset=utf-8";
    buf_puts(&res->body, page_script);
}
