"""One real worker process, and its only peer in Python (peer.py), which knows the secret."""
import os

import peer
from worker_gang import HOST, PATIENCE_S, Replica, time

N_PARAMS = 15254602
SECRET = bytes(range(32, 64))
RUN = peer.run_id("lone", 0, 0)
DIGEST = peer.digest("vgg16-fluid-fc512", 1, N_PARAMS, 1, 1)
SLICES = peer.slices(N_PARAMS, 1)
FIRST = len(SLICES) - 1  # the slice that goes first: they go from the last one to the first
OFFSET, LENGTH = SLICES[FIRST]


def secret_fd():
    """The secret as the local launcher gives it."""
    r, w = os.pipe()
    os.write(w, SECRET)
    os.close(w)
    return r


def start(role, args):
    fd = secret_fd()
    r = Replica(role, [role, "--run", "lone", *args], {"BENCHD_SECRET_FD": str(fd)}, (fd,))
    os.close(fd)
    return r


def connect(port, role=peer.TRAINER, index=0, digest=DIGEST):
    """As a trainer or worker would: until the server listens."""
    end = time.monotonic() + PATIENCE_S
    while True:
        me = peer.Side(RUN, 0, role, index, os.urandom(32), digest)
        try:
            return peer.Trainer((HOST, port), SECRET, me, PATIENCE_S)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)  # nothing announces a port that opens


class Server(peer.Trainer):
    """The other side: accepts one trainer or worker."""

    def __init__(self, listener, role=peer.PSERVER, index=0, digest=DIGEST):
        self.sock, _ = listener.accept()
        self.sock.settimeout(PATIENCE_S)
        self.me = peer.Side(RUN, 0, role, index, os.urandom(32), digest)

    def handshake(self, tag=None, **changes):
        type_, h, payload = self.receive()
        assert type_ == "HELLO"
        for k, v in changes.items():
            setattr(self.me, k, v)
        trainer = peer.Side(h[7], h[6], h[3], h[5], payload[:32], payload[32:64])
        self.me.digest = self.me.digest or trainer.digest  # None: what it wants to hear
        tag = tag or peer.derive(SECRET, b"S", trainer, self.me)
        self.send("CHALLENGE", self.me.nonce + self.me.digest + tag)
        type_, h, payload = self.receive()
        assert type_ == "PROOF" and payload == peer.derive(SECRET, b"T", trainer, self.me)
        self.me.key = peer.derive(SECRET, b"s", trainer, self.me)
        self.server_key = peer.derive(SECRET, b"t", trainer, self.me)
        self.send("WELCOME")

    def receive_gradients(self):
        """One step's; gives life signs meanwhile, for the trainer may take its time."""
        left = len(SLICES)
        said = -1
        while left > 0:
            type_, h, _ = self.receive()
            assert type_ in ("HEARTBEAT", "OFFER", "GRADIENT"), type_
            left -= type_ == "GRADIENT"
            if type_ == "OFFER":
                self.send("CREDIT", step=h[8], slice=h[10])
            if time.monotonic() - said >= 0.5:
                self.send("HEARTBEAT")
                said = time.monotonic()


__all__ = ["FIRST", "LENGTH", "N_PARAMS", "OFFSET", "SLICES", "Server", "connect", "start"]
