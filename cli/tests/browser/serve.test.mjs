// The page of `hashbrook serve`, as people meet it: with a service that runs.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { contrast } from "./contrast.mjs";
import { found, launch, number, openPage, text } from "./pages.mjs";
import { eventually, start, stopAll } from "./service.mjs";
import { DIGITS } from "./strokes.mjs";

const screenshots = process.env.SCREENSHOTS;
const directory = mkdtempSync(join(tmpdir(), "hashbrook-page-"));
const LOOPBACK = "127.0.0.1:0";
let browser;
/** A service with all the digits, for the tests that need nothing of their own. */
let digits;

before(async () => {
  browser = await launch();
  digits = await start("demo", "--serve", "--rate", "2000", "--dir", join(directory, "digits"), "--listen", LOOPBACK);
  await eventually("all digits are in", async () => {
    const { items, learning } = await (await fetch(`${digits.address}/stats`)).json();
    // Of 1,797 digits about one in fifty is held out.
    const learned = learning.rows > 1700 && learning.behind_rows === 0;
    return (items === 1797 && learned) || { items, learning };
  });
});
after(async () => {
  await browser?.close();
  await stopAll();
  rmSync(directory, { recursive: true, force: true });
});

const open = (address, options) => openPage(browser, address, options);

/** Draws a digit with the mouse. */
async function draw(page, strokes) {
  const pad = page.locator("#pad");
  await pad.waitFor();
  await pad.scrollIntoViewIfNeeded();
  const box = await pad.boundingBox();
  const place = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
  for (const [first, ...others] of strokes) {
    await page.mouse.move(...place(first));
    await page.mouse.down();
    for (const point of others) await page.mouse.move(...place(point), { steps: 2 });
    await page.mouse.up();
  }
}

const share = (labels, wanted) => labels.filter((label) => label === wanted).length / labels.length;

test("during the demo items come in, quality rises, and a drawn 3 finds 3s", async () => {
  const demo = await start("demo", "--serve", "--rate", "120", "--listen", LOOPBACK);
  const { page, complaints } = await open(demo.address);
  await eventually("items come in", async () => (await number(page, "#items")) > 50 || (await text(page, "#items")));
  const early = await number(page, "#items");
  await draw(page, DIGITS[3]);
  await eventually("the page learns", async () => (await number(page, "#learned")) >= 1700 || (await text(page, "#learned")), 60);
  assert.ok((await number(page, "#items")) > early);
  assert.ok((await number(page, "#puts")) >= 0);
  // The search was done again as codes got better, without being asked for.
  await eventually("3s among the first", async () => {
    const labels = await found(page);
    return (labels.length === 12 && share(labels.slice(0, 10), "3") >= 0.8) || labels;
  });
  const { samples } = await (await fetch(`${demo.address}/history`)).json();
  const quality = samples.map((sample) => sample.precision_at_10).filter((value) => value !== null);
  assert.ok(quality.at(-1) > quality[0] + 0.02 && quality.at(-1) > 0.85, `${quality[0]} to ${quality.at(-1)}`);
  assert.match(await page.locator("#quality svg").getAttribute("aria-label"), /^Precision at 10 over the last \d+ (s|min): from [\d.]+ % to [\d.]+ %$/);
  assert.ok((await page.locator("#quality polyline").getAttribute("points")).split(" ").length > 5);
  assert.ok(samples.at(-1).version > 1, "items were re-encoded");
  assert.deepEqual(complaints, []);
  await page.close();
  await demo.stop();
});

