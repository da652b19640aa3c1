"""Tests of the pure functions of the drivers: python3 -m unittest discover benchmarks/macro"""

import asyncio
import contextlib
import dataclasses
import importlib
import io
import json
import math
import pathlib
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock as mock
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import charts  # noqa: E402
import client  # noqa: E402
import contenders  # noqa: E402
import costs  # noqa: E402
import driver  # noqa: E402
import failures  # noqa: E402
import load  # noqa: E402
import machine  # noqa: E402
import measure  # noqa: E402
import pairs  # noqa: E402
import performance  # noqa: E402
import plots  # noqa: E402
import proxies  # noqa: E402
import residence  # noqa: E402
import scenarios  # noqa: E402
import soak  # noqa: E402
import sweeps  # noqa: E402
from processes import Failure  # noqa: E402


def meta(**more):
    return {"taken": "2026-01-01T10:00:00+00:00", "commit": "0123456789abcdef", "dirty": False, "jdk": "J", "flags": [], "cpu": "C",
            "cores": 2, "kernel": "K", "command": "x.py", "contenders": {}, **more}


def proxy_row(contender, cpu, scenario="ping", **more):
    return {"contender": contender, "scenario": scenario, "cpu_micros": cpu, "cpu_micros_lowest": cpu / 2, "cpu_micros_highest": cpu * 2,
            "user_micros": 1, "system_micros": 1, "core_share": 0.5, "requests_per_second": 1000, "p50_millis": 1, "p99_millis": 2,
            "errors": 0, "rss_mib": 100, "latency": {}, **more}


def constant(p50, reached=True, rate=10):
    millis = {"p50": p50, "p99": 2 * p50, "p99.9": 3 * p50}
    return {"offered_rate": rate, "rate": rate, "errors": 0, "reached": reached, "latency_millis": millis, "uncorrected_millis": millis}


