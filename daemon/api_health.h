/* What is wrong between benchd and the API server, told once and not borne for ever at the start. */
#pragma once

struct daemon;
/* Once a look: logs a failure when it begins and when all is well again, and who else holds the
 * Lease; ends the daemon if it could not begin its work in time. */
void api_health_look(struct daemon *d);
