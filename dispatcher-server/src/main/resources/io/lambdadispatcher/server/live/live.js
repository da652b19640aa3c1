"use strict";
// Draws what /events says. Text goes into the page only as text, because paths and worker ids come from elsewhere.

const ROWS = 100;
const byId = (id) => document.getElementById(id);
const RETRY_MILLIS = 5000;
let latest = null;
let paused = false;
let described = false;
let listening = null;
let drawn = "";

function element(name, attributes, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...content.filter((each) => each !== null && each !== undefined));
  return made;
}

const number = (value) => value === undefined ? "–" : value.toLocaleString("en");
const percent = (value) => value === undefined ? "–" : Math.round(value * 100) + " %";

function duration(seconds) {
  if (seconds === undefined) return "–";
  if (seconds < 60) return (seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)) + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + Math.floor(seconds % 60) + " s";
  return Math.floor(seconds / 3600) + " h " + Math.floor(seconds % 3600 / 60) + " min";
}

function bytes(value) {
  if (value < 1000) return value + " B";
  if (value < 1e6) return (value / 1e3).toFixed(1) + " KB";
  return (value / 1e6).toFixed(1) + " MB";
}

function dollars(value) {
  return "$" + (value >= 1 ? value.toFixed(2) : value === 0 ? "0" : value.toPrecision(2));
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + ".";
const time = (iso) => iso.slice(11, 19);

// ---- functions

function chart(label, values, unit) {
  const last = values.length ? values[values.length - 1] : 0;
  const most = Math.max(1, ...values);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 300 36");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${label}: now ${last}, at most ${Math.max(0, ...values)} in ${duration(values.length)}`);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  const start = 300 - values.length;
  line.setAttribute("points", values.map((value, i) => `${start + i},${(34 - value / most * 32).toFixed(1)}`).join(" "));
  svg.append(line);
  return element("div", {class: "chart"}, element("span", {class: "soft"}, label + " "), element("b", {}, number(last) + unit), svg);
}

function waiting(of) {
  if (!of.queued) return element("p", {class: "good"}, "No request waits for a worker.");
  return element("p", {class: of.waitReason === "workers_starting" ? "warn" : "bad"},
    `${of.queued === 1 ? "1 request waits" : number(of.queued) + " requests wait"} for a worker: ${of.waitDetail} (${of.waitReason}).`);
}

function launching(of) {
  if (of.workersDesired === undefined) {
    return element("p", {class: "soft"}, `${of.workersReady} of ${of.workersConnected} connected workers are ready. None is launched here.`);
  }
  const launched = of.workersReady - of.workersReadyBase;
  const ready = of.workersReadyBase ? `base ${of.workersReadyBase} · launched ${launched}` : `${launched} ready`;
  const text = `Workers: ${ready}, ${of.workersDesired} desired, ${of.workersStarting} starting, ${of.workersDraining} draining, `
    + `${of.workersEjected} ejected. ${of.launchesInLastMinute} launches in the last minute. `;
  return of.launchesBlocked
    ? element("p", {class: "warn"}, text + sentence(of.launchesBlocked))
    : element("p", {}, text + "Launching is not limited.");
}

function rollout(of) {
  const change = of.rollout;
  if (!change) return null;
  const {state, version, newVersion, newVersionReady, percent, reason} = change;
  if (state === "watching") return element("p", {class: "warn"}, `Version ${version} serves. Version ${newVersion} is watched with ${percent} % of the workers: ${newVersionReady} workers are ready.`);
  if (state === "rolling") return element("p", {class: "warn"}, `Version ${newVersion} replaces version ${version}: ${newVersionReady} workers are ready.`);
  if (state === "stopped") return element("p", {class: "bad"}, `The change to version ${newVersion} has stopped. Version ${version} keeps serving. ${sentence(reason)}`);
  return element("p", {class: "soft"}, `Version ${version}.`);
}

function breakers(of) {
  return (of.breakers ?? []).filter(({passingPercent}) => passingPercent < 100).map(({name, passingPercent, reason}) =>
    element("p", {class: passingPercent === 0 ? "bad" : "warn"}, `Breaker ${name} lets ${passingPercent} % of the requests pass: ${reason}.`));
}

function cost(of) {
  if (of.dollars === undefined) return null;
  const share = of.dollarsIfDirect > 0 ? ` (${(of.dollars / of.dollarsIfDirect).toFixed(2)} times)` : "";
  return element("p", {class: "soft"},
    `Cost since the start: ${dollars(of.dollars)} for ${number(of.gbSeconds)} GB-seconds of workers, of which ${number(of.gbSecondsLastHour)} in the last hour. `
    + `As direct invocations: ${dollars(of.dollarsIfDirect)}${share}. Prices of x86 in us-east-1.`);
}

// Each is a line of the log, which also says when it ends.
function drawIncidents(incidents) {
  const lines = incidents.map(({since, what, cause}) => `Since ${time(since)}: ${what}: ${cause}`);
  // A screen reader would read unchanged lines again.
  if (lines.join("\n") === drawn) return;
  drawn = lines.join("\n");
  byId("incidents").replaceChildren(...lines.map((line) => element("p", {class: "bad"}, line)));
}

function drawFunctions(functions) {
  byId("functions").replaceChildren(...functions.map((of) => {
    const column = (index) => of.history.map((sample) => sample[index]);
    return element("article", {class: "function", "aria-label": "Function " + of.name},
      element("h3", {}, of.name), waiting(of), launching(of), rollout(of), ...breakers(of),
      element("div", {class: "charts"},
        chart("requests", column(0), "/s"), chart("failures", column(1), "/s"), chart("queued", column(2), ""),
        chart("busy streams", column(3), ` of ${number(of.streams)}`), chart("ready workers", column(4), "")),
      cost(of));
  }));
}

// ---- fleet

const shortId = (id) => id.slice(0, 8);
const ofMaximum = (value, maximum) => number(value) + (maximum === undefined ? "" : " of " + number(maximum));

function lease(fleet) {
  const renewed = fleet.leaseAgeMillis === undefined ? "has not renewed its lease yet" : `renewed its lease ${duration(fleet.leaseAgeMillis / 1000)} ago`;
  return fleet.leaseValid
    ? `This dispatcher may launch workers. It ${renewed}.`
    : `This dispatcher launches no workers, because it cannot reach the ledger of the fleet. It ${renewed}. The tables show what it last read.`;
}

function memberState(member, self, leaseValid) {
  if (!member.alive) return cell(`silent for ${duration(member.silentMillis / 1000)}`, "bad");
  if (leaseValid) return cell("alive", "good");
  return self ? cell("cut off from the ledger", "bad") : cell("was alive", "soft");
}

function memberRow(member, index, leaseValid) {
  const streams = Object.entries(member.streamsNeeded).map(([name, needed]) => `${name}: ${number(needed)}`).join(", ");
  return element("tr", {}, memberState(member, index === 0, leaseValid),
    cell(shortId(member.id) + (index === 0 ? " (this one)" : "")), cell(member.zone), cell(member.version), cell(streams || undefined),
    cell(member.addresses.join(", ") || undefined));
}

function slotsRow(of) {
  return element("tr", {}, of.launching ? cell("on", "good") : cell("paused by the kill switch", "warn"), cell(of.name),
    cell(ofMaximum(of.workers, of.workersMax), "number"), cell(number(of.workersReplaced), "number"),
    cell(number(of.workersOwned), "number"), cell(number(of.workersReserved), "number"),
    cell(ofMaximum(of.launchesInLastMinute, of.launchesPerMinute), "number"),
    cell(ofMaximum(of.gbSecondsLastHour, of.gbSecondsPerHour), "number"),
    of.conflict ? cell(of.conflict, "wide bad") : cell("the same everywhere"));
}

function drawFleet(fleet) {
  byId("fleet").hidden = !fleet || fleet.alone;
  if (!fleet || fleet.alone) return;
  const alive = fleet.members.filter((member) => member.alive).length;
  byId("fleet-count").textContent = fleet.leaseValid ? `${number(alive)} of ${number(fleet.members.length)} alive` : "not known now";
  byId("fleet-lease").textContent = lease(fleet);
  byId("fleet-lease").className = fleet.leaseValid ? "good" : "bad";
  byId("fleet-members").replaceChildren(...fleet.members.map((member, index) => memberRow(member, index, fleet.leaseValid)));
  byId("fleet-functions").replaceChildren(...fleet.functions.map(slotsRow));
}

// ---- tables

function cell(content, kind) {
  return element("td", kind ? {class: kind} : {}, content === undefined || content === null ? "–" : String(content));
}

// Returns the shown rows. The filter looks at all values.
function draw(name, all, filter, row, unit) {
  if (!all) {
    byId(name + "-count").textContent = "not known";
    return;
  }
  const words = filter ? filter.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
  const fitting = words.length ? all.filter((each) => {
    const text = JSON.stringify(Object.values(each)).toLowerCase();
    return words.every((word) => text.includes(word));
  }) : all;
  byId(name).replaceChildren(...fitting.slice(0, ROWS).map(row));
  const more = fitting.length > ROWS ? `, ${ROWS} shown` : "";
  byId(name + "-count").textContent = (words.length ? `${number(fitting.length)} of ${number(all.length)}` : number(all.length)) + unit + more;
}

function sickness(worker) {
  const states = {ejected: 50, unready: 40};
  const failing = worker.completed ? worker.failed / worker.completed : 0;
  return (states[worker.state] || 0) + failing * 10 + (worker.loopLagMillis > 250 ? 8 : 0) + (worker.heap > 0.97 ? 8 : 0);
}

function workerRow(worker) {
  const colour = {ejected: "bad", unready: "warn", starting: "warn", ready: "good"}[worker.state] || "soft";
  const state = cell(worker.ejected ? `ejected: ${worker.ejected}` : worker.state, colour);
  return element("tr", {}, state, cell(worker.id), cell(worker.function), cell(worker.version), cell(worker.zone),
    cell(duration(worker.ageSeconds), "number"), cell(duration(worker.secondsToDeadline), "number"),
    cell(`${worker.busy} of ${worker.limit}`, "number"), cell(number(worker.completed), "number"),
    cell(number(worker.failed), worker.failed ? "number bad" : "number"),
    cell(percent(worker.cpu), "number"), cell(percent(worker.heap), worker.heap > 0.97 ? "number bad" : "number"),
    cell(worker.loopLagMillis === undefined ? "–" : worker.loopLagMillis + " ms", worker.loopLagMillis > 250 ? "number bad" : "number"),
    cell(worker.address), cell(worker.logStream));
}

const STATES = {queued: "waits for a worker", over_share: "waits: its client has too many open", sent: "worker has it", responding: "responding", tunnel: "tunnel"};

function requestRow(request) {
  const waits = request.state === "queued" || request.state === "over_share";
  return element("tr", {}, cell(duration(request.ageMillis / 1000), "number"), cell(STATES[request.state], waits ? "warn" : ""),
    cell(request.function), cell(`${request.method} ${request.path}`, "wide"), cell(request.worker), cell(request.client),
    cell(request.protocol), cell(request.attempts, "number"), cell(bytes(request.requestBytes), "number"),
    cell(bytes(request.responseBytes), "number"), cell(bytes(request.unreadBytes), "number"));
}

function failureRow(failure) {
  return element("tr", {}, cell(time(failure.time)), cell(failure.reason, "bad"), cell(failure.status, "number"), cell(failure.function),
    cell(`${failure.method} ${failure.path}`, "wide"), cell(failure.worker), cell(duration(failure.millis / 1000), "number"));
}

function launchRow(launch) {
  return element("tr", {}, cell(time(launch.time)), cell(launch.outcome, launch.outcome === "failed" ? "bad" : ""), cell(launch.function),
    cell(launch.worker), cell(duration(launch.seconds), "number"), cell(launch.detail, "wide"));
}

function drawReasons(failures) {
  const reasons = new Map();
  for (const failure of failures) reasons.set(failure.reason, (reasons.get(failure.reason) || 0) + 1);
  byId("failure-reasons").textContent = [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, count]) => `${reason}: ${count}`).join(", ");
}