test("every digit that is drawn is found, with its picture, label and distance", async () => {
  const { page, complaints } = await open(digits.address);
  for (const [label, strokes] of Object.entries(DIGITS)) {
    await page.locator("#pad").waitFor();
    await page.locator("#pad-clear").click();
    await eventually("cleared", async () => (await page.locator("#results li").count()) === 0);
    await draw(page, strokes);
    await eventually(`a ${label}`, async () => {
      const labels = await found(page);
      return (labels.length === 12 && share(labels.slice(0, 10), label) >= 0.6) || labels;
    });
  }
  const pictures = await page.locator("#results canvas").evaluateAll((all) =>
    all.map((canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.filter((_, at) => at % 4 === 3)).map((ink) => [ink.length, Math.max(...ink)]));
  assert.equal(pictures.length, 12);
  for (const [pixels, darkest] of pictures) assert.ok(pixels === 64 && darkest > 200);
  const distances = (await page.locator("#results .note").allTextContents()).map(Number);
  assert.deepEqual(distances, [...distances].sort((a, b) => a - b));
  await eventually("distances", async () => {
    const told = await page.locator("#distances svg").getAttribute("aria-label");
    return /^All 1,797 items at distances from \d+ to \d+, of which \d+ have the label 9/.test(told) || told;
  });
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the slider goes from the same kind to the same look, and searches as it is moved", async () => {
  const { page, complaints } = await open(digits.address);
  const bodies = [];
  page.on("request", (request) => request.url().endsWith("/search") && bodies.push(request.postDataJSON()));
  await draw(page, DIGITS[3]);
  await eventually("found", async () => (await found(page)).length === 12);
  const dial = page.locator("#dial");
  await dial.focus();
  const weights = () => bodies.filter((body) => body.k === 13).map((body) => `${body.label_weight}:${body.detail_weight}`);
  await page.keyboard.press("Home");
  await eventually("labels alone", () => weights().at(-1) === "1:0" || weights());
  assert.equal(await text(page, "#weights"), "Only label bits count.");
  for (let stop = 0; stop < 8; stop++) {
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(80);
  }
  await eventually("looks alone", () => weights().at(-1) === "0:1" || weights());
  assert.equal(await dial.getAttribute("aria-valuetext"), "Only detail bits count.");
  assert.ok(new Set(weights()).size >= 5, `searched while it moved: ${weights()}`);
  assert.ok(bodies.every((body) => body.vector.length === 64));
  assert.deepEqual(complaints, []);
  await page.close();
});

test("items are searched with: by id, from the shelf, and from what was found", async () => {
  const { page, complaints } = await open(digits.address);
  await page.locator("#shelf button").nth(11).waitFor({ state: "attached" });
  await page.getByLabel("An item").check();
  await page.getByLabel("Id", { exact: true }).fill("17");
  await page.getByLabel("Id", { exact: true }).press("Enter");
  await eventually("item 17", async () => (await text(page, "#summary")).startsWith("Item 17: the nearest 12 of 1,797 items"));
  const { labels: [label] } = await (await fetch(`${digits.address}/items/17`)).json();
  assert.ok(share(await found(page), label) >= 0.8, `${label}: ${await found(page)}`);
  assert.equal(await page.locator("#results button[data-id='17']").count(), 0, "an item does not find itself");
  const second = page.locator("#results button").nth(1);
  const id = await second.getAttribute("data-id");
  await second.click();
  await eventually("the second", async () => (await text(page, "#summary")).startsWith(`Item ${id}:`) || (await text(page, "#summary")));
  assert.deepEqual(await page.locator("#recent button").evaluateAll((all) => all.map((button) => button.dataset.id)), [id, "17"]);
  await page.locator("#shelf button").nth(3).click();
  await eventually("from the shelf", async () => !(await text(page, "#summary")).startsWith(`Item ${id}:`));
  // Limited to a label.
  await page.locator("#options summary").click();
  await page.getByLabel("Only label").fill("7");
  await eventually("labels are offered", async () => (await page.locator("#labels option").count()) === 1);
  await page.getByLabel("Only label").press("Enter");
  await eventually("only 7s", async () => share(await found(page), "7") === 1 || (await found(page)));
  await page.getByLabel("re-rank the first 1,000 by their vectors").check();
  await eventually("scores", async () => /^\d+ · [01]\.\d\d$/.test(await page.locator("#results .note").first().textContent()));
  assert.deepEqual(complaints, []);
  await page.getByLabel("Id", { exact: true }).fill("99999999");
  await page.getByLabel("Id", { exact: true }).press("Enter");
  await eventually("none", async () => (await text(page, "#id-problem")) === "There is no item 99999999.");
  await page.close();
});

test("vectors are pasted and uploaded, and what is wrong with them is said", async () => {
  const { page, complaints } = await open(digits.address);
  const { vector, labels: [label] } = await (await fetch(`${digits.address}/items/5`)).json();
  await page.getByLabel("A vector").check();
  const numbers = page.getByLabel("Numbers");
  const search = page.locator("#vector button");
  for (const pasted of [JSON.stringify(vector), vector.join(",")]) {
    await numbers.fill("");
    await numbers.fill(pasted);
    await search.click();
    await eventually("the vector", async () => (await text(page, "#summary")).startsWith("The vector: the nearest 12"));
    assert.ok(share(await found(page), label) >= 0.8);
  }
  await numbers.fill("1, 2, 3");
  await search.click();
  await eventually("too short", async () => (await text(page, "#vector-problem")) === "The vectors here have 64 numbers; this one has 3.");
  const head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 64), }\n";
  const length = Buffer.from([head.length, 0]);
  const values = Buffer.from(Float32Array.from([...vector, ...vector]).buffer);
  const buffer = Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), length, Buffer.from(head), values]);
  await page.locator("#file").setInputFiles({ name: "two.npy", mimeType: "application/octet-stream", buffer });
  await eventually("row 1", async () => (await text(page, "#summary")).startsWith("Row of two.npy 1:") || (await text(page, "#summary")));
  await page.locator("#row").fill("2");
  await search.click();
  await eventually("row 2", async () => (await text(page, "#summary")).startsWith("Row 2:") || (await text(page, "#summary")));
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a digit is drawn with the keyboard alone", async () => {
  const { page, complaints } = await open(digits.address);
  await page.locator("#pad").waitFor();
  await page.locator("input[name=with]:checked").focus();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.id), "pad");
  await page.keyboard.press("Space");
  assert.match(await text(page, "#pad-state"), /^Pen down, column 9, row 3$/);
  for (let row = 0; row < 11; row++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  assert.match(await text(page, "#pad-state"), /^Pen up, column 9, row 14$/);
  await eventually("a 1", async () => {
    const labels = await found(page);
    return (labels.length === 12 && share(labels.slice(0, 10), "1") >= 0.8) || labels;
  });
  assert.equal(await page.locator("#pad").getAttribute("aria-label"), "Drawing area, 1 stroke");
  await page.keyboard.press("Backspace");
  await eventually("cleared", async () => (await page.locator("#results li").count()) === 0);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the page survives that the server is killed, and goes on when it is back", async () => {
  const dir = join(directory, "restarted");
  const first = await start("demo", "--serve", "--rate", "2000", "--dir", dir, "--listen", LOOPBACK);
  const { page } = await open(first.address);
  await eventually("all are in", async () => (await text(page, "#items")) === "1,797");
  await draw(page, DIGITS[7]);
  await eventually("found", async () => (await found(page)).length === 12);
  assert.equal(await text(page, "#connection"), "Live");
  await first.stop("SIGKILL");
  await eventually("it says so", async () => (await text(page, "#connection")).startsWith("No connection to the server"));
  assert.equal((await found(page)).length, 12, "what was found stays");
  const second = await start("serve", "--dir", dir, "--listen", `127.0.0.1:${first.port}`);
  await eventually("it is back", async () => (await text(page, "#connection")) === "Live again: the server was restarted" || (await text(page, "#connection")));
  assert.equal(await text(page, "#items"), "1,797");
  await page.locator("#pad-clear").click();
  await draw(page, DIGITS[0]);
  await eventually("it answers", async () => share((await found(page)).slice(0, 10), "0") >= 0.6);
  await page.close();
  await second.stop();
});

