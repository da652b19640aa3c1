#!/usr/bin/env python3
"""Calculates what a month costs: one invocation for each request, workers behind dispatchers, and the same handler without Lambda.

    benchmarks/macro/costs.py                                     prints the figures of docs/explanation/cost.md
    benchmarks/macro/costs.py --rate 300 --service-ms 120 --cpu-ms 8 --memory 1024
    benchmarks/macro/costs.py --dispatchers 1 --lambda-gb-second 0.0000133334
    benchmarks/macro/costs.py --check                             checks the formulas against figures that were calculated by hand

Traffic is steady. Prices are list prices of us-east-1, without free tier and savings plans. What runs without traffic is what docker/cloudformation.json
runs: two dispatchers, a worker for each, interface endpoints, and a load balancer. Fargate alone needs the load balancer and endpoints, too. One invocation
for each request needs neither, because a function URL costs nothing. Not included is what depends on the traffic: the load balancer's capacity units, data
transfer, and logs. Uses only the standard library.
"""
import argparse
import math
from dataclasses import dataclass, replace

MONTH_HOURS = 730
MONTH_SECONDS = MONTH_HOURS * 3600

VCPU_MEGABYTES = 1769  # of a Lambda function that has one vCPU
LIFE_SECONDS = 850  # of a worker whose timeout is 900 s; the spread of ends and early replacement shorten it
OVERLAP = 0.01  # share of a worker's life in which its replacement is also paid for
IDLE_AFTER_SECONDS = 300  # function.idle-timeout
FEWEST_INSTANCES = 3  # default minimum of Lambda Managed Instances
FEWEST_TASKS = 2  # minimum of a plain service, one task in each of two zones
SMALLEST_TASK = 0.25  # vCPU on Fargate
TASK_GB = 2  # of a plain service, for each vCPU
ENDPOINTS = 3  # interface endpoints of a service on Fargate in private subnets: ecr.api, ecr.dkr and logs. A dispatcher also needs lambda


@dataclass(frozen=True)
class Prices:
    """Dollars. docs/explanation/cost.md has the sources."""

    lambda_gb_second: float = 0.0000166667  # x86, first tier; arm64: 0.0000133334
    million_requests: float = 0.20
    fargate_vcpu_hour: float = 0.04048  # Linux on x86
    fargate_gb_hour: float = 0.004445
    endpoint_hour: float = 0.01  # of an interface endpoint in one zone
    load_balancer_hour: float = 0.0225  # Application Load Balancer, without capacity units
    instance_hour: float = 0.0816  # m7g.large
    instance_fee: float = 0.15  # share of the instance price that Lambda Managed Instances add
    instance_vcpus: int = 2


@dataclass(frozen=True)
class Deployment:
    dispatchers: int = 2
    task_vcpus: float = 1
    task_gb: float = 2
    endpoint_zones: int = 2
    kept_workers: int = 1  # function.min-workers, for each dispatcher
    head_room: float = 0.25  # function.target-utilization: 80%
    cpu_target: float = 0.7  # CPU utilisation of a worker whose streams are all busy
    most_streams: int = 100

    def busy_share(self):
        """Returns the share of its CPU that an instance of this size uses."""
        return self.cpu_target / (1 + self.head_room)


@dataclass(frozen=True)
class Work:
    """A kind of request. `cpu_ms` is its CPU time on a whole vCPU, and part of `service_ms`. With less memory, the CPU part takes longer."""

    name: str
    rate: float
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

    def requests(self):
        return self.rate * MONTH_SECONDS


def direct(work, prices):
    gb_seconds = work.requests() * work.service_seconds() * work.gb()
    return gb_seconds * prices.lambda_gb_second + work.requests() / 1e6 * prices.million_requests


def streams(work, deployment):
    """Returns how many streams use the CPU of a worker up to the target."""
    share_of_one = work.cpu_ms / 1000 / work.vcpus() / work.service_seconds()
    return max(1, min(deployment.most_streams, math.floor(deployment.cpu_target / share_of_one)))


def service_beside_others(work, deployment):
    """Returns the seconds of a request on a worker. The CPU is shared, so the CPU part grows by 1 / (1 - utilisation), as in a queue."""
    if streams(work, deployment) == 1:
        return work.service_seconds()
    waiting = work.service_seconds() - work.cpu_seconds()
    return waiting + work.cpu_seconds() / (1 - deployment.busy_share())


def workers(work, deployment):
    """Returns the workers of all dispatchers. It is less than one for each dispatcher if none is kept and there is not always a worker."""
    rate = work.rate / deployment.dispatchers
    load = rate * service_beside_others(work, deployment)
    needed = math.ceil(load * (1 + deployment.head_room) / streams(work, deployment))
    there = 1 - math.exp(-rate * IDLE_AFTER_SECONDS)  # the share of time with a request in the last IDLE_AFTER_SECONDS
    return deployment.dispatchers * max(deployment.kept_workers, there if needed <= 1 else needed)


