// The page of `hashbrook serve` with people's own data: vectors that are no pictures, payloads, many classes, and tokens.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { found, launch, number, openPage, text } from "./pages.mjs";
import { eventually, start, stopAll } from "./service.mjs";

const directory = mkdtempSync(join(tmpdir(), "hashbrook-own-data-"));
const CLASSES = 40;
const OF_CLASS = 20;
const DIM = 12;
const WRITE = { authorization: "Bearer may-write-2" };
let browser;
/** A service with tokens and some items of each class, whose codes are renewed only by the button. */
let guarded;

before(async () => {
  browser = await launch();
  const tokens = join(directory, "tokens");
  writeFileSync(tokens, "read may-read-1\nwrite may-write-2\n", { mode: 0o600 });
  guarded = await serve("guarded", "--tokens", tokens, "--warmup", "100", "--set", "anchors=100", "--renewal", "never");
  await putItems(guarded.address, classItems(), WRITE);
  await eventually("all are learned", async () => {
    const { learning } = await stats(guarded.address);
    // About one item in fifty is held out.
    return (learning.rows > 0.9 * OF_CLASS * CLASSES && learning.behind_rows === 0) || learning;
  });
});
after(async () => {
  await browser?.close();
  await stopAll();
  rmSync(directory, { recursive: true, force: true });
});

const serve = (name, ...options) => start("serve", "--dir", join(directory, name), "--listen", "127.0.0.1:0", "--held-out", "0", ...options);
const stats = async (address) => (await fetch(`${address}/stats`, { headers: WRITE })).json();

async function putItems(address, items, headers = {}) {
  const body = JSON.stringify({ items });
  const answer = await fetch(`${address}/items`, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
  assert.equal(answer.status, 200, await answer.text());
}

/** Items class after class, with payloads. Only the first half of a vector depends on the class: learning pays. */
function classItems() {
  return Array.from({ length: OF_CLASS * CLASSES }, (_, id) => {
    const kind = Math.floor(id / OF_CLASS);
    const vector = Array.from({ length: DIM }, (_, at) => {
      const noise = (Math.sin(id * 12.9898 + at * 78.233) * 43758.5453) % 1;
      return at < DIM / 2 ? Math.sin(1 + kind * 1.7 * (at + 1)) + 0.2 * noise : 2 * noise;
    });
    const payload = { title: `Item ${id} of kind ${kind}`, notes: "a note. ".repeat(40) };
    return { id, vector, labels: [`kind ${kind}`], payload };
  });
}

/** Opens a page, and enters a token where one is given. */
async function open(address, { token, ...options } = {}) {
  const opened = await openPage(browser, address, options);
  if (token) await enter(opened.page, token);
  await eventually("live", async () => (await text(opened.page, "#connection")) === "Live" || (await text(opened.page, "#connection")));
  // The first requests have no token, which the browser reports.
  opened.complaints.length = 0;
  return opened;
}

async function enter(page, token) {
  await page.getByRole("dialog").waitFor();
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.keyboard.press("Enter");
}

test("an empty collection shows lines that put the first items in", async () => {
  const service = await serve("empty");
  const { page, complaints } = await open(service.address);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("region", { name: "Put the first items in" }).waitFor();
  assert.ok(!(await page.locator("#search").isVisible()) && !(await page.locator("#learning").isVisible()));
  const python = await text(page, "#first-python");
  assert.ok(python.includes(`hashbrook.Client("${service.address}")`), python);
  const curl = await text(page, "#first-curl");
  assert.ok(curl.startsWith(`curl ${service.address}/items -d `), curl);
  await page.getByRole("button", { name: "Copy the curl line" }).click();
  await eventually("copied", async () => (await text(page, "#copied")) === "The curl line copied." || (await text(page, "#copied")));
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, curl);
  execFileSync("sh", ["-c", `${copied} --silent --fail`]);
  await eventually("two items", async () => (await number(page, "#items")) === 2 || (await text(page, "#items")));
  await page.locator("#search").waitFor();
  assert.ok(!(await page.locator("#first").isVisible()));
  const followed = "Warming up: 2 of the 3,000 rows that learning starts with; all codes are up to date";
  await eventually("codes follow", async () => (await text(page, "#state")) === followed || (await text(page, "#state")));
  assert.deepEqual(complaints, []);
  await page.close();
  await service.stop();
});

