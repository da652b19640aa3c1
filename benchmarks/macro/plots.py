#!/usr/bin/env python3
"""Plots results: reads {"results": [...]} from standard input, and writes a PNG file.

    benchmarks/macro/plots.py soak soak.png < docs/performance/soak.json

Needs matplotlib (apt-get install python3-matplotlib). If the driver's Python has no matplotlib, the system's Python draws.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys

SYSTEM_PYTHON = "/usr/bin/python3"
WIDTH, HEIGHT, DPI = 7.2, 3.6, 100
OURS, OTHERS, SECOND = "#1f5fa8", "#9aa5b1", "#d1632a"


def draw(kind, rows, target):
    """@return whether matplotlib was found"""
    python = interpreter()
    if python is None:
        print("plots: no matplotlib, so no plot; try: apt-get install python3-matplotlib", file=sys.stderr)
        return False
    subprocess.run([python, __file__, kind, str(target)], input=json.dumps({"results": rows}), text=True, check=True)
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


def soak(rows):
    result = rows[0]
    drawn, (latency, memory) = figure(2, 1, 5, sharex=True)
    windows, samples = result["windows"], result["memory"]
    minutes = [at / 60 for at in windows["at"]]
    for name, colour in (("p50", OURS), ("p99", SECOND), ("max", OTHERS)):
        latency.plot(minutes, windows[name], color=colour, label=name, lw=1)
    latency.set_yscale("log")
    latency.set_ylabel("latency, ms")
    latency.set_title(f"{result['offered_rate']:,.0f} requests/s, {result['total']['errors']} of "
                      f"{result['total']['answered'] + result['total']['errors']:,} failed", loc="left")
    latency.legend(ncol=3)
    for name, colour, label in (("dispatcher_mib", OURS, "dispatcher, RSS"), ("worker_mib", SECOND, "worker, RSS"),
                                ("heap_mib", OTHERS, "dispatcher, heap in use")):
        points = [(at / 60, mib) for at, mib in zip(samples["at"], samples[name]) if mib is not None]
        memory.plot([x for x, _ in points], [y for _, y in points], color=colour, label=label, lw=1)
    memory.set_ylim(bottom=0)
    memory.set_ylabel("MiB")
    memory.set_xlabel("minutes")
    memory.legend(ncol=3)
    return drawn


def by(rows, key):
    found = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def labelled_bars(axes, names, values, labels, colours, limit=None):
    """Draws horizontal bars, the first on top. A bar that exceeds the limit is cut off, and its label shows the value."""
    limit = limit or max(values) * 1.3
    axes.barh(names, [min(value, limit) for value in values], color=colours, height=0.7)
    for place, (value, label) in enumerate(zip(values, labels)):
        axes.text(min(value, limit * 0.98), place, f" {label}", va="center", ha="left" if value < limit * 0.75 else "right",
                  color="black" if value < limit * 0.75 else "white")
    axes.set_xlim(0, limit)
    axes.set_ylim(len(names) - 0.5, -0.5)  # The panels share this axis, so invert_yaxis() for each would invert it back.
    axes.grid(axis="y", visible=False)


def short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def colour_of(contender):
    return OURS if contender.startswith("dispatcher") else OTHERS


def proxies(rows):
    scenarios = by([row for row in rows if row["contender"] != "direct"], "scenario")
    drawn, panels = figure(1, len(scenarios), 3, squeeze=False, sharey=True)
    for axes, (scenario, found) in zip(panels[0], scenarios.items()):
        fastest = min(row["cpu_micros"] for row in found)
        labelled_bars(
            axes, [row["contender"] for row in found], [row["cpu_micros"] for row in found],
            [short(row["cpu_micros"]) for row in found], [colour_of(row["contender"]) for row in found],
            min(max(row["cpu_micros"] for row in found) * 1.3, fastest * 12))
        axes.set_title(scenario, loc="left")
        axes.set_xlabel("CPU µs a request, cut off at the right")
    return drawn


def latency(rows):
    scenarios = by([row for row in rows if row["latency"]], "scenario")
    drawn, panels = figure(1, len(scenarios), 3, squeeze=False, sharey=True)
    for axes, (scenario, found) in zip(panels[0], scenarios.items()):
        for place, row in enumerate(found):
            millis = row["latency"]["latency_millis"]
            axes.plot([millis["p50"], millis["p99.9"]], [place, place], color=OTHERS, lw=1, zorder=1)
            for name, mark in (("p50", "o"), ("p99", "D"), ("p99.9", "|")):
                axes.scatter(millis[name], place, marker=mark, s=18, color=colour_of(row["contender"]), zorder=2, label=name if place == 0 else None)
        axes.set_yticks(range(len(found)), [row["contender"] for row in found])
        axes.set_xscale("log")
        axes.set_title(f"{scenario}, {found[0]['latency']['offered_rate']:,.0f}/s", loc="left")
        axes.set_xlabel("ms")
    panels[0][0].invert_yaxis()
    panels[0][0].legend(fontsize=7, loc="best")
    return drawn


def curve(rows, label, right, right_label, right_key):
    """Draws the CPU time per request and, on the right, another figure, over the points of a sweep."""
    drawn, (left, other) = figure(1, 2, 2.8)
    points = [row["point"] for row in rows]
    left.errorbar(
        points, [row["cpu_micros"] for row in rows], color=OURS, marker="o", ms=3, lw=1.2, capsize=2,
        yerr=[[row["cpu_micros"] - row["cpu_micros_lowest"] for row in rows], [row["cpu_micros_highest"] - row["cpu_micros"] for row in rows]])
    left.set_ylabel("CPU µs a request, lowest to highest")
    left.set_ylim(bottom=0)
    for name, key, colour in right:
        other.plot(points, [row[key] for row in rows], color=colour, marker="o", ms=3, lw=1.2, label=name)
    other.set_ylabel(right_label)
    other.legend()
    other.set_yscale(right_key)
    for axes in (left, other):
        axes.set_xscale("log")
        axes.set_xlabel(label)
    return drawn


def size(rows):
    rows = [row for row in rows if row["point"] > 0]
    drawn, (left, right) = figure(1, 2, 2.8)
    sizes = [row["point"] for row in rows]
    left.plot(sizes, [row["cpu_micros"] for row in rows], color=OURS, marker="o", ms=3, lw=1.2)
    left.set_yscale("log")
    left.set_ylabel("CPU µs a request")
    right.plot(sizes, [row["rss_mib"] for row in rows], color=SECOND, marker="o", ms=3, lw=1.2, label="RSS, MiB")
    right.plot(sizes, [row["requests_per_second"] * row["point"] / 1e6 for row in rows], color=OURS, marker="o", ms=3, lw=1.2, label="MB/s each way")
    right.set_ylim(bottom=0)
    right.legend()
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("bytes of the body")
    return drawn


def concurrency(rows):
    return curve(rows, "requests at once", (("p50", "p50_millis", OURS), ("p99", "p99_millis", SECOND)), "ms", "log")


def workers(rows):
    """Draws the CPU time per request of each program over the number of workers or backends, for each load."""
    loads = [(load, title) for load, title in (("maximum", "maximum load"), ("burst", "bursts"), ("even", "even intervals")) if load in rows[0]]
    drawn, panels = figure(1, len(loads), 3, squeeze=False, sharey=True)
    styles = {"dispatcher": (OURS, "-"), "nghttpx": (SECOND, "-"), "haproxy-h1": (OTHERS, "-"), "haproxy-h2": (OTHERS, "--")}
    for axes, (load, title) in zip(panels[0], loads):
        for contender, found in by(rows, "contender").items():
            colour, line = styles[contender]
            axes.plot([row["workers"] for row in found], [row[load]["cpu_micros"] for row in found], color=colour, ls=line, marker="o", ms=3, lw=1.2,
                      label=contender)
        axes.set_xscale("log")
        axes.set_title(title, loc="left")
        axes.set_xlabel("workers or backends")
        axes.set_ylim(bottom=0)
    panels[0][0].set_ylabel("CPU µs a request")
    panels[0][0].legend(fontsize=7)
    return drawn


def jvm(rows):
    scenarios = by(rows, "scenario")
    drawn, panels = figure(1, len(scenarios), 3.2, squeeze=False, sharey=True)
    for axes, (scenario, found) in zip(panels[0], scenarios.items()):
        labelled_bars(axes, [row["point"] for row in found], [row["cpu_micros"] for row in found],
                      [short(row["cpu_micros"]) for row in found], OURS)
        axes.set_title(scenario, loc="left")
        axes.set_xlabel("CPU µs a request")
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
    if len(sys.argv) != 3 or sys.argv[1] not in SOURCES:
        sys.exit(f"plots: expected one of {', '.join(SOURCES)}, and a PNG file; the results on standard input")
    kind, target = sys.argv[1:]
    drawn = globals()[kind](json.load(sys.stdin)["results"])
    drawn.savefig(target)
    shrink(target)


def shrink(file):
    """Reduces the number of colours: the file has a third of the size, without a visible difference."""
    from PIL import Image

    with Image.open(file) as image:
        reduced = image.convert("RGB").quantize(48)
    reduced.save(file, optimize=True)


if __name__ == "__main__":
    main()