test("a token is asked for, and kept while the tab is open", async () => {
  const tokens = join(directory, "tokens");
  writeFileSync(tokens, "read page-token-1\nwrite other-token-2\n");
  const service = await start("serve", "--dir", join(directory, "guarded"), "--tokens", tokens, "--listen", LOOPBACK);
  const { page } = await open(service.address);
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  await page.getByLabel("Token", { exact: true }).fill("guess");
  await page.keyboard.press("Enter");
  await eventually("refused", async () => (await text(page, "#token-text")) === "The server refused that token.");
  await page.getByLabel("Token", { exact: true }).fill("page-token-1");
  await page.keyboard.press("Enter");
  await eventually("live", async () => (await text(page, "#connection")) === "Live" || (await text(page, "#connection")));
  assert.equal(await text(page, "#collection"), "nothing was put in yet");
  await page.reload();
  await eventually("still live", async () => (await text(page, "#connection")) === "Live");
  assert.ok(!(await dialog.isVisible()));
  await page.close();
  await service.stop();
});

test("it stands still when told to", async () => {
  const { page } = await open(digits.address);
  await eventually("live", async () => (await text(page, "#connection")) === "Live");
  let requests = 0;
  await page.getByRole("button", { name: "Pause" }).click();
  await page.waitForTimeout(500);
  page.on("request", () => (requests += 1));
  await page.waitForTimeout(2500);
  assert.equal(requests, 0);
  assert.equal(await text(page, "#connection"), "Paused");
  await page.getByRole("button", { name: "Pause" }).click();
  await eventually("live again", async () => (await text(page, "#connection")) === "Live");
  await page.close();
});

