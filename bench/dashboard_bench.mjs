// The dashboard's page with 10,000 nodes in Chromium, and what open pages cost the server (docs/PERFORMANCE.md).
//
//   node bench/dashboard_bench.mjs BUILD
import { readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
process.env.LOCKSTEP_WEB ??= path.join(root, "web");
process.env.PAGE_FIXTURE ??= path.resolve(process.argv[2] ?? path.join(root, "build"), "tests/dashboard/page_fixture");
const { byTest, closeBrowser, openPage, sharedBrowser, startFixture, waitForText } = await import("../tests/dashboard/browser.mjs");

const nodes = 10_000;
const pages = 100;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
let missed = 0;
function say(what, value, unit, target, atLeast = false) {
  const met = atLeast ? value >= target : value <= target;
  if (!met) missed++;
  console.log(`${what}: ${Number(value.toFixed(1))} ${unit} (target ${atLeast ? "at least" : "at most"} ${target})${met ? "" : "  MISSED"}`);
}
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

const dist = path.join(process.env.LOCKSTEP_WEB, "dist");
const bytes = ["index.html", "assets/page.js", "assets/page.css"].map((file) => gzipSync(readFileSync(path.join(dist, file)), { level: 9 }).length);
say("the page's files, gzipped", bytes.reduce((a, b) => a + b, 0) / 1024, "KB", 200);

const server = await startFixture(nodes);
const browser = await sharedBrowser();
const first = [];
let page;
for (let i = 0; i < 5; i++) {
  if (page) await page.context().close();
  page = await openPage(browser, server.url);
  await page.waitForFunction(() => performance.getEntriesByName("lockstep-map").length > 0);
  first.push(await page.evaluate(() => performance.getEntriesByName("lockstep-map")[0].startTime));
}
say(`first picture of ${nodes} nodes, from the click on (median of 5)`, median(first), "ms", 1000);

// From the change in the server to the frame in which its cell has another colour.
const drawn = [];
await waitForText(byTest(page, "link"), /live/);
await byTest(page, "grouping").selectOption("none");
await pause(1000);
for (let i = 0; i < 15; i++) {
  const seen = page.evaluate(
    () =>
      new Promise((resolve) => {
        const canvas = document.querySelector("[data-testid=map]");
        const read = () => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.reduce((sum, value, place) => (place % 4 === 3 ? sum : (sum * 31 + value) % 1000003), 0);
        const before = read();
        window.benchReady = true;
        const look = () => (read() === before ? requestAnimationFrame(look) : resolve(Date.now()));
        requestAnimationFrame(look);
      }),
  );
  await page.waitForFunction(() => window.benchReady);
  const sent = Date.now();
  server.say(`fail gpu-${i + 100}`);
  drawn.push((await seen) - sent);
  await page.evaluate(() => (window.benchReady = false));
}
say("a change, from the server's model to its pixels (median of 15, with the reading of all pixels that measures it)", median(drawn), "ms", 200);

server.say("rate 50");
await pause(1000);
const frames = await page.evaluate(
  () =>
    new Promise((resolve) => {
      const times = [];
      const count = (now) => {
        times.push(now);
        if (now - times[0] < 6000) requestAnimationFrame(count);
        else resolve(times);
      };
      requestAnimationFrame(count);
    }),
);
const gaps = frames.slice(1).map((time, i) => time - frames[i]).sort((a, b) => a - b);
say("frames a second at 50 changes a second", ((frames.length - 1) / (frames.at(-1) - frames[0])) * 1000, "frames", 30, true);
console.log(`  the longest gap between two frames: ${gaps.at(-1).toFixed(0)} ms, 99 of 100 under ${gaps[Math.floor(gaps.length * 0.99)].toFixed(0)} ms`);

const session = await page.context().newCDPSession(page);
await session.send("HeapProfiler.collectGarbage");
await session.send("Performance.enable");
const { metrics } = await session.send("Performance.getMetrics");
const heap = metrics.find((metric) => metric.name === "JSHeapTotalSize").value;
const whole = await browser.newBrowserCDPSession();
const { processInfo } = await whole.send("SystemInfo.getProcessInfo");
let renderer = 0;
for (const info of processInfo.filter((entry) => entry.type === "renderer")) {
  const rollup = readFileSync(`/proc/${info.id}/smaps_rollup`, "utf8");
  renderer = Math.max(renderer, Number(/Private_Dirty:\s+(\d+)/.exec(rollup)[1]) / 1024);
}
console.log(`  JavaScript's heap: ${(heap / 2 ** 20).toFixed(0)} MB`);
say("memory of the page's own process", renderer, "MB", 150);
await closeBrowser();

// What the server uses without pages, and with many.
async function usage(seconds) {
  const ask = async () => {
    server.output = "";
    server.say("usage");
    return Number((await server.hear(/^(\d+\.\d+)$/m))[1]);
  };
  const before = await ask();
  await pause(seconds * 1000);
  return ((await ask()) - before) / seconds;
}
await pause(1000);
const alone = await usage(8);
let received = 0;
const listeners = [];
for (let i = 0; i < pages; i++) {
  listeners.push(http.get(`${server.url}api/events`, { agent: false }, (answer) => answer.on("data", (data) => (received += data.length))));
}
await pause(2000);
received = 0;
const busy = await usage(8);
say(`${pages} open pages at 50 changes a second, beyond what the fleet itself takes`, (busy - alone) * 100, "% of a core", 10);
console.log(`  with no page: ${(alone * 100).toFixed(1)}%; with ${pages}: ${(busy * 100).toFixed(1)}%, ${(received / 8 / pages / 1024).toFixed(1)} KB a second each`);
for (const listener of listeners) listener.destroy();
await server.end();
process.exit(missed > 0 ? 1 : 0);
