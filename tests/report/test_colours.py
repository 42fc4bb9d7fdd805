#!/usr/bin/env python3
"""The colours of charts (lib/report/chart.css) as people see them who lack one kind of cone: any two of them differ, light, dark and
printed. Bars have nothing else to be told apart by; lines have shapes, too.

The simulation is that of Machado, Oliveira and Fernandes (2009), severity 1; a difference is the distance in CIE L*a*b*, of which about 2 can be
seen side by side."""
import itertools
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import tap  # noqa: E402  (its folder is known only now)

LEAST = 13
N_COLOURS = 8
SIGHTS = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red cones": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green cones": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue cones": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# sRGB with its white, D65, to XYZ over that white's
TO_XYZ = ((0.4338, 0.3762, 0.1899), (0.2127, 0.7152, 0.0722), (0.0178, 0.1095, 0.8730))


def linear(text):
    """"0067a5" as three intensities, 0 to 1."""
    values = [int(text[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def lab(rgb):
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in times(TO_XYZ, rgb))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def nearest(colours, matrix):
    """The least difference of two of these colours, and which they are."""
    seen = [lab([min(1, max(0, v)) for v in times(matrix, linear(colour))]) for colour in colours]
    return min((sum((a - b) ** 2 for a, b in zip(seen[i], seen[j])) ** 0.5, f"s{i} and s{j}")
               for i, j in itertools.combinations(range(len(colours)), 2))


def main():
    t = tap.Tap()
    css = (ROOT / "lib" / "report" / "chart.css").read_text(encoding="utf-8")
    palettes = [re.findall(r"--s\d:#([0-9a-f]{6})", block) for block in re.findall(r":root,svg\{([^}]*)\}", css)]
    t.equal([N_COLOURS] * 3, [len(palette) for palette in palettes], "light, dark and print have their colours")
    for name, palette in zip(("light", "dark", "print"), palettes):
        for sight, matrix in SIGHTS.items():
            difference, which = nearest(palette, matrix)
            t.ok(difference >= LEAST, f"{name}, {sight}: the nearest are {which}, {difference:.1f} apart", f"less than {LEAST}")
    # A check that cannot fail is none: this red and this green are one colour to who lacks green cones.
    pair = ("c1440e", "9a6700")
    t.ok(nearest(pair, SIGHTS["all cones"])[0] > 30, "a red and a brown")
    t.ok(nearest(pair, SIGHTS["no green cones"])[0] < 3, "that not everybody tells apart")
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
