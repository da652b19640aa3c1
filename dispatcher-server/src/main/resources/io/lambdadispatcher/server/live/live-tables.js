// The tables, and the strip of workers.
import {byId, bytes, dollars, duration, element, lastHour, latency, number, percent, plural, render, time} from "./live-dom.js";

const ROWS = 100;
const SHORT_ID = 8;
// Fewer workers need no overview.
const STRIP_FROM = 12;

// ---- cells

// A column has a title, what a row shows there, and options: the class of a cell, and whether it is a number. What is undefined in all
// rows has no column.
const text = (title, value, kind) => ({title, value, kind: kind ?? (() => "")});
const figure = (title, value, isBad) => ({title, value, number: true, kind: isBad ? (row) => isBad(row) ? "bad" : "" : () => ""});

function id(value) {
  if (value === undefined) return undefined;
  const short = value.length > 2 * SHORT_ID ? value.slice(0, SHORT_ID) + "…" : value;
  return element("span", {class: "id"}, element("code", {title: value}, short), " ",
    element("button", {type: "button", class: "copy", "data-copy": value, "aria-label": "Copy " + value}, "copy"));
}

function cell(column, row) {
  const value = column.value(row);
  const kind = [column.number ? "number" : "", column.wide ? "wide" : "", column.kind(row)].filter(Boolean).join(" ");
  return element("td", {class: kind || undefined, "data-title": column.title || undefined}, value === undefined ? "–" : value instanceof Node ? value : String(value));
}

function rowOf(columns, row, key, detail) {
  const more = detail?.(row);
  const made = [element("tr", {"data-key": key}, columns.map((column) => cell(column, row)))];
  if (more) made.push(element("tr", {"data-key": key && key + " detail", class: "detail"}, element("td", {colspan: columns.length, class: "wide"}, more)));
  return made;
}

// Draws at most 100 rows. The filter looks at all values.
function table(name, all, columns, {filter, chosen, detail, key, unit = ""} = {}) {
  const count = byId(name + "-count");
  if (!all) {
    count.textContent = "not known";
    return;
  }
  const words = filter ? filter.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
  const fitting = all.filter((each) => {
    const said = words.length ? JSON.stringify(Object.values(each)).toLowerCase() : "";
    return (!chosen || chosen(each)) && words.every((word) => said.includes(word));
  });
  const shown = fitting.slice(0, ROWS);
  const used = columns.filter((column) => shown.some((row) => column.value(row) !== undefined));
  render(byId(name + "-head"), shown.length ? element("tr", {}, used.map((column) => column.title ? element("th", {scope: "col", class: column.number ? "number" : undefined}, column.title) : element("td"))) : null);
  render(byId(name), ...shown.flatMap((row) => rowOf(used, row, key?.(row), detail)));
  const more = fitting.length > ROWS ? `, ${ROWS} shown` : "";
  count.textContent = (fitting.length < all.length || words.length ? `${number(fitting.length)} of ${number(all.length)}` : number(all.length)) + unit + more;
}

// ---- workers

const sick = (worker) => worker.heap > 0.97 || worker.loopLagMillis > 250;

function sickness(worker) {
  const states = {ejected: 50, unready: 40};
  const failing = worker.completed ? worker.failed / worker.completed : 0;
  return (states[worker.state] || 0) + failing * 10 + (worker.loopLagMillis > 250 ? 8 : 0) + (worker.heap > 0.97 ? 8 : 0);
}

const COLOURS = {ejected: "bad", unready: "warn", starting: "warn", ready: "good"};
const kindOf = (worker) => worker.launched === undefined ? undefined : worker.launched ? "launched" : "base";

const WORKERS = [
  text("State", (of) => of.state, (of) => COLOURS[of.state] || "soft"),
  text("Kind", kindOf), text("Worker", (of) => id(of.id)), text("Function", (of) => of.function), text("Version", (of) => of.version), text("Zone", (of) => of.zone),
  figure("Age", (of) => duration(of.ageSeconds)), figure("Time left", (of) => duration(of.secondsToDeadline)),
  figure("Busy", (of) => `${of.busy} of ${of.limit ?? "–"}`), figure("Done", (of) => number(of.completed)), figure("Failed", (of) => number(of.failed), (of) => of.failed),
  figure("CPU", (of) => percent(of.cpu)), figure("Heap", (of) => percent(of.heap), (of) => of.heap > 0.97),
  figure("Lag", (of) => of.loopLagMillis === undefined ? undefined : of.loopLagMillis + " ms", (of) => of.loopLagMillis > 250),
  text("Address", (of) => of.address), text("Log", (of) => of.logStream && id(of.logStream)),
  text("", (of) => of.state === "draining" ? "" : element("button", {type: "button", class: "small", "data-do": "drain", "data-worker": of.id, "data-function": of.function,
    "aria-label": "Drain worker " + of.id}, "Drain")),
];

