#!/usr/bin/env python3
"""A process is stopped for not quite as long as its peer must wait before it gives it up, but as long as it may, and its peer
has left meanwhile, or nobody could meet it: it blames itself. test_reduce.c has the times to the nanosecond."""
import os
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

from worker_gang import HOST, own_ports, time
from lone import Server, connect, start
from tap import Tap

LIMIT_S = 6
AWAY_S = 4.2  # 4 s or more and less than 6, also on a crawling machine
LATE_S = 5.5  # a machine that crawled so long says nothing: once more
ATTEMPTS = 5


class Late(Exception):
    """The replica was stopped for longer than was asked."""


def stop(replica):
    """For AWAY_S; how long it is stopped is what this is about."""
    replica.signal(signal.SIGSTOP)
    since = time.monotonic()
    os.waitid(os.P_PID, replica.process.pid, os.WSTOPPED)
    time.sleep(AWAY_S)
    return since


def wake(replica, since):
    replica.signal(signal.SIGCONT)
    if time.monotonic() - since > LATE_S:
        replica.process.kill()
        raise Late


def leave_while_it_waits(replica, s):
    s.handshake()
    if not isinstance(s, Server):
        s.receive_type("WELCOME")
    since = stop(replica)
    s.sock.shutdown(socket.SHUT_RDWR)
    wake(replica, since)


def miss_the_rendezvous(replica, s):
    """Its peer is there, and has no answer."""
    if not isinstance(s, Server):
        s.send("HELLO", s.me.nonce + s.me.digest)
    s.receive()
    wake(replica, stop(replica))


ACTS = [("its peer left while it waited", leave_while_it_waits), ("the time to meet was over", miss_the_rendezvous)]


def limits(act):
    return ["--peer-timeout-s", LIMIT_S, *(["--rendezvous-s", "4"] if act is miss_the_rendezvous else [])]


def stop_server(act):
    port = own_ports(1)[0]
    server = start("pserver", ["--listen", f"{HOST}:{port}", *limits(act)])
    trainer = connect(port)
    act(server, trainer)
    code, error, _ = server.end()
    trainer.sock.close()
    return code, error


def stop_trainer(act):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        trainer = start("trainer", ["--pserver-addrs", f"127.0.0.1:{port}", "--batch-size", "2", *limits(act)])
        server = Server(listener)
    act(trainer, server)
    code, error, _ = trainer.end()
    server.sock.close()
    return code, error


def result_of(row):
    for _ in range(ATTEMPTS):
        try:
            code, error = row[0](row[3])
        except Late:
            continue
        if error is None or "silent for" not in error["message"]:  # else this test was stopped itself, for all of the limit
            return code, error
    raise Late


def main():
    tap = Tap()
    rows = [(run, name, *act) for run, name in ((stop_server, "pserver/0"), (stop_trainer, "trainer/0")) for act in ACTS]
    with ThreadPoolExecutor(len(rows)) as pool:  # they mostly wait
        for (_, name, what, _), (code, error) in zip(rows, pool.map(result_of, rows)):
            error = error or {}
            tap.equal((11, name), (code, error.get("peer")), f"{name}, stopped: {what}: it blames itself")
            tap.match(r"itself was stopped for [45]", error.get("message", ""), f"{name}, stopped: {what}: and says why")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
