"""A second implementation of docs/contracts/frame.md, in Python: it makes the golden bytes
(`peer.py golden > docs/contracts/golden/frame.txt`) and plays lying peers in the black-box tests."""

import hashlib
import hmac
import os
import socket
import struct
import sys

HEADER = struct.Struct("<4sBBBBIIQQQIIIIQ16s")
PSERVER, TRAINER, WORKER = 0, 1, 2
TYPES = ["", "HELLO", "CHALLENGE", "PROOF", "WELCOME", "HEARTBEAT", "GRADIENT", "PARAMS", "READY",
         "RELEASE", "ABORT", "GOODBYE", "OFFER", "CREDIT", "TAKEN"]
MIN_SLICE, MAX_SLICE, ALL_SLICES = 256 << 10, 1 << 20, 8 << 20


def crc32c(data):
    table = []
    for b in range(256):
        for _ in range(8):
            b = b >> 1 ^ (0x82F63B78 if b & 1 else 0)
        table.append(b)
    crc = 0xFFFFFFFF
    for b in data:
        crc = table[(crc ^ b) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def run_id(run, point, trial):
    return int.from_bytes(hashlib.sha256(f"{run}/{point}/{trial}".encode()).digest()[:8], "little")


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def slices(n_params, n_servers, n_trainers=1):
    """[(offset, length)] in floats; slice i belongs to server i mod n_servers."""
    longest = min(max(ALL_SLICES // n_trainers, MIN_SLICE), MAX_SLICE)
    per_round = (longest // 64 * 16 - 16) * n_servers
    n = max(1, -(-n_params // per_round)) * n_servers
    starts = [i * n_params // n // 16 * 16 for i in range(n)] + [n_params]
    return [(starts[i], starts[i + 1] - starts[i]) for i in range(n)]


def digest(model, seed, n_params, n_trainers, n_servers):
    text = (f"PServer Sync FP32 model={model} seed={seed} params={n_params} trainers={n_trainers} "
            f"pservers={n_servers} threads=1 slices={len(slices(n_params, n_servers, n_trainers))}")
    return hashlib.sha256(text.encode()).digest()


class Side:
    """One end: who it is, and its direction of a connection."""

    def __init__(self, run, attempt, role, index, nonce, digest_):
        self.run, self.attempt, self.role, self.index = run, attempt, role, index
        self.nonce, self.digest = nonce, digest_
        self.key, self.sequence = None, 0

    def claim(self):
        return struct.pack("<QIBI", self.run, self.attempt, self.role, self.index) + self.nonce + self.digest

    def frame(self, type_, payload=b"", **fields):
        """The bytes of the next frame; fields overrides any of the header, key signs."""
        f = {"magic": b"bncX", "version": 4, "role": self.role, "dtype": 0, "index": self.index,
             "attempt": self.attempt, "run": self.run, "step": 0, "offset": 0, "slice": 0,
             "zero": 0, "len": len(payload), "crc": None, "sequence": self.sequence,
             "type": TYPES.index(type_) if isinstance(type_, str) else type_}
        f.update(fields)
        self.sequence += 1
        if f["crc"] is None:
            f["crc"] = crc32c(payload)
        head = HEADER.pack(f["magic"], f["version"], f["type"], f["role"], f["dtype"], f["index"],
                           f["attempt"], f["run"], f["step"], f["offset"], f["slice"],
                           f["zero"], f["len"], f["crc"], f["sequence"], bytes(16))[:64]
        tag = f["mac"] if "mac" in f else mac(self.key, head)[:16] if self.key else bytes(16)
        return head + tag + payload


def derive(secret, purpose, trainer, server):
    return mac(secret, purpose + b"benchd-frame-4" + trainer.claim() + server.claim())


class Trainer:
    """A trainer's connection: honest until told otherwise."""

    def __init__(self, address, secret, me, timeout_s):
        self.me, self.secret = me, secret
        self.sock = socket.create_connection(address, timeout=timeout_s)

    def send(self, type_, payload=b"", **fields):
        self.sock.sendall(self.me.frame(type_, payload, **fields))

    def receive_exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def receive(self):
        """(type, header fields, payload); MAC and CRC are checked."""
        head = self.receive_exactly(80)
        h = HEADER.unpack(head)
        payload = self.receive_exactly(h[12])
        key = getattr(self, "server_key", None)
        assert h[15] == (mac(key, head[:64])[:16] if key else bytes(16)), "MAC"
        assert len(payload) > 4096 or h[13] == crc32c(payload), "CRC"
        return TYPES[h[2]], h, payload

    def handshake(self, proof=None):
        self.send("HELLO", self.me.nonce + self.me.digest)
        type_, h, payload = self.receive()
        assert type_ == "CHALLENGE", type_
        server = Side(h[7], h[6], h[3], h[5], payload[:32], payload[32:64])
        assert payload[64:] == derive(self.secret, b"S", self.me, server), "server's tag"
        self.send("PROOF", proof or derive(self.secret, b"T", self.me, server))
        self.me.key = derive(self.secret, b"t", self.me, server)
        self.server_key = derive(self.secret, b"s", self.me, server)
        return server

    def receive_type(self, *wanted):
        """The next frame of one of these types; life signs in between are passed over."""
        while True:
            got = self.receive()
            if got[0] != "HEARTBEAT":
                assert got[0] in wanted, got[:2]
                return got

    def offer(self, step, count):
        """Offers a step's gradient. The server gives credit for one slice at least."""
        self.send("OFFER", step=step, slice=count)
        return self.receive_type("CREDIT")[1][10]


def golden():
    secret = bytes(range(32))
    run = run_id("vgg16-pserver-sweep-7k3fq", 2, 0)
    common = digest("vgg16-fluid-fc512", 1, 15254602, 2, 1)
    trainer = Side(run, 0, TRAINER, 1, bytes([0x11] * 32), common)
    server = Side(run, 0, PSERVER, 0, bytes([0x22] * 32), common)
    rows = [("secret", secret), ("trainer_nonce", trainer.nonce), ("server_nonce", server.nonce), ("digest", common)]
    rows.append(("HELLO", trainer.frame("HELLO", trainer.nonce + common)))
    tag = derive(secret, b"S", trainer, server)
    rows.append(("CHALLENGE", server.frame("CHALLENGE", server.nonce + common + tag)))
    rows.append(("PROOF", trainer.frame("PROOF", derive(secret, b"T", trainer, server))))
    trainer.key = derive(secret, b"t", trainer, server)
    server.key = derive(secret, b"s", trainer, server)
    rows += [("trainer_key", trainer.key), ("server_key", server.key)]
    rows.append(("WELCOME", server.frame("WELCOME")))
    rows.append(("HEARTBEAT", trainer.frame("HEARTBEAT")))
    grad = struct.pack("<4f", 1.0, -2.0, 0.5, 0.25)
    rows.append(("GRADIENT", trainer.frame("GRADIENT", grad, dtype=1, step=7, offset=16, slice=3)))
    rows.append(("PARAMS", server.frame("PARAMS", grad, dtype=1, step=7, offset=16, slice=3)))
    rows.append(("ABORT", server.frame("ABORT", struct.pack("<III", 11, TRAINER, 1) + b"trainer/1: silent for 6.1 s")))
    rows.append(("GOODBYE", trainer.frame("GOODBYE")))
    rows.append(("OFFER", trainer.frame("OFFER", step=7, slice=5)))
    rows.append(("CREDIT", server.frame("CREDIT", step=7, slice=4)))
    rows.append(("TAKEN", trainer.frame("TAKEN", step=7, slice=3)))
    print("# Golden bytes of docs/contracts/frame.md, made by tests/worker/peer.py golden.\n"
          "# Run vgg16-pserver-sweep-7k3fq, point 2, trial 0, attempt 0; trainer/1 of 2, pserver/0 of 1.")
    for name, data in rows:
        print(name, data.hex())


if __name__ == "__main__" and sys.argv[1:] == ["golden"]:
    golden()