function drawAll() {
  drawIncidents(latest.incidents);
  drawFunctions(latest.functions);
  drawFleet(latest.fleet);
  drawChanges();
  const workers = latest.workers && [...latest.workers].sort((a, b) => sickness(b) - sickness(a) || b.busy - a.busy);
  draw("workers", workers, byId("workers-filter"), workerRow, "");
  draw("requests", latest.requests, byId("requests-filter"), requestRow, latest.requests?.length === 200 ? " or more" : "");
  draw("failures", latest.failures, null, failureRow, "");
  draw("launches", latest.launches, null, launchRow, "");
  drawReasons(latest.failures);
}

// ---- changes

const TOKEN = "admin-token";
const ALL_WORKERS = "all";

// The token ends with the tab. Nothing else keeps it.
const token = () => sessionStorage.getItem(TOKEN);

function showToken() {
  byId("token-state").textContent = token() ? "There is a token." : "There is no token.";
  byId("token-forget").disabled = !token();
}

// Replaces the options only if they have changed, so that a choice is kept. What is gone is no longer chosen.
function offer(select, options) {
  const before = select.value;
  if (JSON.stringify([...select.options].map((each) => [each.value, each.text])) === JSON.stringify(options)) return;
  select.replaceChildren(...options.map(([value, text]) => element("option", {value}, text)));
  select.value = options.some(([value]) => value === before) ? before : options[0][0];
}

