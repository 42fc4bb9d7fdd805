/* A pair of Ed25519 keys as OpenSSH writes it: what ssh and sshd of a run's replicas know each
 * other by (daemon/cluster/key.h makes it). Pure. */
#pragma once

#define SSH_KEY_SIZE 32

struct ssh_key {
    unsigned char seed[SSH_KEY_SIZE]; /* the private half; RFC 8032 calls it the private key */
    unsigned char public[SSH_KEY_SIZE];
};

/* "-----BEGIN OPENSSH PRIVATE KEY-----...", without a passphrase, as ssh-keygen writes it. Owned;
 * the caller clears it. */
char *ssh_key_private_dup(const struct ssh_key *key);
/* "ssh-ed25519 AAAA...", with a newline. Owned. */
char *ssh_key_public_dup(const struct ssh_key *key);
