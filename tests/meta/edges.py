"""The outside world is touched in a listed set of files only; everything else takes time, randomness and
the environment as data, so that it runs in tests as it does in the field. Each place has its reason."""

import fnmatch
import re

import csource

# name: (pattern in code, {place: reason})
EDGES = {
    "curl": (
        r"\b(curl_\w+|CURL\w*)\s*\(",
        {
            "lib/kube/transport.c": "the multi handles on the loop",
            "lib/kube/transfer.c": "one request on an easy handle",
            "lib/kube/client_server.c": "the parser of URLs",
            "lib/bucket/s3.c": "one request that blocks, in another thread than the loop's",
        }),
    "libuv": (
        r"\buv_\w+\s*\(",
        {
            "lib/kube/transport.c": "curl's sockets and timer are the loop's",
            "lib/kube/client.c": "the queue's timer, the clock of retries",
            "lib/kube/exec_plugin.c": "a credential plugin is a child of the loop",
            "lib/kube/informer.c": "a reflector's timer and clock",
            "lib/kube/follow.c": "waiting between two streams of a log",
            "lib/run/processes/process.c": "one child: its handle, its pipes",
            "lib/run/processes/processes.c": "the launcher's timers and handles",
            "lib/run/processes/sampler.c": "the timer and the work of readings",
            "lib/run/pods/pods*.[ch]": "the pod launcher's timer",
            "daemon/*.c": "the daemon's loop: signals, timers, a name",
            "daemon/[cr]*/*.c": "the daemon's loop: signals, timers, a name",
            "lib/run/driver.c": "the driver's timer and wake-up",
            "lib/run/attempt_packer.c": "one job of libuv's threads",
            "ctl/*/*.c": "signals and the live view run in the same loop",
            "daemon/web/render.c": "the render thread and its queue",
            "daemon/web/daemon_view.c": "the mutex between the daemon and its readers",
            "daemon/web/listen.c": "addresses as text",
        }),
    "clocks": (
        r"(?<![\w.>])(time|clock|clock_gettime|gettimeofday|ftime|times|localtime|localtime_r|"
        r"gmtime|gmtime_r|strftime|timespec_get)\s*\(",
        {
            "lib/base/clock.c": "the one place that reads the machine's clocks",
        }),
    "clocks through base": (
        r"\bclock_(monotonic_ns|boottime_ns|unix_ms|steady_unix_ms|process_cpu_ns|thread_cpu_ns)\s*\(",
        {
            "lib/base/clock.[ch]": "they are defined there",
            "lib/base/log.c": "a log line has a date",
            "lib/store/sql.c": "how long a statement took, for /metrics",
            "lib/kube/session.c": "a credential says when it expires",
            "lib/run/*.c": "the real clock behind struct wall_clock, and when a child ended",
            "lib/run/*/*.c": "the real clock behind struct wall_clock, and when a child ended",
            "ctl/*/*.c": "dates for people, a run's creation",
            "daemon/web/render.c": "how long a request may take",
            "daemon/web/listen.c": "files are looked at once in a while",
            "daemon/web/scrape.c": "runs that ended long ago are not shown, reading is rationed, and benchd's own CPU time",
            "daemon/*.c": "the Lease, time-outs, dates of statuses and events",
            "daemon/[cr]*/*.c": "the Lease, time-outs, dates of statuses and events",
            "worker/comm/*.c": "what a step waits for is timed",
            "worker/comm/*/*.c": "heartbeats and silence are about real time",
            "worker/kernels/*.c": "a self-check times two BLAS cores",
            "worker/*.c": "steps are timed there: it is what the program is for",
            "lib/host/probe.c": "it times loops to see how fast the machine is",
            "lib/host/run_program.c": "a program that hangs is not waited for",
        }),
    "environment": (
        r"(?<![\w.>])(getenv|secure_getenv|setenv|unsetenv|putenv|clearenv)\s*\(",
        {
            "lib/run/processes/child.c": "children get PATH and locale of the caller",
            "lib/kube/transfer.c": "SSL_CERT_FILE says whom https trusts, as HTTPS_PROXY, which libcurl reads there, says by which way",
            "ctl/*/*.c": "the command line reads its variables",
            "daemon/main.c": "a pod is told where the API server is",
            "worker/*.c": "BENCHD_* is the worker's command line",
            "worker/kernels/dispatch.c": "BENCH_CPU_MASK lowers the instruction set",
            "worker/kernels/blas.c": "OPENBLAS_CORETYPE must be set before the library loads",
            "worker/comm/nccl/exchange_nccl.c": "launchers of ranks say the rank on this machine there",
            "worker/comm/nccl/nccl_api.c": "NCCL reads there whether ranks may share a GPU",
        }),
    "random numbers": (
        r"(?<![\w.>])(rand|srand|rand_r|random|srandom|drand48|lrand48|mrand48|arc4random\w*|getrandom|"
        r"getentropy|RAND_bytes)\s*\(",
        {
            "lib/run/processes/processes.c": "the per-run secret",
            "ctl/runs/run_name.c": "a run's name and uid",
            "daemon/cluster/key.c": "the key that runs' secrets are derived from, and an identity",
            "worker/comm/link/auth.c": "nonces of the handshake",
        }),
}

# Pure folders write into buffers: no stream, no descriptor, no thread.
PURE_FOLDERS = ("lib/core", "lib/doc", "lib/logparse", "lib/reference", "lib/exchange", "lib/network", "lib/stats", "lib/spec", "lib/decide", "lib/result", "lib/compare", "lib/predict", "lib/pod",
                "lib/report")
IMPURE = re.compile(
    r"\bFILE\b|\bstd(in|out|err)\b|(?<![\w.>])(f?printf|vf?printf|f?puts|putchar|fputc|fopen|fdopen|"
    r"freopen|fread|fwrite|fgets|getline|perror|open|openat|creat|read|write|close|unlink|mkdir|"
    r"fork|exec[lv]\w*|socket|pthread_\w+|log_event)\s*\(")


def is_listed(path, places):
    """A pattern's * stays inside one folder."""
    return any(path.count("/") == place.count("/") and fnmatch.fnmatchcase(path, place) for place in places)


def check(root):
    findings = []
    for path in csource.files(root, csource.SOURCE_FOLDERS):
        code = csource.code_only(csource.read(root, path))
        for name, (pattern, places) in EDGES.items():
            if is_listed(path, places):
                continue
            for match in re.finditer(pattern, code):
                call = match.group(0).split("(")[0].strip()
                findings.append(f"{path}:{csource.line_of(code, match.start())}: {call}: {name}: "
                                "not one of the files listed in tests/meta/edges.py")
        if path.startswith(PURE_FOLDERS):
            for match in IMPURE.finditer(code):
                findings.append(f"{path}:{csource.line_of(code, match.start())}: "
                                f"{match.group(0).strip('( ')}: the folder is pure")
    return findings


if __name__ == "__main__":
    csource.main(check)
