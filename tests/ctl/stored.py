"""Changes of a store's file, as somebody with an editor of SQLite files makes them."""
import sqlite3


def change(path, run, assignments, environment=None):
    """Sets columns of all replicas of a run (its name), and their environment. Figures of attempts that were made
    before are dropped: they are computed anew."""
    with sqlite3.connect(path) as db:
        uid, = db.execute("SELECT uid FROM run WHERE name = ?", (run,)).fetchone()
        db.execute(f"UPDATE replica SET {assignments} WHERE run_uid = ?", (uid,))
        if environment is not None:
            db.execute("UPDATE environment SET facts = ? WHERE run_uid = ?", (environment, uid))
        db.execute("UPDATE attempt SET figures = NULL WHERE run_uid = ?", (uid,))
    db.close()


__all__ = ["change"]
