#!/usr/bin/env python3
"""A peer that knows the secret and lies: exit 12 with its name, for the lie and not for the silence after it; and one that is
gone while another has said why. Written against docs/contracts/frame.md alone (peer.py)."""
import fcntl
import math
import os
import select
import socket
import struct
import sys
import termios
import threading
from concurrent.futures import ThreadPoolExecutor

import peer
from worker_gang import HOST, PATIENCE_S, SHORT, own_ports, signal, time
from lone import FIRST, LENGTH, OFFSET, SLICES, Server, connect, start
from tap import Tap


SILENT = "silent for [1-9]"


def limit_of(row):
    return SHORT if row[3] == SILENT else []


def gradient(t, **fields):
    t.offer(0, 1)
    t.send("GRADIENT", bytes(4 * LENGTH), **{"dtype": 1, "crc": 0, "slice": FIRST, "offset": OFFSET, **fields})


def trickle(t):
    """Part of a frame, until the other side hangs up: for longer than a silence may last."""
    t.offer(0, 1)
    t.sock.sendall(t.me.frame("GRADIENT", bytes(4 * LENGTH), dtype=1, crc=0, slice=FIRST, offset=OFFSET)[:100])
    for _ in range(4 * PATIENCE_S):
        t.sock.sendall(b"\0")
        threading.Event().wait(0.25)


# What a trainer does to a server: name, the lie, exit code, what the message says. test_frame.c, test_handshake.c and
# test_ps_server_order.c have the lies about frames, secrets and the order.
TRAINER_LIES = [
    ("wrong step", lambda t: gradient(t, step=1), 12, "gradient of step 1"),
    ("a server's frame", lambda t: t.send("RELEASE"), 12, "does not accept RELEASE"),
    ("an ABORT that names nobody", lambda t: t.send("ABORT", struct.pack("<III", 11, 99, 0)), 12, "ABORT names an invalid peer"),
    ("a byte now and then", trickle, 11, SILENT),
    ("the end within a frame", lambda t: (t.sock.sendall(b"bnc"), t.sock.shutdown(socket.SHUT_WR)),
     11, "closed the connection"),
]


def lying_trainer(row):
    lie = row[1]
    port = own_ports(1)[0]
    server = start("pserver", ["--listen", f"{HOST}:{port}", *limit_of(row)])
    trainer = connect(port)
    trainer.handshake()
    trainer.receive_type("WELCOME")
    try:
        lie(trainer)
    except OSError:
        pass  # it may hang up before it has heard us out
    code, error, _ = server.end()
    trainer.sock.close()
    return code, error


def wait_for_end(s):
    while s.sock.recv(1 << 16):
        pass


def params(s, **fields):
    s.receive_gradients()
    s.send("PARAMS", bytes(4 * LENGTH), **{"dtype": 1, "crc": 0, "slice": FIRST, "offset": OFFSET, **fields})


def twice(s):
    for _ in range(2):
        s.send("PARAMS", bytes(4 * LENGTH), dtype=1, slice=FIRST, offset=OFFSET)


def only_live(s):
    """A slow gang: the trainer waits for longer than its main thread may stand still."""
    s.receive_gradients()
    for _ in range(20):
        s.send("HEARTBEAT")
        threading.Event().wait(0.5)
    s.send("PARAMS", bytes(4 * LENGTH), dtype=1, crc=0, step=5, slice=FIRST, offset=OFFSET)


def credit(s, **fields):
    """An answer to the offer that the offer does not allow."""
    while s.receive()[0] != "OFFER":
        s.send("HEARTBEAT")
    s.send("CREDIT", **fields)


