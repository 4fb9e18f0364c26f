"""A section of bench/run: the page and its flame graph in Chromium, beside speedscope (bench/flame.mjs)."""

import json

from bench import ROOT, SONDE, output_of


def bench_flame(bench):
    """A controller is among it, so apart from other processes."""
    told = ["env", f"SONDE={SONDE}", f"ROUNDS={bench.rounds}"]
    for table in json.loads(output_of(ROOT / "tests/apart", *told, "node", ROOT / "bench/flame.mjs")):
        bench.cells(table["title"], table["columns"])
        for row in table["rows"]:
            bench.row(row)


SECTIONS = {"flame": (bench_flame, 20)}
