// Descriptions of the state of the service, derived from its stats.

import { ago, count, duration, percent, span } from "./words.js";

const rows = (number) => `${count(number)} ${number === 1 ? "row" : "rows"}`;

/**
 * Returns one sentence about the current activity, and its kind. The text also changes when only a
 * number changes.
 */
export function stateOf({ items, learning, renewal }) {
  const state = (kind, text) => ({ kind, text });
  if (items === 0) return state("empty", "There are no items yet");
  if (renewal.progress !== null) return state("re-encoding", `Re-encoding: ${Math.floor(100 * renewal.progress)} %`);
  if (renewal.problem) return state("failed", "Re-encoding failed and is tried again; searches use the codes of before");
  if (!learning.enabled) return state("off", "Learning is off (--no-learn): items keep their codes until you renew them");
  if (learning.behind_rows > 0) return state("learning", `Learning: about ${rows(learning.behind_rows)} behind`);
  if (learning.rows === 0) return state("unlabelled", "Nothing is learned yet: the service learns from items with labels");
  if (!learning.warm) {
    const codes = renewal.lag_rows === 0 ? "all codes are up to date" : "codes follow when no more rows arrive, or when you renew them";
    return state("warm-up", `Warming up: ${count(learning.rows)} of the ${rows(learning.warmup_rows)} that learning starts with; ${codes}`);
  }
  if (renewal.lag_rows === 0) return state("current", "All codes are up to date");
  return state("behind", `${rows(renewal.lag_rows)} learned since the last renewal; ${codesFollow(renewal)}`);
}

/** Describes when codes are re-encoded after learning. */
function codesFollow({ policy, catch_up_seconds: idle }) {
  const [name, value] = policy.split(":");
  const within = `within ${span(idle)} of idle time`;
  if (name === "never") return "codes follow when you renew them";
  if (name === "always") return "codes follow at once";
  if (name === "every") return `codes follow after ${rows(Number(value))}, or ${within}`;
  return `codes follow ${within}, or earlier if that gains ${percent(Number(value))}`;
}

/** Describes the precision and its age, or why it is unknown. `time` is the time of the server. */
export function precisionOf({ quality, time }) {
  const { precision_at_10: precision, precision_at_10_per_class: perClass, queries, measured_on, measured_at: measured, unmeasured } = quality;
  if (precision === null) return `is not known: ${unmeasured ?? "it was not measured"}`;
  const shown = (share) => share.toFixed(3).replace(/^0/, "");
  const items = `${measured_on === "held_out" ? "held-out" : "learned"} ${queries === 1 ? "item" : "items"}`;
  const classes = perClass === null ? "" : ` (${shown(perClass)} as the mean over the classes)`;
  return `${shown(precision)}${classes}, measured ${ago(Math.max(0, time - measured))} on ${count(queries)} ${items}`;
}

/** Describes the renewals since the start of the server, and the effect of the last one. */
export function renewalsOf({ done, flipped, seconds }) {
  if (done === 0) return "No renewal since the server started.";
  const last = flipped === null || seconds === null ? "" : ` The last one changed ${percent(flipped)} of the bits in ${duration(seconds)}.`;
  return `${count(done)} ${done === 1 ? "renewal" : "renewals"} since the server started.${last}`;
}
