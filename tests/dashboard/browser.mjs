// What the page's tests share: a fixture or a demo as a process of its own, and Chromium.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const web = process.env.LOCKSTEP_WEB;
const chromiumPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
// Far longer than anything here takes, on a machine that does much else.
export const patience = Number(process.env.PATIENCE ?? 60_000);

for (const [what, where] of [
  ["Chromium (the package chromium)", chromiumPath],
  ["Playwright (scripts/build-page --tests)", path.join(web, "node_modules/playwright-core")],
  ["the page (scripts/build-page)", path.join(web, "dist/index.html")],
]) {
  if (!existsSync(where)) {
    // Only who builds without the page tests without it.
    const unwanted = process.env.LOCKSTEP_WITHOUT_PAGE === "1";
    console.log(`${unwanted ? "SKIPPED" : "FAILED"}: ${what} is missing: ${where}. Next: make test`);
    process.exit(unwanted ? 0 : 1);
  }
}
const require = createRequire(path.join(web, "package.json"));
const { chromium } = require("playwright-core");
const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// A process that says its address, and ends with the test.
export class Server {
  constructor(program, args) {
    this.child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.output = "";
    this.waiting = [];
    this.ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.child.stdin.on("error", () => {});
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.on("data", (data) => {
        this.output += data;
        this.waiting = this.waiting.filter((look) => !look());
      });
    }
  }
  // The first match in what it prints.
  hear(pattern) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(this.output);
        if (match) resolve(match);
        return match !== null;
      };
      if (look()) return;
      this.waiting.push(look);
      void this.ended.then(() => reject(new Error(`it ended without saying ${pattern}: ${this.output}`)));
    });
  }
  say(line) {
    this.child.stdin.write(`${line}\n`);
  }
  async end(signal = "SIGTERM") {
    this.child.kill(signal);
    await this.ended;
  }
}

export async function startFixture(nodes, port = 0) {
  const server = new Server(process.env.PAGE_FIXTURE, [String(nodes), String(port)]);
  server.url = (await server.hear(/^(http:\S+)$/m))[1];
  return server;
}

let launched;
// One for all tests of this process: to start one costs as much as a few tests.
export function sharedBrowser() {
  // Tests run as root in containers, where Chromium's own sandbox cannot be made.
  launched ??= chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-gpu"] });
  return launched;
}
export async function closeBrowser() {
  const browser = await launched;
  launched = undefined;
  await browser?.close();
}

// A page that must not complain, and must query only its own server.
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.complaints = [];
  page.strangers = [];
  page.on("console", (message) => {
    // Chromium itself reports answers such as 401 as errors.
    if (message.type() === "error" && !/Failed to load resource|ERR_/.test(message.text())) page.complaints.push(message.text());
  });
  page.on("pageerror", (error) => page.complaints.push(error.message));
  const origin = new URL(url).origin;
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) page.strangers.push(request.url());
  });
  await page.goto(url);
  return page;
}

export const byTest = (page, id) => page.locator(`[data-testid=${id}]`);

export async function waitForText(locator, pattern) {
  const page = locator.page();
  const end = Date.now() + patience;
  let text = "";
  while (Date.now() < end) {
    text = (await locator.allInnerTexts()).join("\n");
    if (pattern.test(text)) return text;
    await page.waitForTimeout(50);
  }
  throw new Error(`waited for ${pattern}, and there is: ${text}`);
}

export async function accessibilityProblems(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((problem) => `${problem.id}: ${problem.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
}
