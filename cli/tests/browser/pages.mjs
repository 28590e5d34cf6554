// Pages of a service in a browser.

import { chromium } from "playwright-core";

export const launch = () => chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

/** Opens the page, and takes note of whatever the browser complains of or asks others than the service for. */
export async function openPage(browser, address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, ...options });
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => request.url().startsWith(address) || complaints.push(request.url()));
  await page.goto(`${address}/`);
  return { page, complaints };
}

export const text = (page, selector) => page.locator(selector).textContent();
/** Labels of the hits. */
export const found = (page) => page.locator("#results .label").allTextContents();
export const number = async (page, selector) => Number((await text(page, selector)).replaceAll(",", ""));
