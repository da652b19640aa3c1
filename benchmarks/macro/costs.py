#!/usr/bin/env -S python3 -B
"""Calculates what a month costs on AWS: Lambda, Fargate, workers behind dispatchers, and a base of containers with Lambda for the rest.

    benchmarks/macro/costs.py                                     prints the tables of docs/explanation/cost.md
    benchmarks/macro/costs.py --rate 300 --service-ms 120 --cpu-ms 8 --memory 1024
    benchmarks/macro/costs.py --trace traffic.json                your own traffic, with the advised base
    benchmarks/macro/costs.py --trace benchmarks/macro/traces/elb.csv --period 300 --mean 400
    benchmarks/macro/costs.py --update                            writes the tables and the chart of docs/explanation/cost.md

A trace has the number of requests in each period. It is one of these files:

    JSON   what "aws cloudwatch get-metric-data" or "aws cloudwatch get-metric-statistics" prints, for the statistic Sum
    CSV    lines of "time,requests", with a time such as 2026-11-28T10:05:00Z or in seconds. A period without a line has no requests.
    CSV    lines of "requests", and --period

A first line with names is skipped. Prices are list prices of us-east-1, without free tier and savings plans. Uses only the standard library.
"""

import argparse
import bisect
import csv
import functools
import itertools
import json
import math
import pathlib
import re
import sys
from collections import namedtuple
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/explanation/cost.md"
TRACES = pathlib.Path(__file__).resolve().parent / "traces"
STACK = ROOT / "docker/cloudformation.json"

# Prices

Price = namedtuple("Price", "dollars what source dated")
ECS_PAGE = "https://www.vantage.sh/blog/fargate-pricing"
LAMBDA_RATES = "https://app.unpkg.com/artillery@2.0.28/files/lib/platform/aws-lambda/prices.js"
TRANSCRIBED = "https://raw.githubusercontent.com/api-evangelist/{0}/refs/heads/main/plans/{0}-plans-pricing.yml"
LAMBDA_PAGE, BALANCER_PAGE = TRANSCRIBED.format("aws-lambda"), TRANSCRIBED.format("amazon-elastic-load-balancing")
PRICES = {
    "lambda": Price(0.0000166667, "Lambda: a GB-second on x86, first tier", LAMBDA_RATES, "Artillery 2.0.28"),
    "lambda-arm": Price(0.0000133334, "Lambda: a GB-second on ARM (Graviton), first tier", LAMBDA_RATES, "Artillery 2.0.28"),
    "million-requests": Price(0.20, "Lambda and Managed Instances: a million requests", LAMBDA_PAGE, "20 September 2026, from AWS's page"),
    "instance-fee": Price(0.15, "Managed Instances: fee, as a share of the instance's price", LAMBDA_PAGE, "20 September 2026, from AWS's page"),
    "instance": Price(0.0816, "EC2: an hour of m7g.large, with 2 vCPUs and 8 GB", "https://main.d1m6t5n8e4tvia.amplifyapp.com/blog/amazon-ec2-on-demand-pricing-instance-families-2026/", "June 2026"),
    "fargate-vcpu": Price(0.04048, "Fargate: a vCPU-hour on x86", ECS_PAGE, "no date; the same in June 2026 at `fortem.dev/fargate-spot`"),
    "fargate-gb": Price(0.004445, "Fargate: a GB-hour on x86", ECS_PAGE, "no date; the same in June 2026 at `fortem.dev/fargate-spot`"),
    "fargate-vcpu-arm": Price(0.03238, "Fargate: a vCPU-hour on ARM (Graviton)", ECS_PAGE, "no date; the same in June 2026 at `fortem.dev/fargate-spot`"),
    "fargate-gb-arm": Price(0.00356, "Fargate: a GB-hour on ARM (Graviton)", ECS_PAGE, "no date; the same in June 2026 at `fortem.dev/fargate-spot`"),
    "fargate-spot": Price(0.5, "Fargate Spot: discount. It varies; AWS says up to 70 %", "https://fortem.dev/fargate-spot/", "June 2026: 50 to 70 %"),
    "ec2-spot": Price(0.5, "EC2 Spot: discount. **An assumption**: we found no current price; AWS says up to 90 %", "https://docs.amazonaws.cn/en_us/autoscaling/ec2/userguide/weights-spot-price-per-unit-hour-example.html", "no date; AWS's example has 44 to 62 %"),
    "balancer": Price(0.0225, "Application Load Balancer: an hour", BALANCER_PAGE, "20 September 2026, from AWS's page"),
    "balancer-unit": Price(0.008, "Application Load Balancer: a capacity unit, for example 1 GB in an hour", BALANCER_PAGE, "20 September 2026, from AWS's page"),
    "endpoint": Price(0.01, "interface endpoint: an hour in one zone", "https://awsnegotiations.com/privatelink-cost-analysis.html", "May 2026"),
    "nat": Price(0.045, "NAT gateway: an hour, and the same for a GB", "https://cloudburn.io/blog/aws-nat-gateway-pricing", "24 February 2026"),
    "log-gb": Price(0.50, "CloudWatch Logs: a GB that is written", "https://c3x.dev/blog/cloudwatch-logs-cost-optimization", "June 2026"),
}

# Assumptions that are not settings