class LoadTest(unittest.TestCase):
    def test_quantile_is_an_element_of_the_list(self):
        ordered = list(range(1, 101))
        self.assertEqual(load.quantile(ordered, 0.5), 51)
        self.assertEqual(load.quantile(ordered, 0.99), 100)
        self.assertEqual(load.quantile([7], 0.99), 7)

    def test_rate_counts_as_reached_within_a_hundredth_and_without_errors(self):
        self.assertTrue(load.reached(constant(5, rate=99.5), 100))
        self.assertFalse(load.reached(constant(5, rate=98), 100))
        self.assertFalse(load.reached({**constant(5, rate=100), "errors": 1}, 100))

    def test_rate_does_not_count_as_reached_when_most_requests_begin_late(self):
        behind = {**constant(500, rate=100), "uncorrected_millis": {"p50": 20}}
        self.assertFalse(load.reached(behind, 100))

    def test_body_is_as_large_as_the_scenario_says(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(load.body_file(load.ECHO, directory).stat().st_size, load.IMAGE_BYTES)
            self.assertIsNone(load.body_file(load.IMAGE, directory))
            self.assertIsNone(load.body_file(load.echo_of(0), directory))


class FailuresTest(unittest.TestCase):
    def answers(self, *bad, seconds=6):
        """Ten requests each second from 100 on, all good except those that begin within one of the spans."""
        starts = [100 + i / 10 for i in range(10 * seconds + 1)]
        return [client.Answer(start, start + 0.05, "lost" if any(first <= start - 100 < last for first, last in bad) else None) for start in starts]

    def test_recovery_is_when_the_last_bad_request_began(self):
        self.assertEqual(failures.recovery(self.answers(), 100), 0)
        self.assertEqual(failures.recovery(self.answers((0.5, 2.25)), 100), 2.2)
        self.assertEqual(failures.recovery(self.answers((0.5, 1), (3, 3.15)), 100), 3.1)
        # What failed before does not count.
        self.assertEqual(failures.recovery(self.answers((0, 2)), 102), 0)

    def test_recovery_needs_good_requests_at_the_end(self):
        self.assertIsNone(failures.recovery(self.answers((4, 9)), 100))

    def test_late_answer_is_no_recovery(self):
        late = [each._replace(ended=each.ended + 2) if each.planned < 101 else each for each in self.answers()]
        self.assertEqual(failures.recovery(late, 100), 0.9)

    def test_connection_that_the_server_has_closed_is_not_used_even_if_the_loop_does_not_know_it(self):
        async def close():
            with socket.create_server(("127.0.0.1", 0)) as server:
                reader, writer = await asyncio.open_connection(*server.getsockname())
                accepted, _ = server.accept()
                before = client.is_closed(reader, writer)
                accepted.close()
                # The loop does not run between these lines.
                after = client.is_closed(reader, writer), reader.at_eof()
                writer.close()
                return before, after

        self.assertEqual(asyncio.run(close()), (False, (True, False)))

    def test_planned_changes_may_lose_nothing_and_others_must_be_told(self):
        row = {"sent": 9, "lost": 1, "losses": ["GET: status 503"], "line": None}
        problems = lambda name, **row: list(failures.Failures.problems({"name": name, **row}))
        self.assertEqual(problems("reload", **row), ["1 of 9 requests were lost, such as GET: status 503"])
        self.assertRegex(problems("kill-worker", **row)[0], "no line matches")
        self.assertEqual(problems("kill-worker", **{**row, "line": "x"}) + problems("reload", **{**row, "lost": 0}), [])
        self.assertEqual(problems("full-disk", skipped="not root"), [])

    def test_alerts_exist_and_each_failure_that_is_not_planned_has_one(self):
        rules = (machine.ROOT / "docs/monitoring/alerts.yaml").read_text()
        for cause in failures.FAILURES.values():
            self.assertEqual(bool(cause.tells), bool(cause.alert), cause.title)
            for alert in filter(None, cause.alert.split(", ")):
                self.assertIn(f"- alert: {alert}\n", rules)

    def test_line_fits_into_a_table(self):
        line = "Incidents: incident begins: workers of function a|b are lost: worker 0f6f2a1c-2d0e-4b42-9a8e-6a3f1f0a7c11 " + 200 * "x"
        self.assertEqual(failures.shortened(line)[:72], "incident begins: workers of function a/b are lost: worker … " + 12 * "x")
        self.assertEqual(len(failures.shortened(line)), 160)


class JvmTest(unittest.TestCase):
    def test_allocated_bytes_of_all_threads(self):
        self.assertEqual(contenders.parse_allocated('"a" cpu=1ms allocated=100B x\n"b" allocated=2K\n"c" allocated=1M'), 100 + 2048 + (1 << 20))

    def test_heap_in_use_by_collector(self):
        serial = (" def new generation   total 76800K, used 1024K [0x1, 0x2, 0x3)\n  eden space 68288K,   2% used [0x1,0x2,0x3)\n"
                  " tenured generation   total 170688K, used 2048K [0x1, 0x2, 0x3)\n   the space 170688K,   0% used [0x1,0x2,0x3)\n"
                  " Metaspace       used 5000K, committed 6000K, reserved 100K\n  class space    used 500K, committed 600K, reserved 100K")
        self.assertEqual(contenders.parse_heap_used(serial), 3)
        self.assertEqual(contenders.parse_heap_used(" garbage-first heap   total 524288K, used 4096K [0x1, 0x2)\n  region size 1024K"), 4)
        self.assertEqual(contenders.parse_heap_used(" ZHeap           used 10M, capacity 512M, max capacity 512M"), 10)

    def test_medians_over_rounds(self):
        sample = lambda cpu: {"cpu_micros": cpu, "user_micros": 1, "system_micros": 1, "core_share": 1, "requests_per_second": cpu,
                              "latency_millis": {"p50": 1, "p99": 1}, "errors": 1}
        found = measure.summary([sample(1), sample(9), sample(2)])
        self.assertEqual((found["cpu_micros"], found["cpu_micros_lowest"], found["cpu_micros_highest"], found["errors"]), (2, 1, 9, 3))
        self.assertNotIn("allocated_bytes", found)


class PairsTest(unittest.TestCase):
    def sample(self, cpu, errors=0):
        return {"cpu_micros": cpu, "errors": errors}

    def test_order_alternates(self):
        order = []
        measured = pairs.alternate(2, lambda: order.append("a") or "a", lambda: order.append("b") or "b")
        self.assertEqual(("".join(order), measured), ("abba", [("a", "b"), ("a", "b")]))

    def test_interval_is_students(self):
        found = pairs.compare([(self.sample(10), self.sample(second)) for second in (9, 10, 11, 10, 10)])
        self.assertAlmostEqual(found["ratio"], 1.0)
        # 2.776 × 0.0707 ÷ √5
        self.assertAlmostEqual(found["ratio_high"] - found["ratio"], 0.0878, places=4)
        self.assertEqual((found["first_cpu_micros"], found["pairs"]), (10, 5))

    def test_interval_of_many_pairs_is_never_too_narrow(self):
        found = pairs.compare([(self.sample(10), self.sample(9 + 2 * (i % 2))) for i in range(14)])
        # 13 degrees of freedom are not in the table, so it takes those of 11.
        self.assertAlmostEqual(found["ratio_high"] - found["ratio"], 2.201 * 0.10377 / 14 ** 0.5, places=4)

    def test_interval_of_several_starts_is_that_of_their_means(self):
        samples = [(self.sample(10), self.sample(second)) for second in (9, 9, 10, 10, 11, 11)]
        found = pairs.compare(samples, starts=3)
        # 4.303 × 0.1 ÷ √3
        self.assertAlmostEqual(found["ratio_high"] - found["ratio"], 0.2484, places=4)
        self.assertEqual((found["starts"], found["pairs"]), (3, 6))

    def test_compilation_is_no_cost_of_a_request(self):
        compiling = {**self.sample(15), "threads": {"jit_micros": 5}}
        found = pairs.compare([(self.sample(10), compiling), (compiling, self.sample(10))])
        self.assertEqual((found["ratio"], found["second_cpu_micros"]), (1.0, 10))

    def test_failed_requests_are_no_measurement(self):
        with self.assertRaises(Failure):
            pairs.compare([(self.sample(10), self.sample(9, errors=1)), (self.sample(10), self.sample(9))])


class MachineTest(unittest.TestCase):
    def test_command_line_is_the_same_wherever_the_results_go(self):
        here = str(machine.ROOT / "benchmarks/macro/soak.py")
        self.assertEqual(machine.command_line([here, "--minutes", "1", "--json", "/tmp/x.json"]), "soak.py --minutes 1")
        self.assertEqual(machine.command_line([here, "--json=/tmp/x.json", "--nice", "5"]), "soak.py --nice 5")

    def test_report_has_one_line_for_each_result(self):
        latency = proxies.latency_summary([proxies.with_added(constant(5), constant(2))] * 5)
        report = {"meta": meta(), "results": [proxy_row("h2→h1", 4, latency=latency) for _ in range(8)], "profiles": []}
        text = machine.small_json(report)
        self.assertEqual(json.loads(text), report)
        self.assertEqual(len(text.splitlines()), 1 + 1 + 1 + 8 + 1 + 1 + 1)

    def test_report_is_json_whatever_it_holds(self):
        report = {"rows": [{"statuses": {200: 3}}, [1]], "none": None, "nothing": [], "empty": {}, "text": 'a "b"\n→', "pair": (1, 2.5), "is": True}
        self.assertEqual(json.loads(machine.small_json(report)), json.loads(json.dumps(report)))

    def test_long_list_of_numbers_stays_on_one_line(self):
        row = {"windows": {"at": list(range(500)), "p50": [0.123] * 500}}
        self.assertEqual(len(machine.small_json({"results": [row]}).splitlines()), 5)


class ResidenceTest(unittest.TestCase):
    @staticmethod
    def packet(source, destination, body):
        return bytes(14) + bytes([0x45]) + bytes(19) + source.to_bytes(2, "big") + destination.to_bytes(2, "big") + body

    def test_time_is_that_between_arrival_and_departure_in_both_directions(self):
        number = b"<000000000042>" * 2
        hops = [(100, 5000, 80), (150, 80, 9000), (400, 9000, 80), (470, 80, 5000)]
        captured = [(at, self.packet(source, to, b"frame" + number)) for at, source, to in hops]
        self.assertEqual(residence.residence_nanos(captured), ([50 + 70], 0))

    def test_body_in_two_packets_arrives_with_the_first_and_leaves_with_the_last(self):
        number = b"<000000000042>"
        split = [(100, 5000, 80, number), (110, 5000, 80, number), (150, 80, 9000, number + b"<0000"), (160, 80, 9000, b"00000042>" + number),
                 (400, 9000, 80, number), (470, 80, 5000, number)]
        captured = [(at, self.packet(source, to, body)) for at, source, to, body in split]
        self.assertEqual(residence.residence_nanos(captured), ([60 + 70], 0))

    def test_request_without_four_packets_is_counted(self):
        captured = [(100, self.packet(5000, 80, b"<000000000001>")), (150, self.packet(80, 9000, b"<000000000001>"))]
        self.assertEqual(residence.residence_nanos(captured), ([], 1))

    def test_packets_of_a_capture_are_read(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1) + struct.pack("<IIII", 7, 5, 3, 3) + b"abc")
            file.flush()
            self.assertEqual(list(residence.packets(file.name)), [(7_000_000_005, b"abc")])

    def test_difference_is_that_of_the_same_round(self):
        rows = [{"contender": name, "rounds": [{"residence_millis": {"p99": value}} for value in values]}
                for name, values in (("nghttpx", (1, 5)), ("dispatcher", (2, 4)))]
        self.assertEqual(residence.added(rows, "p99", "nghttpx"), [1, -1])


