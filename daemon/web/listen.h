/* The listening socket. Edge file: sockets. */
#pragma once

#include <netinet/in.h>

#include "base/err.h"

#define LISTEN_ADDRESS_SIZE (INET6_ADDRSTRLEN + 16)

/* `address`: "127.0.0.1:8080", "[::1]:8080", "localhost:0", ":8080" (every IPv4 address); port 0
 * picks one. Returns the socket; ret_bound: "host:port" that is bound. -EINVAL, -EADDRINUSE, ...
 * with the address in the text. */
int listen_open(const char *address, char ret_bound[static LISTEN_ADDRESS_SIZE], struct err *err);