SERVER_LIES = [
    ("credit before an offer", lambda s: (s.handshake(), s.send("CREDIT", slice=1)), 12, "CREDIT for 1 slices of step 0"),
    ("credit for too much", lambda s: (s.handshake(), credit(s, slice=60)), 12, "CREDIT for 60 slices of step 0"),
    ("credit for nothing", lambda s: (s.handshake(), credit(s, slice=0)), 12, "CREDIT for 0 slices of step 0"),
    ("credit for another step", lambda s: (s.handshake(), credit(s, step=1, slice=1)), 12, "CREDIT for 1 slices of step 1"),
    ("WELCOME twice", lambda s: (s.handshake(), s.send("WELCOME"), wait_for_end(s)), 12, "WELCOME came twice"),
    ("RELEASE too early", lambda s: (s.handshake(), s.send("RELEASE")), 12, "RELEASE is not expected"),
    ("life signs for long, then another step", lambda s: (s.handshake(), only_live(s)), 12, "of step 5"),
    ("parameters without a gradient", lambda s: (s.handshake(), credit(s, slice=1), s.send(
        "PARAMS", bytes(4 * SLICES[0][1]), dtype=1, crc=0)), 12, "one of the 1 slices that it got the gradients of"),
    ("parameters twice", lambda s: (s.handshake(), s.receive_gradients(), twice(s)), 12, "slices that it got the gradients of, once"),
    ("parameters of another step", lambda s: (s.handshake(), params(s, step=5)), 12, "of step 5"),
    ("says nothing any more", lambda s: (s.handshake(), s.receive_gradients(), wait_for_end(s)),
     11, SILENT),
]


def lying_server(row):
    lie = row[1]
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    trainer = start("trainer", ["--pserver-addrs", f"127.0.0.1:{port}", "--batch-size", "2", *limit_of(row)])
    server = Server(listener)

    def act():
        try:
            lie(server)
        except (OSError, EOFError, AssertionError):
            pass  # it hangs up on us
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    code, error, _ = trainer.end()
    server.sock.close()
    listener.close()
    return code, error


def wait_until_delivered(sock):
    """What was sent is in the other side's socket: the kernel may hold it back for a moment."""
    end = time.monotonic() + PATIENCE_S
    while struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0] > 0 and time.monotonic() < end:
        time.sleep(0.001)


def check_last_words(tap):
    """worker/0 is gone and worker/2 has said why, while worker/1 did not run: it names the cause, not who closed first."""
    ports = own_ports(3)
    addrs = [f"{HOST}:{port}" for port in ports]
    with socket.create_server((HOST, ports[2])) as listener:
        worker = start("worker", ["--workers", 3, "--index", 1, "--listen", addrs[1], "--worker-addrs", ",".join(addrs), "--batch-size", 2])
        after = Server(listener, peer.WORKER, 2, None)
        after.handshake()
        before = connect(ports[1], peer.WORKER, 0, after.me.digest)
        before.handshake()
        before.receive_type("WELCOME")
        worker.signal(signal.SIGSTOP)
        os.waitpid(worker.process.pid, os.WUNTRACED)
        after.send("ABORT", struct.pack("<III", 11, peer.WORKER, 2) + b"its data is damaged")
        wait_until_delivered(after.sock)
        before.sock.close()
        worker.signal(signal.SIGCONT)
        code, error, _ = worker.end()
        after.sock.close()
    tap.equal((11, "worker/2"), (code, error and error["peer"]), "last words: the cause is named")
    tap.match("worker/2 reports: its data is damaged", error and error["message"], "last words: as it was said")


def answer_no_numbers(s):
    s.handshake()
    s.receive_gradients()
    payloads = {length: struct.pack("<f", math.nan) * length for _, length in SLICES}
    crcs = {length: peer.crc32c(payload) for length, payload in payloads.items()}
    for i, (offset, length) in reversed(list(enumerate(SLICES))):
        s.send("PARAMS", payloads[length], dtype=1, crc=crcs[length], slice=i, offset=offset)
    while True:  # until it hangs up
        s.send("HEARTBEAT")
        threading.Event().wait(0.5)


def check_divergence(tap):
    """Parameters that are no numbers leave no loss: the training has diverged, which is no success."""
    code, error = lying_server((None, answer_no_numbers, 17, "diverged"))
    tap.equal(17, code, "a training that diverges: exit code")
    tap.match("the training has diverged: the loss of step 1 is not a number", error and error["message"], "a training that diverges: says so")


def main():
    tap = Tap()
    check_last_words(tap)
    check_divergence(tap)
    with ThreadPoolExecutor(2) as pool:
        for rows, run, name in ((TRAINER_LIES, lying_trainer, "trainer/0"), (SERVER_LIES, lying_server, "pserver/0")):
            for row, (code, error) in zip(rows, pool.map(run, rows)):
                what, _, want, says = row
                error = error or {}
                tap.equal((want, name), (code, error.get("peer")), f"{name}: {what}")
                tap.match(says, error.get("message", ""), f"{name}: {what}: the message")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
