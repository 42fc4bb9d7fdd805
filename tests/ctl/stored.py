"""The replicas in a store's file, which keeps those of an attempt in one compressed row (lib/store/replica_pack.c)."""
import ctypes
import struct

_ZSTD = ctypes.CDLL("libzstd.so.1")
for _name in ("ZSTD_decompress", "ZSTD_compress", "ZSTD_compressBound", "ZSTD_getFrameContentSize"):
    getattr(_ZSTD, _name).restype = ctypes.c_size_t
_FIXED = struct.Struct("<IiiQ")
_TEXTS = ("role", "failure", "summary", "environment", "reading")


def _unpack(blob):
    size = _ZSTD.ZSTD_getFrameContentSize(blob, ctypes.c_size_t(len(blob)))
    raw = ctypes.create_string_buffer(size)
    assert _ZSTD.ZSTD_decompress(raw, ctypes.c_size_t(size), blob, ctypes.c_size_t(len(blob))) == size
    data, at = raw.raw, 5
    version, n = struct.unpack_from("<BI", data)
    assert version == 2
    rows = []
    for _ in range(n):
        rows.append(dict(zip(("index", "exit_code", "signal", "log_bytes"), _FIXED.unpack_from(data, at))))
        at += _FIXED.size
    for name in _TEXTS:
        for row in rows:
            code, = struct.unpack_from("<I", data, at)
            at += 4
            row[name] = data[at:at + code - 1].decode() if code else None
            at += max(code - 1, 0)
    return rows


def _pack(rows):
    data = struct.pack("<BI", 2, len(rows))
    data += b"".join(_FIXED.pack(r["index"], r["exit_code"], r["signal"], r["log_bytes"]) for r in rows)
    for name in _TEXTS:
        for row in rows:
            text = None if row.get(name) is None else row[name].encode()
            data += struct.pack("<I", 0) if text is None else struct.pack("<I", len(text) + 1) + text
    room = _ZSTD.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = _ZSTD.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


def replicas(db, point, trial, attempt):
    """Those of an attempt, as dicts, by role and index."""
    row = db.execute("SELECT zstd FROM replicas WHERE point = ? AND trial = ? AND attempt = ?",
                     (point, trial, attempt)).fetchone()
    return _unpack(row[0])


def change(db, run, edit):
    """Calls `edit` with each replica of a run (its name; None: of all), and stores what it has made of it."""
    for rowid, blob in db.execute("SELECT r.rowid, r.zstd FROM replicas r JOIN run ON run.uid = r.run_uid "
                                  "WHERE ?1 IS NULL OR run.name = ?1", (run,)).fetchall():
        rows = _unpack(blob)
        for row in rows:
            edit(row)
        db.execute("UPDATE replicas SET zstd = ? WHERE rowid = ?", (_pack(rows), rowid))
    # What the records said is in columns, too: without them, the records are read.
    db.execute("UPDATE attempt SET figures = NULL WHERE ?1 IS NULL OR run_uid = (SELECT uid FROM run WHERE name = ?1)", (run,))


__all__ = ["change", "replicas"]
