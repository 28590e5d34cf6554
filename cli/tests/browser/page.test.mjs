// The page of `hashbrook reproduce`, as people meet it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const address = pathToFileURL(process.env.REPORT).href;
const screenshots = process.env.SCREENSHOTS;
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
});
after(async () => browser?.close());

/** Opens the page, and fails on whatever the browser complains of or asks the network for. */
async function open(options = {}) {
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
  assert.ok(sections >= 12, `${sections} sections`);
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
  const table = page.locator("table").first();
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

test("light and dark, by the system and by the button", async () => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  for (const colorScheme of ["light", "dark"]) {
    const { page, complaints } = await open({ colorScheme });
    const before = await paper(page);
    assert.equal(before === "rgb(255, 255, 255)", colorScheme === "light", before);
    if (screenshots) await page.screenshot({ path: `${screenshots}/${colorScheme}.png`, fullPage: true });
    await page.locator("#theme").click();
    assert.notEqual(await paper(page), before);
    await page.locator("#theme").click();
    assert.equal(await paper(page), before);
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("nothing is wider than a phone", async () => {
  const { page, complaints } = await open({ viewport: { width: 390, height: 844 } });
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(widths[0] <= widths[1], `${widths[0]} of ${widths[1]} pixels`);
  assert.deepEqual(complaints, []);
  await page.close();
});
