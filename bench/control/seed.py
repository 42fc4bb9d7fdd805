"""Copies of what benchd has stored, as if it had measured more: rows of its SQLite file while no benchd runs.

Nothing here knows a column but the keys, so the copies are as complete as the originals."""
import contextlib
import sqlite3


@contextlib.contextmanager
def opened(path):
    """One transaction."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def columns(db, table):
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def tables(db, column):
    """Those with this column, a table before those that refer to it."""
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")]
    return [name for name in names if column in columns(db, name)]


def copy(db, table, where, changes):
    """Copies the rows that fit, with other values in some columns."""
    kept = [name for name in columns(db, table) if not (table == "event" and name == "id")]
    values = [f":new_{name}" if name in changes else name for name in kept]
    fits = " AND ".join(f"{name} = :old_{name}" for name in where)
    db.execute(f"INSERT INTO {table} ({', '.join(kept)}) SELECT {', '.join(values)} FROM {table} WHERE {fits}",
               {**{f"old_{k}": v for k, v in where.items()}, **{f"new_{k}": v for k, v in changes.items()}})


def points(path, run, wanted):
    """The stored trials of one point, for every other point that is wanted and has none. Returns how many points got them."""
    with opened(path) as db:
        uid, = db.execute("SELECT uid FROM run WHERE name = ?", (run,)).fetchone()
        done = {row[0] for row in db.execute("SELECT DISTINCT point FROM attempt WHERE run_uid = ?", (uid,))}
        model, missing = min(done), [point for point in wanted if point not in done]
        for point in missing:
            for table in tables(db, "point"):
                copy(db, table, {"run_uid": uid, "point": model}, {"point": point})
    return len(missing)
