/* Keys as OpenSSH writes them. The expected texts are of OpenSSH: `ssh-keygen -y` of the private
 * one prints the public one, and `ssh-keygen -l` its fingerprint. */
#include "tests/test.h"
#include "pod/ssh_key.h"

/* RFC 8032, 7.1, test 1. */
static const struct ssh_key key = {
    .seed = {0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a,
             0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32,
             0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60},
    .public = {0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe,
               0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6,
               0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a},
};

TEST(private_key)
{
    _cleanup_(freep) char *text = ssh_key_private_dup(&key);
    assert_string_equal(text,
                        "-----BEGIN OPENSSH PRIVATE KEY-----\n"
                        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
                        "QyNTUxOQAAACDXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGgAAAIgAAAAAAAAA\n"
                        "AAAAAAtzc2gtZWQyNTUxOQAAACDXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGg\n"
                        "AAAECdYbGd7/1aYLqESvSS7CzEREnFaXsyaRlwO6wDHK5/YNdamAGCsQq31Uv+08lkBzoO\n"
                        "4XLz2qYjJa8CGmj3B1EaAAAAAAECAwQF\n"
                        "-----END OPENSSH PRIVATE KEY-----\n");
}

TEST(public_key)
{
    _cleanup_(freep) char *text = ssh_key_public_dup(&key);
    assert_string_equal(
        text, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea\n");
}