def front(endpoints, deployment, prices):
    """Returns the cost of the load balancer and of interface endpoints in each zone."""
    return MONTH_HOURS * (prices.load_balancer_hour + endpoints * deployment.endpoint_zones * prices.endpoint_hour)


def task(vcpus, gb, prices):
    return MONTH_HOURS * (vcpus * prices.fargate_vcpu_hour + gb * prices.fargate_gb_hour)


def fixed(deployment, prices):
    """Returns the cost of the dispatchers, and of what they need."""
    return deployment.dispatchers * task(deployment.task_vcpus, deployment.task_gb, prices) + front(ENDPOINTS + 1, deployment, prices)


def kept(count, gb, prices):
    """Returns the cost of workers that always live."""
    launches = count * MONTH_SECONDS / LIFE_SECONDS
    return count * gb * MONTH_SECONDS * (1 + OVERLAP) * prices.lambda_gb_second + launches / 1e6 * prices.million_requests


def dispatch(work, deployment, prices):
    return kept(workers(work, deployment), work.gb(), prices) + fixed(deployment, prices)


def managed_instances(work, deployment, prices):
    busy_vcpus = work.rate * work.cpu_ms / 1000 / deployment.busy_share()
    count = max(FEWEST_INSTANCES, math.ceil(busy_vcpus / prices.instance_vcpus))
    hours = count * MONTH_HOURS * prices.instance_hour * (1 + prices.instance_fee)
    return hours + work.requests() / 1e6 * prices.million_requests


def tasks(work, deployment, prices):
    """Returns the cost of the handler as a Fargate service that serves all requests itself, with tasks as small as the traffic permits."""
    busy_vcpus = work.rate * work.cpu_ms / 1000 / deployment.busy_share()
    vcpus = SMALLEST_TASK * max(FEWEST_TASKS, math.ceil(busy_vcpus / SMALLEST_TASK))
    return task(vcpus, TASK_GB * vcpus, prices) + front(ENDPOINTS, deployment, prices)


def break_even(work, deployment, prices, way=dispatch):
    """Returns the lowest rate from which on a way costs less than direct, in steps of 1 %. None: there is none below 100,000/s."""
    found, rate = None, 100_000.0
    while rate > 0.001:
        at = replace(work, rate=rate)
        if way(at, deployment, prices) > direct(at, prices):
            return found
        found, rate = rate, rate / 1.01
    return found


IO = Work("I/O: 200 ms, 5 ms of CPU", 0, 200, 5)
LIGHT = Work("I/O: 200 ms, 1 ms of CPU", 0, 200, 1)
LONG = Work("long I/O: 5 s, 5 ms of CPU", 0, 5000, 5)
CPU = Work("CPU: 50 ms", 0, 50, 50, 1769)
ROWS = [
    *(replace(IO, rate=rate) for rate in (1, 20, 200, 1000)),
    replace(LIGHT, rate=200),
    *(replace(LONG, rate=rate) for rate in (1, 20)),
    replace(CPU, rate=200),
]


def dollars(value):
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def ratio(value):
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def row(work, deployment, prices):
    a, b = direct(work, prices), dispatch(work, deployment, prices)
    cells = [
        work.name, f"{work.memory:,} MB", f"{work.rate:g}", dollars(a), dollars(b), ratio(b / a),
        f"{round(workers(work, deployment), 1):g} × {streams(work, deployment)}",
        dollars(managed_instances(work, deployment, prices)), dollars(tasks(work, deployment, prices))]
    return "| " + " | ".join(cells) + " |"


