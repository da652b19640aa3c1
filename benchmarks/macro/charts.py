"""Draws the charts of README.md and docs/performance/README.md, as SVG for light and dark mode. `performance.py` writes them.

`speed` shows the CPU time of each proxy per request, from the results of `proxies.py`. `workers` shows it against the number of workers,
from the results of `workers.py`. `cost` shows dollars per month, calculated by `costs.py`. Uses only the standard library.
"""

import math
import textwrap
from html import escape

import costs

WIDTH, LINE_HEIGHT, LINE_CHARACTERS = 760, 17, 106
# The area of a chart with lines.
LEFT, RIGHT, TOP = 70, 550, 56
STYLE = """<style>
  text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .head, .strong { font-weight: 600; }
  .small { font-size: 12px; fill: #57606a; }
  .back { fill: #ffffff; }
  .bar { fill: #afb8c1; }
  .ours { fill: #0969da; }
  .grid { stroke: #d8dee4; }
  .line { fill: none; stroke-width: 2.5; }
  .direct { stroke: #bc4c00; stroke-dasharray: 7 4; }
  .dispatch { stroke: #0969da; }
  .fargate { stroke: #6e7781; stroke-dasharray: 2 4; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9198a1; }
    .back { fill: #0d1117; }
    .bar { fill: #57606a; }
    .ours { fill: #4493f8; }
    .grid { stroke: #30363d; }
    .direct { stroke: #f0883e; }
    .dispatch { stroke: #4493f8; }
    .fargate { stroke: #9198a1; }
  }
</style>"""


def picture(y, caption, title, description, shapes):
    """@param y where the caption begins"""
    lines = textwrap.wrap(caption, LINE_CHARACTERS)
    height = y + LINE_HEIGHT * len(lines) + 5
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-labelledby="t d">',
        f'<title id="t">{escape(title)}</title>', f'<desc id="d">{escape(description)}</desc>', STYLE,
        f'<rect class="back" width="{WIDTH}" height="{height}" rx="8"/>', text(24, 32, title, "title"), *shapes,
        *(text(24, y + LINE_HEIGHT * number, line, "small") for number, line in enumerate(lines)), "</svg>", ""])


def text(x, y, content, kind="", anchor="start"):
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(content)}</text>'


def groups_of_bars(groups):
    """@param groups for each head, its bars: name, width, label, whether it is ours, and a note. @return where they end, and the shapes"""
    shapes, y = [], 66
    for head, bars in groups.items():
        shapes.append(text(24, y, head, "head"))
        y += 10
        for name, width, label, ours, note in bars:
            strong = "strong" if ours else ""
            shapes += [
                text(BARS_LEFT - 10, y + 15, name, strong, "end"),
                f'<rect class="{"ours" if ours else "bar"}" x="{BARS_LEFT}" y="{y + 3}" width="{width:.1f}" height="{BAR - 6}" rx="2"/>',
                text(BARS_LEFT + width + 8, y + 15, label, strong)]
            if note:
                shapes.append(text(BARS_LEFT + width + 18 + 8 * len(label), y + 15, note, "small"))
            y += BAR
        y += 28
    return y, shapes


# Speed

BESIDE = {"dispatcher": "Lambda Dispatcher", "nghttpx": "nghttpx", "haproxy-h2": "HAProxy, HTTP/2 backend", "haproxy-h1": "HAProxy, HTTP/1.1 backend",
          "nginx": "nginx"}
HEADS = {"ping": "Small request: 4-byte response", "image": "Download: 168 KB response", "echo": "Upload and download: 168 KB each way"}
SPEED_CAPTION = (
    "Median CPU time of the proxy. Load generator and backend are not included. HTTP/2 without TLS, 100 requests in flight, "
    "one thread on a core of its own. Each group is one run. Shorter is better.")
BAR, BARS_LEFT, BARS_WIDTH = 22, 220, 420


def speed(rows):
    """Draws the bars. Each scenario has its own scale.

    @param rows results of proxies.py
    """
    groups = {}
    for scenario, head in HEADS.items():
        found = {row["contender"]: row["cpu_micros"] for row in rows if row["scenario"] == scenario and row["contender"] in BESIDE}
        longest = max(found.values(), default=1)
        groups[head] = [(title, BARS_WIDTH * found[name] / longest, micros_text(found[name]), name == "dispatcher", "")
                        for name, title in BESIDE.items() if name in found]
    y, shapes = groups_of_bars(groups)
    return picture(y, SPEED_CAPTION, "CPU time per request, microseconds", "Bars: " + "; ".join(HEADS.values()), shapes)


def micros_text(value):
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


# Workers