test("everything has a name, and can be read in light and dark", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page, complaints } = await open(digits.address, { colorScheme });
    await draw(page, DIGITS[3]);
    await page.locator("#distances").waitFor();
    for (const role of ["banner", "main"]) assert.equal(await page.getByRole(role).count(), 1, role);
    for (const name of ["Counts and rates", "Search", "Learning"]) assert.equal(await page.getByRole("region", { name, exact: true }).count(), 1, name);
    // What is shown without a name would be silent to those who listen.
    const nameless = await page.evaluate(() => {
      const named = (element) => element.labels?.length || element.getAttribute("aria-label") || element.getAttribute("aria-labelledby") || element.textContent.trim();
      const all = document.querySelectorAll("button, input, select, textarea, [role=img], [tabindex='0']");
      return [...all].filter((element) => element.checkVisibility() && !named(element)).map((element) => element.outerHTML);
    });
    assert.deepEqual(nameless, []);
    const pairs = await page.evaluate(() => {
      const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const colour = getComputedStyle(at).backgroundColor;
          if (!/, 0\)$|transparent/.test(colour)) return colour;
        }
      };
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const pairs = [];
      while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest(".skip, .unseen, option")) continue;
        const style = getComputedStyle(element);
        pairs.push([element.ownerSVGElement ? style.fill : style.color, ground(element), walker.currentNode.data.trim()]);
      }
      return pairs;
    });
    assert.ok(pairs.length > 60, `${pairs.length} texts`);
    for (const [ink, ground, words] of pairs) assert.ok(contrast(ink, ground) >= 4.5, `${words}: ${ink} on ${ground}`);
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("nothing is wider than a phone, and a finger draws", async () => {
  const { page, complaints } = await open(digits.address, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.locator("#pad").waitFor();
  const fits = () => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  for (const way of ["An item", "A vector", "A drawing"]) {
    await page.getByLabel(way).check();
    const [wide, screen] = await fits();
    assert.ok(wide <= screen, `${way}: ${wide} of ${screen} pixels`);
  }
  const box = await page.locator("#pad").boundingBox();
  const session = await page.context().newCDPSession(page);
  const touch = (type, points) => session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y]) => ({ x: box.x + x * box.width, y: box.y + y * box.height })) });
  const before = await page.evaluate(() => scrollY);
  const [[first, ...others]] = DIGITS[3];
  await touch("touchStart", [first]);
  for (const point of others) await touch("touchMove", [point]);
  await touch("touchEnd", []);
  await eventually("3s", async () => share((await found(page)).slice(0, 10), "3") >= 0.6 || (await found(page)));
  assert.equal(await page.evaluate(() => scrollY), before, "drawing does not scroll");
  const [wide, screen] = await fits();
  assert.ok(wide <= screen, `${wide} of ${screen} pixels`);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("pictures of it all, where they are asked for", { skip: !screenshots }, async () => {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1440, 390]) {
      const { page } = await open(digits.address, { colorScheme, viewport: { width, height: 900 } });
      await draw(page, DIGITS[3]);
      await page.locator("#distances").waitFor();
      await page.waitForTimeout(1000);
      await page.evaluate(() => scrollTo(0, 0));
      await page.screenshot({ path: `${screenshots}/serve-${colorScheme}-${width}.png`, fullPage: true });
      await page.close();
    }
  }
});
