#!/usr/bin/env python3
"""A process is stopped for not quite as long as its peer must wait before it gives it up, but as long
as it may: if the peer has left meanwhile, it blames itself; if the peer still waits, it goes on."""
import os
import pathlib
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import peer
from worker_gang import HOST, own_ports, time
from lone import N_PARAMS, Server, connect, start
from tap import Tap

LIMIT_S = 6
AWAY_S = 4.2  # 4 s or more and less than 6, also on a crawling machine
LATE_S = 5.5  # a machine that crawled so long says nothing: once more
WAIT_S = 2.5  # more than 2 s: after that a lost peer is a lost peer again
SIGNS = 3  # life signs before that time begins: one may have been sent before it was stopped, one as soon as it woke
ATTEMPTS = 5
SLICES = peer.slices(N_PARAMS, 1)
CRC = {length: peer.crc32c(bytes(4 * length)) for length in {length for _, length in SLICES}}
IN_POLL = {"7", "219"}  # poll and its restart on x86-64
PIECE = 1 << 18


class Late(Exception):
    """The replica was stopped for longer than was asked."""


def where(task):
    """The system call that a stopped task is in, if it is in one and we may know."""
    try:
        return (task / "syscall").read_text().split()[0]
    except OSError:
        return "unknown"


class Stopped:
    """A replica that is stopped and woken."""

    def __init__(self, replica):
        self.replica, self.is_stopped = replica, False

    def stop(self):
        if not self.is_stopped:
            self.replica.signal(signal.SIGSTOP)
            self.since = time.monotonic()
            os.waitid(os.P_PID, self.replica.process.pid, os.WSTOPPED)
            self.is_stopped = True

    def thread(self):
        """The one that waits for the peer."""
        self.stop()
        tasks = list(pathlib.Path(f"/proc/{self.replica.process.pid}/task").iterdir())
        return next((t for t in tasks if where(t) in IN_POLL), tasks[0])

    def wake(self):
        self.replica.signal(signal.SIGCONT)
        self.is_stopped = False
        if time.monotonic() - self.since > LATE_S:
            self.replica.process.kill()
            raise Late


def join(s):
    s.handshake()
    if not isinstance(s, Server):
        s.receive_type("WELCOME")


def stop_and_leave(stopped, s):
    stopped.stop()
    time.sleep(AWAY_S)  # how long it is stopped is what this is about
    s.sock.shutdown(socket.SHUT_RDWR)
    stopped.wake()


def leave_while_it_waits(stopped, s, _):
    join(s)
    stop_and_leave(stopped, s)


def pieces(s, type_):
    """A step's frames, bytes by bytes; of gradients no more than there is credit for."""
    credit = s.offer(0, len(SLICES)) if type_ == "GRADIENT" else len(SLICES)
    for i, (offset, length) in reversed(list(enumerate(SLICES))):
        while credit < len(SLICES) - i:
            type_of, header, _ = s.receive_type("CREDIT", "PARAMS")  # parameters of what is summed may come between
            credit = header[10] if type_of == "CREDIT" else credit
        frame = s.me.frame(type_, bytes(4 * length), dtype=1, crc=CRC[length], slice=i, offset=offset)
        for begin in range(0, len(frame), PIECE):
            yield frame[begin:begin + PIECE]


def leave_while_it_reads(stopped, s, type_):
    """It is stopped behind the look at the clock with which a turn begins, and wakes before it reads the end."""
    join(s)
    if type_ == "PARAMS":
        s.receive_gradients()
    thread = stopped.thread()
    stopped.wake()
    for i, piece in enumerate(pieces(s, type_)):
        s.sock.sendall(piece)  # while it runs: a stopped one reads nothing, and what fits between is the system's
        time.sleep(i % 50 * 2e-5)
        stopped.stop()
        if where(thread) == "-1":
            break  # in none: it checks a slice, or makes parameters of it
        stopped.wake()
    stop_and_leave(stopped, s)


def miss_the_rendezvous(stopped, s, _):
    """Its peer is there, and has no answer."""
    if not isinstance(s, Server):
        s.send("HELLO", s.me.nonce + s.me.digest)
    s.receive()
    stopped.stop()
    time.sleep(AWAY_S)
    stopped.wake()


def wait(stopped, s, _):
    join(s)
    stopped.stop()
    time.sleep(AWAY_S)
    s.send("HEARTBEAT")
    stopped.wake()
    n_signs, end, type_ = 0, 0, ""
    while n_signs < SIGNS or time.monotonic() < end or type_ != "HEARTBEAT":
        type_ = s.receive()[0]
        if type_ == "HEARTBEAT":
            s.send("HEARTBEAT")
            n_signs += 1
            end = time.monotonic() + WAIT_S if n_signs == SIGNS else end  # it has run: its clock has seen that it was away
    s.sock.shutdown(socket.SHUT_RDWR)


ACTS = [  # what the peer does; whose fault it is
    ("its peer left while it waited", leave_while_it_waits, "itself"),
    ("its peer left while it read", leave_while_it_reads, "itself"),
    ("the time to meet was over", miss_the_rendezvous, "itself"),
    ("its peer waits and leaves later", wait, "its peer"),
]


def limits(act):
    return ["--peer-timeout-s", LIMIT_S, *(["--rendezvous-s", "4"] if act is miss_the_rendezvous else [])]


def stop_server(act):
    port = own_ports(1)[0]
    server = start("pserver", ["--listen", f"{HOST}:{port}", *limits(act)])
    trainer = connect(port)
    act(Stopped(server), trainer, "GRADIENT")
    code, error, _ = server.end()
    trainer.sock.close()
    return code, error


def stop_trainer(act):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        trainer = start("trainer", ["--pserver-addrs", f"127.0.0.1:{port}", "--batch-size", "2",
                                    *limits(act)])
        server = Server(listener)
    act(Stopped(trainer), server, "PARAMS")
    code, error, _ = trainer.end()
    server.sock.close()
    return code, error


def result_of(row):
    for _ in range(ATTEMPTS):
        try:
            code, error = row[0](row[4])
        except Late:
            continue
        if error is None or "silent for" not in error["message"]:  # else this test was stopped itself, for all of the limit
            return code, error
    raise Late


def main():
    tap = Tap()
    rows = [(run, name, other, *act) for run, name, other in
            ((stop_server, "pserver/0", "trainer/0"), (stop_trainer, "trainer/0", "pserver/0")) for act in ACTS]
    with ThreadPoolExecutor(len(rows)) as pool:  # they mostly wait
        results = pool.map(result_of, rows)
        for (_, name, other, what, _, whose), (code, error) in zip(rows, results):
            error = error or {}
            is_own = whose == "itself"
            tap.equal((11, name if is_own else other), (code, error.get("peer")),
                      f"{name}, stopped: {what}: it blames {whose}")
            tap.match(r"itself was stopped for [45]" if is_own else "closed the connection",
                      error.get("message", ""), f"{name}, stopped: {what}: and says why")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
