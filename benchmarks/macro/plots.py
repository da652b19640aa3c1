#!/usr/bin/env -S python3 -B
"""Plots results: reads {"results": [...]} from standard input, and writes a PNG file.

    benchmarks/macro/plots.py soak soak.png < docs/performance/soak.json

Needs matplotlib (apt-get install python3-matplotlib). If the driver's Python has no matplotlib, the system's Python draws.
"""

import importlib.util
import json
import math
import pathlib
import subprocess
import sys

from driver import by

SYSTEM_PYTHON = "/usr/bin/python3"
WIDTH, HEIGHT, DPI = 7.2, 3.6, 100
OURS, OTHERS, SECOND = "#1f5fa8", "#9aa5b1", "#d1632a"


def draw(kind, rows, target):
    """@return whether matplotlib was found"""
    python = interpreter()
    if python is None:
        print("plots: no matplotlib, so no plot; try: apt-get install python3-matplotlib", file=sys.stderr)
        return False
    subprocess.run([python, "-B", __file__, kind, str(target)], input=json.dumps({"results": rows}), text=True, check=True)
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
        "axes.axisbelow": True, "axes.titlelocation": "left", "legend.frameon": False})
    return pyplot.subplots(rows, columns, figsize=(WIDTH, height), dpi=DPI, constrained_layout=True, **more)


def panels(groups, height=HEIGHT):
    """@return the figure, and for each group its panel, its name and its rows. The panels share their vertical axis."""
    drawn, axes = figure(1, len(groups), height, squeeze=False, sharey=True)
    return drawn, [(each, name, rows) for each, (name, rows) in zip(axes[0], groups.items())]


def soak(rows):
    result = rows[0]
    drawn, (latency, memory) = figure(2, 1, 5, sharex=True)
    windows, samples, total = result["windows"], result["memory"], result["total"]
    minutes = [at / 60 for at in windows["at"]]
    for name, colour in (("p50", OURS), ("p99", SECOND), ("max", OTHERS)):
        latency.plot(minutes, windows[name], color=colour, label=name, lw=1)
    title = f"{result['offered_rate']:,.0f} requests/s, {total['errors']} of {total['answered'] + total['errors']:,} failed"
    latency.set(yscale="log", ylabel="latency, ms", title=title)
    for name, colour, label in (("dispatcher_mib", OURS, "dispatcher, RSS"), ("worker_mib", SECOND, "worker, RSS"),
                                ("heap_mib", OTHERS, "dispatcher, heap in use")):
        points = [(at / 60, mib) for at, mib in zip(samples["at"], samples[name]) if mib is not None]
        memory.plot(*zip(*points), color=colour, label=label, lw=1)
    memory.set_ylim(bottom=0)
    memory.set(ylabel="MiB", xlabel="minutes")
    for axes in (latency, memory):
        axes.legend(ncol=3)
    return drawn


def bars(axes, rows, name, colours, limit=None):
    """Draws the CPU time as horizontal bars, the first on top. A bar that exceeds the limit is cut off, and its label shows the value."""
    values = [row["cpu_micros"] for row in rows]
    limit = min(max(values) * 1.3, limit or math.inf)
    axes.barh([row[name] for row in rows], [min(value, limit) for value in values], color=colours, height=0.7)
    for place, value in enumerate(values):
        fits = value < limit * 0.75
        label = f" {value:,.0f}" if value >= 100 else f" {value:.3g}"
        axes.text(min(value, limit * 0.98), place, label, va="center", ha="left" if fits else "right", color="black" if fits else "white")
    axes.set_xlim(0, limit)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # The panels share this axis, so invert_yaxis() for each would invert it back.
    axes.grid(axis="y", visible=False)


def colour_of(row):
    return OURS if row["contender"].startswith("dispatcher") else OTHERS


def proxies(rows):
    drawn, each = panels(by([row for row in rows if row["contender"] != "direct"], "scenario"), 3)
    for axes, scenario, found in each:
        bars(axes, found, "contender", [colour_of(row) for row in found], 12 * min(row["cpu_micros"] for row in found))
        axes.set(title=scenario, xlabel="CPU µs a request, cut off at the right")
    return drawn


