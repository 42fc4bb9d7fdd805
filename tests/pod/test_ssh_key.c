/* Keys as OpenSSH writes them. The expected texts are of OpenSSH: `ssh-keygen -y` of the private
 * one prints the public one, and `ssh-keygen -l` its fingerprint. */
#include "tests/test.h"
#include "pod/ssh_key.h"

/* RFC 8032, 7.1, test 1. */
static const struct ssh_key key = {
    .seed = "\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4"
            "\x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac\x03\x1c\xae\x7f\x60",
    .public = "\xd7\x5a\x98\x01\x82\xb1\x0a\xb7\xd5\x4b\xfe\xd3\xc9\x64\x07\x3a"
              "\x0e\xe1\x72\xf3\xda\xa6\x23\x25\xaf\x02\x1a\x68\xf7\x07\x51\x1a",
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
