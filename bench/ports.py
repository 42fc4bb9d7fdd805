"""TCP ports of 127.0.0.1 for programs that a bench starts."""
import socket


def free_ports(count):
    """Free now; the kernel gives none of them to somebody else while all are held."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()