COUNTS = (1, 500)
WORKERS_BOTTOM = 276
LINES = {"dispatcher": ("dispatch", "Lambda Dispatcher"), "haproxy-h1": ("fargate", "HAProxy, HTTP/1.1 backends"), "nghttpx": ("direct", "nghttpx")}
WORKERS_CAPTION = (
    "Median CPU time for /ping at maximum load. Each proxy has as many backends as the dispatcher has workers. Load generator, workers and "
    "backends are not included. HTTP/2 without TLS, 100 requests in flight, one thread on a core of its own. All are one run. Lower is better.")


def workers(rows):
    """Draws a line for each program.

    @param rows results of workers.py with the front `h2`
    """
    micros = {name: {row["workers"]: row["maximum"]["cpu_micros"] for row in rows if row["contender"] == name} for name in LINES}
    most = 10 * math.ceil(max(value for found in micros.values() for value in found.values()) / 10)
    height = lambda value: WORKERS_BOTTOM + (TOP - WORKERS_BOTTOM) * value / most
    shapes = []
    for count in sorted({row["workers"] for row in rows}):
        x = across(count, COUNTS, LEFT, RIGHT)
        shapes += [f'<path class="grid" d="M{x:.1f} {TOP} V{WORKERS_BOTTOM}"/>', text(x, WORKERS_BOTTOM + 18, f"{count:,}", "small", "middle")]
    for value in range(0, most + 1, 10):
        shapes += [f'<path class="grid" d="M{LEFT} {height(value):.1f} H{RIGHT}"/>', text(LEFT - 8, height(value) + 4, f"{value} µs", "small", "end")]
    shapes.append(text((LEFT + RIGHT) / 2, WORKERS_BOTTOM + 38, "workers or backends, logarithmic axis", "small", "middle"))
    for name, (kind, title) in LINES.items():
        places = " ".join(f"{across(count, COUNTS, LEFT, RIGHT):.1f},{height(value):.1f}" for count, value in sorted(micros[name].items()))
        last = micros[name][max(micros[name])]
        shapes += [f'<polyline class="line {kind}" points="{places}"/>', text(RIGHT + 8, height(last) - 2, title, "strong"),
                   text(RIGHT + 8, height(last) + 14, f"{micros_text(last)} µs with {max(micros[name]):,}", "small")]
    description = f"Lines: {', '.join(title for _, title in LINES.values())}"
    return picture(WORKERS_BOTTOM + 62, WORKERS_CAPTION, "CPU time per request against the number of workers", description, shapes)


# Cost

COST_MEAN = 400
CHANGING = {"plain Lambda": "Plain Lambda", "Fargate for the peak": "Fargate for the peak", costs.CAREFUL: "Fargate, autoscaled early",
            "Fargate autoscaled": "Fargate, autoscaled", "Lambda workers": "Lambda workers", "base of Fargate": "Base and burst"}
STEADY = {"plain Lambda": "Plain Lambda", "Fargate for the peak": "Fargate", "Lambda workers": "Lambda workers", "base of Fargate": "Base and burst"}
COST_OURS = ("Lambda workers", "base of Fargate")
COST_WIDTH = 300


def cost():
    """Draws the bars for a handler that mostly waits, with the traffic of a load balancer and with steady traffic. Both have the same scale."""
    model, elb = costs.Model(costs.IO), costs.recorded("elb")
    groups = {
        f"Traffic of a load balancer: peak {elb.ratio():.1f} times the mean": (elb.scaled(COST_MEAN), CHANGING), "Steady traffic": (costs.steady(COST_MEAN), STEADY)}
    found = {head: {name: model.ways()[name](traffic) for name in names} for head, (traffic, names) in groups.items()}
    longest = max(each.dollars for group in found.values() for each in group.values())
    y, shapes = groups_of_bars({head: [
        (groups[head][1][name], COST_WIDTH * each.dollars / longest, f"${each.dollars:,.0f}", name in COST_OURS,
         f"{100 * each.above:.1f} % of requests arrive above its capacity" if "autoscaled" in name else "") for name, each in group.items()]
        for head, group in found.items()})
    work = model.work
    caption = (
        f"Calculated by benchmarks/macro/costs.py, not measured on AWS. List prices of us-east-1. A request takes {work.service_ms:g} ms, {work.cpu_ms:g} ms of it CPU "
        f"time, with {work.memory} MB of memory. Tasks have {costs.TASK_VCPUS:g} vCPU. Dispatchers, endpoints and load balancers are included where they are needed. "
        "Base and burst is a fixed number of tasks, and Lambda workers for the rest. Shorter is better.")
    return picture(y, caption, f"Cost per month at {COST_MEAN} requests/s, US dollars", "Bars: " + ", ".join(CHANGING.values()), shapes)


def across(value, bounds, start, end):
    """Returns the position of a value on a logarithmic axis."""
    low, high = bounds
    return start + (end - start) * math.log(value / low) / math.log(high / low)