test("without a clipboard the lines are selected, and tokens are in them", async () => {
  const tokens = join(directory, "other-tokens");
  writeFileSync(tokens, "write may-write-2\n", { mode: 0o600 });
  const service = await serve("empty-guarded", "--tokens", tokens);
  const { page } = await open(service.address, { token: "may-write-2" });
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await page.getByRole("button", { name: "Copy the Python lines" }).click();
  await eventually("selected", async () => (await text(page, "#copied")) === "The Python lines selected: press Ctrl+C to copy." || (await text(page, "#copied")));
  assert.match(await page.evaluate(() => getSelection().toString()), /Client\(".*", token="TOKEN"\)/);
  assert.match(await text(page, "#first-curl"), /Authorization: Bearer TOKEN/);
  await page.close();
  await service.stop();
});

test("hits and items show id, label and payload", async () => {
  const { page, complaints } = await open(guarded.address, { token: "may-read-1" });
  await page.getByLabel("Id", { exact: true }).fill("17");
  await page.getByLabel("Id", { exact: true }).press("Enter");
  await eventually("12 hits", async () => (await found(page)).length === 12 || (await found(page)));
  for (const list of ["#results", "#shelf"]) {
    const card = page.locator(`${list} li`).first();
    const id = await card.locator("button").getAttribute("data-id");
    assert.equal(await card.locator(".id").textContent(), `#${id}`);
    const kind = Math.floor(Number(id) / OF_CLASS);
    await eventually("label", async () => (await card.locator(".label").textContent()) === `kind ${kind}`);
    await eventually("payload", async () => (await card.locator(".words summary").textContent()) === `Item ${id} of kind ${kind}`);
    assert.match(await card.locator(".words").getAttribute("title"), /"notes": "a note\. /);
  }
  const words = page.locator("#results .words").first();
  assert.ok(!(await words.locator("pre").isVisible()));
  await words.locator("summary").focus();
  await page.keyboard.press("Enter");
  await words.locator("pre").waitFor();
  assert.match(await words.locator("pre").textContent(), /^\{\n "title": "Item \d+ of kind \d+",\n "notes": "(a note\. ){40}"\n\}$/);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a renewal takes a token that may write, and the precision after it is that of the new codes", async () => {
  const { page } = await open(guarded.address, { token: "may-read-1" });
  assert.equal(await text(page, "#state"), `${OF_CLASS * CLASSES} rows learned since the last renewal; codes follow when you renew them`);
  const precision = /^\.\d{3} \(\.\d{3} as the mean over the classes\), measured \d+ s ago on (\d+) learned items$/;
  await eventually("precision", async () => precision.test(await text(page, "#precision")) || (await text(page, "#precision")));
  const renew = page.getByRole("button", { name: "Renew codes" });
  const title = page.getByRole("heading", { name: "A token that may write is needed" });

  await renew.click();
  await title.waitFor();
  assert.equal(await text(page, "#token-text"), "The token of this tab may read, and not write.");
  await page.getByRole("button", { name: "Cancel" }).click();
  await eventually("refused", async () => /^Not renewed: this token may read, and not write\. Renewing takes a token that may write\.$/.test(await text(page, "#renew-outcome")) || (await text(page, "#renew-outcome")));

  await renew.click();
  await enter(page, "may-guess-3");
  await eventually("refused again", async () => (await text(page, "#token-text")).startsWith("The server does not know that token") || (await text(page, "#token-text")));
  assert.equal(await renew.getAttribute("aria-disabled"), "true");
  const { quality: { precision_at_10: old } } = await stats(guarded.address);
  await enter(page, "may-write-2");
  await eventually("renewed", async () => /^All codes are of version 2 now, after [\d.]+ m?s\.$/.test(await text(page, "#renew-outcome")) || (await text(page, "#renew-outcome")));
  await eventually("up to date", async () => (await text(page, "#state")) === "All codes are up to date" || (await text(page, "#state")));
  await eventually("free again", async () => (await renew.getAttribute("aria-disabled")) === "false");
  assert.ok(!(await page.locator("#progress").isVisible()));
  const { quality, time } = await stats(guarded.address);
  assert.ok(quality.precision_at_10 > old + 0.02, `${old} before, ${quality.precision_at_10} after`);
  assert.ok(quality.measured_at <= time);
  const shown = quality.precision_at_10.toFixed(3).replace(/^0/, "");
  await eventually("the new precision", async () => (await text(page, "#precision")).startsWith(`${shown} (`) || (await text(page, "#precision")));
  assert.match(await text(page, "#renewals"), /^1 renewal since the server started\. The last one changed [\d.]+ % of the bits in [\d.]+ m?s\.$/);
  // The tab has the other token now.
  await renew.click();
  await eventually("renewed again", async () => (await text(page, "#renew-outcome")).startsWith("All codes are of version 3 now") || (await text(page, "#renew-outcome")));
  await page.close();
});

test("all classes are in a list that is searched, of which the visible part is drawn", async () => {
  const service = await serve("classes", "--no-learn", "--bits", "16", "--dim", "2");
  const many = 10_000;
  for (let first = 0; first < many; first += 2500) {
    await putItems(service.address, Array.from({ length: 2500 }, (_, at) => {
      const id = first + at;
      return { id, vector: [Math.sin(id), Math.cos(3 * id)], labels: [`Class ${String(id).padStart(5, "0")}`] };
    }));
  }
  const { page, complaints } = await open(service.address);
  const rows = page.locator("#class-rows tr:not(.space)");
  await eventually("all are counted", async () => (await text(page, "#class-count")) === "10,000 labels" || (await text(page, "#class-count")));
  await eventually("the first", async () => (await rows.first().locator("th").textContent()) === "Class 00000");
  await eventually("drawn", async () => (await rows.locator("canvas").count()) > 10);
  assert.ok((await rows.count()) < 60, `${await rows.count()} rows`);
  assert.equal(await page.locator("#class-table").getAttribute("aria-rowcount"), "10001");
  await page.locator("#class-scroll").evaluate((list) => (list.scrollTop = list.scrollHeight));
  await eventually("the last", async () => (await rows.last().locator("th").textContent()) === "Class 09999" || (await rows.last().textContent()));
  assert.ok((await rows.count()) < 60, `${await rows.count()} rows`);
  assert.equal(await rows.last().getAttribute("aria-rowindex"), "10001");
  await page.getByLabel("Find a label").fill("CLASS 0123");
  await eventually("ten fit", async () => (await text(page, "#class-count")) === "10 labels with “CLASS 0123”" || (await text(page, "#class-count")));
  await eventually("they are shown", async () => (await rows.locator("th").allTextContents()).join() === Array.from({ length: 10 }, (_, at) => `Class 0123${at}`).join() || (await rows.allTextContents()));
  await page.getByLabel("Find a label").fill("nothing");
  await eventually("none", async () => (await text(page, "#class-count")) === "0 labels with “nothing”" || (await text(page, "#class-count")));
  await page.getByLabel("Find a label").fill("");
  await eventually("all again", async () => (await rows.first().locator("th").textContent().catch(() => "none")) === "Class 00000");
  assert.equal(await text(page, "#state"), "Learning is off (--no-learn): items keep their codes until you renew them");
  assert.deepEqual(complaints, []);
  await page.close();
  await service.stop();
});

test("a precision that is not known says why", async () => {
  const service = await serve("unlabelled");
  await putItems(service.address, classItems().slice(0, 30).map(({ id, vector }) => ({ id, vector })));
  const { page, complaints } = await open(service.address);
  await eventually("why", async () => (await text(page, "#precision")) === "is not known: it needs labelled items" || (await text(page, "#precision")));
  await eventually("state", async () => (await text(page, "#state")) === "Nothing is learned yet: the service learns from items with labels" || (await text(page, "#state")));
  assert.ok(!(await page.locator("#classes").isVisible()));
  assert.deepEqual(complaints, []);
  await page.close();
  await service.stop();
});

test("own data fits a phone", async () => {
  const { page, complaints } = await open(guarded.address, { token: "may-read-1", viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.locator("#shelf button").first().click();
  await eventually("12 hits", async () => (await found(page)).length === 12 || (await found(page)));
  await page.locator("#results summary").first().click();
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= screen, `${wide} of ${screen} pixels`);
  assert.deepEqual(complaints, []);
  await page.close();
});
