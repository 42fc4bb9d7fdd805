/* The link of a replica to the network, where it is shaped: so many bits a second in each
 * direction, and a delay on top of what the machine needs. All zero: it is not shaped. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct link {
    uint64_t bits_per_s; /* each way; 0: not shaped */
    int64_t delay_ns;    /* of a packet from one replica to another, each way */
};
#define LINK_BITS_PER_S_MIN 1000000u      /* slower links would not carry signs of life */
#define LINK_BITS_PER_S_MAX 100000000000u /* 100 Gbit/s */
#define LINK_DELAY_NS_MAX 1000000000
#define LINK_SEGMENT_BYTES 65536.0 /* the largest that the kernel has not cut into packets yet */
#define LINK_TEXT_MAX 48           /* of link_text, with the terminator */

/* "1gbit", "2.5gbit", "100mbit", "500000kbit". -EINVAL: it is not a rate, or out of bounds. */
int link_parse_rate(const char *text, uint64_t *ret);
/* The same of a link that is not shaped: from 1 bit a second to 1000000gbit. */
int link_parse_any_rate(const char *text, double *ret);
/* "1ms", "250us", "0.5s". -EINVAL. */
int link_parse_delay(const char *text, int64_t *ret);
/* A sweep value: "1gbit", "1gbit 1ms", "none". -EINVAL. */
int link_parse(const char *text, struct link *ret);
void link_text(const struct link *link, char ret[static LINK_TEXT_MAX]); /* the same form */
bool link_eq(const struct link *a, const struct link *b);
/* What waits for a shaped link at most: as much as it carries in 50 ms, and two segments. More is
 * dropped, as a switch does. */
double link_queue_bytes(const struct link *link);