function drawChanges() {
  offer(byId("change-function"), latest.functions.length ? latest.functions.map((of) => [of.name, of.name]) : [["", "none"]]);
  const name = byId("change-function").value;
  const workers = (latest.workers || []).filter((worker) => worker.function === name && worker.state !== "draining");
  // The first option is harmless, because it is chosen if a worker has gone.
  offer(byId("change-worker"), [["", "Choose a worker"], [ALL_WORKERS, "All workers"],
    ...workers.map((worker) => [worker.id, worker.id + (worker.version ? ", version " + worker.version : "")])]);
}

function workerChange(verb, effect) {
  const worker = byId("change-worker");
  const name = byId("change-function").value;
  if (!worker.value) return {missing: worker, problem: "Choose a worker first."};
  const all = worker.value === ALL_WORKERS;
  return {
    path: "api/workers/" + verb.toLowerCase(),
    query: all ? {function: name} : {worker: worker.value},
    title: `${verb === "Drain" ? "Drain" : "Replace"} ${all ? "all workers" : "worker " + worker.value} of function ${name}?`,
    effect,
  };
}

function launchingChange(to) {
  const name = byId("change-function").value;
  return {
    path: "launching",
    query: {to, function: name},
    title: `${to === "on" ? "Resume" : "Pause"} launching of workers of function ${name}?`,
    effect: to === "on" ? "Workers are launched as the traffic needs them." : "Workers that run keep serving, but none is launched, also not to replace another one.",
  };
}