MONTH_HOURS = 730
MONTH_SECONDS = MONTH_HOURS * 3600
VCPU_MEGABYTES = 1769  # of a Lambda function that has one vCPU
LIFE_SECONDS = 850  # of a worker whose timeout is 900 s; the spread of ends and early replacement shorten it
OVERLAP = 0.01  # share of a worker's life in which its replacement is also paid for
LINGER_SECONDS = 60  # for which a worker lives that is no longer needed
SCALE_SECONDS = 900  # for which autoscaling keeps tasks that are no longer needed. It adds tasks in the period after the one that needs them
WEEK = 7 * 86400, 3600  # what an advised base looks at, and how often it changes: for a base that is set by hand, or by a schedule
HOUR = 3600, 300  # for a base that autoscaling sets
MOST_ABOVE = 0.01  # share of requests above capacity that careful autoscaling accepts
FEWEST_INSTANCES = 3  # default minimum of Lambda Managed Instances
FEWEST_TASKS = 2  # minimum of a service without Lambda, one task in each of two zones
FEWEST_BASE = 1  # minimum of a base: if it fails, Lambda serves everything
TASK_VCPUS, TASK_GB = 0.25, 0.5  # the smallest task of Fargate
INSTANCE_VCPUS = 2
ZONES = 2
TASK_ENDPOINTS, DISPATCHER_ENDPOINTS = 3, 4  # ecr.api, ecr.dkr and logs; a dispatcher also needs lambda
INVOCATION_LOG_BYTES = 400  # our estimate of the lines START, END and REPORT


CAREFUL = f"Fargate autoscaled, at most {100 * MOST_ABOVE:g} % above"


class Wrong(Exception):
    pass


def setting(default, text):
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Deployment:
    dispatchers: int = setting(2, "lowest number of dispatchers")
    dispatcher_rate: int = setting(7000, "requests/s that a vCPU of a dispatcher serves; docs/guides/size-dispatchers.md")
    kept_workers: int = setting(2, "Lambda workers that live without traffic, if there is no base (function.min-workers)")
    head_room: float = setting(0.25, "headroom of Lambda workers, as a share of what is needed (function.target-utilization: 80%)")
    cpu_target: float = setting(0.7, "CPU utilisation of a worker whose streams are all busy, and of a dispatcher at the peak")
    task_cpu: float = setting(0.6, "CPU utilisation of tasks and instances that autoscaling aims at")
    most_streams: int = setting(100, "highest number of concurrent requests of a worker")
    cold_start: float = setting(2.5, "time from the launch of a worker to its first request, in s")
    request_kb: float = setting(2, "size of a request with its response, in KB, for the capacity units of the load balancer")


@dataclass(frozen=True)
class Work:
    """A kind of request. `cpu_ms` is its CPU time on a whole vCPU, and part of `service_ms`. With less memory, the CPU part takes longer."""

    name: str
    service_ms: float
    cpu_ms: float
    memory: int = 512

    def gb(self):
        return self.memory / 1024

    def vcpus(self):
        return self.memory / VCPU_MEGABYTES

    def cpu_seconds(self):
        """Returns the CPU seconds of one thread in an environment of this memory."""
        return self.cpu_ms / 1000 / min(1, self.vcpus())

    def service_seconds(self):
        return max(self.service_ms / 1000, self.cpu_seconds())


@dataclass(frozen=True)
class Traffic:
    """Requests/s in periods of the same length. Within a period, the rate does not change."""

    name: str
    rates: tuple
    period: float

    def mean(self):
        return sum(self.rates) / len(self.rates)

    def peak(self):
        return max(self.rates)

    def ratio(self):
        return self.peak() / self.mean()

    def scaled(self, mean):
        factor = mean / self.mean()
        return replace(self, rates=tuple(rate * factor for rate in self.rates))

    def month(self):
        """Returns how often the traffic repeats in a month."""
        return MONTH_SECONDS / (self.period * len(self.rates))


Unit = namedtuple("Unit", "vcpus dollars")  # what a base consists of, and what it costs in a month
# The count is that of tasks, instances or workers on average. The share of requests above comes too early for the capacity. The target is a CPU utilisation.
Cost = namedtuple("Cost", "dollars count above target", defaults=(0, 0, 0))


def cheapest(cost, size):
    """Returns the size of the base, near the given one, from which neither a smaller nor a larger one is cheaper."""
    size = max(FEWEST_BASE, size)
    found = cost(size)
    for step in (-1, 1):
        while size + step >= FEWEST_BASE and (next_cost := cost(size + step)) < found:
            size, found = size + step, next_cost
    return size


