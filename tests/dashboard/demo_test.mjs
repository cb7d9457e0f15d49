// The demo as a newcomer sees it: from its address to why a node failed, and a hand on the upgrade.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { byTest, closeBrowser, openPage, patience, Server, sharedBrowser, waitForText } from "./browser.mjs";

function get(url, headers = {}) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers }, (answer) => {
      let body = "";
      answer.on("data", (data) => (body += data));
      answer.on("end", () => resolve({ code: answer.statusCode, body }));
    });
    request.on("error", reject);
  });
}

// The first snapshot of which this holds.
async function snapshotWhen(url, holds) {
  const end = Date.now() + patience;
  for (;;) {
    const snapshot = JSON.parse((await get(`${url}api/snapshot`)).body);
    if (holds(snapshot)) return snapshot;
    assert.ok(Date.now() < end, `${holds} does not hold of ${JSON.stringify(snapshot)}`);
    await pause(20);
  }
}

// A repository of its own with a version matrix that was moved once.
function makeVersions(folder) {
  const place = path.join(folder, "versions");
  mkdirSync(place);
  const git = (...args) => execFileSync("git", ["-C", place, "-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "commit.gpgsign=false", ...args]);
  git("init", "--quiet", "--initial-branch=main");
  for (const driver of ["580.105.08", "580.126.20"]) {
    writeFileSync(path.join(place, "gpu-version-matrix.yaml"), `versions:\n  current:\n    driver: "${driver}"\n`);
    git("add", ".");
    git("commit", "--quiet", "--message", `Driver ${driver}`);
  }
  return place;
}

// It is read as soon as a page is there to see it.
async function looksAtVersions(url) {
  // Not by fetch: an answer without a reader is given up when memory is collected.
  const page = http.get(`${url}api/events`, (events) => events.resume());
  page.on("error", () => {});
  const [matrix] = (await snapshotWhen(url, (snapshot) => snapshot.matrices?.[0]?.commit)).matrices;
  page.destroy();
  assert.deepEqual(matrix.versions, [{ key: "driver", current: "580.126.20", canary: "" }]);
  assert.deepEqual(matrix.history.map((entry) => `${entry.author}: ${entry.subject}`), ["Ada: Driver 580.126.20", "Ada: Driver 580.105.08"]);
  assert.deepEqual(matrix.history[0].changes, [{ slot: "current", key: "driver", before: "580.105.08", after: "580.126.20" }]);
}

// The commands that serve the page, on the demo's cluster.
async function otherCommands(kubeconfig, folder) {
  const place = ["--kubeconfig", kubeconfig];
  const versions = makeVersions(folder);
  const commands = [
    [["dashboard", ...place, "--address", "127.0.0.1:0", "--matrix-repo", versions], /The dashboard is at (http:\S+)/],
    [["controller", ...place, "--no-leader-election", "--status-address", "", "--dashboard-address", "127.0.0.1:0"], /dashboard url=(http:\S+)/],
  ];
  for (const [args, says] of commands) {
    const server = new Server(process.env.LOCKSTEP_PROGRAM, args);
    try {
      const url = (await server.hear(says))[1];
      const snapshot = await snapshotWhen(url, ({ nodes }) => nodes.length >= 12);
      assert.equal(snapshot.nodes.length, 12, args[0]);
      if (args[0] === "dashboard") await looksAtVersions(url);
      assert.equal((await get(url, { Host: "elsewhere.example" })).code, 421, "a name that is not ours");
    } finally {
      await server.end("SIGINT");
    }
  }
  const wrong = new Server(process.env.LOCKSTEP_PROGRAM, ["dashboard", ...place, "--address", "nowhere"]);
  assert.equal(await wrong.ended, 2, "bad input");
  assert.match(wrong.output, /--address/);
}

const folder = mkdtempSync(path.join(tmpdir(), "lockstep-demo-test-"));
const kubeconfig = path.join(folder, "kubeconfig");
// Begun with this process: it mostly waits, and other tests have the time.
const demo = new Server(process.env.LOCKSTEP_PROGRAM, [
  "demo", "--nodes", "12", "--speed", "60", "--failing-node", "3", "--keep", "--dashboard-address", "127.0.0.1:0", "--kubeconfig-out", kubeconfig,
]);
after(async () => {
  await closeBrowser();
  await demo.end("SIGINT");
  rmSync(folder, { recursive: true });
});

test("the demo's page shows the upgrade, says why a node failed, and steers", async () => {
  const url = (await demo.hear(/^Dashboard: (http:\S+)$/m))[1];
  const page = await openPage(await sharedBrowser(), url);
  await waitForText(byTest(page, "link"), /live/);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await waitForText(byTest(page, "headline"), /11 of 12 nodes run 580\.126\.20/);
  const failed = await waitForText(byTest(page, "failed"), /gpu-3/);
  assert.match(failed, /image/i, "it says why");
  await byTest(page, "failed").getByRole("button", { name: "gpu-3" }).click();
  await waitForText(byTest(page, "node-panel"), /What would change it[\s\S]*States over time[\s\S]*Events[\s\S]*\d\d:\d\d:\d\d/);
  await page.locator(".summary").getByRole("button", { name: "Pause" }).click();
  await page.getByLabel(/^Why/).fill("a look at gpu-3 first");
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await waitForText(page.locator(".summary"), /Paused: .*: a look at gpu-3 first/);
  await byTest(page, "node-panel").getByRole("button", { name: "Skip" }).click();
  await page.getByLabel(/^Why/).fill("its registry is down");
  await page.getByRole("dialog").getByRole("button", { name: "Skip" }).click();
  await waitForText(byTest(page, "node-panel"), /skipped[\s\S]*skip by .*: its registry is down/);
  await page.getByRole("button", { name: "Plan" }).click();
  await page.getByLabel("as if a new driver version came").check();
  await waitForText(byTest(page, "plan"), /of \d+ nodes start, at most \d+ at once/);
  assert.deepEqual(page.complaints, []);
  assert.deepEqual(page.strangers, []);
  await otherCommands(kubeconfig, folder);
  await page.context().close();
});