class ProxiesTest(unittest.TestCase):
    def test_added_latency_is_that_of_the_same_round(self):
        found = proxies.latency_summary([proxies.with_added(constant(own), constant(direct)) for own, direct in ((5, 2), (70, 60), (6, 1))])
        self.assertEqual(found["latency_millis"], {"p50": 6, "p99": 12, "p99.9": 18})
        self.assertEqual(found["added_millis"], {"p50": 5, "p99": 10, "p99.9": 15})
        self.assertTrue(found["reached"])

    def test_nothing_is_added_where_a_rate_was_not_kept(self):
        kept, missed = constant(5), constant(5, reached=False)
        for own, direct in ((missed, kept), (kept, missed)):
            self.assertNotIn("added_millis", proxies.with_added(own, direct))
        often_missed = proxies.latency_summary([proxies.with_added(kept, kept), proxies.with_added(missed, kept)])
        self.assertNotIn("added_millis", often_missed)
        self.assertFalse(often_missed["reached"])

    def test_nothing_is_added_where_nothing_was_measured_without_a_proxy(self):
        self.assertNotIn("added_millis", proxies.latency_summary([proxies.with_added(constant(2), None)]))

    def test_table_has_ratios_to_those_that_were_measured(self):
        rows = [proxy_row("nghttpx", 4), proxy_row("dispatcher", 6, allocated_bytes=1234)]
        table = proxies.cpu_table("ping", rows, {"nghttpx": "N", "dispatcher": "D"}).splitlines()
        self.assertIn("| D | 1.50 (1.50) | – |", table[3])
        self.assertIn("1,234 B", table[3])
        self.assertEqual(len({line.count("|") for line in table}), 1)

    def test_latency_table_says_where_a_rate_was_not_kept(self):
        rows = [proxy_row("nghttpx", 4, latency=constant(5, reached=False))]
        self.assertIn("no: 10", proxies.latency_table("ping", rows, {"nghttpx": "N"}))


class DriverTest(unittest.TestCase):
    """Nothing is measured: only arguments and the way to the end are tested."""

    def setUp(self):
        for target, name in ((driver.processes, "need"), (soak.os, "nice")):
            replaced = mock.patch.object(target, name)
            replaced.start()
            self.addCleanup(replaced.stop)

    @staticmethod
    def drivers():
        for file in pathlib.Path(driver.__file__).parent.glob("*.py"):
            if "(Driver):" in file.read_text():
                importlib.import_module(file.stem)
        return {each.__module__: each for each in driver.Driver.__subclasses__() if each.__module__ != __name__}

    def test_every_command_line_in_the_documents_is_understood(self):
        drivers = self.drivers()
        files = subprocess.run(["git", "ls-files", "--", "*.md", ".ci", "benchmarks/macro/*.py"], cwd=machine.ROOT, capture_output=True, text=True, check=True)
        lines = [("performance", name, smoked.arguments) for name, smoked in performance.DRIVERS.items()]
        for file in files.stdout.split():
            if pathlib.Path(file).name != "test_macro.py":
                text = (machine.ROOT / file).read_text()
                lines += [(file, *found) for found in re.findall(r"benchmarks/macro/(\w+)\.py((?: +(?:--)?[\w./,=:+@-]+)*?)(?=`|;|$| {2,}| #| \.\.\.|\n)", text, re.M)]
        understood = 0
        for file, name, arguments in lines:
            if name in drivers and "ARGUMENTS" not in arguments:
                with self.subTest(file=file, command=f"{name}.py {arguments}"):
                    drivers[name].parse(shlex.split(arguments) or (["HEAD"] if name == "compare" else []))
                    understood += 1
        self.assertGreater(understood, 40)
        self.assertEqual(len(drivers), 16)

    def test_unknown_names_are_refused(self):
        for program, arguments in ((proxies.Proxies, "--only envoy"), (sweeps.Sweeps, "--only size,colour"), (proxies.Proxies, "--scenarios pong")):
            with self.assertRaises(Failure):
                program.parse(arguments.split())

    def test_quick_run_has_its_own_values(self):
        self.assertEqual((sweeps.Sweeps.parse([]).rounds, sweeps.Sweeps.parse(["--quick"]).rounds), (3, 1))

    def test_stored_results_are_shown(self):
        results = performance.Results(performance.RESULTS)
        for name, program in self.drivers().items():
            report, _ = results.newest(name)
            if report:
                run = object.__new__(program)
                run.profiles, run.file = [], pathlib.Path("results.json")
                with self.subTest(program=name), contextlib.redirect_stdout(io.StringIO()) as shown, mock.patch.object(plots, "draw"):
                    run.show(report)
                    self.assertGreater(len(shown.getvalue()), 100)

    def end(self, failing):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "results.json"

            class Program(driver.Driver):
                tools = ()
                defaults = {"rounds": 3}

                def execute(self):
                    kept.append(self.directory)
                    return [{"row": 1}]

                def failures(self, report):
                    return failing

            kept = []
            with mock.patch.object(sys, "argv", [__file__, "--rounds", "7", "--json", str(file)]), contextlib.redirect_stdout(io.StringIO()), \
                    contextlib.redirect_stderr(io.StringIO()), mock.patch.object(driver.processes, "end_children_with_the_script"):
                try:
                    Program.main()
                    code = 0
                except SystemExit as ended:
                    code = ended.code
            self.addCleanup(shutil.rmtree, kept[0], True)
            return code, json.loads(file.read_text()), kept[0].exists()

    def test_results_are_stored_with_the_conditions_of_the_run(self):
        code, report, kept = self.end([])
        self.assertEqual((code, kept, report["results"], report["meta"]["rounds"]), (0, False, [{"row": 1}], 7))

    def test_a_failed_run_stores_its_results_and_keeps_its_logs(self):
        code, report, kept = self.end(["too slow"])
        self.assertIn("too slow", code)
        self.assertEqual((kept, report["results"]), (True, [{"row": 1}]))

    def test_rows_of_a_table_have_as_many_cells_as_its_head(self):
        self.assertEqual(driver.table("a | b", [[1, "x"]]), "| a | b |\n| --- | --- |\n| 1 | x |")