function rolloutChange(to) {
  const name = byId("change-function").value;
  return {
    path: "api/rollout",
    query: {to, function: name},
    title: `${to === "stop" ? "Stop" : "Resume"} the change of function ${name} to another version?`,
    effect: to === "stop" ? "The old version keeps serving, and workers of the new one are replaced." : "A few workers get the new version again.",
  };
}

const CHANGES = {
  drain: () => workerChange("Drain", "They finish their requests, get no new ones, and exit. Until others are ready, requests may be queued."),
  recycle: () => workerChange("Recycle", "A worker drains when its replacement is ready. At most a quarter of the workers is replaced at a time."),
  launchingOff: () => launchingChange("off"),
  launchingOn: () => launchingChange("on"),
  rolloutStop: () => rolloutChange("stop"),
  rolloutResume: () => rolloutChange("resume"),
  weight: () => {
    const weight = byId("change-weight");
    const name = byId("change-function").value;
    if (!weight.checkValidity()) return {missing: weight, problem: "Enter a whole number from 0 to 10000."};
    return {
      path: "api/weights", query: {[name]: weight.value}, title: `Set the weight of function ${name} to ${weight.value}?`,
      effect: "Functions with the same route share its requests by their weights.",
    };
  },
  level: () => ({
    path: "api/log-level", query: {to: byId("change-level").value}, title: `Set the log level to ${byId("change-level").value}?`,
    effect: "It holds until a restart, or until log.level in the settings file changes.",
  }),
};

const OUTCOMES = {done: "accepted", drains_already: "drains already", not_connected: "is not connected", not_launched_here: "was not launched here"};

// Screen readers announce the text.
function result(text, kind) {
  byId("change-result").textContent = text;
  byId("change-result").className = kind;
}

function outcome(text) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    return text.trim();
  }
  if (!answer.workers) return "The change is accepted.";
  return answer.workers.length ? answer.workers.map((each) => `Worker ${each.id}: ${OUTCOMES[each.outcome]}.`).join(" ") : "The function has no workers.";
}

async function send(change) {
  result("Sending …", "");
  try {
    const answer = await fetch(change.path + "?" + new URLSearchParams(change.query), {method: "POST", headers: {authorization: "Bearer " + token()}});
    const text = await answer.text();
    if (answer.status === 401) forgetToken();
    result(answer.ok ? outcome(text) : sentence(text.trim().replace(/\.$/, "")), answer.ok ? "good" : "bad");
  } catch {
    result("The dispatcher does not answer. Nothing says whether the change was made.", "bad");
  }
}

