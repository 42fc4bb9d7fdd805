"""No circle: neither of folders that include or call each other, nor of headers that include each other, nor of .c files
of one folder that use each other's functions. Whoever reads one file of a circle must read all of them, and none can be
tested without the others."""

import re

import csource

# Circles of files that are better than their cut: {frozenset of paths: reason}. At most MAX_ALLOWED.
ALLOWED = {}
MAX_ALLOWED = 2

_WORD = re.compile(r"(?<![\w.])(?<!->)[A-Za-z_]\w*")
_CALL = re.compile(_WORD.pattern + r"(?=\()")


def components(graph):
    """The sets of nodes that reach each other, of at least two, sorted. graph: {node: {node: label}}."""
    reach = {}
    for start in graph:
        seen, todo = set(), [start]
        while todo:
            new = set(graph.get(todo.pop(), {})) - seen
            seen |= new
            todo += new
        reach[start] = seen
    found = {frozenset(n for n in reach[start] if start in reach.get(n, ())) for start in graph if start in reach[start]}
    return sorted((c for c in found if len(c) > 1), key=sorted)


def describe(graph, circle):
    """The edges inside a circle: "a -> b (label), b -> a (label)"."""
    edges = [f"{a} -> {b} ({graph[a][b]})" for a in sorted(circle) for b in sorted(graph[a]) if b in circle and a != b]
    return ", ".join(edges)


def folder_of(path):
    return path.rpartition("/")[0]


def room_of(path):
    """x.h and x_internal.h are one room."""
    return path.removesuffix(".h").removesuffix("_internal")


def include_graph(root, paths, headers, place_of):
    """Which place includes which; the label is one such line."""
    headers = {p.removeprefix("lib/"): p for p in headers}
    graph = {place_of(p): {} for p in paths}
    for path in paths:
        for line, is_quoted, name in csource.includes(csource.read(root, path)):
            if is_quoted and name in headers:
                graph[place_of(path)].setdefault(place_of(headers[name]), f"{path}:{line}")
    return graph


def add_calls(graph, root, paths):
    """Which folder calls a function of another one; a name that several folders define says nothing."""
    codes = {p: csource.code_only(csource.read(root, p)) for p in paths if p.endswith(".c")}
    homes, own = {}, {}
    for path, code in codes.items():
        functions = csource.functions(code)
        own[path] = {f.name for f in functions}
        for name in {f.name for f in functions if not f.is_static}:
            homes.setdefault(name, set()).add(folder_of(path))
    for path, code in codes.items():
        for name in sorted(set(_CALL.findall(code)) - own[path]):
            if len(homes.get(name, ())) == 1:
                graph[folder_of(path)].setdefault(min(homes[name]), f"{path} calls {name}")
    return graph


def file_graph(root, paths):
    """Which .c file names a function, to call it or to pass it on, that another one of its folder defines."""
    codes = {p: csource.code_only(csource.read(root, p)) for p in paths if p.endswith(".c")}
    functions = {p: csource.functions(code) for p, code in codes.items()}
    homes = {(folder_of(p), f.name): p for p in codes for f in functions[p] if not f.is_static}
    graph = {}
    for path, code in codes.items():
        own = {f.name for f in functions[path]}
        edges = graph[path] = {}
        for name in _WORD.findall(code):
            home = homes.get((folder_of(path), name))
            if home is not None and name not in own:
                edges.setdefault(home, name)
    return graph


def check(root, allowed=ALLOWED):
    paths = csource.files(root, csource.SOURCE_FOLDERS)
    headers = [p for p in paths if p.endswith(".h")]
    folders = add_calls(include_graph(root, paths, headers, folder_of), root, paths)
    rooms = include_graph(root, headers, headers, room_of)
    findings, circles = [], set()
    for what, graph in (("folders", folders), ("headers", rooms), ("files", file_graph(root, paths))):
        for circle in components(graph):
            circles.add(circle)
            if what == "folders" or circle not in allowed:
                findings.append(f"circle of {what}: {describe(graph, circle)}")
    findings += [f"tests/meta/circles.py: ALLOWED has a circle that is no more: {' '.join(sorted(c))}"
                 for c in allowed if c not in circles]
    if len(allowed) > MAX_ALLOWED:
        findings.append(f"tests/meta/circles.py: {len(allowed)} circles allowed, limit {MAX_ALLOWED}")
    return findings


if __name__ == "__main__":
    csource.main(check)