def latency(rows):
    drawn, each = panels(by([row for row in rows if row["latency"]], "scenario"), 3)
    for axes, scenario, found in each:
        for place, row in enumerate(found):
            millis = row["latency"]["latency_millis"]
            axes.plot([millis["p50"], millis["p99.9"]], [place, place], color=OTHERS, lw=1, zorder=1)
            for name, mark in (("p50", "o"), ("p99", "D"), ("p99.9", "|")):
                axes.scatter(millis[name], place, marker=mark, s=18, color=colour_of(row), zorder=2, label=name if place == 0 else None)
        axes.set_yticks(range(len(found)), [row["contender"] for row in found])
        axes.set(xscale="log", title=f"{scenario}, {found[0]['latency']['offered_rate']:,.0f}/s", xlabel="ms")
    each[0][0].invert_yaxis()
    each[0][0].legend(fontsize=7, loc="best")
    return drawn


def line(axes, points, values, colour=OURS, label=None, **more):
    axes.plot(points, values, color=colour, marker="o", ms=3, lw=1.2, label=label, **more)


def pair(xlabel):
    drawn, axes = figure(1, 2, 2.8)
    for each in axes:
        each.set(xscale="log", xlabel=xlabel)
    return drawn, *axes


def size(rows):
    rows = [row for row in rows if row["point"] > 0]
    drawn, left, right = pair("bytes of the body")
    sizes = [row["point"] for row in rows]
    line(left, sizes, [row["cpu_micros"] for row in rows])
    left.set(yscale="log", ylabel="CPU µs a request")
    line(right, sizes, [row["rss_mib"] for row in rows], SECOND, "RSS, MiB")
    line(right, sizes, [row["requests_per_second"] * row["point"] / 1e6 for row in rows], OURS, "MB/s each way")
    right.set_ylim(bottom=0)
    right.legend()
    return drawn


def concurrency(rows):
    drawn, left, right = pair("requests at once")
    points, micros = [row["point"] for row in rows], [row["cpu_micros"] for row in rows]
    spread = [[row["cpu_micros"] - row["cpu_micros_lowest"] for row in rows], [row["cpu_micros_highest"] - row["cpu_micros"] for row in rows]]
    left.errorbar(points, micros, color=OURS, marker="o", ms=3, lw=1.2, capsize=2, yerr=spread)
    left.set_ylabel("CPU µs a request, lowest to highest")
    left.set_ylim(bottom=0)
    for name, colour in (("p50", OURS), ("p99", SECOND)):
        line(right, points, [row[f"{name}_millis"] for row in rows], colour, name)
    right.set_ylabel("ms")
    right.legend()
    right.set_yscale("log")
    return drawn


def workers(rows):
    """Draws the CPU time per request of each program over the number of workers or backends, for each load."""
    loads = {load: title for load, title in (("maximum", "maximum load"), ("burst", "bursts"), ("even", "even intervals")) if load in rows[0]}
    drawn, each = panels(loads, 3)
    styles = {"dispatcher": (OURS, "-"), "nghttpx": (SECOND, "-"), "haproxy-h1": (OTHERS, "-"), "haproxy-h2": (OTHERS, "--")}
    for axes, load, title in each:
        for contender, found in by(rows, "contender").items():
            colour, style = styles[contender]
            line(axes, [row["workers"] for row in found], [row[load]["cpu_micros"] for row in found], colour, contender, ls=style)
        axes.set(xscale="log", title=title, xlabel="workers or backends")
        axes.set_ylim(bottom=0)
    each[0][0].set_ylabel("CPU µs a request")
    each[0][0].legend(fontsize=7)
    return drawn


def jvm(rows):
    drawn, each = panels(by(rows, "scenario"), 3.2)
    for axes, scenario, found in each:
        bars(axes, found, "point", OURS)
        axes.set(title=scenario, xlabel="CPU µs a request")
    return drawn


# For each plot: the driver whose rows it shows, and the field and value that these rows have.
SOURCES = {
    "proxies": ("proxies", None, None),
    "latency": ("proxies", None, None),
    "size": ("sweeps", "sweep", "size"),
    "concurrency": ("sweeps", "sweep", "concurrency"),
    "workers": ("workers", "front", "h2"),
    "jvm": ("sweeps", "sweep", "jvm"),
    "soak": ("soak", None, None),
}


def main():
    """Draws. The number of colours is reduced: the file has a third of the size, without a visible difference."""
    if len(sys.argv) != 3 or sys.argv[1] not in SOURCES:
        sys.exit(f"plots: expected one of {', '.join(SOURCES)}, and a PNG file; the results on standard input")
    from PIL import Image

    kind, target = sys.argv[1:]
    globals()[kind](json.load(sys.stdin)["results"]).savefig(target)
    with Image.open(target) as image:
        reduced = image.convert("RGB").quantize(48)
    reduced.save(target, optimize=True)


if __name__ == "__main__":
    main()
