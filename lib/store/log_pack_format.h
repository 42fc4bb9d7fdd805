/* The limits that both directions of log_pack.h share;
 * docs/contracts/log-pack.md has the format. */
#pragma once

#define LOG_PACK_VERSION 1
#define LOG_PACK_MAX_FORMS 255 /* their numbers have a byte */
