"""Runs as files (docs/contracts/run-file.md), read and written by another program than benchd: its digest is computed anew here."""
import ctypes
import hashlib
import json
import sqlite3
import struct

ZSTD = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_compress", "ZSTD_compressBound", "ZSTD_decompress"):
    getattr(ZSTD, name).restype = ctypes.c_size_t
ZSTD.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
OF_ATTEMPT = "run_uid, point, trial, attempt"
OF_REPLICA = OF_ATTEMPT + ", role, replica_index"
ORDER = {"run": "uid", "machine": "id", "environment": "id", "event": "id", "program_file": "run_uid, name", "attempt": OF_ATTEMPT, "replica": OF_REPLICA,
         "log": OF_REPLICA}
MAX_BYTES = 1 << 26


def compress(data):
    room = ZSTD.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = ZSTD.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


def decompress(data):
    out = ctypes.create_string_buffer(MAX_BYTES)
    size = ZSTD.ZSTD_decompress(out, ctypes.c_size_t(MAX_BYTES), data, ctypes.c_size_t(len(data)))
    assert size <= MAX_BYTES, "no frame, or a large one"
    return out.raw[:size]


def packed(value):
    if value is None:
        return b"N"
    if isinstance(value, int):
        return b"I" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"R" + struct.pack("<d", value)
    letter, data = (b"T", value.encode()) if isinstance(value, str) else (b"B", value)
    return letter + struct.pack("<Q", len(data)) + data


def digest(db):
    sha = hashlib.sha256()
    for table, order in ORDER.items():
        for row in db.execute(f"SELECT * FROM {table} ORDER BY {order}"):
            sha.update(table.encode() + b"".join(map(packed, row)))
    return sha.hexdigest()


def seal(db):
    """The digest in the file is that of its rows."""
    db.execute("UPDATE file SET digest = ?", (digest(db),))


def edit(path, *statements, sealed=True):
    """Changes a file by SQL, as anybody could."""
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    if sealed:
        seal(db)
    db.close()


def document(source):
    """What tests change of a run before benchd serves it."""
    db = sqlite3.connect(":memory:")
    db.deserialize(source)
    db.row_factory = sqlite3.Row
    run = dict(db.execute("SELECT * FROM run").fetchone())
    status = {key: run[key] for key in ("phase", "reason", "message")}
    status.update(trialsDone=run["trials_done"], trialsFailed=run["trials_failed"], trialsTotal=run["trials_total"], current=None,
                  startedUnixMs=run["started_unix_ms"], endedUnixMs=run["ended_unix_ms"])
    return {"run": {"name": run["name"], "uid": run["uid"], "benchmark": run["benchmark"], "definition": json.loads(run["definition"]),
                    "status": status},
            "attempts": [dict(row) for row in db.execute("SELECT point, trial, attempt FROM attempt ORDER BY 1, 2, 3")],
            "events": [{"unixMs": at, "type": "Warning" if warning else "Normal", "reason": reason, "note": note}
                       for at, warning, reason, note in db.execute("SELECT unix_ms, warning, reason, note FROM event ORDER BY id")]}


def of_document(source, document, args):
    """What benchd would send of the run that a document describes: attempts that match, without logs."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.deserialize(source)
    run = document["run"]
    status = run["status"]
    kept = {(a["point"], a["trial"], a["attempt"]) for a in document["attempts"] if all(str(a[k]) == v for k, v in args.items() if k != "logs")}
    for row in db.execute("SELECT point, trial, attempt FROM attempt").fetchall():
        if row not in kept:
            for table in ("replica", "attempt"):
                db.execute(f"DELETE FROM {table} WHERE (point, trial, attempt) = (?, ?, ?)", row)
    if args.get("logs") != "true":
        db.execute("DELETE FROM log")
    db.execute("DELETE FROM event")
    for event in document["events"]:
        db.execute("INSERT INTO event (run_uid, unix_ms, warning, reason, note) VALUES (?, ?, ?, ?, ?)",
                   (run["uid"], event["unixMs"], event["type"] == "Warning", event["reason"], event["note"]))
    db.execute("UPDATE run SET name = ?, uid = ?, phase = ?, reason = ?, message = ?", (run["name"], run["uid"], status["phase"],
                                                                                      status["reason"], status["message"]))
    for table in ("machine", "environment", "program_file", "attempt", "replica", "log"):
        db.execute(f"UPDATE {table} SET run_uid = ?", (run["uid"],))
    seal(db)
    return compress(db.serialize())
