// Starts the program as a service, and ends it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const running = new Set();

/** Runs `hashbrook` with these arguments until it has said where it listens. */
export async function start(...args) {
  const child = spawn(process.env.HASHBROOK, args, { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const ended = new Promise((resolve) => child.on("exit", resolve));
  ended.then(() => running.delete(child));
  const said = [];
  child.stderr.on("data", (text) => said.push(String(text)));
  const address = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      said.push(line);
      const found = line.match(/https?:\/\/[\d.]+:\d+/);
      if (found) resolve(found[0]);
    });
    ended.then((code) => reject(new Error(`${args.join(" ")} ended with ${code}: ${said.join("\n")}`)));
  });
  return {
    address,
    port: new URL(address).port,
    stop: async (signal = "SIGTERM") => {
      child.kill(signal);
      await ended;
    },
  };
}

/** Ends whatever is still running. */
export async function stopAll() {
  for (const child of running) child.kill("SIGKILL");
}

/** Waits until something is so, and says what it is if that takes too long. */
export async function eventually(what, look, seconds = 30) {
  const until = Date.now() + 1000 * seconds;
  for (;;) {
    const seen = await look();
    if (seen === true) return;
    if (Date.now() > until) assert.fail(`${what}: ${JSON.stringify(seen)} after ${seconds} seconds`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
