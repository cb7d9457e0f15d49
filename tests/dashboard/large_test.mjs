// Ten thousand nodes: everything that a user does with few is there with many.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { accessibilityProblems, byTest, closeBrowser, openPage, sharedBrowser, startFixture, waitForText } from "./browser.mjs";

// At the end of all that runs in this process.
after(closeBrowser);

describe("the page, with 10,000 nodes", () => {
  let browser;
  let server;

  before(async () => {
    browser = await sharedBrowser();
    server = await startFixture(10_000);
  });
  after(async () => {
    await server.end();
  });

  test("ten thousand nodes are shown, followed, found and opened", async () => {
    const page = await openPage(browser, server.url);
    await waitForText(byTest(page, "headline"), /3,334 of 10,000 nodes/);
    const face = page.locator(".map-face");
    assert.match(await face.getAttribute("aria-label"), /Map of 10000 nodes/);
    server.say("rate 50");
    await waitForText(page.locator(".stages"), /validate\s+[1-9]/);
    server.say("rate 0");
    server.say("fail gpu-9000");
    await waitForText(byTest(page, "failed"), /gpu-9000/);
    await page.keyboard.press("/");
    await page.keyboard.type("gpu-9000");
    await page.keyboard.press("Enter");
    await waitForText(byTest(page, "node-panel"), /gpu-9000[\s\S]*cannot be pulled/);
    for (const grouping of ["rack", "zone", "state", "none", "wave"]) {
      await byTest(page, "grouping").selectOption(grouping);
      await face.focus();
      await page.keyboard.press("End");
      await waitForText(page.locator("[aria-live=polite]"), /gpu-\d+:/);
    }
    await waitForText(byTest(page, "moment"), /the last ([3-9]|\d\d) s|min/);
    await page.getByLabel("Moment to show").fill("0");
    await waitForText(page.locator(".stages"), /done\s+3,334/);
    assert.deepEqual(await accessibilityProblems(page), []);
    assert.deepEqual(page.complaints, []);
    assert.deepEqual(page.strangers, []);
  });

  test("every page that is open is told", async () => {
    const pages = [];
    for (let i = 0; i < 4; i++) pages.push(await openPage(browser, server.url));
    for (const page of pages) await waitForText(byTest(page, "link"), /live/);
    server.say("fail gpu-77");
    for (const page of pages) await waitForText(byTest(page, "failed"), /gpu-77/);
  });
});
