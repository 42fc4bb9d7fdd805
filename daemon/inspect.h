/* Shows the daemon to its HTTP threads: see daemon/web/inspect.h. */
#pragma once

struct daemon;
/* After each look, and when the daemon begins to stop. On the loop. */
void inspect_publish(struct daemon *d);
