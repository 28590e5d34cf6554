// The button that re-encodes all items.

import { post } from "./server.js";
import { duration } from "./words.js";

const part = (id) => document.getElementById(id);
/**
 * Timeout of the request in milliseconds. Re-encoding may take long, and the connection may be lost
 * meanwhile.
 */
const LONGEST = 24 * 3600 * 1000;

let pressed = false;
let running = false;

/** Takes the state of re-encoding from the stats. */
export function renewalIs({ progress }) {
  running = progress !== null;
  part("progress").hidden = !running;
  part("progress").value = progress ?? 0;
  showButton();
}

function showButton() {
  // A disabled button would lose the keyboard's focus.
  part("renew").setAttribute("aria-disabled", String(pressed || running));
}

function say(text, failed = false) {
  part("renew-outcome").textContent = text;
  part("renew-outcome").classList.toggle("problem", failed);
}

/** Re-encodes all items, and calls `done` at the end. */
async function renew(done) {
  if (pressed || running) return;
  pressed = true;
  showButton();
  say("Re-encoding all items …");
  const begun = performance.now();
  try {
    const { version } = await post("renew", {}, { milliseconds: LONGEST });
    say(`All codes are of version ${version} now, after ${duration((performance.now() - begun) / 1000)}.`);
  } catch (error) {
    say(error.status === 403 ? `Not renewed: ${error.message}. Renewing takes a token that may write.` : `Not renewed: ${error.message}`, true);
  } finally {
    pressed = false;
    showButton();
    done();
  }
}

/** Activates the button. */
export function onRenewed(done) {
  part("renew").addEventListener("click", () => renew(done));
}
