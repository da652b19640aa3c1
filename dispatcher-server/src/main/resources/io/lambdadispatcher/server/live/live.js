// Draws what /events says.
import {byId, element, render, time} from "./live-dom.js";
import {drawFunctions, onSummary} from "./live-functions.js";
import {drawTables, observe, onAllChanges, onChip} from "./live-tables.js";
import {ask, drawChanges, forgetToken, setToken, token} from "./live-changes.js";

const RETRY_MILLIS = 5000;
let latest = null;
let paused = false;
let described = false;
let listening = null;

function drawAll() {
  // Each is a line of the log, which also says when it ends.
  render(byId("incidents"), ...(latest.incidents ?? []).map(({since, what, cause}) => element("p", {class: "bad"}, `Since ${time(since)}: ${what}: ${cause}`)));
  drawFunctions(latest);
  drawTables(latest);
  drawChanges(latest);
}

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
  if (state.requests) observe(state.requests);
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
  setTimeout(() => own === listening && listen(), RETRY_MILLIS);
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
    latest.started = version.started;
    drawAll();
    byId("version").textContent = `Version ${version.version}, Netty ${version.netty}, Java ${version.java}, ${version.os}, started ${version.started.slice(0, 19)} UTC.`;
    byId("config-hash").textContent = `${config.settings.length}, hash ${config.hash}`;
    render(byId("settings"), ...config.settings.map((setting) => element("tr", {}, element("td", {}, setting.name), element("td", {class: "wide"}, setting.value ?? "–"),
      element("td", {class: setting.source === "default" ? "soft" : ""}, setting.source))));
  } catch {
    described = false;
  }
}

// ---- what people press

// Without a clipboard, as over plain HTTP, the id is selected instead.
async function copy(button) {
  const shown = button.previousElementSibling;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    byId("said").textContent = "Copied " + button.dataset.copy;
  } catch {
    shown.textContent = button.dataset.copy;
    getSelection().selectAllChildren(shown);
  }
}

const PRESSED = {
  copy,
  chip: (button) => onChip(button.dataset.chip),
  more: onAllChanges,
  find: (square) => { byId("workers-filter").value = square.dataset.find; },
  do: (button) => ask(button.dataset.do, button.dataset),
  change: (button) => ask(button.dataset.change),
};

document.addEventListener("click", ({target}) => {
  const summary = target.closest("summary[data-function]");
  if (summary) {
    onSummary(summary);
    setTimeout(() => latest && drawAll()); // The browser opens it after this event, also while the page is paused.
  }
  for (const [name, press] of Object.entries(PRESSED)) {
    const pressed = target.closest(`[data-${name}]`);
    if (pressed) press(pressed);
    if (pressed && latest && name !== "copy") drawAll();
  }
});
byId("pause").addEventListener("click", () => setPaused(!paused));
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(byId("token").value);
  byId("token").value = "";
  // With a token, the dispatcher may show its state, and prefers this viewer to others.
  listening.abort();
  listen();
});
byId("change-function").addEventListener("change", () => latest && drawChanges(latest));
for (const id of ["workers-filter", "requests-filter"]) byId(id).addEventListener("input", () => latest && drawAll());
listen();
