"""Computes again what follows from the figures of a set (the document of `results --reference SET -o json`, which is its file), without benchctl.

A printed figure stands for all numbers that round to it, so everything that follows has a span, (value, low, high): a printed
speedup is right if some numbers within these spans give it."""
import decimal
import statistics

FIGURES = ("value", "speedup", "efficiency", "priceIndex", "cost")
SLACK = 1e-9  # printed numbers are decimal, floats are not


def half_of(x, digits):
    """Half a unit of the last printed decimal."""
    if digits is None:
        digits = max(0, -decimal.Decimal(repr(x)).normalize().as_tuple().exponent)
    return 10 ** -digits / 2


def ratio(a, b):
    return a and b and b[1] > 0 and (a[0] / b[0], a[1] / b[2], a[2] / b[1]) or None


def scaled(a, factor):
    return a and tuple(factor * x for x in a)


def factor_of(figure):
    return 100 if figure == "efficiency" else 1


def whole(document):
    """The set with the figures of each column together, and with null for what its file leaves out. Ratios are 0 to 1."""
    for t in document["tables"]:
        t.update(measure=t.get("measure", "Throughput"), readingError=t.get("readingError"), derivation=t.get("derivation"),
                 errata=[{"row": None, "column": None, "figure": "value", "printed": None, **e} for e in t.get("errata", [])])
        for row in t["rows"]:
            known, published = {**row.get("recomputed", {})}, {**row.get("published", {})}
            known.update({"value": row["values"]} if "values" in row else {})
            row.update(digits=row.get("digits", t.get("digits")), printedDigits=published.pop("digits", None), derivation=row.get("derivation"))
            row["figures"] = []
            for i, column in enumerate(t["columns"]):
                cell, printed = ({f: x[i] / factor_of(f) for f, x in figures.items() if x[i] is not None} for figures in (known, published))
                for e in t["errata"]:
                    if e["printed"] is not None and e["column"] is not None and names(e, row, column, e["figure"]):
                        printed.setdefault(e["figure"], e["printed"] / factor_of(e["figure"]))
                row["figures"] += [{"column": column, **cell, **({"printed": printed} if printed else {})}] if cell else []
    return document


class Derived:
    """What follows from the figures of one set."""

    def __init__(self, document):
        self.tables = {table["name"]: table for table in document["tables"]}
        self.rows = {(t["name"], r["name"]): r for t in document["tables"] for r in t["rows"]}
        self.cells = {(*key, f["column"]): f for key, r in self.rows.items() for f in r["figures"]}

    def value(self, t, row, c):
        how = row["derivation"] or {}
        if "of" in how:
            source, figure = self.tables[t["derivation"]["ratioOf"]], t["derivation"].get("ratioFigure", "Value").lower()
            return ratio(*(self.derive(source, self.rows[source["name"], how[key]], figure, c) for key in ("of", "over")))
        x = self.cells.get((t["name"], row["name"], c), {}).get("value")
        if x is None:
            return None
        half = t["readingError"] if t["quality"] == "Reading" else half_of(x, row["digits"])
        return x, x - half, x + half

    def speedup(self, t, row, c):
        x, how = self.value(t, row, c), t["derivation"] or {}
        if t["measure"] == "Ratio":
            return None if "ratioOf" in how else x
        if "baseline" not in how:
            return None
        base = self.tables[how["baseline"].get("table", t["name"])]
        at, other = how["baseline"].get("column", c), self.rows.get((base["name"], row["name"]))
        if other is None:
            return None
        if base is t and at == c:
            return x and (1, 1, 1)  # nothing in it is uncertain
        one = self.value(base, other, at)
        return ratio(one, x) if t["measure"] == "Time" else ratio(x, one)

    def scale(self, t, c):
        how = t["derivation"]
        if how.get("efficiency", "Columns") != "Columns":
            return how["efficiency"]
        base = how.get("baseline", {})
        return c / base["column"] if "column" in base and base.get("table", t["name"]) == t["name"] else c

    def derive(self, t, row, figure, c):
        """A span, None if nothing follows."""
        how = t["derivation"] or {}
        if (row["derivation"] or {}).get("median"):
            spans = [s for r in t["rows"] if r is not row and (s := self.derive(t, r, figure, c))]
            return tuple(map(statistics.median, zip(*spans))) if spans else None
        if figure == "value":
            return self.value(t, row, c)
        if figure == "cost":
            price = (row["derivation"] or {}).get("price")
            return price and scaled(self.value(t, row, c), price * c / 3600)
        s = self.speedup(t, row, c)
        if figure == "speedup":
            return None if t["measure"] == "Ratio" else s  # its values are the speedups
        if figure not in how or s is None:
            return None
        k = self.scale(t, c)
        return scaled(s, 1 / k) if figure == "efficiency" else (k / s[0] ** 2, k / s[2] ** 2, k / s[1] ** 2)


def names(e, row, c, figure):
    return e["figure"] == figure and e["row"] in (None, row["name"]) and e["column"] in (None, c)


def check_row(derived, t, row, figure, columns):
    spans = {c: derived.derive(t, row, figure, c) for c in columns}
    cells = {c: derived.cells.get((t["name"], row["name"], c), {}) for c in columns}
    factor = factor_of(figure)
    is_median = bool((row["derivation"] or {}).get("median"))
    given = {c: cell.get(figure) for c, cell in cells.items()}
    if not (is_median and all(x is None for x in given.values())):  # a median has what the source has a median of
        if any((given[c] is None) != (s is None) or s and abs(given[c] - s[0]) > 1e-7 * abs(s[0]) for c, s in spans.items()):
            yield f"{row['name']}, {figure}: write [{', '.join('null' if s is None else f'{factor * s[0]:.8g}' for s in spans.values())}]"
    for c, s in spans.items():
        printed = cells[c].get("printed", {}).get(figure)
        if printed is None:
            continue
        if s is None:
            yield f"{row['name']} at {c:g}: the {figure} is printed, and follows from nothing"
            continue
        half = half_of(round(factor * printed, 9), row["printedDigits"]) / factor + SLACK
        if not s[1] - half <= printed <= s[2] + half and not any(names(e, row, c, figure) for e in t["errata"]):
            yield f"{row['name']} at {c:g}: the {figure} is {factor * s[0]:.6g}, and {factor * printed:.6g} is printed"


def has_cause(derived, t, e, columns):
    """Does the erratum name anything that is printed wrongly?"""
    figure, factor = e["figure"], factor_of(e["figure"])
    for row in t["rows"]:
        for c in columns:
            s = derived.derive(t, row, figure, c)
            printed = derived.cells.get((t["name"], row["name"], c), {}).get("printed", {}).get(figure)
            if s is None or not names(e, row, c, figure):
                continue
            if printed is not None and abs(s[0] - printed) * factor > half_of(round(factor * printed, 9), row["printedDigits"]) + SLACK:
                return True
            if e["printed"] is not None and abs(e["printed"] - factor * s[0]) > SLACK:
                return True
    return False


def problems(document):
    """Each as a sentence."""
    derived, found = Derived(document), []
    for t in document["tables"]:
        columns = t["columns"]
        for row in t["rows"]:
            for figure in FIGURES:
                found += [f"{t['name']}: {problem}" for problem in check_row(derived, t, row, figure, columns)]
        found += [f"{t['name']}: the erratum '{e['what']}' names nothing that is printed wrongly"
                  for e in t["errata"] if not has_cause(derived, t, e, columns)]
    return found
