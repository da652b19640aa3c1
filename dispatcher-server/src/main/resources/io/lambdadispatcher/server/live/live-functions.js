// The line about everything, and a card with charts for each function.
import {byId, dollars, duration, element, lastHour, latency, number, plural, render, sentence, sum, time} from "./live-dom.js";

const SECONDS = 300;
const RECENT = 60;
// Columns of a second of the history.
const REQUESTS = 0, FAILURES = 1, QUEUED = 2, BUSY = 3, READY = 4, BASE = 5, CLIENT_ERRORS = 6, SERVER_ERRORS = 7;
// Columns of five seconds of latencies.
const QUEUE_P99 = 1, WORKER_P99 = 3, FIRST_BYTE_P50 = 4, FIRST_BYTE_P99 = 5;
// What people have opened or closed, by function.
const opened = new Map();

const column = (of, index) => of.history.map((second) => second[index] ?? 0);
const recent = (of, index, seconds) => sum(column(of, index).slice(-seconds));
const rate = (of, index) => recent(of, index, 5) / Math.max(1, Math.min(5, of.history.length));
const perSecond = (value) => number(value < 10 ? value : Math.round(value)) + "/s";
const latest = (of) => of.latencies?.at(-1) ?? [];
const launched = (of) => (of.workersReady ?? 0) - (of.workersReadyBase ?? 0);

// ---- charts

// The next of 1, 2 and 5 times a power of ten.
function scaleOf(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1e-9)));
  return [1, 2, 5, 10].map((step) => step * power).find((value) => value >= most * 0.999);
}

// A few outliers must not flatten the rest, so they are cut at the upper end.
function usual(values) {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  return 3 * (sorted[Math.floor(sorted.length * 0.95)] ?? 0);
}

// A gap is where nothing was measured.
function path(values, span, scale) {
  let drawing = false;
  return values.map((value, i) => {
    if (value < 0) {
      drawing = false;
      return "";
    }
    const point = `${(SECONDS - (values.length - 1 - i) * span).toFixed(0)} ${(80 - Math.min(1, value / scale) * 78).toFixed(1)}`;
    const command = drawing ? "L" : "M";
    drawing = true;
    // A point without neighbours would not be visible.
    return command + point + (values[i + 1] === undefined || values[i + 1] < 0 ? "h1" : "");
  }).join("");
}

const MARKS = {launch_failed: "bad", incident: "bad", incident_over: "good", launch: "soft", worker_ended: "soft"};

function marks(changes, now) {
  return changes.map((change) => {
    const x = SECONDS - (now - Date.parse(change.time)) / 1000;
    return x < 0 ? null : element("line", {class: "mark " + (MARKS[change.kind] ?? "warn"), x1: x.toFixed(0), x2: x.toFixed(0), y1: 0, y2: 80});
  });
}