@dataclass(frozen=True)
class Model:
    work: Work
    deployment: Deployment = Deployment()
    prices: dict = field(default_factory=lambda: {name: price.dollars for name, price in PRICES.items()}, hash=False)

    # What one of each costs and serves

    def task(self, vcpus=TASK_VCPUS, gb=TASK_GB, arm=""):
        return MONTH_HOURS * (vcpus * self.prices["fargate-vcpu" + arm] + gb * self.prices["fargate-gb" + arm])

    def units(self):
        instance = MONTH_HOURS * self.prices["instance"] * (1 - self.prices["ec2-spot"])
        return {"Fargate": Unit(TASK_VCPUS, self.task()), "Fargate Spot": Unit(TASK_VCPUS, self.task() * (1 - self.prices["fargate-spot"])),
                "EC2 Spot": Unit(INSTANCE_VCPUS, instance), "Graviton": Unit(TASK_VCPUS, self.task(arm="-arm"))}

    def unit_rate(self, vcpus, utilisation=None):
        """Returns the requests/s of a task or an instance."""
        return vcpus * (utilisation or self.deployment.task_cpu) / (self.work.cpu_ms / 1000)

    def streams(self):
        """Returns how many streams use the CPU of a worker up to the target."""
        share_of_one = self.work.cpu_ms / 1000 / self.work.vcpus() / self.work.service_seconds()
        return max(1, min(self.deployment.most_streams, math.floor(self.deployment.cpu_target / share_of_one)))

    def service_beside_others(self):
        """Returns the seconds of a request on a worker. The CPU is shared, so the CPU part grows by 1 / (1 - utilisation), as in a queue."""
        if self.streams() == 1:
            return self.work.service_seconds()
        busy = self.deployment.cpu_target / (1 + self.deployment.head_room)
        return self.work.service_seconds() - self.work.cpu_seconds() + self.work.cpu_seconds() / (1 - busy)

    def worker_rate(self):
        """Returns the requests/s of a launched worker at the target utilisation."""
        return self.streams() / self.service_beside_others() / (1 + self.deployment.head_room)

    def worker(self, seconds, starts, arm=""):
        """Returns the dollars of launched workers: their lives, and an invocation for each."""
        gb_seconds = seconds * (1 + OVERLAP) * self.work.gb()
        return gb_seconds * self.prices["lambda" + arm] + (starts + seconds / LIFE_SECONDS) / 1e6 * self.prices["million-requests"]

    # What stands in front

    def front(self, traffic, endpoints):
        """Returns the dollars of the load balancer, of its capacity units, and of interface endpoints in each zone."""
        gb_an_hour = traffic.mean() * self.deployment.request_kb * 3600 / 1e6
        hourly = self.prices["balancer"] + self.prices["balancer-unit"] * gb_an_hour + endpoints * ZONES * self.prices["endpoint"]
        return MONTH_HOURS * hourly

    def dispatchers(self, traffic):
        """Returns how many dispatchers of the smallest size carry the peak."""
        return max(self.deployment.dispatchers, math.ceil(traffic.peak() / (self.deployment.dispatcher_rate * TASK_VCPUS * self.deployment.cpu_target)))

    def ours(self, traffic, arm=""):
        return self.dispatchers(traffic) * self.task(arm=arm) + self.front(traffic, DISPATCHER_ENDPOINTS)

    def without_front(self, cost, traffic):
        """Returns the dollars of a base and of launched workers alone."""
        return cost.dollars - self.ours(traffic)

    # Ways to serve all traffic

    def plain(self, traffic):
        """Each request is an invocation of a function URL, which costs nothing."""
        requests = traffic.mean() * MONTH_SECONDS
        return Cost(requests * (self.work.service_seconds() * self.work.gb() * self.prices["lambda"] + self.prices["million-requests"] / 1e6))

    def peak(self, traffic):
        count = max(FEWEST_TASKS, math.ceil(traffic.peak() / self.unit_rate(TASK_VCPUS)))
        return Cost(count * self.task() + self.front(traffic, TASK_ENDPOINTS), count)

    def following(self, traffic, vcpus, fewest):
        """Returns how many units autoscaling runs on average, and the share of requests that arrive while they would need more than all CPU."""
        window, rate, full = max(1, round(SCALE_SECONDS / traffic.period)), self.unit_rate(vcpus), self.unit_rate(vcpus, 1)
        rates, total, above = traffic.rates, 0, 0
        for number, now in enumerate(rates):
            count = max(fewest, math.ceil(max(rates[max(0, number - window):number] or rates[:1]) / rate))
            total += count
            above += max(0, now - count * full)
        return total / len(rates), above / sum(rates)

    def autoscaled(self, traffic):
        count, above = self.following(traffic, TASK_VCPUS, FEWEST_TASKS)
        return Cost(count * self.task() + self.front(traffic, TASK_ENDPOINTS), count, above)

    @functools.lru_cache(maxsize=None)
    def carefully_autoscaled(self, traffic):
        """Aims at so little CPU that at most MOST_ABOVE of the requests arrive above capacity."""
        for hundredths in range(round(100 * self.deployment.task_cpu), 0, -1):
            cost = replace(self, deployment=replace(self.deployment, task_cpu=hundredths / 100)).autoscaled(traffic)
            if cost.above <= MOST_ABOVE:
                return cost._replace(target=hundredths / 100)
        return self.peak(traffic)  # autoscaling is always late

    def managed(self, traffic):
        count, above = self.following(traffic, INSTANCE_VCPUS, FEWEST_INSTANCES)
        hourly = count * self.prices["instance"] * (1 + self.prices["instance-fee"])
        return Cost(MONTH_HOURS * hourly + traffic.mean() * MONTH_SECONDS / 1e6 * self.prices["million-requests"], count, above)

    def lives(self, traffic, rates, fewest=0):
        """Returns for how many seconds launched workers live that carry these rates, how many are launched, and how many are needed on average.

        They live from their launch, and for LINGER_SECONDS when they are no longer needed. A worker that would have lingered when the next is
        needed is not launched again.
        """
        rate, total, lingering, starts = self.worker_rate(), 0, 0, 0
        needs = [max(fewest, math.ceil(now / rate - 1e-9)) for now in rates]
        before = needs[-1]  # traffic repeats
        for needed in needs:
            total += needed
            if needed > before:
                starts += needed - before
            else:
                lingering += before - needed
            before = needed
        return total * traffic.period + lingering * LINGER_SECONDS + starts * self.deployment.cold_start, starts, total / len(rates)

    def launched(self, traffic, rates, fewest=0, arm=""):
        """Returns the cost of launched workers for these rates. The share above is what waits for a cold start, at most."""
        seconds, starts, mean = self.lives(traffic, rates, fewest)
        waiting = starts * self.worker_rate() * self.deployment.cold_start / (sum(traffic.rates) * traffic.period)
        return Cost(self.worker(seconds, starts, arm) * traffic.month(), mean, waiting)

    def workers(self, traffic):
        launched = self.launched(traffic, traffic.rates, self.deployment.kept_workers)
        return launched._replace(dollars=launched.dollars + self.ours(traffic))

    def burst(self, traffic, bases, kind="Fargate"):
        """Returns the cost of a base, which has a size for each period, and of launched workers for what exceeds it. The count is that of the base."""
        unit, arm = self.units()[kind], "-arm" if kind == "Graviton" else ""
        rate, size = self.unit_rate(unit.vcpus), sum(bases) / len(bases)
        launched = self.launched(traffic, [max(0, now - base * rate) for now, base in zip(traffic.rates, bases)], arm=arm)
        return Cost(size * unit.dollars + launched.dollars + self.ours(traffic, arm), size, launched.above)

    def launched_month(self, kind):
        """Returns the dollars of a launched worker that lives all the time, beside a base of this kind."""
        return self.worker(MONTH_SECONDS, 0, "-arm" if kind == "Graviton" else "")

    def price_share(self, kind):
        """Returns the price of a unit of the base, divided by that of launched workers which serve as much."""
        unit = self.units()[kind]
        return unit.dollars / (self.unit_rate(unit.vcpus) / self.worker_rate() * self.launched_month(kind))

    def base_for(self, ordered, kind):
        """Returns the size of a base for rates in ascending order, as a newsvendor buys: the last unit is busy for as long as it is cheaper than Lambda.

        There are only whole workers, so a base that is a little larger or smaller may be cheaper.
        """
        unit, busy, worker = self.units()[kind], min(1, self.price_share(kind)), self.launched_month(kind)
        rate, worker_rate, sample = self.unit_rate(unit.vcpus), self.worker_rate(), ordered[::max(1, len(ordered) // 100)]
        cost = lambda size: size * unit.dollars + worker * sum(math.ceil((now - size * rate) / worker_rate) for now in sample if now > size * rate) / len(sample)
        wanted = ordered[min(len(ordered) - 1, int((1 - busy) * len(ordered)))] if busy < 1 else 0
        return cheapest(cost, round(wanted / rate))

    @functools.lru_cache(maxsize=None)
    def best(self, traffic, kind="Fargate"):
        """Returns the cost with the fixed base that turns out to be the cheapest. Nobody knows it in advance."""
        of = lambda size: self.burst(traffic, [size] * len(traffic.rates), kind)
        return of(cheapest(lambda size: of(size).dollars, self.base_for(sorted(traffic.rates), kind)))

    def advised_bases(self, traffic, past=WEEK, kind="Fargate"):
        """Returns the size of the base for each period, and then for the next one. The size is known before the period begins."""
        looks_at, changes_after = (max(1, round(seconds / traffic.period)) for seconds in past)
        sizes, ordered, size = [], [], FEWEST_BASE
        for number, rate in enumerate(traffic.rates):
            if number % changes_after == 0 and ordered:
                size = self.base_for(ordered, kind)
            sizes.append(size)
            bisect.insort(ordered, rate)
            if number >= looks_at:
                ordered.pop(bisect.bisect_left(ordered, traffic.rates[number - looks_at]))
        return [*sizes, self.base_for(ordered, kind)]

    @functools.lru_cache(maxsize=None)
    def advised(self, traffic, past=WEEK, kind="Fargate"):
        return self.burst(traffic, self.advised_bases(traffic, past, kind)[:-1], kind)

    def ways(self):
        """Returns all ways. Those before Lambda workers are without the dispatcher."""
        return {
            "plain Lambda": self.plain, "Managed Instances": self.managed, "Fargate for the peak": self.peak, "Fargate autoscaled": self.autoscaled,
            CAREFUL: self.carefully_autoscaled, "Lambda workers": self.workers, **{f"base of {kind}": lambda traffic, kind=kind: self.best(traffic, kind) for kind in self.units()}}


IO = Work("I/O: 200 ms, 5 ms of CPU", 200, 5)
LIGHT = Work("I/O: 200 ms, 1 ms of CPU", 200, 1)
LONG = Work("long I/O: 5 s, 5 ms of CPU", 5000, 5)
CPU = Work("CPU: 50 ms", 50, 50, 1769)
MEANS = (50, 400, 2000)
WITHOUT_US = ("plain Lambda", "Managed Instances", "Fargate for the peak", "Fargate autoscaled", CAREFUL)
ON_DEMAND = (*WITHOUT_US, "Lambda workers", "base of Fargate")


# Traffic


def steady(rate):
    return Traffic("steady", (float(rate),), SCALE_SECONDS)


def day(ratio):
    """Returns a smooth day with this ratio of peak to mean."""
    low, high = 0.0, 1e4
    curve = lambda width: [math.exp(width * (math.cos(2 * math.pi * number / 288) - 1)) for number in range(288)]
    for _ in range(60):
        middle = (low + high) / 2
        rates = curve(middle)
        low, high = (middle, high) if max(rates) / (sum(rates) / 288) < ratio else (low, middle)
    return Traffic("day", tuple(curve(low)), 300).scaled(1)


def spikes(ratio):
    """Returns a day with spikes of ten minutes every six hours, and even traffic in between."""
    share = 2 / 72
    if not 1 <= ratio <= 1 / share:
        raise Wrong(f"spikes: expected a ratio of 1 to {1 / share:g}, got {ratio:g}")
    between = (1 - ratio * share) / (1 - share)
    return Traffic("spikes", tuple(ratio if number % 72 in (36, 37) else between for number in range(288)), 300)


def recorded(name):
    return replace(read_trace(TRACES / f"{name}.csv", 300), name=f"`{name}`")


def bursty(traffic, seed=1):
    """Returns the traffic with bursts in each period: minutes are above or below its rate, and the variance of a second is ten times its mean."""
    minutes, rates, high = round(traffic.period / LINGER_SECONDS), [], False
    for rate in traffic.rates:
        swing = min(0.9, math.sqrt(9 / rate)) if rate else 0
        for _ in range(minutes):
            seed = seed * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1  # Knuth's generator, so that all machines print the same
            high ^= seed >> 63 == 0
            rates.append(rate * (1 + swing if high else 1 - swing))
    return replace(traffic, rates=tuple(rates), period=traffic.period / minutes)


def read_trace(file, period=None):
    """Reads a file whose forms the description of this program lists."""
    text = pathlib.Path(file).read_text(encoding="utf-8-sig")
    is_json = text.lstrip().startswith(("{", "["))
    counts = json_counts(file, text) if is_json else csv_counts(file, text)
    if len(counts) < 2:
        raise Wrong(f"{file}: expected at least two periods, got {len(counts)}. Export a longer time, at best two weeks.")
    if counts[0][0] is None:
        if not period:
            raise Wrong(f"{file}: expected lines of \"time,requests\", got lines with one column. Say how long a line is: --period 300.")
        values = [value for _, value in counts]
    else:
        values, found = filled(file, sorted(counts))
        if period and period != found:
            raise Wrong(f"--period: expected {found:g} s, which is the time between two lines of {file}, got {period:g}. Leave the option out.")
        period = found
    if period < LINGER_SECONDS:
        raise Wrong(f"{file}: expected periods of at least {LINGER_SECONDS} s, got {period:g}. Export it with --period 60 or --period 300.")
    if not any(values):
        raise Wrong(f"{file}: expected requests, got {len(values)} periods without any. Check the metric and its dimensions.")
    return Traffic(pathlib.Path(file).name, tuple(value / period for value in values), period)


def filled(file, counts):
    """Returns a count for each period, and the period. CloudWatch leaves periods without requests out."""
    period = min(after[0] - before[0] for before, after in zip(counts, counts[1:]))
    if period <= 0:
        twice = next(before[0] for before, after in zip(counts, counts[1:]) if before[0] == after[0])
        raise Wrong(f"{file}: expected each time once, got {datetime.fromtimestamp(twice, timezone.utc):%Y-%m-%dT%H:%M:%SZ} twice. Export one metric only.")
    slots = {}
    for at, value in counts:
        slot = (at - counts[0][0]) / period
        if abs(slot - round(slot)) > 0.01:
            raise Wrong(f"{file}: expected a multiple of {period:g} s between two times, got {at - counts[0][0]:g} s after the first. Export with one --period.")
        slots[round(slot)] = value
    return [slots.get(slot, 0) for slot in range(max(slots) + 1)], period


def json_counts(file, text):
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Wrong(f"{file}: expected JSON, because it begins with a bracket, got an error: {error}.") from None
    found = found if isinstance(found, dict) else {}
    if "MetricDataResults" in found:
        results = found["MetricDataResults"]
        if len(results) != 1:
            raise Wrong(f"{file}: expected one entry in MetricDataResults, got {len(results)}. Ask for one metric, with the statistic Sum.")
        return [(seconds(file, at), count(file, value)) for at, value in zip(results[0]["Timestamps"], results[0]["Values"])]
    if "Datapoints" in found:
        without = next((point for point in found["Datapoints"] if "Sum" not in point), None)
        if without:
            raise Wrong(f"{file}: expected a Sum in each of Datapoints, got {json.dumps(without)}. Export with --statistics Sum.")
        return [(seconds(file, point["Timestamp"]), count(file, point["Sum"])) for point in found["Datapoints"]]
    raise Wrong(f"{file}: expected MetricDataResults or Datapoints, got {', '.join(found) or 'neither'}. Use the output of aws cloudwatch get-metric-data.")


def csv_counts(file, text):
    rows = [(number, row) for number, row in enumerate(csv.reader(text.splitlines()), 1) if row]
    if rows and not re.match(r"[\d.]+(?:[-:TZ e+]|$)", rows[0][1][-1].strip()):
        rows = rows[1:]
    counts = []
    for number, row in rows:
        if len(row) not in (1, 2) or len(row) != len(rows[0][1]):
            expected = '"time,requests"' if len(rows[0][1]) > 1 else "one number"
            raise Wrong(f"{file}:{number}: expected {expected}, got \"{','.join(row)}\".")
        place = f"{file}:{number}"
        counts.append((seconds(place, row[0]) if len(row) == 2 else None, count(place, row[-1])))
    return counts


def seconds(place, text):
    try:
        return float(text)
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise Wrong(f"{place}: expected a time such as 2026-11-28T10:05:00Z, got \"{text}\".") from None
    return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()


def count(place, text):
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < math.inf:
        raise Wrong(f"{place}: expected a number of requests, got \"{text}\".")
    return value


# Tables


def dollars(value):
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def percent(share):
    return "none" if not share else f"{100 * share:.1f} %" if share > 0.0005 else "under 0.1 %"


def table(head, rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def row(model, traffic, first, without=()):
    """Returns a row with all ways, or without some. The cheapest one without a discount for Spot or Graviton is bold."""
    costs = {name: way(traffic) for name, way in model.ways().items() if name not in without}
    cheapest = min(costs.keys() & set(ON_DEMAND), key=lambda name: (costs[name].dollars, name))
    cells = []
    for name, cost in costs.items():
        text = f"**{dollars(cost.dollars)}**" if name == cheapest else dollars(cost.dollars)
        if name in ("Managed Instances", "Fargate autoscaled"):
            text += f" ({percent(cost.above)})" if cost.above else ""
        elif cost.target and cost.target < model.deployment.task_cpu:
            text += f" ({100 * cost.target:.0f} % CPU)"
        elif name.startswith("base"):
            text += f" ({cost.count:.0f})"
        cells.append(text)
    return [*first, *cells]


def steady_table(settings):
    works = [*((IO, rate) for rate in (1, 20, *MEANS)), (LIGHT, 400), (LONG, 1), (LONG, 20), (CPU, 200)]
    same = ("Fargate autoscaled", CAREFUL)  # as Fargate for the peak
    rows = [row(settings(work), steady(rate), [work.name, f"{rate:,}"], same) for work, rate in works]
    return table(["work", "requests/s", *(name for name in settings(IO).ways() if name not in same)], rows)


def shapes():
    return [recorded("elb"), recorded("news"), replace(day(2.5), name="day, 2.5"), replace(spikes(10), name="spikes, 10")]


def trace_table(settings):
    rows = [row(settings(IO), shape.scaled(mean), [shape.name, f"{mean:,}"]) for shape in shapes() for mean in MEANS]
    rows.append(row(settings(CPU), recorded("elb").scaled(200), ["`elb`, CPU: 50 ms", "200"]))
    return table(["traffic", "requests/s", *settings(IO).ways()], rows)


def lowest(falling, costs_less):
    """Returns the last of the falling values before the first for which the condition does not hold. None: there is none."""
    return [None, *itertools.takewhile(costs_less, falling)][-1]


def break_even(model, way, against):
    """Returns the lowest rate below 100,000/s from which on a way costs less than another with steady traffic, in steps of 1 %."""
    return lowest((100_000 / 1.01 ** step for step in range(1852)), lambda rate: way(steady(rate)).dollars <= against(steady(rate)).dollars)


def from_rate(rate):
    return "never" if rate is None else f"{rate:,.2g}" if rate < 10 else f"{rate:,.0f}"


def break_even_table(settings):
    rows = []
    for work in (IO, LIGHT, LONG, CPU):
        model = settings(work)
        rows.append([work.name, f"{work.memory:,} MB", *(from_rate(break_even(model, way, model.plain)) for way in (model.workers, model.best, model.peak))])
    return table(["work", "memory", "Lambda workers", "base of Fargate", "Fargate"], rows)


def ratio_table(settings):
    model, rows = settings(IO), []
    for name, shape, highest in (("day", day, 10), ("spikes", spikes, 35)):
        falling = [1 + quarters / 4 for quarters in range(4 * (highest - 1), -1, -1)]
        for mean in MEANS:
            cells = []
            for against in (model.peak, model.autoscaled, model.plain):
                # The lowest ratio of peak to mean from which on a base of Fargate costs less.
                of = lambda ratio: shape(ratio).scaled(mean)
                found = lowest(falling, lambda ratio: model.best(of(ratio)).dollars <= against(of(ratio)).dollars)
                cells.append("never" if found is None else "always" if found == 1 else f"{found:.2f}")
            rows.append([name, f"{mean:,}", *cells])
    return table(["shape", "requests/s", "Fargate for the peak", "Fargate autoscaled", "plain Lambda"], rows)


def advice_table(settings):
    rows, model = [], settings(IO)
    for shape in (replace(shape, rates=shape.rates * (14 if len(shape.rates) == 288 else 1)) for shape in shapes()):
        for mean in MEANS:
            traffic = shape.scaled(mean)
            best, week, hour = model.best(traffic), model.advised(traffic), model.advised(traffic, HOUR)
            rows.append([traffic.name, f"{mean:,}", f"{dollars(best.dollars)} ({best.count:.0f})",
                         *(f"{dollars(each.dollars)} ({each.count:.1f})" for each in (week, hour)),
                         *(f"{model.without_front(each, traffic) / model.without_front(best, traffic):.2f}" for each in (week, hour))])
    return table(["traffic", "requests/s", "best fixed base", "advice from seven days", "advice from an hour", "ratio, seven days", "ratio, an hour"], rows)


def bursts_table(settings):
    rows, model = [], settings(IO)
    for shape in shapes()[:2]:
        for mean in MEANS:
            traffic = shape.scaled(mean)
            base = round(model.best(traffic).count)
            even, bursts = (model.burst(rates, [base] * len(rates.rates)) for rates in (traffic, bursty(traffic)))
            rows.append([traffic.name, f"{mean:,}", dollars(even.dollars), percent(even.above), dollars(bursts.dollars), percent(bursts.above)])
    return table(["traffic", "requests/s", "even within 5 minutes, $", "may wait for a cold start", "with bursts, $", "may wait for a cold start, with bursts"], rows)


def stack():
    """Returns what docker/cloudformation.json runs: the number of dispatchers, their vCPUs and GB, and the workers that they keep with their MB."""
    resources = json.loads(STACK.read_text())
    of = lambda kind: next(each["Properties"] for each in resources["Resources"].values() if each["Type"] == kind)
    parameters = resources["Parameters"]
    count, definition = of("AWS::ECS::Service")["DesiredCount"], of("AWS::ECS::TaskDefinition")
    return count, int(definition["Cpu"]) / 1024, int(definition["Memory"]) / 1024, count * int(parameters["MinWorkers"]["Default"]), int(parameters["WorkerMemory"]["Default"])


def idle_costs(settings):
    """Returns the dollars of what runs without traffic, by name."""
    model = settings(IO)
    count, vcpus, gb, kept, memory = stack()
    balancer, endpoint = MONTH_HOURS * model.prices["balancer"], MONTH_HOURS * ZONES * model.prices["endpoint"]
    worker = settings(replace(IO, memory=memory)).worker(MONTH_SECONDS, 0)
    return {
        "dispatchers": count * model.task(vcpus, gb), "kept": kept * worker, "balancer": balancer, "our endpoints": DISPATCHER_ENDPOINTS * endpoint,
        "stack": count * model.task(vcpus, gb) + kept * worker + balancer, "unkept": count * model.task(vcpus, gb) + balancer, "two tasks": FEWEST_TASKS * model.task(),
        "endpoints": TASK_ENDPOINTS * endpoint, "fargate": FEWEST_TASKS * model.task() + balancer + TASK_ENDPOINTS * endpoint,
        "instances": FEWEST_INSTANCES * MONTH_HOURS * model.prices["instance"] * (1 + model.prices["instance-fee"]),
        "nat": MONTH_HOURS * ZONES * model.prices["nat"]}


def idle_table(settings):
    cost, (count, vcpus, gb, kept, memory) = idle_costs(settings), stack()
    of = lambda name: dollars(cost[name])
    return table(["what", "$", "consists of"], [
        ["**the supplied stack**, with its default parameters", of("stack"), f"{count} dispatchers of {vcpus:g} vCPU and {gb:g} GB ({of('dispatchers')}), "
         f"{kept} kept workers of {memory} MB ({of('kept')}), a load balancer ({of('balancer')})"],
        ["the supplied stack, with no kept worker", of("unkept"), f"{count} dispatchers of {vcpus:g} vCPU and {gb:g} GB ({of('dispatchers')}), a load balancer ({of('balancer')})"],
        ["what each of these also needs, unless the VPC has it", of("our endpoints"), f"endpoints for `lambda`, `ecr.api`, `ecr.dkr` and `logs` in {ZONES} zones; or a NAT gateway in each ({of('nat')})"],
        ["Fargate without Lambda", of("fargate"), f"{FEWEST_TASKS} tasks of {TASK_VCPUS:g} vCPU and {TASK_GB:g} GB ({of('two tasks')}), a load balancer ({of('balancer')}), endpoints without `lambda` ({of('endpoints')})"],
        ["Managed Instances", of("instances"), f"{FEWEST_INSTANCES} instances of m7g.large, which is the default minimum, and the fee"],
        ["plain Lambda, Web Functions", "0", "a function URL costs nothing"],
        ["plain Lambda behind a load balancer", of("balancer"), "a load balancer"]])


def price_table(settings):
    site = lambda price: f"[{price.source.split('/')[2].removeprefix('www.')}]({price.source})"
    rows = [[f"`{name}`", f"{price.dollars:.10f}".rstrip("0"), price.what, site(price), price.dated] for name, price in PRICES.items()]
    return table(["name", "$", "what", "source", "date of the source"], rows)


def logs_of_a_million(model):
    """Returns the dollars for what Lambda logs of a million invocations."""
    return INVOCATION_LOG_BYTES * 1e6 / 1e9 * model.prices["log-gb"]


def summary(settings):
    """Returns the sentences of the page that have figures."""
    model, elb = settings(IO), recorded("elb")
    found = {mean: {name: way(elb.scaled(mean)) for name, way in model.ways().items()} for mean in MEANS}
    ratio = lambda name, mean: found[mean][name].dollars / found[mean]["base of Fargate"].dollars
    steadily = {name: way(steady(400)).dollars for name, way in model.ways().items()}
    autoscaled, careful = found[400]["Fargate autoscaled"], found[400][CAREFUL]
    return "\n".join([
        f"- **Traffic with peaks.** With the traffic of a load balancer whose peak is {elb.ratio():.1f} times the mean, at a mean of 400 requests/s, base and burst "
        f"costs ${dollars(found[400]['base of Fargate'].dollars)}. Containers for the peak cost {ratio('Fargate for the peak', 400):.1f} times as much, plain Lambda "
        f"{ratio('plain Lambda', 400):.1f} times, and Lambda workers without a base {ratio('Lambda workers', 400):.2f} times.",
        f"- **Autoscaled containers** cost {ratio('Fargate autoscaled', 400):.2f} times as much, and {percent(autoscaled.above)} of all requests arrive while they "
        f"would need more than all CPU. To bring this below 1 %, autoscaling must aim at {100 * careful.target:.0f} % CPU instead of {100 * model.deployment.task_cpu:.0f} %, "
        f"and costs ${dollars(careful.dollars)}. With base and burst, {percent(found[400]['base of Fargate'].above)} may wait for a cold start.",
        f"- **Steady traffic.** Fargate costs ${dollars(steadily['Fargate for the peak'])} at 400 requests/s, and base and burst ${dollars(steadily['base of Fargate'])}.",
        f"- **Little traffic.** Below {from_rate(break_even(model, model.workers, model.plain))} requests/s that each wait 200 ms, plain Lambda costs less than Lambda workers, "
        f"and below {from_rate(break_even(model, model.best, model.plain))} less than base and burst.",
        f"- **Logs.** By default, plain Lambda writes about {INVOCATION_LOG_BYTES} bytes (our estimate) for each invocation, which cost ${logs_of_a_million(model):.2f} for a million, "
        "as much as the requests. You can switch this off, so the tables leave it out. They also leave out what your application logs, which is the same everywhere."])


BLOCKS = {"summary": summary, "idle": idle_table, "steady": steady_table, "break-even": break_even_table, "traces": trace_table, "ratios": ratio_table,
          "advice": advice_table, "bursts": bursts_table, "prices": price_table}


def updated(page, settings=Model):
    """Returns the page with current tables. Each stands between two comments."""
    for name, block in BLOCKS.items():
        pattern = re.compile(rf"(<!-- costs\.py: {name} -->\n).*?(<!-- end -->)", re.S)
        if not pattern.search(page):
            raise Wrong(f"{PAGE.name}: expected <!-- costs.py: {name} --> and <!-- end -->, got neither. Put them where the table belongs.")
        page = pattern.sub(lambda match, text=block(settings): match[1] + text + "\n" + match[2], page)
    return page


def show(model, traffic):
    """Prints all ways for one traffic, and the advised base."""
    print(f"{traffic.name}: {traffic.mean():,.4g} requests/s on average, {traffic.peak():,.4g} at the peak ({traffic.ratio():.1f} times the mean)")
    print(f"{model.work.name}, {model.work.memory:,} MB. A task of {TASK_VCPUS:g} vCPU serves {model.unit_rate(TASK_VCPUS):,.3g} requests/s, a worker {model.worker_rate():,.3g}.\n")
    rows = []
    for name, way in model.ways().items():
        cost = way(traffic)
        notes = f"{cost.count:.1f} on average" if cost.count else ""
        if name == CAREFUL and cost.target:
            notes += f"; aims at {100 * cost.target:.0f} % CPU"
        if cost.above:
            notes += f"; {percent(cost.above)} of requests " + ("arrive above its capacity" if name in WITHOUT_US else "may wait for a cold start")
        rows.append([name, dollars(cost.dollars), notes])
    print(table(["way", "$ a month", "tasks, instances or workers"], rows))
    if len(traffic.rates) > 1:
        best = model.best(traffic)
        print(f"\nAdvised base of tasks with {TASK_VCPUS:g} vCPU, and the cost if this advice had always been followed. The best fixed base costs ${dollars(best.dollars)}.\n")
        rows = [[f"the last {name}", str(model.advised_bases(traffic, past)[-1]), dollars(model.advised(traffic, past).dollars)]
                for name, past in (("seven days, changed each hour", WEEK), ("hour, changed each five minutes", HOUR))]
        print(table(["from", "tasks now", "$ a month"], rows))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="writes docs/explanation/cost.md and docs/images/cost.svg")
    parser.add_argument("--trace", metavar="FILE", help="calculates the cost of this traffic")
    parser.add_argument("--period", type=float, metavar="SECONDS", help="time of a line of a trace that has no times")
    parser.add_argument("--mean", type=float, metavar="RATE", help="scales the trace to this mean, in requests/s")
    parser.add_argument("--rate", type=float, help="calculates the cost of steady traffic, in requests/s")
    parser.add_argument("--service-ms", type=float, default=IO.service_ms, help="time that a request takes alone in an environment, in ms (default: %(default)g)")
    parser.add_argument("--cpu-ms", type=float, default=IO.cpu_ms, help="CPU time of a request on a whole vCPU, in ms; part of --service-ms (default: %(default)g)")
    parser.add_argument("--memory", type=int, default=IO.memory, help="memory of an environment in MB (default: %(default)s)")
    parser.add_argument("--price", action="append", default=[], metavar="NAME=DOLLARS", help=f"replaces a price: {', '.join(PRICES)}")
    for name, each in Deployment.__dataclass_fields__.items():
        parser.add_argument("--" + name.replace("_", "-"), type=each.type, default=each.default, help=each.metadata["help"].replace("%", "%%") + " (default: %(default)s)")
    options = parser.parse_args()
    for name in ("period", "mean", "rate", "service_ms", "cpu_ms", "memory", *Deployment.__dataclass_fields__):
        value = getattr(options, name)
        if value is not None and not (value > 0 or value == 0 and name in ("kept_workers", "head_room", "cold_start", "request_kb")):
            raise Wrong(f"--{name.replace('_', '-')}: expected more than 0, got {value:g}.")
    if options.cpu_ms > options.service_ms:
        raise Wrong(f"--cpu-ms: expected at most --service-ms, which is {options.service_ms:g}, got {options.cpu_ms:g}. A request takes at least its CPU time.")
    return options


def prices(given):
    found = {name: price.dollars for name, price in PRICES.items()}
    for text in given:
        name, _, value = text.partition("=")
        if name not in found or not re.fullmatch(r"\d*\.?\d+", value) or not float(value):
            raise Wrong(f"--price: expected NAME=DOLLARS with more than 0, and one of {', '.join(PRICES)}, got \"{text}\".")
        found[name] = float(value)
    return found


def main():
    try:
        options = arguments()
        deployment = Deployment(**{name: getattr(options, name) for name in Deployment.__dataclass_fields__})
        settings = lambda work: Model(work, deployment, prices(options.price))
        model = settings(Work(f"{options.service_ms:g} ms, {options.cpu_ms:g} ms of CPU", options.service_ms, options.cpu_ms, options.memory))
        if options.trace:
            traffic = read_trace(options.trace, options.period)
            show(model, traffic.scaled(options.mean) if options.mean else traffic)
        elif options.rate:
            show(model, steady(options.rate))
        elif options.update:
            import charts  # which needs this module
            PAGE.write_text(updated(PAGE.read_text()))
            (ROOT / "docs/images/cost.svg").write_text(charts.cost())
        else:
            for name, block in BLOCKS.items():
                print(f"## {name}\n\n{block(settings)}\n")
    except (Wrong, OSError) as wrong:
        sys.exit(f"costs.py: {wrong}")


if __name__ == "__main__":
    main()
