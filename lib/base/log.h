/* Lines on stderr, as logfmt or as one JSON object each:
 *     level=warn msg="port taken, retrying" run=x role=pserver index=0
 *     {"time":"2026-11-21T14:25:07Z","level":"warn","msg":"port taken, retrying","run":"x",...}
 *
 * The message is constant, what varies goes into keys. Each event is logged once, at the level that
 * handles it: error = we gave up, warn = degraded but continuing, info = phase change, debug =
 * rest. Never log secrets. */
#pragma once

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level); /* set once by main, before threads */
enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };
void log_set_format(enum log_format format); /* the same */

/* Keys and values alternate, all strings, NULL ends the list:
 *     log_event(LOG_LEVEL_WARN, "port taken, retrying", "role", "pserver", "index", n, NULL); */
void log_event(enum log_level level, const char *msg, ...) __attribute__((sentinel));
