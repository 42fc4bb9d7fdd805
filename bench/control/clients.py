#!/usr/bin/env python3
"""clients.py ADDRESS N SECONDS PATH...: N clients ask benchd for these paths, one after another, without a pause.

Prints {"requests", "failed", "bytes", "median_ms", "slowest_ms"}. An answer other than 200 is failed."""
import http.client
import json
import statistics
import sys
import threading
import time


def client(host, until, paths, first, took, counts):
    connection = http.client.HTTPConnection(host, timeout=30)
    index = first
    while (began := time.monotonic()) < until:
        status = 0
        try:
            connection.request("GET", paths[index % len(paths)])
            answer = connection.getresponse()
            counts["bytes"] += len(answer.read())
            status = answer.status
        except (OSError, http.client.HTTPException):
            connection.close()
        counts["failed"] += status != 200
        took.append(time.monotonic() - began)
        index += 1


def main(address, n, seconds, *paths):
    host, until = address.removeprefix("http://").rstrip("/"), time.monotonic() + float(seconds)
    took, counts = [], {"failed": 0, "bytes": 0}
    threads = [threading.Thread(target=client, args=(host, until, paths, i, took, counts)) for i in range(int(n))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"requests": len(took), **counts, "median_ms": round(statistics.median(took) * 1000, 1),
                      "slowest_ms": round(max(took) * 1000, 1)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
