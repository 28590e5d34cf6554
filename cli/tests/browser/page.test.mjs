// The page of `hashbrook reproduce`, as people meet it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { contrast } from "./contrast.mjs";

// A quick run of now, and the full run that the project carries.
const quick = pathToFileURL(process.env.REPORT).href;
const full = new URL("../../../repro/report/report.html", import.meta.url).href;
const screenshots = process.env.SCREENSHOTS;
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
});
after(async () => browser?.close());

/** Opens the page, and fails on whatever the browser complains of or asks the network for. */
async function open(options = {}, address = quick) {
  const page = await browser.newPage(options);
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => request.url().startsWith("http") && complaints.push(request.url()));
  await page.goto(address);
  return { page, complaints };
}

test("every section has something in it, and every figure its points", async () => {
  const { page, complaints } = await open();
  const sections = await page.locator("main section").count();
  assert.ok(sections >= 13, `${sections} sections`);
  for (const section of await page.locator("main section").all()) {
    assert.ok(await section.locator("table, figure").count(), await section.getAttribute("id"));
  }
  for (const figure of await page.locator("figure").all()) {
    const name = await figure.getAttribute("id");
    const marks = figure.locator("circle, rect");
    assert.ok(await marks.count(), `${name} is empty`);
    const frame = await figure.locator("svg").boundingBox();
    const box = await marks.first().boundingBox();
    assert.ok(box.x >= frame.x && box.y >= frame.y && box.width > 0, `${name} draws outside of itself`);
    assert.ok(await figure.locator("title").count() > 1, `${name} shows no values when pointed at`);
    assert.match(await figure.locator("a[download]").getAttribute("href"), /^data:text\/csv/);
    assert.match(await figure.locator("code").textContent(), /^hashbrook reproduce --only \w+$/);
  }
  assert.deepEqual(complaints, []);
  await page.close();
});