// Which workers are shown: by state, kind, and whether they look unhealthy.
const CHIPS = [
  ["base", (of) => of.launched === false], ["launched", (of) => of.launched === true], ["ready", (of) => of.state === "ready"], ["starting", (of) => of.state === "starting"],
  ["unready", (of) => of.state === "unready"], ["draining", (of) => of.state === "draining"], ["ejected", (of) => of.state === "ejected"],
  ["full", (of) => of.limit > 0 && of.busy >= of.limit], ["failing", (of) => of.failed > 0], ["short of CPU or heap", sick],
];
const pressed = new Set();

export function onChip(name) {
  if (!pressed.delete(name)) pressed.add(name);
}

function heat(worker) {
  if (worker.state !== "ready") return "cell " + worker.state;
  if (sick(worker) || worker.failed > worker.completed / 10) return "cell sick";
  return "cell busy" + (worker.limit ? Math.min(4, Math.ceil(worker.busy / worker.limit * 4)) : 0);
}

function strip(workers) {
  if (workers.length < STRIP_FROM) return null;
  const counts = CHIPS.map(([name, fits]) => [workers.filter(fits).length, name]).filter(([count]) => count).map((each) => each.join(" "));
  return [element("div", {class: "strip", role: "img", "aria-label": `${workers.length} workers: ${counts.join(", ")}`},
    workers.map((of) => element("span", {class: heat(of), "data-find": of.id, title: `${of.id}: ${of.state}, ${of.busy} of ${of.limit ?? "–"} busy, ${of.failed} failed`}))),
  element("p", {class: "soft", "aria-hidden": "true"}, "Each square is a worker, unhealthy ones first: ", [["busy0", "idle"], ["busy4", "full"], ["starting", "not ready"],
    ["draining", "draining"], ["sick", "failing or slow"], ["ejected", "ejected"]].map(([kind, meaning]) => [element("span", {class: "cell " + kind}), ` ${meaning} `]).flat())];
}

function drawWorkers(all) {
  const workers = all && [...all].sort((a, b) => sickness(b) - sickness(a) || (a.launched ?? 0) - (b.launched ?? 0) || b.busy - a.busy);
  if (workers) {
    render(byId("workers-chips"), ...CHIPS.map(([name, fits]) => [name, workers.filter(fits).length]).filter(([name, count]) => count || pressed.has(name))
      .map(([name, count]) => element("button", {type: "button", class: "small", "data-key": name, "data-chip": name, "aria-pressed": String(pressed.has(name))}, `${name} ${number(count)}`)));
    render(byId("workers-strip"), strip(workers) ?? []);
  }
  table("workers", workers, WORKERS, {filter: byId("workers-filter"), key: (of) => of.id, detail: (of) => of.ejected && "Ejected: " + of.ejected,
    chosen: (of) => CHIPS.every(([name, fits]) => !pressed.has(name) || fits(of))});
}

// ---- requests, failures and launches

const STATES = {queued: "waits for a worker", over_share: "waits: its client has too many open", sent: "worker has it", responding: "responding", tunnel: "tunnel"};
const waits = (request) => request.state === "queued" || request.state === "over_share";

const REQUESTS = [
  figure("Age", (of) => duration(of.ageMillis / 1000)), text("State", (of) => STATES[of.state], (of) => waits(of) ? "warn" : ""), text("Function", (of) => of.function),
  {...text("Request", (of) => `${of.method} ${of.path}`), wide: true}, text("Worker", (of) => id(of.worker)), text("Client", (of) => of.client), text("Protocol", (of) => of.protocol),
  figure("Attempts", (of) => of.attempts), figure("Received", (of) => bytes(of.requestBytes)), figure("Sent", (of) => bytes(of.responseBytes)), figure("Unread", (of) => bytes(of.unreadBytes)),
];

const FAILURES = [
  text("Time", (of) => time(of.time)), text("Reason", (of) => of.reason, () => "bad"), figure("Status", (of) => of.status), text("Function", (of) => of.function),
  {...text("Request", (of) => `${of.method} ${of.path}`), wide: true}, text("Worker", (of) => id(of.worker)), figure("After", (of) => duration(of.millis / 1000)),
];

