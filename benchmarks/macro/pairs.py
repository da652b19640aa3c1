"""Compares the CPU time of two contenders in pairs of loads, of which each is measured directly after the other.

On a shared machine, the speed of the processors drifts. Both loads of a pair see nearly the same speed, so their ratio is steadier than the times.
"""

import math
import statistics

from driver import table
from processes import Failure

# Student's t for 95 %, by degrees of freedom.
T_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 11: 2.201, 14: 2.145, 17: 2.110, 19: 2.093, 23: 2.069, 29: 2.045}


def alternate(pairs, first, second):
    """Measures this number of pairs, in an order that changes. @return for each pair, the samples of first and second"""
    found = []
    for number in range(pairs):
        in_turn = (second, first) if number % 2 else (first, second)
        samples = [measure() for measure in in_turn]
        found.append(tuple(reversed(samples) if number % 2 else samples))
    return found


def steady_micros(sample):
    """CPU time per request without that of the JIT compiler, which ends by itself, but at another time in each JVM."""
    return sample["cpu_micros"] - sample.get("threads", {}).get("jit_micros", 0)


def compare(pairs, starts=1):
    """
    The ratio of steady CPU time per request, second ÷ first: the mean of all pairs, with its 95 % interval. If both contenders were started several
    times, with equally many pairs each, the interval is that of the means of these starts: two JVMs differ by themselves, often by 5 %, and more
    pairs of loads on the same two do not show by how much.
    """
    ratios = [steady_micros(second) / steady_micros(first) for first, second in pairs]
    if starts > 1:
        each = len(pairs) // starts
        ratios = [statistics.mean(ratios[start * each:(start + 1) * each]) for start in range(starts)]
    errors = sum(sample["errors"] for pair in pairs for sample in pair)
    if errors:
        raise Failure(f"{errors} requests failed")
    mean, low, high = interval(ratios)
    return {
        "pairs": len(pairs), "starts": starts, "first_cpu_micros": statistics.median(steady_micros(first) for first, _ in pairs),
        "second_cpu_micros": statistics.median(steady_micros(second) for _, second in pairs),
        "ratio": mean, "ratio_low": low, "ratio_high": high}


def interval(values):
    """@return the mean, and the ends of its 95 % interval"""
    mean = statistics.mean(values)
    freedom = len(values) - 1
    if freedom == 0:
        return mean, -math.inf, math.inf
    half = T_95[max(known for known in T_95 if known <= freedom)] * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def rows(title, first, second, results):
    """@return Markdown with a row for each comparison"""
    return table(f"{title} | CPU µs/request {first}, {second} | ratio (95 % interval) | starts, pairs", [
        [name, f"{row['first_cpu_micros']:.2f}, {row['second_cpu_micros']:.2f}",
         f"{row['ratio']:.3f} ({row['ratio_low']:.3f}–{row['ratio_high']:.3f})", f"{row['starts']}, {row['pairs']}"]
        for name, row in results.items()])
