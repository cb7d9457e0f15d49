// A change of a node in a cluster to its event at a page, through the real watches and feed: an embedded API server with
// 10,000 simulated nodes and `lockstep dashboard` on it (docs/PERFORMANCE.md). Without a browser: bench/dashboard_bench.mjs
// has the rest of the way.
//
//   node bench/dashboard_feed_bench.mjs BUILD [NODES]
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
process.env.LOCKSTEP_WEB ??= path.join(root, "web");
const program = path.resolve(process.argv[2] ?? path.join(root, "build"), "lockstep");
const nodes = Number(process.argv[3] ?? 10_000);
const { Server } = await import("../tests/dashboard/browser.mjs");

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const folder = mkdtempSync(path.join(tmpdir(), "lockstep-feed-bench-"));
const kubeconfig = path.join(folder, "kubeconfig");
const servers = [];
let token = "";
const start = (...words) => {
  const server = new Server(program, words);
  servers.push(server);
  return server;
};
const cpuOf = (pid) => {
  const words = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(words[11]) + Number(words[12])) / 100;
};

function patch(api, node) {
  const body = JSON.stringify({ metadata: { labels: { "nvidia.com/gpu-driver-upgrade-state": "upgrade-failed" } } });
  return new Promise((resolve, reject) => {
    const request = http.request(`${api}/api/v1/nodes/${node}`, { method: "PATCH", headers: { "Content-Type": "application/merge-patch+json", Authorization: `Bearer ${token}` } }, (answer) => {
      answer.resume();
      answer.on("end", () => (answer.statusCode === 200 ? resolve() : reject(new Error(`patch: ${answer.statusCode}`))));
    });
    request.on("error", reject);
    request.end(body);
  });
}

try {
  await start("apiserver", "--no-tls", "--kubeconfig-out", kubeconfig).hear(/Kubernetes API at/);
  await start("fleet", "--kubeconfig", kubeconfig, "--nodes", String(nodes), "--speed", "1000").hear(/nodes run/);
  const config = readFileSync(kubeconfig, "utf8");
  const api = /server: (\S+)/.exec(config)[1];
  token = /token: (\S+)/.exec(config)[1];
  const dashboard = start("dashboard", "--kubeconfig", kubeconfig, "--address", "127.0.0.1:0");
  const url = (await dashboard.hear(/The dashboard is at (http:\S+)/))[1];
  let seen = () => {};
  http.get(`${url}api/events`, (answer) => {
    let text = "";
    answer.on("data", (data) => {
      text += data;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        seen(text.slice(0, end));
        text = text.slice(end + 2);
      }
    });
  });
  // Until drivers have come up everywhere and the cluster is at rest.
  for (let last = -1, now = cpuOf(dashboard.child.pid); now - last > 0.3; ) {
    await pause(5000);
    [last, now] = [now, cpuOf(dashboard.child.pid)];
  }
  const before = cpuOf(dashboard.child.pid);
  await pause(10_000);
  const atRest = (cpuOf(dashboard.child.pid) - before) / 10;
  const { nodes: rows } = await (await fetch(`${url}api/snapshot`)).json();
  if (rows.length !== nodes) throw new Error(`the dashboard shows ${rows.length} nodes`);
  const times = [];
  for (const [, name] of rows.slice(0, 50)) {
    const arrived = new Promise((resolve) => (seen = (event) => event.includes(`"${name}"`) && event.includes('"nodes"') && resolve(performance.now())));
    const began = performance.now();
    await patch(api, name);
    times.push((await arrived) - began);
    await pause(100);
  }
  times.sort((a, b) => a - b);
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${dashboard.child.pid}/status`, "utf8"))[1] / 1024;
  console.log(`${nodes} nodes: from the patch of a node to its event at a page: median ${times[25].toFixed(0)} ms, worst of 50 ${times[49].toFixed(0)} ms`);
  console.log(`  the dashboard at rest with a page open: ${(atRest * 100).toFixed(1)}% of a core, ${resident.toFixed(0)} MB`);
} finally {
  for (const server of servers.reverse()) await server.end("SIGTERM");
  rmSync(folder, { recursive: true });
}
process.exit(0);