const LAUNCHES = [
  text("Time", (of) => time(of.time)), text("Outcome", (of) => of.outcome, (of) => of.outcome === "failed" ? "bad" : ""), text("Function", (of) => of.function),
  text("Worker", (of) => id(of.worker)), text("Launched for", (of) => of.reason), figure("Life", (of) => duration(of.seconds)),
];

function drawReasons(failures) {
  const reasons = new Map();
  for (const failure of failures) reasons.set(failure.reason, (reasons.get(failure.reason) || 0) + 1);
  byId("failure-reasons").textContent = [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, count]) => `${reason}: ${count}`).join(", ");
}

// ---- what has changed

const CHANGES = {
  reload: () => "Settings reloaded", command: () => "Command", launch: (n) => plural(n, "worker") + " launched", launch_failed: (n) => plural(n, "launched worker") + " failed",
  worker_ended: (n) => plural(n, "launched worker") + " ended", version: () => "Version", breaker: (n) => "Breaker" + (n > 1 ? ` (${n} changes)` : ""), incident: () => "Incident begins", incident_over: () => "Incident ends",
};
const BAD = ["launch_failed", "incident"];

const CHANGES_AT_FIRST = 8;
let allChanges = false;

export function onAllChanges() {
  allChanges = !allChanges;
}

function drawHistory(changes) {
  byId("history-count").textContent = number(changes.length);
  const more = byId("history-more");
  more.hidden = changes.length <= CHANGES_AT_FIRST;
  more.textContent = allChanges ? "Show only the latest" : `Show all ${number(changes.length)}`;
  render(byId("history"), ...(allChanges ? changes : changes.slice(0, CHANGES_AT_FIRST)).map((of) => element("li", {},
    element("time", {datetime: of.time, class: "soft"}, time(of.time)), " ",
    element("b", {class: BAD.includes(of.kind) ? "bad" : of.kind === "incident_over" ? "good" : ""}, (CHANGES[of.kind] ?? (() => of.kind))(of.count)),
    of.function ? ` of ${of.function}` : "", element("span", {class: "reason"}, (of.count > 1 ? "the latest: " : "") + of.text))));
}

// ---- who and what is heavy

// What has kept workers busy: each second that a request is with a worker counts for its client and its route. Older seconds fade.
const FADE = 0.97;
const heavy = {client: new Map(), route: new Map()};
// Parts of a path that look like an id.
const route = (request) => `${request.method} ${request.path.split("/").slice(0, 4).map((part) => /\d/.test(part) ? ":id" : part).join("/")}`;
const client = (request) => request.tenant ?? request.client?.replace(/:\d+$/, "") ?? "this program";

function weigh(weights, requests, nameOf) {
  for (const each of weights.values()) Object.assign(each, {weight: each.weight * FADE, busy: 0, waiting: 0});
  for (const request of requests) {
    const name = nameOf(request);
    const key = JSON.stringify([request.function, name]);
    if (!weights.has(key)) weights.set(key, {name, function: request.function, weight: 0, busy: 0, waiting: 0});
    const each = weights.get(key);
    if (waits(request)) each.waiting++;
    else if (request.state !== "tunnel") {
      each.busy++;
      each.weight++;
    }
  }
  for (const [key, each] of weights) if (each.weight < 0.05 && !each.waiting) weights.delete(key);
}

// Call it once for each event.
export function observe(requests) {
  weigh(heavy.client, requests, client);
  weigh(heavy.route, requests, route);
}

// Routes whose requests are short are seldom seen in progress, but they are counted.
function counted(kind, functions) {
  const all = new Map(heavy[kind]);
  for (const of of kind === "route" ? functions : []) {
    for (const {name, perSecond, p99, serverErrors} of of.routes ?? []) {
      const key = JSON.stringify([of.name, name]);
      all.set(key, {name, function: of.name, weight: 0, busy: 0, waiting: 0, ...all.get(key), perSecond, p99, serverErrors});
    }
  }
  return [...all.values()];
}

