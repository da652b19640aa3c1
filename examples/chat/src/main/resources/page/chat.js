"use strict";

const SERVICE_RESTART = 1012;
const LONGEST_WAIT_MILLIS = 15000;
const STABLE_MILLIS = 5000;

const byId = (id) => document.getElementById(id);
let socket = null;
let place = null; // the room's address while we want to be in it
let failures = 0;
let timer = 0; // for the next attempt, or until this one counts as a success

function show(text, isNote) {
  const line = document.createElement("p");
  line.textContent = text; // never as HTML: others wrote it
  line.className = isNote ? "note" : "";
  const log = byId("log");
  log.append(line);
  log.scrollTop = log.scrollHeight;
}

const time = (message) => new Date(message.at).toLocaleTimeString();

const shows = {
  welcome: (message) => {
    byId("log").replaceChildren(); // the history says it all again
    message.said.forEach(shows.said);
    show(`you are in ${message.who}, ${message.guests} in all`, true);
  },
  said: (message) => show(`${time(message)} ${message.who}: ${message.text}`),
  joined: (message) => show(`${message.who} is here`, true),
  left: (message) => show(`${message.who} has left`, true),
  going: (message) => show(message.text, true),
};

function connect() {
  clearTimeout(timer);
  const mine = new WebSocket(place);
  socket = mine;
  mine.onopen = () => {
    timer = setTimeout(() => { failures = 0; }, STABLE_MILLIS);
    byId("text").disabled = false;
    byId("text").focus();
  };
  mine.onmessage = (event) => {
    const message = JSON.parse(event.data);
    (shows[message.kind] || (() => {}))(message);
  };
  mine.onclose = (event) => {
    if (mine === socket) {
      byId("text").disabled = true;
      connectAgain(event);
    }
  };
}

// Immediately when a worker drains, because another one is ready. Otherwise later each time. Random, to spread the load.
function connectAgain(event) {
  clearTimeout(timer);
  const atOnce = event.code === SERVICE_RESTART && failures === 0;
  const longest = atOnce ? 100 : Math.min(LONGEST_WAIT_MILLIS, 500 * 2 ** failures);
  const wait = longest * (0.5 + Math.random() / 2);
  failures++;
  show(`not connected (${event.code}${event.reason ? ": " + event.reason : ""}), again in ${(wait / 1000).toFixed(1)} s`, true);
  timer = setTimeout(connect, wait);
}

byId("enter").onsubmit = (event) => {
  event.preventDefault();
  const address = new URL(`/rooms/${byId("room").value}`, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.searchParams.set("name", byId("name").value);
  place = address.href;
  failures = 0;
  const left = socket;
  socket = null;
  if (left) left.close(1000);
  connect();
};

byId("say").onsubmit = (event) => {
  event.preventDefault();
  const text = byId("text").value;
  if (text && socket && socket.readyState === WebSocket.OPEN) {
    socket.send(text);
    byId("text").value = "";
  }
};