class SoakTest(unittest.TestCase):
    def result(self, **more):
        total = {"answered": 100, "errors": 0, "rate": 10}
        return {"total": {**total, **more}, "offered_rate": 10, "growth": {"dispatcher_mib": 1.05, "worker_mib": None}}

    def test_growth_is_the_last_third_over_the_second(self):
        self.assertAlmostEqual(soak.growth([1, 1, 10, 10, 12, 12]), 1.2)
        self.assertEqual(soak.growth([1, 100, 10, 10, 10, 10, 10, 10, 10]), 1)
        self.assertIsNone(soak.growth([1, 2]))

    def test_windows_and_memory_are_written_as_columns(self):
        rows = [{"at": 10, "heap_mib": 5, "unused": 1}, {"at": 20}]
        self.assertEqual(soak.columns(rows, ("at", "heap_mib")), {"at": [10, 20], "heap_mib": [5, None]})

    def test_soak_passes(self):
        self.assertEqual(list(soak.failures(self.result(), 0.1)), [])

    def test_soak_fails_by_errors_rate_and_growth(self):
        self.assertIn("1 of 101", next(soak.failures(self.result(errors=1), 0.1)))
        self.assertIn("offered", next(soak.failures(self.result(rate=9), 0.1)))
        self.assertIn("dispatcher_mib", next(soak.failures(self.result(), 0.01)))


class ScenariosTest(unittest.TestCase):
    def test_cost_of_new_connections_is_told_of_pairs_that_were_both_measured(self):
        row = lambda name, dispatch, direct: {"name": name, "dispatch": {"avg_ms": dispatch}, "direct": {"avg_ms": direct}}
        pairs = scenarios.keep_alive([row("put", 8, 10), row("put-afresh", 20, 30), row("put-ten", 70, 80)])
        self.assertEqual(pairs, [{"title": "one put", "published": 3.3, "dispatch": 2.5, "direct": 3}])


class SweepsTest(unittest.TestCase):
    def test_ratios_are_to_the_first_point_of_the_same_request(self):
        row = lambda point, scenario, cpu: {**proxy_row("", cpu, scenario), "sweep": "tls", "point": point, "bytes": 4, "allocated_bytes": 1}
        table = sweeps.rows("tls", [row("plain", "ping", 2), row("plain", "image", 8), row("TLS", "ping", 3), row("TLS", "image", 16)])
        lines = table.splitlines()
        self.assertIn("| TLS | ping | 1.50 |", lines[4])
        self.assertIn("| TLS | image | 2.00 |", lines[5])


class PerformanceTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def put(self, name, rows, **more):
        path = pathlib.Path(self.directory.name) / name
        path.write_text(json.dumps({"meta": meta(**more), "results": rows}))

    def results(self):
        return performance.Results(self.directory.name)

    def test_target_that_was_not_measured_is_neither_met_nor_missed(self):
        table = performance.targets_table(self.results())
        self.assertEqual(table.count("not measured"), len(performance.TARGETS))

    def test_target_is_met_or_not(self):
        self.put("proxies.json", [proxy_row("dispatcher", 5, allocated_bytes=1000), proxy_row("haproxy-h2", 10), proxy_row("nghttpx", 4)])
        table = performance.targets_table(self.results())
        self.assertIn("| CPU per `/ping` ÷ HAProxy h2→h2c | 0.60 | 0.50 | yes |", table)
        self.assertIn("| CPU per `/ping` ÷ nghttpx (goal) | 1.00 | 1.25 | **no** |", table)
        self.assertIn("| bytes allocated in the dispatcher per `/ping` | 1,024 B | 1,000 B | yes |", table)
        self.assertIn("| bytes allocated in the dispatcher per `/ping` (goal) | 200 B | 1,000 B | **no** |", table)

    def test_rows_of_a_table_come_from_one_run_the_newest(self):
        self.put("proxies-old.json", [proxy_row("dispatcher", 5), proxy_row("nghttpx", 4)], taken="2026-01-01T09:00:00+00:00")
        self.put("proxies-new.json", [proxy_row("dispatcher", 3)])
        self.assertEqual(set(self.results().proxy_runs("ping")[0]), {"dispatcher"})

    def test_target_shows_all_runs_of_the_newest_commit(self):
        pair = lambda cpu: [proxy_row("dispatcher", cpu), proxy_row("haproxy-h2", 10)]
        self.put("proxies-old.json", pair(1), taken="2026-01-01T09:00:00+00:00", commit="b" * 40)
        self.put("proxies-1.json", pair(5), taken="2026-01-01T10:00:00+00:00")
        self.put("proxies-2.json", pair(7), taken="2026-01-01T11:00:00+00:00")
        self.assertIn("| CPU per `/ping` ÷ HAProxy h2→h2c | 0.60 | 0.70, 0.50 | **in 1 of 2 runs** |", performance.targets_table(self.results()))

    def test_target_shows_the_newest_runs_of_any_commit(self):
        title = "CPU per `/ping` ÷ HAProxy h2→h2c"
        results = []
        for hour, cpu in enumerate((1, 5, 7, 5, 5, 5)):
            self.put("proxies.json", [proxy_row("dispatcher", cpu), proxy_row("haproxy-h2", 10)], taken=f"2026-01-01T0{hour}:00:00+00:00", commit=f"{hour}" * 40)
            results = self.results()
            performance.remember(results)
            performance.remember(results)
        self.assertIn(f"| {title} | 0.60 | 0.50, 0.50, 0.50, 0.70, 0.50 | **in 4 of 5 runs** |", performance.targets_table(results))
        self.assertIn(f"0 of 1 are met in each of the newest 5 runs. Not met: {title} (met in 4 of 5 runs).", performance.targets_summary(results)[0])
        self.assertEqual([run["commit"][0] for run in results.judged()], ["5", "4", "3", "2", "1"])

    def test_two_event_loops_are_compared_on_the_same_cores(self):
        row = lambda point, cpu: {"sweep": "loops", "point": point, "scenario": "ping", "cpu_micros": cpu}
        self.put("sweeps.json", [row("1 on core 0", 1), row("2 on core 0", 9), row("1 on all cores", 10), row("2 on all cores", 11)])
        self.assertEqual(performance.two_loops("ping", "all cores")(self.results()), [1.1])

    def test_page_has_what_there_is_and_nothing_else(self):
        self.put("proxies.json", [proxy_row("nghttpx", 4)], contenders={"nghttpx": "N"})
        text = performance.page(self.results(), {"proxies"})
        self.assertIn("## Beside other proxies", text)
        self.assertIn("](proxies.png)", text)
        self.assertIn("[proxies.json](proxies.json)", text)
        self.assertNotIn("## Soak", text)
        self.assertNotIn("latency.png", text)

    def test_summary_has_a_line_for_what_was_measured_and_names_missed_targets(self):
        self.put("proxies.json", [proxy_row("dispatcher", 5), proxy_row("haproxy-h2", 4)])
        _, text, _ = performance.summary_section(self.results())
        self.assertEqual(text.splitlines(), [
            "- **Targets:** 0 of 1 are met in each of the newest 5 runs. Not met: CPU per `/ping` ÷ HAProxy h2→h2c (met in no run).",
            "- **A small request:** the CPU time is 1.25 times that of HAProxy h2→h2c."])

    def test_lesson_of_body_sizes_leaves_small_bodies_out(self):
        row = lambda size, cpu: {"bytes": size, "cpu_micros": cpu, "allocated_bytes": 4000}
        text = performance.size_lesson([row(4, 20), row(200_000, 300), row(1_000_000, 1400)])
        self.assertTrue(text.startswith("From 200,000 bytes on, 1 MB costs 1,400 to 1,500 µs of CPU time. The JVM allocates at most 0.02 bytes"), text)

    def test_jmh_ratios_are_to_the_first_of_a_class_with_the_same_parameters(self):
        row = lambda method, size, score: {"benchmark": f"a.b.Codec.{method}", "params": {"size": size}, "score": score, "error": 1.0,
                                           "unit": "ns/op", "allocated_bytes": 10}
        table = performance.jmh_table([row("base64", 1, 10), row("base64", 2, 100), row("raw", 1, 5), row("raw", 2, 10)]).splitlines()
        self.assertIn("| Codec.raw | size 1 | 0.50 | 5.0 | 1.0 (20%) | ns/op | 10 |", table)
        self.assertIn("| Codec.raw | size 2 | 0.10 |", table[5])

    def test_exchanges_of_one_size_stand_in_one_row(self):
        row = lambda size, score, **shape: {"benchmark": "b.ExchangeBenchmark.x", "params": {"bodyBytes": str(size), **shape}, "score": score,
                                            "unit": "ns/op", "allocated_bytes": 1000.0}
        rows = [row(1024, 9000, shape="ALB"), row(4, 5000, shape="ALB"), row(4, 1000), row(9365076, 2000)]
        table = performance.exchange_table(rows).splitlines()[2:]
        self.assertEqual(table, [
            "| 4 | 5.0 (1,000) | – | 1.0 (1,000) | **5.0** |",
            "| 1,024 | 9.0 (1,000) | – | – | – |",
            "| 9,365,076 | – | – | 2.0 (1,000) | – |"])