function drawHeavy(kind, state) {
  const {functions} = state;
  const all = counted(kind, functions);
  byId("heavy-hour").textContent = lastHour(state);
  const total = new Map();
  for (const each of all) total.set(each.function, (total.get(each.function) ?? 0) + each.weight);
  const rows = all.map((each) => {
    const spent = functions.find((of) => of.name === each.function)?.dollarsLastHour;
    const share = each.weight / (total.get(each.function) || 1);
    return {...each, share, dollars: spent === undefined ? undefined : spent * share};
  }).sort((a, b) => b.weight - a.weight || b.waiting - a.waiting || (b.perSecond ?? 0) - (a.perSecond ?? 0)).slice(0, 8);
  table(kind, rows, [
    {...text(kind === "client" ? "Client" : "Route", (of) => (functions.length > 1 ? of.function + ": " : "") + of.name), wide: true},
    figure("Rate", (of) => of.perSecond === undefined ? undefined : number(of.perSecond) + "/s"), figure("p99", (of) => of.p99 === undefined ? undefined : latency(of.p99)),
    figure("5xx", (of) => of.serverErrors || undefined, (of) => of.serverErrors),
    figure("Share", (of) => percent(of.share)), figure("Cost", (of) => of.dollars === undefined ? undefined : dollars(of.dollars)),
    figure("Now", (of) => kind === "client" ? of.busy : undefined), figure("Waiting", (of) => of.waiting || undefined, (of) => of.waiting)]);
}

// ---- fleet

const shortId = (value) => value.slice(0, SHORT_ID);
const ofMaximum = (value, maximum) => number(value) + (maximum === undefined ? "" : " of " + number(maximum));

function lease(fleet) {
  const renewed = fleet.leaseAgeMillis === undefined ? "has not renewed its lease yet" : `renewed its lease ${duration(fleet.leaseAgeMillis / 1000)} ago`;
  return fleet.leaseValid
    ? `This dispatcher may launch workers. It ${renewed}.`
    : `This dispatcher launches no workers, because it cannot reach the ledger of the fleet. It ${renewed}. The tables show what it last read.`;
}

function memberState(member, self, leaseValid) {
  if (!member.alive) return [`silent for ${duration(member.silentMillis / 1000)}`, "bad"];
  if (leaseValid) return ["alive", "good"];
  return self ? ["cut off from the ledger", "bad"] : ["was alive", "soft"];
}

function drawFleet(fleet) {
  byId("fleet").hidden = !fleet || fleet.alone;
  if (!fleet || fleet.alone) return;
  const alive = fleet.members.filter((member) => member.alive).length;
  byId("fleet-lease").textContent = lease(fleet);
  byId("fleet-lease").className = fleet.leaseValid ? "good" : "bad";
  const state = (member) => memberState(member, member === fleet.members[0], fleet.leaseValid);
  table("fleet-members", fleet.members, [
    text("State", (of) => state(of)[0], (of) => state(of)[1]), text("Dispatcher", (of) => shortId(of.id) + (of === fleet.members[0] ? " (this one)" : "")),
    text("Zone", (of) => of.zone), text("Version", (of) => of.version),
    text("Streams needed", (of) => Object.entries(of.streamsNeeded).map(([name, needed]) => `${name}: ${number(needed)}`).join(", ") || undefined),
    text("Addresses for workers", (of) => of.addresses.join(", ") || undefined)]);
  table("fleet-functions", fleet.functions, [
    text("Launching", (of) => of.launching ? "on" : "paused by the kill switch", (of) => of.launching ? "good" : "warn"), text("Function", (of) => of.name),
    figure("Workers", (of) => ofMaximum(of.workers, of.workersMax)), figure("Being replaced", (of) => number(of.workersReplaced)), figure("Owned here", (of) => number(of.workersOwned)),
    figure("Reserved here", (of) => number(of.workersReserved)), figure("Launches in the last minute", (of) => ofMaximum(of.launchesInLastMinute, of.launchesPerMinute)),
    figure("GB-seconds in the last hour", (of) => ofMaximum(of.gbSecondsLastHour, of.gbSecondsPerHour)),
    {...text("Limits", (of) => of.conflict ?? "the same everywhere", (of) => of.conflict ? "bad" : ""), wide: true}]);
  byId("fleet-members-count").textContent = fleet.leaseValid ? `${number(alive)} of ${number(fleet.members.length)} alive` : "not known now";
}

export function drawTables(state) {
  drawHistory(state.changes ?? []);
  drawHeavy("client", state);
  drawHeavy("route", state);
  drawFleet(state.fleet);
  drawWorkers(state.workers);
  table("requests", state.requests, REQUESTS, {filter: byId("requests-filter"), unit: state.requests?.length === 200 ? " or more" : ""});
  table("failures", state.failures, FAILURES);
  table("launches", state.launches, LAUNCHES, {key: (of) => of.worker + of.time, detail: (of) => of.detail});
  drawReasons(state.failures);
}