def table(rows, deployment, prices):
    print("| work | memory | requests/s | direct, $ | dispatch, $ | ratio | workers × streams | managed instances, $ | Fargate alone, $ |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for work in rows:
        print(row(work, deployment, prices))
    print()
    for work in dict.fromkeys(replace(each, rate=0) for each in rows):
        for count in sorted({1, deployment.dispatchers}):
            at = break_even(work, replace(deployment, dispatchers=count), prices)
            print(f"{work.name}, {work.memory:,} MB, {count} dispatcher(s): dispatch {from_rate(at)}")
        print(f"{work.name}, {work.memory:,} MB: Fargate alone {from_rate(break_even(work, deployment, prices, tasks))}")


def from_rate(rate):
    return "never costs less than direct" if rate is None else f"costs less than direct from {rate:,.2g} requests/s on"


def idle(deployment, prices):
    """Prints what a month costs without traffic."""
    nothing = replace(IO, rate=0)
    parts = [
        (f"{deployment.dispatchers} dispatchers", deployment.dispatchers * task(deployment.task_vcpus, deployment.task_gb, prices)),
        ("load balancer", front(0, deployment, prices)),
        ("endpoints", front(ENDPOINTS + 1, deployment, prices) - front(0, deployment, prices)),
        ("all of these", fixed(deployment, prices)),
        (f"one worker of {IO.memory} MB", kept(1, IO.gb(), prices)),
        (f"all, with {deployment.dispatchers * deployment.kept_workers} such workers", dispatch(nothing, deployment, prices)),
        ("managed instances", managed_instances(nothing, deployment, prices)),
        ("Fargate alone", tasks(nothing, deployment, prices)),
        ("of which are tasks", tasks(nothing, deployment, prices) - front(ENDPOINTS, deployment, prices)),
    ]
    print("\nWithout traffic: " + "; ".join(f"{name}, {dollars(value)}" for name, value in parts))


def check():
    prices, deployment = Prices(), Deployment()
    at = replace(IO, rate=1000)
    # 2,628 million requests of 0.1 GB-s
    assert round(direct(at, prices)) == round(2628 * 0.2 + 2628e6 * 0.1 * 0.0000166667) == 4906
    # 5 ms of CPU are 17.3 ms at 512 MB: eight use 69 % of it
    assert streams(at, deployment) == 8
    # 182.7 ms + 17.3 ms / 0.44; 500/s for each dispatcher: 111 streams, 139 with head room
    assert round(service_beside_others(at, deployment) * 1000) == 222
    assert workers(at, deployment) == 2 * math.ceil(500 * 0.222 * 1.25 / 8) == 36
    # 36.04 for each of two tasks, 58.40 for four endpoints in two zones, 16.43 for the load balancer
    assert round(fixed(deployment, prices), 2) == 146.91
    assert round(dispatch(at, deployment, prices)) == round(36 * 0.5 * MONTH_SECONDS * 1.01 * 0.0000166667 + 0.022 + 146.91)
    # two workers of 22.12 are kept
    assert abs(dispatch(replace(IO, rate=0), deployment, prices) - (146.91 + 2 * 22.12)) < 0.01
    # one request in five minutes: each of two dispatchers has a worker 39 % of the time, if it keeps none
    rare = replace(IO, rate=1 / 300)
    assert round(workers(rare, replace(deployment, kept_workers=0)), 2) == round(2 * (1 - math.exp(-0.5)), 2)
    assert workers(rare, deployment) == 2
    # 0.1 busy vCPU are 0.18: two tasks of 0.25 vCPU and 0.5 GB for 9.01 each, three endpoints for 43.80. 1.79: eight such tasks
    assert abs(tasks(replace(IO, rate=20), deployment, prices) - (18.02 + 43.80 + 16.43)) < 0.01
    assert abs(tasks(replace(IO, rate=200), deployment, prices) - (72.08 + 43.80 + 16.43)) < 0.01
    # a request that only needs CPU gets a worker stream of its own
    assert streams(CPU, deployment) == 1 and service_beside_others(CPU, deployment) == 0.05
    assert break_even(CPU, deployment, prices) is None
    print("The results are those that were calculated by hand.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="checks the formulas, and prints no table")
    parser.add_argument("--rate", type=float, help="calculates one row, for this number of requests/s, instead of the table")
    parser.add_argument("--service-ms", type=float, default=200, help="time that a request takes alone in an environment, in ms (default: %(default)g)")
    parser.add_argument("--cpu-ms", type=float, default=5, help="CPU time of a request on a whole vCPU, in ms; part of --service-ms (default: %(default)g)")
    parser.add_argument("--memory", type=int, default=512, help="memory of an environment in MB (default: %(default)s)")
    for group in (Prices, Deployment):
        for field, default in group.__dataclass_fields__.items():
            parser.add_argument("--" + field.replace("_", "-"), type=default.type, default=default.default, help="default: %(default)s")
    options = parser.parse_args()
    if options.check:
        check()
        return
    for name in ("service_ms", "cpu_ms", "memory", "dispatchers"):
        if getattr(options, name) <= 0:
            parser.error(f"--{name.replace('_', '-')}: expected more than 0, got {getattr(options, name)}")
    prices, deployment = (
        group(**{field: getattr(options, field) for field in group.__dataclass_fields__}) for group in (Prices, Deployment))
    if options.rate is None:
        table(ROWS, deployment, prices)
        idle(deployment, prices)
        return
    if options.rate <= 0:
        parser.error(f"--rate: expected more than 0, got {options.rate}")
    table([Work("your case", options.rate, options.service_ms, options.cpu_ms, options.memory)], deployment, prices)


if __name__ == "__main__":
    main()
