// Elements, and values as text. Text goes into the page only as text, because paths and worker ids come from elsewhere.

const SVG = new Set(["svg", "path", "line", "title"]);

export const byId = (id) => document.getElementById(id);

export function element(name, attributes, ...content) {
  const made = SVG.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== undefined && value !== false) made.setAttribute(key, value);
  made.append(...content.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== ""));
  return made;
}

function patch(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const {name} of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
  for (const {name, value} of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  morph(old, [...next.childNodes]);
}

// Makes the children of an element equal to others. What is equal already stays, so that the focus, an open menu and the place of a
// screen reader stay too. An element with data-key only becomes one with the same key.
function morph(parent, children) {
  const keyed = new Map();
  for (const child of parent.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
  let at = parent.firstChild;
  for (const next of children) {
    const key = next.dataset?.key;
    const old = key ? keyed.get(key) : at;
    keyed.delete(key);
    if (old && old.nodeName === next.nodeName && (key || !old.dataset?.key)) {
      if (old === at) at = at.nextSibling;
      else parent.insertBefore(old, at);
      patch(old, next);
    } else {
      parent.insertBefore(next, at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

export function render(parent, ...children) {
  const focused = document.activeElement;
  morph(parent, [...element("div", {}, ...children).childNodes]);
  // An element that moves loses the focus.
  if (focused !== document.activeElement && focused.isConnected) focused.focus({preventScroll: true});
}

export const number = (value) => value === undefined ? "–" : value.toLocaleString("en", {maximumFractionDigits: 1});
export const percent = (value) => value === undefined ? undefined : Math.round(value * 100) + " %";
export const plural = (count, one, many) => count === 1 ? "1 " + one : number(count) + " " + (many || one + "s");
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + ".";
export const time = (iso) => iso.slice(11, 19);
export const sum = (values) => values.reduce((all, each) => all + each, 0);

export function duration(seconds) {
  if (seconds === undefined) return undefined;
  if (seconds < 60) return (seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)) + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + Math.floor(seconds % 60) + " s";
  return Math.floor(seconds / 3600) + " h " + Math.floor(seconds % 3600 / 60) + " min";
}

export function latency(micros) {
  if (micros === undefined || micros < 0) return "–";
  if (micros < 10_000) return Number((micros / 1000).toPrecision(2)) + " ms";
  return micros < 1e6 ? Math.round(micros / 1000) + " ms" : Number((micros / 1e6).toPrecision(2)) + " s";
}

// The time of what is counted for an hour. A dispatcher can remember what one before it has spent.
export function lastHour({time: now, started, functions}) {
  const isYoung = Date.parse(now) - Date.parse(started) < 3_600_000;
  return isYoung && !functions.some((of) => of.gbSecondsLastHour > of.gbSeconds + 1) ? "since the start" : "in the last hour";
}

export function bytes(value) {
  if (value < 1000) return value + " B";
  if (value < 1e6) return (value / 1e3).toFixed(1) + " KB";
  return (value / 1e6).toFixed(1) + " MB";
}

export function dollars(value) {
  return "$" + (value >= 1 ? value.toFixed(2) : value === 0 ? "0" : Number(value.toPrecision(2)));
}