// Each series has a name, values, the class of its line, and its value now as text.
function chart(title, series, format, least, span, marked, cutsOutliers) {
  const values = series.flatMap((each) => each.values);
  const highest = Math.max(0, ...values);
  const scale = scaleOf(Math.max(least, cutsOutliers ? Math.min(highest, usual(values)) : highest));
  const said = series.map((each) => `${each.name} now ${each.now}`).join(", ");
  return element("figure", {class: "chart"},
    element("figcaption", {}, element("b", {}, title), " ",
      series.map((each) => element("span", {class: "key " + each.kind}, each.name + " ", element("b", {}, each.now)))),
    element("div", {class: "plot"},
      element("span", {class: "scale"}, format(scale) + (highest > scale * 1.001 ? `, at most ${format(highest)}` : "")), element("span", {class: "scale half"}, format(scale / 2)),
      element("svg", {viewBox: "0 0 301 81", preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${said}. At most ${format(highest)} in 5 minutes.`},
        element("path", {class: "grid", d: "M0 80H301M0 41H301M0 2H301M60 0V80M120 0V80M180 0V80M240 0V80"}),
        marked, series.map((each) => element("path", {class: "series " + each.kind, d: path(each.values, span, scale)})))),
    element("div", {class: "axis", "aria-hidden": "true"}, ["5 min ago", "4", "3", "2", "1", "now"].map((text) => element("span", {}, text))));
}

function charts(of, changes, now) {
  const own = marks(changes.filter((change) => !change.function || change.function === of.name), now);
  const copies = () => own.map((mark) => mark && mark.cloneNode());
  const counts = (name, index, kind, suffix) => ({name, kind, values: column(of, index), now: suffix ? perSecond(rate(of, index)) : number(of.history.at(-1)?.[index] ?? 0)});
  const times = (name, index, kind) => ({name, kind, values: (of.latencies ?? []).map((each) => each[index]), now: latency(latest(of)[index])});
  const ready = counts("launched", READY, "one", "");
  ready.values = ready.values.map((all, i) => all - (of.history[i][BASE] ?? 0));
  ready.now = number(launched(of));
  return element("div", {class: "charts"},
    chart("Latency", [times("first byte p99", FIRST_BYTE_P99, "one"), times("p50", FIRST_BYTE_P50, "one dashed"), times("worker p99", WORKER_P99, "two"),
      times("queue p99", QUEUE_P99, "three")], latency, 1000, 5, copies(), true),
    chart("Requests", [counts("all", REQUESTS, "one", "/s")], number, 10, 1, copies()),
    chart("Errors", [counts("4xx", CLIENT_ERRORS, "two", "/s"), counts("5xx", SERVER_ERRORS, "three", "/s"), counts("failed by the dispatcher", FAILURES, "four", "/s")], number, 5, 1, copies()),
    chart("Concurrency", [{...counts("busy", BUSY, "one", ""), now: `${number((of.streams ?? 0) - (of.streamsFree ?? 0))} of ${number(of.streams)}`}, {...counts("queued", QUEUED, "four", ""), now: number(of.queued)}],
      number, 10, 1, copies()),
    chart("Ready workers", [counts("base", BASE, "two", ""), ready], number, 4, 1, copies()));
}

// ---- lines of a function

function waiting(of) {
  const [, queue, , worker, , whole] = latest(of);
  const split = whole > 0 ? ` Clients get the first byte within ${latency(whole)} (p99); with workers it takes ${latency(worker)}, in the queue ${latency(queue)}.` : "";
  if (!of.queued) return element("p", {class: "good"}, "No request waits for a worker." + split);
  return element("p", {class: of.waitReason === "workers_starting" ? "warn" : "bad"},
    `${of.queued === 1 ? "1 request waits" : number(of.queued) + " requests wait"} for a worker: ${of.waitDetail} (${of.waitReason}).${split}`);
}

function failing(of) {
  const errors = recent(of, SERVER_ERRORS, RECENT), failed = recent(of, FAILURES, RECENT);
  return errors || failed ? element("p", {class: "bad"}, `In the last minute, the function answered ${plural(errors, "request")} with 5xx, and the dispatcher failed ${number(failed)}.`) : null;
}

function unhealthy(of, all) {
  const sick = (all ?? []).filter((worker) => worker.function === of.name && worker.ejected);
  const lines = sick.slice(0, 3).map((worker) => `Worker ${worker.id} is ejected: ${worker.ejected}.`);
  if (sick.length > 3) lines.push(`${number(sick.length - 3)} more are ejected.`);
  return lines.map((line) => element("p", {class: "bad"}, line));
}

function usage(title, workers, busy, streams, more) {
  return element("div", {class: "usage"}, element("b", {}, title), element("span", {}, plural(workers, "worker")),
    element("progress", {max: Math.max(1, streams), value: Math.min(Math.max(0, busy), streams), "aria-label": `${title}: streams in use`}),
    element("span", {}, `${number(Math.max(0, busy))} of ${number(streams)} busy`), element("span", {class: "soft"}, more));
}

function workers(of) {
  if (of.workersDesired === undefined) return null;
  const streams = of.streams ?? 0, busy = streams - (of.streamsFree ?? 0);
  const {base} = of;
  return element("div", {},
    base && usage("Base", base.workers, base.busy, base.concurrency, base.excess > 0 ? `${number(base.excess)} concurrent requests exceed it` : "carries all requests"),
    usage("Launched", launched(of), busy - (base?.busy ?? 0), Math.max(0, streams - (base?.concurrency ?? 0)),
      `${of.workersDesired} desired, ${of.workersStarting} starting, ${of.workersDraining} draining, ${of.workersEjected} ejected, ${plural(of.launchesInLastMinute, "launch", "launches")} in the last minute`));
}

function advised({advisedBase, base}) {
  if (!advisedBase || !(base || advisedBase.concurrency)) return null;
  const each = base ? base.concurrency / base.workers : 0;
  const size = each ? ` (${plural(Math.ceil(advisedBase.concurrency / each), "worker")} of the present size)` : "";
  return element("p", {class: "soft"},
    `Advised base: ${plural(advisedBase.concurrency, "concurrent request")}${size}. With the traffic of the last hours, an hour costs ${dollars(advisedBase.dollarsPerHour)} with it, `
    + `and ${dollars(advisedBase.dollarsPerHourNow)} ${base ? "with the present base" : "without a base"}.`);
}

function scheduled({scheduled: of}) {
  if (!of) return null;
  return element("p", {class: "soft"},
    `Schedule: ${of.minimum ? `at least ${plural(of.minimum, "worker")} now` : "no minimum now"}. Since the start, it has cost ${dollars(of.dollars)} for ${number(of.gbSeconds)} GB-seconds, `
    + `and about ${plural(of.requests, "request")} did not wait for a worker's start.`);
}

function launching(of) {
  if (of.workersDesired === undefined) return element("p", {class: "soft"}, `${number(of.workersReady)} of ${number(of.workersConnected)} connected workers are ready${of.workersEjected ? `, ${of.workersEjected} ejected` : ""}. None is launched here.`);
  if (of.launchesBlocked) return element("p", {class: "warn"}, sentence(of.launchesBlocked));
  return of.waitReason === "max_workers" ? element("p", {class: "warn"}, "No more workers may be launched.") : element("p", {class: "soft"}, "Launching is not limited.");
}

function versions(of) {
  return of.base?.versionDifference ? element("p", {class: "warn"}, sentence(of.base.versionDifference)) : null;
}

function rollout(of) {
  if (!of.rollout) return null;
  const {state, version, newVersion, newVersionReady, percent, reason} = of.rollout;
  if (state === "watching") return element("p", {class: "warn"}, `Version ${version} serves. Version ${newVersion} is watched with ${percent} % of the workers: ${newVersionReady} workers are ready.`);
  if (state === "rolling") return element("p", {class: "warn"}, `Version ${newVersion} replaces version ${version}: ${newVersionReady} workers are ready.`);
  if (state === "stopped") return element("p", {class: "bad"}, `The change to version ${newVersion} has stopped. Version ${version} keeps serving. ${sentence(reason)}`);
  return element("p", {class: "soft"}, `Version ${version}.`);
}

const openBreakers = (of) => (of.breakers ?? []).filter(({passingPercent}) => passingPercent < 100);

function breakers(of) {
  return openBreakers(of).map(({name, passingPercent, reason}) =>
    element("p", {class: passingPercent === 0 ? "bad" : "warn"}, `Breaker ${name} lets ${passingPercent} % of the requests pass: ${reason}.`));
}

function compared(of) {
  const share = of.dollarsIfDirect > 0 ? of.dollars / of.dollarsIfDirect : 0;
  if (share > 0 && share < 0.995) return ` (${Math.round((1 - share) * 100)} % less)`;
  return share >= 2 ? " (few requests so far)" : "";
}

function cost(of, hour) {
  if (of.dollars === undefined) return null;
  return element("p", {class: "soft"},
    `Cost since the start: ${dollars(of.dollars)} for ${number(of.gbSeconds)} GB-seconds of workers`
    + (hour === "since the start" ? ". " : `, of which ${number(of.gbSecondsLastHour)} ${hour}. `)
    + `As direct invocations: ${dollars(of.dollarsIfDirect)}${compared(of)}. Prices of x86 in us-east-1.`);
}

// ---- cards

// What an operator should look at, in one or two words; undefined if the function is calm.
function trouble(of) {
  if (of.queued && of.waitReason !== "workers_starting") return "requests wait";
  if (recent(of, FAILURES, RECENT)) return "requests fail";
  if (recent(of, SERVER_ERRORS, RECENT)) return "5xx";
  if (openBreakers(of).length) return "breaker open";
  if (of.rollout?.state === "stopped") return "version stopped";
  if (of.workersEjected) return "worker ejected";
  if (of.base?.versionDifference) return "versions differ";
  if (of.launchesBlocked) return "launches limited";
  return of.queued ? "workers start" : undefined;
}

function card(of, {changes = [], workers: all, now, hour}, alone) {
  const what = trouble(of);
  const open = opened.get(of.name) ?? (alone || what !== undefined);
  const paused = of.launchesBlocked?.includes("kill switch");
  const staff = of.workersReadyBase ? `base ${of.workersReadyBase} · launched ${launched(of)}` : plural(of.workersReady ?? 0, "worker");
  return element("details", {class: "function", "data-key": of.name, open: open && ""},
    element("summary", {"data-function": of.name}, element("h2", {}, of.name), " ",
      element("span", {class: "pill " + (what ? "bad" : "good")}, what ?? "calm"), " ",
      element("span", {class: "soft"}, [perSecond(rate(of, REQUESTS)), `p50 ${latency(latest(of)[FIRST_BYTE_P50])}`, `p99 ${latency(latest(of)[FIRST_BYTE_P99])}`, staff,
        of.dollarsLastHour === undefined ? null : `${dollars(of.dollarsLastHour)} ${hour}`].filter(Boolean).join(" · "))),
    open ? [waiting(of), failing(of), unhealthy(of, all), breakers(of), rollout(of), versions(of), workers(of), advised(of), scheduled(of), element("div", {class: "line"}, launching(of),
      of.workersDesired === undefined ? null : element("button", {type: "button", class: "small", "data-do": paused ? "launchingOn" : "launchingOff", "data-function": of.name},
        (paused ? "Resume" : "Pause") + " launching")), charts(of, changes, now), cost(of, hour)] : []);
}

function figure(label, value, kind) {
  return element("div", {class: "figure"}, element("dt", {}, label), element("dd", {class: kind}, value));
}

function overall(functions, {changes = [], hour}) {
  const all = (part) => sum(functions.map((of) => part(of) ?? 0));
  const failed = all((of) => recent(of, FAILURES, RECENT)), errors = all((of) => recent(of, SERVER_ERRORS, RECENT)), queued = all((of) => of.queued);
  const slowest = Math.max(-1, ...functions.map((of) => latest(of)[FIRST_BYTE_P99] ?? -1));
  const base = all((of) => of.workersReadyBase), change = changes[0];
  return [
    figure(plural(functions.length, "function"), functions.some(trouble) ? `${functions.filter(trouble).length} in trouble` : "calm", functions.some(trouble) ? "bad" : "good"),
    figure("Requests", perSecond(all((of) => rate(of, REQUESTS)))),
    figure("First byte, p99", latency(slowest)),
    figure("Waiting", number(queued), queued ? "warn" : "good"),
    figure("Failed + 5xx in a minute", `${number(failed)} + ${number(errors)}`, failed + errors ? "bad" : "good"),
    figure("Base + launched", `${number(base)} + ${number(all(launched))}`),
    figure("Lambda, " + hour, dollars(all((of) => of.dollarsLastHour))),
    change && figure("Last change", `${time(change.time)} ${change.kind.replaceAll("_", " ")}`),
  ];
}

export function drawFunctions(state) {
  const {functions} = state, shown = {changes: state.changes, workers: state.workers, now: Date.parse(state.time), hour: lastHour(state)};
  render(byId("overall"), ...overall(functions, shown));
  const sorted = [...functions].sort((a, b) => (trouble(b) !== undefined) - (trouble(a) !== undefined));
  render(byId("functions"), ...sorted.map((of) => card(of, shown, functions.length === 1)));
}

// Enter on a focused summary is a click, too.
export function onSummary(summary) {
  opened.set(summary.dataset.function, !summary.parentElement.open);
}
