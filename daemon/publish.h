/* Shows the daemon to its HTTP threads: see daemon/web/daemon_view.h. */
#pragma once

struct daemon;
/* After each look, and when the daemon begins to stop. On the loop. */
void publish_view(struct daemon *d);