test("tables sort by any column, both ways", async () => {
  const { page, complaints } = await open();
  const table = page.locator("#tables table").first();
  const column = async () =>
    (await table.locator("tbody tr td:nth-child(3)").all()).reduce(
      async (all, cell) => [...(await all), Number(await cell.getAttribute("data-number"))],
      Promise.resolve([]),
    );
  const head = table.locator("thead button").nth(2);
  await head.click();
  const falling = await column();
  assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
  await head.click();
  const rising = await column();
  assert.deepEqual(rising, [...rising].sort((a, b) => a - b));
  await table.locator("thead button").first().click();
  assert.equal(await table.locator("th[aria-sort]").count(), 1);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a press on the legend hides a line and shows it again", async () => {
  const { page, complaints } = await open();
  const figure = page.locator("figure:has(.legend)").first();
  const button = figure.locator(".legend button").first();
  const name = await button.getAttribute("data-toggle");
  const line = figure.locator(`[data-series="${name}"]`);
  assert.ok(await line.isVisible());
  await button.click();
  assert.ok(!(await line.isVisible()));
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  await button.click();
  assert.ok(await line.isVisible());
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the full page opens with what was found", async () => {
  const { page, complaints } = await open({ viewport: { width: 1440, height: 900 } }, full);
  assert.match(await page.title(), /Towards Optimal Discrete Online Hashing with Balanced Similarity/);
  assert.match(await page.locator("h1").textContent(), /Balanced Similarity.*reproduced/);
  const ids = await page.locator("main section").evaluateAll((all) => all.map((section) => section.id));
  assert.deepEqual(ids.slice(0, 2), ["found", "claims"]);
  const found = page.locator("#found");
  assert.equal(await found.locator(".notice").count(), 0);
  // Verdicts and the picture are there without scrolling; they count all claims.
  for (const part of [found.locator(".verdicts"), found.locator("figure svg")]) {
    assert.ok((await part.boundingBox()).y < 900);
  }
  const counts = await found.locator(".verdicts b").allTextContents();
  const claims = await page.locator("#claims tbody tr").count();
  assert.equal(counts.reduce((sum, count) => sum + Number(count), 0), claims);
  assert.ok(claims >= 15, `${claims} claims`);
  assert.ok(await found.locator("figure circle").count() > 20);
  assert.ok(await found.locator("figure circle.hollow").count() > 10, "the paper's numbers");
  assert.match(await found.locator("table caption").textContent(), /best methods/);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a quick page says before all else that it judges nothing, and does not", async () => {
  const { page, complaints } = await open();
  const notice = page.locator("main section").first().locator(".notice");
  assert.match(await notice.textContent(), /Toy digits judge nothing/);
  assert.ok((await notice.boundingBox()).y < 500);
  const verdicts = await page.locator("#claims .verdict").allTextContents();
  assert.ok(verdicts.length >= 15);
  for (const verdict of verdicts) assert.match(verdict, /not (judged|computed)/);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("what cannot be done says why", async () => {
  const { page, complaints } = await open({}, full);
  const cannot = page.locator("td", { hasText: /^cannot$/ });
  assert.ok(await cannot.count());
  for (const cell of await cannot.all()) {
    assert.match(await cell.locator("abbr").getAttribute("title"), /must be/);
  }
  assert.match(await page.locator("#tables").textContent(), /Cannot: with the paper's settings .* bits: /);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the width of a desktop is used", async () => {
  const { page, complaints } = await open({ viewport: { width: 1440, height: 900 } }, full);
  const main = await page.locator("main").boundingBox();
  assert.ok(main.width > 1000 && main.x + main.width > 1380, JSON.stringify(main));
  const nav = await page.locator("nav").boundingBox();
  assert.ok(nav.x + nav.width <= main.x, "the contents stand beside the text");
  const [first, second] = await page.locator("#curves figure").all();
  const boxes = [await first.boundingBox(), await second.boundingBox()];
  assert.equal(boxes[0].y, boxes[1].y, "figures stand side by side");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.deepEqual(complaints, []);
  await page.close();
});

test("heat maps can be read in light and in dark", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page, complaints } = await open({ colorScheme }, full);
    const fill = (element) => getComputedStyle(element).fill;
    let cells = 0;
    for (const map of await page.locator("figure:has(text.on-dark)").all()) {
      const pairs = await map.locator("g:has(> rect)").evaluateAll((all) =>
        all.map((cell) => ["rect", "text"].map((part) => getComputedStyle(cell.querySelector(part)).fill)),
      );
      for (const [ground, ink] of pairs) assert.ok(contrast(ground, ink) >= 4.5, `${ink} on ${ground}`);
      cells += pairs.length;
    }
    assert.ok(cells >= 400, `${cells} cells`);
    // What stands beside the colours is on the page's own ground.
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const beside = await page.locator("#balance svg > text").first().evaluate(fill);
    assert.ok(contrast(ground, beside) >= 4.5, `${beside} on ${ground}`);
    assert.ok(await page.locator("#balance .outline").count(), "the paper's choice");
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("light and dark, by the system and by the button", async () => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  for (const colorScheme of ["light", "dark"]) {
    const { page, complaints } = await open({ colorScheme });
    const before = await paper(page);
    assert.equal(before === "rgb(255, 255, 255)", colorScheme === "light", before);
    await page.locator("#theme").click();
    assert.notEqual(await paper(page), before);
    await page.locator("#theme").click();
    assert.equal(await paper(page), before);
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("nothing is wider than a phone, and the contents do not fill its screen", async () => {
  for (const address of [quick, full]) {
    const { page, complaints } = await open({ viewport: { width: 390, height: 844 } }, address);
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(widths[0] <= widths[1], `${widths[0]} of ${widths[1]} pixels`);
    assert.ok((await page.locator("nav").boundingBox()).height < 60);
    assert.ok((await page.locator("#found h2").boundingBox()).y < 500);
    // Claims are sentences: they are read without scrolling sideways.
    const claims = page.locator("#claims .scroll");
    assert.ok(await claims.evaluate((table) => table.scrollWidth <= table.clientWidth));
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("pictures of it all, where they are asked for", { skip: !screenshots }, async () => {
  for (const [name, address] of Object.entries({ quick, full })) {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1440, 390]) {
        const { page } = await open({ colorScheme, viewport: { width, height: 900 } }, address);
        await page.screenshot({ path: `${screenshots}/${name}-${colorScheme}-${width}.png` });
        for (const part of ["claims", "tables", "balance", "collapse"]) {
          const path = `${screenshots}/${name}-${colorScheme}-${width}-${part}.png`;
          await page.locator(`#${part}`).screenshot({ path });
        }
        await page.close();
      }
    }
  }
});