function ask(name) {
  const change = CHANGES[name]();
  const problem = token() ? change.problem : "Enter a token first.";
  if (problem) {
    result(problem, "bad");
    (token() ? change.missing : byId("token")).focus();
    return;
  }
  byId("confirm-title").textContent = change.title;
  byId("confirm-text").textContent = change.effect;
  byId("confirm-yes").textContent = change.title.split(" ")[0];
  byId("confirm-yes").onclick = () => {
    byId("confirm").close();
    send(change);
  };
  // The browser moves the focus into the dialog, keeps it there, closes it on Escape, and returns the focus to the button.
  byId("confirm").showModal();
}

function forgetToken() {
  sessionStorage.removeItem(TOKEN);
  showToken();
}

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, byId("token").value);
  byId("token").value = "";
  showToken();
  // With a token, the dispatcher may show its state, and prefers this viewer to others.
  listening.abort();
  listen();
});
byId("token-forget").addEventListener("click", () => {
  forgetToken();
  byId("token").focus();
});
byId("confirm-no").addEventListener("click", () => byId("confirm").close());
byId("change-function").addEventListener("change", () => latest && drawChanges());
for (const button of document.querySelectorAll("[data-change]")) button.addEventListener("click", () => ask(button.dataset.change));
showToken();

// ---- connection

// Screen readers announce each change of the text.
function say(text, kind) {
  const line = byId("connection");
  if (line.textContent !== text) line.textContent = text;
  line.className = kind || "";
}

function setPaused(value) {
  paused = value;
  byId("pause").textContent = value ? "Continue" : "Pause";
  if (value) say("Paused", "warn");
}

function show(data) {
  if (paused) {
    say("Paused", "warn");
    return;
  }
  const {problem, ...state} = JSON.parse(data);
  // What is not known now stays as it was.
  latest = {...latest, ...state};
  drawAll();
  byId("time").textContent = time(latest.time) + " UTC";
  if (problem) say(problem, "bad");
  else say("Live");
  if (!described) describe();
}

// A token is only needed if the dispatcher requires one to read.
const authorization = () => token() ? {authorization: "Bearer " + token()} : {};

// Reads server-sent events: an EventSource cannot send a token.
async function listen() {
  const own = new AbortController();
  listening = own;
  try {
    const answer = await fetch("events", {headers: authorization(), signal: own.signal});
    if (answer.ok) {
      // This may be another process than before.
      described = false;
      await follow(answer.body.pipeThrough(new TextDecoderStream()).getReader());
      say("The dispatcher does not answer. Trying again …", "bad");
    } else if (answer.status === 401) {
      if (token()) forgetToken();
      byId("changes").open = true;
      say("This dispatcher shows its state only to those who have a token. Enter it below.", "bad");
      return;
    } else {
      say("The dispatcher refuses this viewer, for example because it has too many. Trying again …", "bad");
    }
  } catch {
    say("The dispatcher does not answer. Trying again …", "bad");
  }
  if (!own.signal.aborted) setTimeout(listen, RETRY_MILLIS);
}

async function follow(reader) {
  let text = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.slice(event.indexOf("data: ") + "data: ".length);
      if (event.startsWith("event: problem")) say(data, "bad");
      else show(data);
    }
  }
}

async function json(path) {
  const answer = await fetch(path, {headers: authorization()});
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

// If it fails, the next event tries again.
async function describe() {
  described = true;
  try {
    const version = await json("api/version");
    const config = await json("api/config");
    byId("version").textContent = `Version ${version.version}, Netty ${version.netty}, Java ${version.java}, ${version.os}, started ${version.started.slice(0, 19)} UTC.`;
    byId("config-hash").textContent = `${config.settings.length}, hash ${config.hash}`;
    byId("settings").replaceChildren(...config.settings.map((setting) => element("tr", {},
      cell(setting.name), cell(setting.value, "wide"), cell(setting.source, setting.source === "default" ? "soft" : ""))));
  } catch {
    described = false;
  }
}

byId("pause").addEventListener("click", () => setPaused(!paused));
for (const id of ["workers-filter", "requests-filter"]) byId(id).addEventListener("input", () => latest && drawAll());
listen();
