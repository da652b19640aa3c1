// The commands: the form that changes this dispatcher, and the buttons where the worker or the function is.
import {byId, element, sentence} from "./live-dom.js";

const TOKEN = "admin-token";
const ALL_WORKERS = "all";

// The token ends with the tab. Nothing else keeps it.
export const token = () => sessionStorage.getItem(TOKEN);

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

export function drawChanges(state) {
  offer(byId("change-function"), state.functions.length ? state.functions.map((of) => [of.name, of.name]) : [["", "none"]]);
  const name = byId("change-function").value;
  const workers = (state.workers || []).filter((worker) => worker.function === name && worker.state !== "draining");
  // The first option is harmless, because it is chosen if a worker has gone.
  offer(byId("change-worker"), [["", "Choose a worker"], [ALL_WORKERS, "All workers"],
    ...workers.map((worker) => [worker.id, worker.id + (worker.version ? ", version " + worker.version : "")])]);
}

// A button in a row names its worker or its function. Otherwise, the form does.
const functionOf = (row) => row.function ?? byId("change-function").value;

function workerChange(row, verb, effect) {
  const worker = row.worker ?? byId("change-worker").value;
  const name = functionOf(row);
  if (!worker) return {missing: byId("change-worker"), problem: "Choose a worker first."};
  const all = worker === ALL_WORKERS;
  return {
    path: "api/workers/" + verb.toLowerCase(),
    query: all ? {function: name} : {worker},
    title: `${verb === "Drain" ? "Drain" : "Replace"} ${all ? "all workers" : "worker " + worker} of function ${name}?`,
    effect,
  };
}

function launchingChange(row, to) {
  const name = functionOf(row);
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
  drain: (row) => workerChange(row, "Drain", "They finish their requests, get no new ones, and exit. Until others are ready, requests may be queued."),
  recycle: (row) => workerChange(row, "Recycle", "A worker drains when its replacement is ready. At most a quarter of the workers is replaced at a time."),
  launchingOff: (row) => launchingChange(row, "off"),
  launchingOn: (row) => launchingChange(row, "on"),
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

// A row is the data of a button in a row.
export function ask(name, row = {}) {
  const change = CHANGES[name](row);
  const problem = token() ? change.problem : "Enter a token first.";
  if (problem) {
    byId("changes").open = true;
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

export function forgetToken() {
  sessionStorage.removeItem(TOKEN);
  showToken();
}

export function setToken(value) {
  sessionStorage.setItem(TOKEN, value);
  showToken();
}

byId("token-forget").addEventListener("click", () => {
  forgetToken();
  byId("token").focus();
});
byId("confirm-no").addEventListener("click", () => byId("confirm").close());
showToken();
