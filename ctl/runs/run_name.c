/* See run_name.h. Edge file: run_random reads the kernel's random numbers. */
#include "ctl/runs/run_name.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";

void run_name_make(const char *benchmark, const unsigned char random[5],
                   char ret[static RUN_NAME_SIZE])
{
    size_t len = strlen(benchmark);
    size_t room = RUN_NAME_SIZE - 1 - 6;
    if (len > room) {
        len = room;
        while (len > 0 && benchmark[len - 1] == '-') {
            len--; /* "a--7k3fq" would look like a mistake */
        }
    }
    memcpy(ret, benchmark, len);
    ret[len++] = '-';
    for (int i = 0; i < 5; i++) {
        ret[len++] = alphabet[random[i] % (sizeof(alphabet) - 1)];
    }
    ret[len] = '\0';
}

void run_uid_make(const unsigned char random[16], char ret[static RUN_UID_SIZE])
{
    unsigned char b[16];
    memcpy(b, random, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    (void)snprintf(ret, RUN_UID_SIZE,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
}

int run_random(void *ret, size_t len, struct err *err)
{
    ssize_t n = getrandom(ret, len, 0); /* up to 256 bytes are never cut short */
    if (n < 0 || (size_t)n != len) {
        return err_set_errno(err, n < 0 ? errno : EIO, "random numbers");
    }
    return 0;
}
