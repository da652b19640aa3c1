#!/usr/bin/env python3
"""Plots of results that are there as JSON.

    benchmarks/macro/plots.py soak docs/performance/soak.json soak.png

Needs matplotlib (apt-get install python3-matplotlib). Where the Python that runs a driver has none, Debian's own draws.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys

SYSTEM_PYTHON = "/usr/bin/python3"
WIDTH, HEIGHT, DPI = 7.2, 3.6, 100
OURS, OTHERS, SECOND = "#1f5fa8", "#9aa5b1", "#d1632a"


def draw(kind, source, target):
    """@return whether there was anything to draw with"""
    python = interpreter()
    if python is None:
        print("plots: no matplotlib, so no plot; try: apt-get install python3-matplotlib", file=sys.stderr)
        return False
    subprocess.run([python, __file__, kind, str(source), str(target)], check=True)
    return True


def interpreter():
    if importlib.util.find_spec("matplotlib"):
        return sys.executable
    probe = [SYSTEM_PYTHON, "-c", "import matplotlib"]
    there = pathlib.Path(SYSTEM_PYTHON).exists() and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return SYSTEM_PYTHON if there else None


def figure(rows=1, columns=1, height=HEIGHT, **more):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({
        "font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e6e6",
        "axes.axisbelow": True, "legend.frameon": False,
    })
    return pyplot.subplots(rows, columns, figsize=(WIDTH, height), dpi=DPI, constrained_layout=True, **more)


def soak(report):
    result = report["results"][0]
    drawn, (latency, memory) = figure(2, 1, 5, sharex=True)
    minutes = [window["at"] / 60 for window in result["windows"]]
    for name, colour in (("p50", OURS), ("p99", SECOND), ("max", OTHERS)):
        latency.plot(minutes, [window["latency_millis"][name] for window in result["windows"]], color=colour, label=name, lw=1)
    latency.set_yscale("log")
    latency.set_ylabel("latency, ms")
    latency.set_title(f"{result['offered_rate']:,.0f} requests/s, {result['total']['errors']} of "
                      f"{result['total']['answered'] + result['total']['errors']:,} failed", loc="left")
    latency.legend(ncol=3)
    for name, colour, label in (("dispatcher_mib", OURS, "dispatcher, RSS"), ("worker_mib", SECOND, "worker, RSS"),
                                ("heap_mib", OTHERS, "dispatcher, heap in use")):
        points = [(sample["at"] / 60, sample[name]) for sample in result["memory"] if name in sample]
        memory.plot([x for x, _ in points], [y for _, y in points], color=colour, label=label, lw=1)
    memory.set_ylim(bottom=0)
    memory.set_ylabel("MiB")
    memory.set_xlabel("minutes")
    memory.legend(ncol=3)
    return drawn


KINDS = {"soak": soak}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit(f"plots: expected one of {', '.join(KINDS)}, a JSON file and a PNG file")
    kind, source, target = sys.argv[1:]
    drawn = KINDS[kind](json.loads(pathlib.Path(source).read_text()))
    drawn.savefig(target)
    shrink(target)


def shrink(file):
    """To few colours: a third of the size, and no difference to see."""
    from PIL import Image

    with Image.open(file) as image:
        reduced = image.convert("RGB").quantize(48)
    reduced.save(file, optimize=True)


if __name__ == "__main__":
    main()