class StoredResultsTest(unittest.TestCase):
    """The files in docs/performance are small, and are the only source of docs/performance/results.md."""

    def test_stored_results_are_small(self):
        lines = {file.name: len(file.read_text().splitlines()) for file in performance.RESULTS.glob("*.json")}
        self.assertEqual({name: count for name, count in lines.items() if count > 100}, {})
        self.assertLess(sum(lines.values()), 2000)

    def test_page_says_what_the_stored_results_say(self):
        drawn = {kind for kind in plots.SOURCES if (performance.RESULTS / f"{kind}.png").exists()}
        written = performance.page(performance.Results(performance.RESULTS), drawn)
        self.assertMultiLineEqual((performance.ROOT / "docs/performance/results.md").read_text(), written)

    def test_charts_show_what_the_stored_results_say(self):
        for name, drawing in performance.drawings(performance.Results(performance.RESULTS)).items():
            self.assertMultiLineEqual((performance.IMAGES / name).read_text(), drawing)

    @unittest.skipIf(plots.interpreter() is None, "no matplotlib")
    def test_every_plot_of_the_page_can_be_drawn_from_the_stored_results(self):
        with tempfile.TemporaryDirectory() as directory:
            for file in performance.RESULTS.glob("*.json"):
                shutil.copy(file, directory)
            drawn = performance.draw_all(performance.Results(directory))
        self.assertEqual(drawn, {file.stem for file in performance.RESULTS.glob("*.png")})


class ChartsTest(unittest.TestCase):
    def texts(self, drawing):
        return [element.text for element in xml.etree.ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]

    def test_bars_have_their_numbers_and_the_longest_is_the_largest(self):
        drawing = charts.speed([proxy_row("dispatcher", 4.45), proxy_row("nginx", 29.2), proxy_row("direct", 1), proxy_row("nginx", 430, "image")])
        texts = self.texts(drawing)
        self.assertEqual([name in texts for name in ("4.45", "29", "430", "nghttpx")], [True, True, True, False])
        self.assertEqual(drawing.count(f'width="{charts.BARS_WIDTH:.1f}"'), 2)
        self.assertIn(f'width="{charts.BARS_WIDTH * 4.45 / 29.2:.1f}"', drawing)

    def test_lines_end_where_the_most_workers_are(self):
        rows = [workers_row(name, count, cpu) for name, cpu in (("dispatcher", 1), ("nghttpx", 3), ("haproxy-h1", 2)) for count in (1, 10)]
        drawing = charts.workers(rows)
        texts = self.texts(drawing)
        self.assertEqual([text for text in texts if text.endswith("µs with 10")], ["10 µs with 10", "20 µs with 10", "30 µs with 10"])
        self.assertEqual(drawing.count("<polyline"), 3)

    def test_costs_are_those_of_the_model(self):
        drawing, model = charts.cost(), costs.Model(costs.IO)
        expected = [f"${model.ways()[name](traffic).dollars:,.0f}" for traffic, names in (
            (costs.recorded("elb").scaled(400), charts.CHANGING), (costs.steady(400), charts.STEADY)) for name in names]
        self.assertEqual([text for text in self.texts(drawing) if text.startswith("$")], expected)
        self.assertIn("8.1 % of requests arrive above its capacity", self.texts(drawing))
        # Plain Lambda costs the same for both
        self.assertEqual(drawing.count(f'width="{charts.COST_WIDTH:.1f}"'), 2)

    def test_axis_is_logarithmic(self):
        self.assertAlmostEqual(charts.across(10, (1, 1000), 0, 300), 100)
        self.assertAlmostEqual(charts.across(1000, (1, 1000), 50, 0), 0)


def workers_row(contender, count, cpu=4, **more):
    loads = {load: {"cpu_micros": cpu * count} for load in ("maximum", "burst", "even")}
    return {"front": "h2", "contender": contender, "workers": count, **loads, **more}


class WorkersTest(unittest.TestCase):
    def test_lesson_compares_the_most_workers_with_others_and_with_one(self):
        rows = [workers_row("dispatcher", 1), workers_row("dispatcher", 10), workers_row("nghttpx", 1, 1), workers_row("nghttpx", 10, 16)]
        self.assertEqual(
            performance.workers_lesson(rows),
            "With 10 workers, the CPU time of a request is at maximum load 0.25 times that of nghttpx; in bursts 0.25 times that of nghttpx; "
            "at even intervals 0.25 times that of nghttpx. At maximum load it is 10.00 times that with 1 worker(s).")


