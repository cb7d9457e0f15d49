// The demo as a newcomer sees it: from its address to why a node failed, and a hand on the upgrade.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { byTest, openPage, Server, startBrowser, waitForText } from "./browser.mjs";

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

// The commands that serve the page, on the demo's cluster.
async function otherCommands(kubeconfig) {
  const place = ["--kubeconfig", kubeconfig];
  const commands = [
    [["dashboard", ...place, "--address", "127.0.0.1:0"], /The dashboard is at (http:\S+)/],
    [["controller", ...place, "--no-leader-election", "--status-address", "", "--dashboard-address", "127.0.0.1:0"], /dashboard url=(http:\S+)/],
  ];
  for (const [args, says] of commands) {
    const server = new Server(process.env.LOCKSTEP_PROGRAM, args);
    try {
      const url = (await server.hear(says))[1];
      let snapshot;
      do {
        snapshot = JSON.parse((await get(`${url}api/snapshot`)).body);
      } while (snapshot.nodes.length < 12);
      assert.equal(snapshot.nodes.length, 12, args[0]);
      assert.equal((await get(url, { Host: "elsewhere.example" })).code, 421, "a name that is not ours");
    } finally {
      await server.end("SIGINT");
    }
  }
  const wrong = new Server(process.env.LOCKSTEP_PROGRAM, ["dashboard", ...place, "--address", "nowhere"]);
  assert.equal(await wrong.ended, 2, "bad input");
  assert.match(wrong.output, /--address/);
}

test("the demo's page shows the upgrade, says why a node failed, and steers", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "lockstep-demo-test-"));
  const kubeconfig = path.join(folder, "kubeconfig");
  const demo = new Server(process.env.LOCKSTEP_PROGRAM, [
    "demo", "--nodes", "12", "--speed", "60", "--failing-node", "3", "--keep", "--dashboard-address", "127.0.0.1:0", "--kubeconfig-out", kubeconfig,
  ]);
  const browser = await startBrowser();
  try {
    const url = (await demo.hear(/^Dashboard: (http:\S+)$/m))[1];
    const page = await openPage(browser, url);
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
    await waitForText(byTest(page, "plan"), /nodes in \d+ turns/);
    assert.deepEqual(page.complaints, []);
    assert.deepEqual(page.strangers, []);
    await otherCommands(kubeconfig);
  } finally {
    await browser.close();
    await demo.end("SIGINT");
    rmSync(folder, { recursive: true });
  }
});
