// The page: repeatedly shows the contents and the state of the service.

import { getToKnow } from "./ask.js";
import { timeLine } from "./charts.js";
import { redrawClasses, refreshClasses } from "./classes.js";
import { showFirstSteps } from "./first.js";
import { onRenewed, renewalIs } from "./renew.js";
import { collectionIs, searchAgain } from "./search.js";
import { get, onTokenNeeded, Unreachable } from "./server.js";
import { precisionOf, renewalsOf, stateOf } from "./state.js";
import { askForToken } from "./token.js";
import { count, percent } from "./words.js";

const part = (id) => document.getElementById(id);

const PACE = 1000;
const SLOWEST = 5000;
/** Minimum milliseconds between repetitions of the last search while data arrives. */
const FOLLOW = 2000;
/** Maximum number of renewals marked in charts. */
const MARKS = 12;
/** Number of samples kept: one hour. */
const KEPT = 3600;

let samples = [];
/** Latest possible start time of the server that answered last, in seconds of the page's clock. */
let startedBy = Infinity;
/** True if the server was restarted and the page has not reported the restart yet. */
let restarted = false;
let followed = { time: 0, items: -1, version: -1 };

async function refresh() {
  const after = samples.length ? samples[samples.length - 1].time : 0;
  const clock = () => performance.now() / 1000;
  const requested = clock();
  const [stats, history] = await Promise.all([get("stats"), get(`history?after=${after}&limit=${KEPT}`)]);
  samples = [...samples, ...history.samples].slice(-KEPT);
  noteStart(requested - stats.uptime_seconds, clock() - stats.uptime_seconds);
  showStats(stats);
  showFirstSteps(stats);
  if (stats.items === 0) return;
  const labelBits = await refreshClasses(stats);
  const form = await getToKnow(stats.description, stats.items);
  collectionIs({ items: stats.items, bits: stats.description.bits, labelBits }, form);
  follow(stats);
}

/**
 * Takes the earliest and the latest possible start time of the server. These intervals overlap for
 * one server, however slow its answers are. Its uptime alone would not show a restart, since the
 * new server may be up for longer than the old one was.
 */
function noteStart(earliest, latest) {
  if (earliest > startedBy) {
    restarted = true;
    startedBy = latest;
  } else {
    startedBy = Math.min(startedBy, latest);
  }
}

function follow(stats) {
  const due = performance.now() - followed.time > FOLLOW;
  const changed = stats.items !== followed.items || stats.version !== followed.version;
  if (!due || !changed) return;
  followed = { time: performance.now(), items: stats.items, version: stats.version };
  searchAgain();
}

/**
 * Returns the rate per second over the last five samples. Counters of requests restart at 0 with
 * the server.
 */
function rate(name) {
  const last = samples.slice(-6);
  if (last.length < 2) return null;
  const [begin, end] = [last[0], last[last.length - 1]];
  return Math.max(0, end[name] - begin[name]) / Math.max(1, end.time - begin.time);
}

function showStats(stats) {
  const { description, learning, quality } = stats;
  part("collection").textContent = description
    ? [description.method.method, `${count(description.dim)} dimensions`, `${description.bits} bits`].join(" · ")
    : "nothing was put in yet";
  part("items").textContent = count(stats.items);
  part("learned").textContent = count(learning.rows);
  for (const name of ["puts", "searches"]) {
    const now = rate(name);
    part(name).textContent = now === null ? "–" : count(Number(now.toFixed(now < 10 ? 1 : 0)));
  }
  part("precision").textContent = precisionOf(stats);
  part("renewals").textContent = renewalsOf(stats.renewal);
  showState(stateOf(stats));
  renewalIs(stats.renewal);
  const problems = stats.tasks.filter((task) => task.problem).map((task) => `${task.task} fails and is tried again: ${task.problem}`);
  if (problems.length === 0 && learning.problem) problems.push(`Some rows were not learned: ${learning.problem}`);
  if (quality.same_code > 0.5) problems.push(`${percent(quality.same_code)} of the items have the same code: search cannot distinguish them`);
  part("problem").hidden = problems.length === 0;
  part("problem").textContent = problems.join(" · ");
  drawLines();
}

/**
 * Shows the state. Screen readers announce it only when the kind of activity changes, not with each
 * number.
 */
function showState({ kind, text }) {
  const place = part("state");
  if (place.textContent === text) return;
  place.setAttribute("aria-live", place.dataset.kind === kind ? "off" : "polite");
  place.dataset.kind = kind;
  place.textContent = text;
}

/**
 * Returns the times of renewals; none if their lines would hide the chart. The first items make
 * version 1.
 */
function renewals() {
  const times = samples.filter(({ version }, at) => at > 0 && version !== samples[at - 1].version && version > 1).map(({ time }) => time);
  return times.length > MARKS ? [] : times;
}

function drawLines() {
  const marks = renewals();
  const of = (name) => samples.map((sample) => [sample.time, sample[name]]);
  timeLine(part("quality").querySelector(".chart"), { samples: of("precision_at_10"), marks, top: 1, name: "Precision at 10" });
}

let state = "waiting";

/** Shows the state of the connection. Screen readers announce it only when it changes. */
function connection(next, text) {
  const place = part("connection");
  if (place.textContent !== text) place.textContent = text;
  place.dataset.state = next;
  document.body.classList.toggle("stale", next === "lost");
  state = next;
}

let paused = false;
let wake = () => {};

async function live() {
  let wait = PACE;
  let news = null;
  for (;;) {
    try {
      if (!paused && !document.hidden) {
        await refresh();
        if (state === "lost") news = { text: restarted ? "Live again: the server was restarted" : "Live again", until: performance.now() + 8000 };
        restarted = false;
        if (news && performance.now() > news.until) news = null;
        connection("live", news?.text ?? "Live");
        wait = PACE;
      }
    } catch (error) {
      if (error instanceof Unreachable) {
        connection("lost", "No connection to the server; trying again …");
      } else {
        connection("lost", `${error.message} Trying again …`);
      }
      wait = Math.min(SLOWEST, wait * 1.3);
    }
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

part("pause").addEventListener("click", () => {
  paused = !paused;
  part("pause").setAttribute("aria-pressed", String(paused));
  if (paused) connection("paused", "Paused");
  else wake();
});
document.addEventListener("visibilitychange", () => document.hidden || wake());

onTokenNeeded(askForToken);
onRenewed(() => wake());

function redraw() {
  if (samples.length) drawLines();
  redrawClasses();
}
let resized;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(redraw, 100);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

live();