class CostsTest(unittest.TestCase):
    """Each expected figure was calculated by hand or is calculated here in another way."""

    elb, news = (costs.recorded(name) for name in ("elb", "news"))
    model = costs.Model(costs.IO)

    def test_figures_that_were_calculated_by_hand(self):
        at = costs.steady(1000)
        # 2,628 million requests of 0.1 GB-s
        self.assertEqual(round(self.model.plain(at).dollars), round(2628 * 0.2 + 2628e6 * 0.1 * 0.0000166667))
        # 5 ms of CPU are 17.3 ms at 512 MB: eight use 69 % of it. 182.7 ms + 17.3 ms / 0.44
        self.assertEqual((self.model.streams(), round(self.model.service_beside_others() * 1000)), (8, 222))
        # 1,000/s are 222 streams, 277.5 with headroom, so 35 workers of 8. Each lives for 2,628,000 s and overlaps for 1 %
        self.assertAlmostEqual(self.model.workers(at).dollars - self.model.ours(at), 35 * 0.5 * 2628000 * 1.01 * 0.0000166667, delta=0.1)
        # Two dispatchers for 9.01 each, four endpoints in two zones, a balancer, and 7.2 capacity units for 7.2 GB an hour
        self.assertAlmostEqual(self.model.ours(at), 2 * 9.01 + 8 * 7.30 + 16.43 + 7.2 * 5.84, delta=0.02)
        # 1,000/s need 5 vCPU, so 8.33 vCPU at 60 %: 34 tasks of 0.25
        self.assertEqual(self.model.peak(at).count, 34)
        # A request that only needs CPU gets a worker stream of its own
        cpu = costs.Model(costs.CPU)
        self.assertEqual((cpu.streams(), cpu.service_beside_others()), (1, 0.05))

    def test_dispatchers_carry_the_peak(self):
        # 1,225/s for each of 0.25 vCPU. The peak at 2,000/s is 21,213/s
        self.assertEqual([self.model.dispatchers(self.elb.scaled(mean)) for mean in (50, 400, 2000)], [2, 4, 18])

    def test_simulated_cost_is_that_of_a_spreadsheet_within_a_twentieth(self):
        """For each period: how many whole workers the rest needs. There are no launches, no cold starts, and no lingering."""
        hour_of_gb = 0.0000166667 * 3600 * 1.01
        for trace in (self.elb, self.news):
            for mean, tasks in ((50, 2), (400, 15), (2000, 75)):
                rates = [rate * mean * len(trace.rates) / sum(trace.rates) for rate in trace.rates]
                for base, simulated in ((0, self.model.workers), (tasks, lambda traffic: self.model.burst(traffic, [tasks] * len(rates)))):
                    workers = [math.ceil(max(0, rate - base * 0.25 * 0.6 / 0.005) * 0.2222 * 1.25 / 8) for rate in rates]
                    if not base:
                        workers = [max(2, each) for each in workers]
                    dispatchers = max(2, math.ceil(max(rates) / 1225))
                    fixed = 730 * ((dispatchers + base) * (0.25 * 0.04048 + 0.5 * 0.004445) + 0.0225 + 8 * 0.01 + mean * 2 * 3600 / 1e6 * 0.008)
                    spreadsheet = fixed + sum(workers) / len(workers) * 0.5 * hour_of_gb * 730
                    # Without a base, each of the many changes of `elb` lets more workers linger
                    with self.subTest(trace=trace.name, mean=mean, base=base):
                        self.assertAlmostEqual(simulated(trace.scaled(mean)).dollars / spreadsheet, 1, delta=0.05 if base else 0.08)

    def test_simulation_of_the_controller_knows_what_it_compares_with(self):
        test = costs.ROOT / "dispatcher-core/src/test/java/io/lambdadispatcher/core/internal/capacity/simulate/BurstSimulationTest.java"
        for mean, base, count in ((50, 60, 4032), (400, 450, 288)):
            rates = self.elb.scaled(mean).rates
            first = max(0, min(len(rates) - count, rates.index(max(rates)) - count // 2))
            traffic = costs.bursty(dataclasses.replace(self.elb, rates=rates[first : first + count]))
            seconds, _, _ = self.model.lives(traffic, [max(0, rate - base) for rate in traffic.rates])
            self.assertIn(f'"{mean}, {base}, {count}, {round(seconds)}, ', test.read_text())

    def test_base_for_the_price_of_fargate_costs_more_if_containers_are_cheaper(self):
        """As choose-the-size-of-the-base.md says. A base is paid always, what exceeds it only when it does."""
        fargate = 0.46
        for trace, half, spot in ((self.elb, 1.13, 1.38), (self.news, 1.08, 1.25)):
            rates = sorted(trace.rates)
            for discount, expected in ((0.2, 1.01), (0.5, half), (0.7, spot)):
                price = fargate * (1 - discount)
                dear, best = (
                    price * base + sum(max(0, rate - base) for rate in rates) / len(rates)
                    for base in (rates[int((1 - share) * len(rates))] for share in (fargate, price)))
                with self.subTest(trace=trace.name, discount=discount):
                    self.assertAlmostEqual(dear / best, expected, delta=0.006)

    def test_simulated_workers_are_those_of_a_loop_over_seconds(self):
        traffic, rate = dataclasses.replace(self.elb.scaled(400), rates=self.elb.scaled(400).rates[:288]), self.model.worker_rate()
        needs = [math.ceil(now / rate) for now in traffic.rates for _ in range(60)]  # each 5 s
        running, seconds, starts, history = needs[-1], 0, 0, needs[-12:]
        for needed in needs:
            history = [*history[1:], needed]
            wanted = max(history[-12:])
            starts += max(0, wanted - running)
            running = wanted
            seconds += running * 5
        expected = self.model.worker(seconds + starts * 2.5, starts) * traffic.month()
        # The loop keeps a worker for the step in which it was needed last, and 55 s
        self.assertAlmostEqual(self.model.launched(traffic, traffic.rates).dollars / expected, 1, delta=0.01)

    def test_launches_and_lingering_are_paid_for(self):
        rate = self.model.worker_rate()
        even, stepped = (costs.Traffic("", tuple(rate * each for each in workers), 300) for workers in ([2, 2, 2, 2], [1, 3, 1, 3]))
        found = [self.model.launched(traffic, traffic.rates) for traffic in (even, stepped)]
        self.assertEqual([cost.count for cost in found], [2, 2])
        # Twice, two begin and two linger, because traffic repeats
        seconds = [8 * 300, 8 * 300 + 4 * 2.5 + 4 * 60]
        self.assertAlmostEqual(found[1].dollars / found[0].dollars, seconds[1] / seconds[0], places=3)

    def test_autoscaling_follows_what_the_last_quarter_of_an_hour_needed(self):
        found = self.model.following(costs.Traffic("", (30, 60, 30, 30, 30, 30, 300), 300), 0.25, 1)
        # 1 task at first, then 1, 2, 2, 2, 1 and 1. A task serves 50/s with all its CPU: 10 of 60 and 250 of 300 are too many
        self.assertEqual((found[0], round(found[1], 4)), (10 / 7, round(260 / 510, 4)))

    def test_tasks_of_a_whole_vcpu_cost_what_another_program_calculated(self):
        for trace, mean, peak, dollars, above in ((self.elb, 400, 1297, 221, 0.063), (self.elb, 2000, 6379, 1036, 0.082), (self.news, 400, 3784, 163, 0.008)):
            traffic, task = trace.scaled(mean), 730 * (0.04048 + 2 * 0.004445)
            count, share = self.model.following(traffic, 1, 1)
            self.assertEqual((round(count * task), round(share, 3)), (dollars, above))
            self.assertEqual(round(math.ceil(traffic.peak() / self.model.unit_rate(1)) * task), peak)

    def test_careful_autoscaling_keeps_its_promise_and_no_higher_target_does(self):
        careful = self.model.carefully_autoscaled(self.elb.scaled(400))
        higher = dataclasses.replace(self.model, deployment=costs.Deployment(task_cpu=careful.target + 0.01)).autoscaled(self.elb.scaled(400))
        self.assertLessEqual(careful.above, costs.MOST_ABOVE)
        self.assertGreater(higher.above, costs.MOST_ABOVE)

    def test_best_base_is_the_cheapest_of_all(self):
        traffic = self.elb.scaled(50)
        self.assertEqual(self.model.best(traffic).dollars, min(self.model.burst(traffic, [size] * len(traffic.rates)).dollars for size in range(1, 20)))

    def test_advised_base_costs_at_most_a_tenth_more_than_the_best_fixed_one(self):
        for shape in costs.shapes():
            for mean in costs.MEANS:
                traffic = shape.scaled(mean)
                traffic = dataclasses.replace(traffic, rates=traffic.rates * (14 if len(traffic.rates) == 288 else 1))
                best = self.model.without_front(self.model.best(traffic), traffic)
                for past in (costs.WEEK, costs.HOUR):
                    with self.subTest(traffic=traffic.name, mean=mean, past=past):
                        self.assertLessEqual(self.model.without_front(self.model.advised(traffic, past), traffic), 1.10 * best)

    def test_advice_knows_only_the_past(self):
        traffic = self.elb.scaled(400)
        changed = dataclasses.replace(traffic, rates=traffic.rates[:1000] + tuple(rate * 9 for rate in traffic.rates[1000:]))
        for past in (costs.WEEK, costs.HOUR):
            sizes, others = (self.model.advised_bases(each, past) for each in (traffic, changed))
            self.assertEqual(sizes[:1001], others[:1001])
            self.assertNotEqual(sizes[1001:], others[1001:])

    def test_unit_that_costs_more_than_lambda_is_not_advised(self):
        dear = dataclasses.replace(self.model, prices={**self.model.prices, "fargate-vcpu": 1.0})
        self.assertEqual(set(dear.advised_bases(self.elb.scaled(400))), {costs.FEWEST_BASE})

    def test_shapes_have_their_ratio_and_mean(self):
        for shape, ratio in ((costs.day(2.5), 2.5), (costs.spikes(10), 10), (costs.day(1), 1), (costs.spikes(36), 36)):
            self.assertAlmostEqual(shape.scaled(400).mean(), 400)
            self.assertAlmostEqual(shape.ratio(), ratio, places=2)
        with self.assertRaises(costs.Wrong):
            costs.spikes(37)

    def test_bursts_keep_the_mean_and_the_variance_of_a_second_is_ten_times_it(self):
        even = costs.Traffic("", (400.0,) * 4000, 300)
        bursts = costs.bursty(even)
        variance = sum((rate - 400) ** 2 for rate in bursts.rates) / len(bursts.rates)
        self.assertEqual((len(bursts.rates), bursts.period), (20000, 60))
        self.assertAlmostEqual(bursts.mean() / 400, 1, delta=0.01)
        # Requests of a second vary as a Poisson process does, and as the rate does
        self.assertAlmostEqual((400 + variance) / 400, 10, delta=0.1)

    def test_each_price_has_a_source_and_counts(self):
        def figures(prices):
            settings = lambda work: costs.Model(work, prices=prices)
            traffic = costs.Traffic("", (100, 800, 100), 300)
            return [way(traffic).dollars for way in settings(costs.IO).ways().values()], costs.idle_costs(settings), costs.logs_of_a_million(settings(costs.IO))

        prices = {name: price.dollars for name, price in costs.PRICES.items()}
        self.assertEqual(self.model.prices, prices)
        before = figures(prices)
        for name, price in costs.PRICES.items():
            with self.subTest(price=name):
                self.assertRegex(price.source, r"^https://")
                self.assertTrue(price.dated)
                self.assertNotEqual(figures({**prices, name: price.dollars * 1.5}), before)

    # Documents

    def test_page_says_what_the_program_prints(self):
        page = costs.PAGE.read_text()
        self.assertMultiLineEqual(page, costs.updated(page), "benchmarks/macro/costs.py --update writes the page")

    def test_page_without_a_place_for_a_table_is_refused(self):
        with self.assertRaisesRegex(costs.Wrong, "cost.md: expected <!-- costs.py: summary -->"):
            costs.updated("# Cost\n")

    def test_what_the_page_says_about_losses_is_true(self):
        for shape in costs.shapes():
            for mean in costs.MEANS:
                self.assertLess(self.model.autoscaled(shape.scaled(mean)).dollars, self.model.best(shape.scaled(mean)).dollars)
        for rate in (20, *costs.MEANS):
            found = {name: way(costs.steady(rate)).dollars for name, way in self.model.ways().items() if name in costs.ON_DEMAND}
            self.assertEqual(min(found, key=found.get), "Fargate for the peak")
        for traffic in (costs.steady(200), self.elb.scaled(200)):
            model = costs.Model(costs.CPU)
            self.assertLess(model.plain(traffic).dollars, model.workers(traffic).dollars)
        self.assertIn(f"{100 * self.model.price_share('Fargate'):.0f} % of the time", costs.PAGE.read_text())

    def test_other_documents_have_the_same_figures(self):
        idle = costs.idle_costs(costs.Model)
        idle.update({f"{name} with endpoints": idle[name] + idle["our endpoints"] for name in ("stack", "unkept")})
        idle = {name: round(value) for name, value in idle.items()}
        from_workers, from_base = (costs.from_rate(costs.break_even(self.model, way, self.model.plain)) for way in (self.model.workers, self.model.best))
        long_from = costs.from_rate(costs.break_even(costs.Model(costs.LONG), costs.Model(costs.LONG).workers, costs.Model(costs.LONG).plain))
        expected = {
            "README.md": [f"${idle['stack with endpoints']}, or ${idle['unkept with endpoints']} with no kept worker", f"${idle['fargate']} |",
                          f"include ${idle['our endpoints']} for endpoints, and those of Fargate ${idle['endpoints']}.", f"about ${idle['instances']}",
                          f"${idle['balancer']}", f"more than about {from_base} requests/s"],
            "docs/explanation/alternatives.md": [f"[{from_workers} requests/s](cost.md#steady-traffic)"],
            "docs/performance/README.md": [f"about {from_workers} requests/s on ({long_from} requests/s if it waits 5 s)"]}
        for file, texts in expected.items():
            content = (machine.ROOT / file).read_text()
            self.assertEqual([text for text in texts if text not in content], [], file)

    # Traces

    def read(self, text, period=None):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "trace"
            file.write_text(text)
            try:
                return costs.read_trace(file, period)
            except costs.Wrong as wrong:
                return str(wrong).replace(str(file), "trace")

    def test_all_forms_of_a_trace_are_read(self):
        times = ["2026-11-28T10:00:00+00:00", "2026-11-28T10:05:00Z", "2026-11-28T10:15:00+00:00"]
        forms = {
            "get-metric-data": json.dumps({"MetricDataResults": [{"Id": "m", "Timestamps": times[::-1], "Values": [900, 600.0, 300]}], "Messages": []}),
            "get-metric-statistics": json.dumps({"Label": "RequestCount", "Datapoints": [
                {"Timestamp": times[at], "Sum": value, "Unit": "Count"} for at, value in ((2, 900), (0, 300), (1, 600))]}),
            "times": "time,requests\n" + "".join(f"{at},{value}\n" for at, value in zip(times, (300, 600, 900))),
            "times without names": "2026-11-28 10:00:00,300\n2026-11-28 10:05:00,600\n2026-11-28 10:15:00,900\n",
            "seconds": "seconds,requests\n0,300\n300,600\n900,900"}
        for form, text in forms.items():
            with self.subTest(form=form):
                found = self.read(text)
                # CloudWatch has no data point for a period without requests
                self.assertEqual((found.rates, found.period), ((1, 2, 0, 3), 300))
        self.assertEqual(self.read("requests\n60\n120\n\n", 60).rates, (1, 2))
        self.assertEqual(self.read("60\n120\n", 60).rates, (1, 2))

    def test_wrong_traces_are_refused_with_what_was_expected(self):
        at = "2026-11-28T10:0"
        for text, expected in (
                ("requests\n5\n6\n", "trace: expected lines of \"time,requests\", got lines with one column. Say how long a line is: --period 300."),
                ("", "trace: expected at least two periods, got 0."),
                ("time,requests\nyesterday,5\n", "trace:2: expected a time such as 2026-11-28T10:05:00Z, got \"yesterday\"."),
                ("0,5\n300,-6\n", "trace:2: expected a number of requests, got \"-6\"."),
                ("0,5\n300,nan\n", "trace:2: expected a number of requests, got \"nan\"."),
                ("0,5\n300\n", "trace:2: expected \"time,requests\", got \"300\"."),
                ("0,5\n10,6\n", "trace: expected periods of at least 60 s, got 10."),
                ("0,5\n300,6\n700,6\n", "trace: expected a multiple of 300 s between two times, got 700 s after the first."),
                ("0,5\n0,6\n300,7\n", "trace: expected each time once, got 1970-01-01T00:00:00Z twice."),
                ("0,0\n300,0\n", "trace: expected requests, got 2 periods without any."),
                ("{", "trace: expected JSON, because it begins with a bracket, got an error:"),
                ("[]", "trace: expected MetricDataResults or Datapoints, got neither."),
                ('{"Metrics": []}', "trace: expected MetricDataResults or Datapoints, got Metrics."),
                ('{"MetricDataResults": []}', "trace: expected one entry in MetricDataResults, got 0."),
                ('{"Datapoints": [{"Timestamp": "%s0:00Z", "Average": 1}]}' % at, "trace: expected a Sum in each of Datapoints, got")):
            with self.subTest(text=text):
                self.assertIn(expected, self.read(text))
        self.assertIn("--period: expected 300 s, which is the time between two lines of trace, got 60.", self.read("0,5\n300,6\n", 60))

    def run_main(self, *arguments):
        with mock.patch.object(sys, "argv", ["costs.py", *arguments]), contextlib.redirect_stdout(io.StringIO()) as shown:
            try:
                costs.main()
            except SystemExit as ended:
                return ended.code
        return shown.getvalue()

    def test_wrong_options_are_refused_with_what_was_expected(self):
        self.assertEqual(self.run_main("--rate", "0"), "costs.py: --rate: expected more than 0, got 0.")
        self.assertIn("--cpu-ms: expected at most --service-ms, which is 200, got 300.", self.run_main("--cpu-ms", "300"))
        for price in "lambda=cheap", "lambda=0", "gold=1", "lambda":
            self.assertIn('--price: expected NAME=DOLLARS with more than 0, and one of lambda, lambda-arm, ', self.run_main("--price", price))
        self.assertIn("No such file", self.run_main("--trace", "/nowhere/at/all"))

    def test_own_traffic_and_prices_are_calculated(self):
        trace = ["--trace", str(costs.TRACES / "elb.csv"), "--period", "300"]
        shown = self.run_main(*trace, "--mean", "400")
        self.assertIn(f"| base of Fargate | {self.model.best(self.elb.scaled(400)).dollars:,.0f} | 15.0 on average;", shown)
        self.assertIn("| the last seven days, changed each hour |", shown)
        # 131.4 million requests of 0.1 GB-s, for 10 and 1 millionths of a dollar
        self.assertIn("| plain Lambda | 263 |  |", self.run_main("--rate", "50", "--price", "lambda=0.00001", "--price", "million-requests=1"))
        self.assertIn("elb.csv: 0.2061 requests/s on average", self.run_main(*trace))


class PlotsTest(unittest.TestCase):
    @unittest.skipIf(plots.interpreter() is None, "no matplotlib")
    def test_every_plot_can_be_drawn(self):
        latency = constant(5)
        sweep = [{**proxy_row("", cpu), "point": point, "sweep": "size"} for point, cpu in ((1, 5), (10, 6), (100, 9))]
        windows = {"at": [10, 20], "p50": [1, 1], "p99": [2, 2], "max": [3, 3]}
        memory = {"at": [10, 20], "dispatcher_mib": [1, 1], "worker_mib": [2, 2], "heap_mib": [1, None]}
        proxied = [proxy_row(name, 4, latency=latency) for name in ("direct", "nghttpx", "dispatcher")]
        rows = {
            "proxies": proxied, "latency": proxied, "size": sweep, "concurrency": sweep, "workers": [workers_row(name, count) for name in ("dispatcher", "nghttpx") for count in (1, 10)],
            "jvm": [{**row, "point": "JDK 17"} for row in sweep],
            "soak": [{"offered_rate": 10, "total": {"errors": 0, "answered": 9}, "windows": windows, "memory": memory}]}
        self.assertEqual(set(rows), set(plots.SOURCES))
        with tempfile.TemporaryDirectory() as directory:
            for kind, found in rows.items():
                file = pathlib.Path(directory) / f"{kind}.png"
                self.assertTrue(plots.draw(kind, found, file))
                self.assertTrue(file.read_bytes().startswith(b"\x89PNG"))


if __name__ == "__main__":
    unittest.main()
