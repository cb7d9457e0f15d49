// What a user does with the page, with 48 nodes.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { accessibilityProblems, byTest, closeBrowser, openPage, sharedBrowser, startFixture, waitForText } from "./browser.mjs";

// At the end of all that runs in this process.
after(closeBrowser);

describe("the page, with 48 nodes", () => {
  let browser;
  let server;
  let page;

  before(async () => {
    browser = await sharedBrowser();
  });
  beforeEach(async () => {
    server = await startFixture(48);
    page = await openPage(browser, server.url);
    await waitForText(byTest(page, "link"), /live/);
  });
  afterEach(async () => {
    assert.deepEqual(page.complaints, [], "the page complains");
    assert.deepEqual(page.strangers, [], "the page asks somebody else");
    await page.context().close();
    await server.end();
  });

  const map = () => page.locator(".map-face");
  async function signIn(token) {
    await page.getByRole("button", { name: "Sign in to act" }).click();
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  }

  test("shows the fleet, and what happens as it happens", async () => {
    await waitForText(byTest(page, "headline"), /16 of 48 nodes run 580\.126\.20/);
    assert.match(await map().getAttribute("aria-label"), /48 nodes: 16 done, 32 waits/);
    server.say("fail gpu-5");
    await waitForText(byTest(page, "failed"), /gpu-5[\s\S]*ImagePullFails: the driver image cannot be pulled[\s\S]*make the image reachable/);
    server.say("add gpu-49");
    await waitForText(byTest(page, "headline"), /of 49 nodes/);
    server.say("remove gpu-49");
    await waitForText(byTest(page, "headline"), /of 48 nodes/);
  });

  test("a cell opens its node, with the mouse and with the keyboard", async () => {
    const box = await byTest(page, "map").boundingBox();
    await page.mouse.move(box.x + 8, box.y + 30);
    await waitForText(page.locator(".tip"), /gpu-1: done/);
    await page.mouse.click(box.x + 8, box.y + 30);
    await waitForText(byTest(page, "node-panel"), /gpu-1[\s\S]*580\.126\.20, the newest[\s\S]*an event of gpu-1/);
    await page.keyboard.press("Escape");
    await byTest(page, "now").waitFor();
    await map().focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await waitForText(page.locator("[aria-live=polite]"), /gpu-2: waits/);
    await page.keyboard.press("Enter");
    await waitForText(byTest(page, "node-panel"), /gpu-2[\s\S]*What would change it|gpu-2[\s\S]*WaitsForSlot/);
  });

  test("groups by wave, rack, zone and state, and finds nodes", async () => {
    assert.deepEqual(await byTest(page, "grouping").locator("option").allInnerTexts(), ["wave", "rack", "zone", "state", "name"]);
    await byTest(page, "grouping").selectOption("zone");
    await map().focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    // Every third node is in zone-a.
    await waitForText(page.locator("[aria-live=polite]"), /gpu-4:/);
    await page.keyboard.press("/");
    await page.keyboard.type("GPU-37");
    await page.keyboard.press("Enter");
    await waitForText(byTest(page, "node-panel"), /gpu-37/);
  });

  test("without a token the page only looks; with one it acts as its person", async () => {
    server.say("fail gpu-5");
    await byTest(page, "failed").waitFor();
    assert.equal(await page.getByRole("button", { name: /^(Pause|Retry|Promote)$/ }).count(), 0);
    await signIn("wrong");
    await waitForText(page.getByRole("alert"), /does not know this token/);
    await page.getByRole("button", { name: "Cancel" }).click();
    await signIn("read");
    await waitForText(byTest(page, "user"), /ben/);
    assert.equal(await page.getByRole("button", { name: /^(Pause|Retry|Promote)$/ }).count(), 0);
    await page.getByRole("button", { name: "Sign out" }).click();
    await signIn("steer");
    await waitForText(byTest(page, "user"), /ada/);
    await page.locator(".summary").getByRole("button", { name: "Pause" }).click();
    const confirm = page.getByRole("dialog").getByRole("button", { name: "Pause" });
    assert.equal(await confirm.isDisabled(), true, "nothing is done without a reason");
    await page.getByLabel(/^Why/).fill("a storm");
    await confirm.click();
    await waitForText(page.locator(".summary"), /Paused: by ada: a storm/);
    await byTest(page, "failed").getByRole("button", { name: "Retry" }).click();
    await page.getByLabel(/^Why/).fill("new cable");
    await page.getByRole("dialog").getByRole("button", { name: "Retry" }).click();
    await byTest(page, "failed").waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => localStorage.getItem("lockstep-token")), null);
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await page.reload();
    await page.getByRole("button", { name: "Sign in to act" }).waitFor();
  });

  test("a link with a token asks before it signs in, and leaves no token in the address", async () => {
    await page.goto("about:blank");
    await page.goto(`${server.url}#token=steer`);
    await waitForText(byTest(page, "from-link"), /brought this token/);
    assert.equal(page.url(), server.url);
    await waitForText(byTest(page, "link"), /live/);
    assert.equal(await byTest(page, "user").count(), 0, "opening a link signs no one in");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Sign in to act" }).click();
    assert.equal(await page.getByLabel("Token").inputValue(), "", "a refused token is gone");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.goto("about:blank");
    await page.goto(`${server.url}#token=steer`);
    await waitForText(byTest(page, "link"), /live/);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await waitForText(byTest(page, "user"), /ada/);
  });

  test("a rollout is a pipeline with numbers, and is promoted by a person", async () => {
    const text = await waitForText(byTest(page, "rollout"), /weekly/);
    for (const part of [/Awaiting approval/, /gate training: passed\s+loss within 1e-3/, /120 of 100 GPU-hours/, /evidence of harm 0\.8, fails at 20/, /needs a user's approval/, /580\.105\.08 → 580\.126\.20/]) {
      assert.match(text, part);
    }
    await waitForText(byTest(page, "waiting"), /rollout weekly[\s\S]*wave canary waits for a person's approval/);
    await signIn("steer");
    await byTest(page, "rollout").getByRole("button", { name: "Promote" }).click();
    await waitForText(page.getByRole("dialog"), /wave canary/);
    await page.getByLabel(/^Why/).fill("looks good");
    await page.getByRole("dialog").getByRole("button", { name: "Promote" }).click();
    await waitForText(byTest(page, "rollout"), /approved by ada/);
  });

  test("the time line turns the map back, and comes back to live", async () => {
    await waitForText(byTest(page, "moment"), /the last ([2-9]|\d\d) s/);
    server.say("step 200");
    const stages = page.locator(".stages");
    await waitForText(stages, /cordon\s+[1-9]/);
    // So that there is a moment after it.
    await waitForText(byTest(page, "moment"), /the last ([5-9]|\d\d) s/);
    const slider = page.getByLabel("Moment to show");
    await slider.fill("0");
    await waitForText(byTest(page, "moment"), /the map at .* ago/);
    await waitForText(stages, /waits\s+32[\s\S]*done\s+16/);
    await waitForText(byTest(page, "link"), /looking back/);
    await page.getByRole("button", { name: "Back to live" }).click();
    await waitForText(stages, /cordon\s+[1-9]/);
  });

  test("the plan says who is moved and who blocks", async () => {
    await page.getByRole("button", { name: "Plan" }).click();
    await waitForText(byTest(page, "plan"), /32 of 32 nodes start, at most 8 at once; 32 pods moved; 1 node blocked/);
    await waitForText(byTest(page, "plan"), /blocked: default\/bare has no controller/);
    // One time axis, with what stops a start and what leaves the rollout unfinished.
    await waitForText(byTest(page, "plan"), /Would not start: RolloutPaused/);
    await waitForText(byTest(page, "plan"), /\+2 h[\s\S]*canary[\s\S]*bake for 48h/);
    await waitForText(byTest(page, "plan"), /ends as Held: BakeInconclusive/);
    await page.getByLabel("Show").selectOption("blocked");
    assert.equal(await page.getByLabel("Nodes of the plan").locator("tbody tr").count(), 1);
    await byTest(page, "plan").locator("tbody button").click();
    await byTest(page, "node-panel").waitFor();
  });

  test("the versions are shown with who moved them, when and why", async () => {
    await page.getByRole("button", { name: "Versions" }).click();
    const text = await waitForText(byTest(page, "versions"), /gpu-version-matrix\.yaml/);
    for (const part of [/git\.example\/gpu-versions \(main\), commit 5f2b8c0d9e1a · rollout weekly/, /driver\s+580\.105\.08\s+580\.126\.20/, /cuda\s+12\.9\s+–/, /Ada: Try driver 580\.126\.20 5f2b8c0d9e1a\s+canary driver: – → 580\.126\.20/, /takes back 91c3d5a2b8e6\s+canary driver: 580\.119\.02 → –/]) {
      assert.match(text, part);
    }
    await byTest(page, "versions").getByText("Why it was done").click();
    await waitForText(byTest(page, "versions").locator("pre"), /release notes of 12 November/);
    server.say('part matrices [{"repository":"r","branch":"main","path":"m.yaml","rollouts":[],"readable":false}]');
    await waitForText(byTest(page, "versions"), /lockstep dashboard --matrix-repo r/);
    server.say('part matrices [{"repository":"r","branch":"main","path":"m.yaml","rollouts":[],"readable":true,"error":"no route to host"}]');
    await waitForText(byTest(page, "versions"), /cannot be read now: no route to host/);
    server.say("part matrices []");
    await waitForText(byTest(page, "versions"), /No version matrix/);
  });

  test("a lost connection is said, and mends by itself", async () => {
    const port = Number(new URL(server.url).port);
    await server.end("SIGKILL");
    await waitForText(byTest(page, "lost"), /Connection lost.*What you see is old/);
    await waitForText(byTest(page, "headline"), /48 nodes/);
    server = await startFixture(12, port);
    await waitForText(byTest(page, "link"), /live/);
    await waitForText(byTest(page, "headline"), /of 12 nodes/);
    await byTest(page, "lost").waitFor({ state: "detached" });
  });

  test("a cluster that does not answer, and a conflicting controller, are said", async () => {
    server.say('part contact {"ok":false,"listed":true,"error":"connection refused"}');
    await waitForText(page.getByRole("alert"), /The cluster does not answer.*connection refused/);
    server.say('part contact {"ok":true,"listed":true}');
    server.say('part frozen {"name":"ConflictingController","text":"NVIDIA\'s own controller upgrades, too.","remedy":"switch it off"}');
    await waitForText(page.getByRole("alert"), /Nothing is done: NVIDIA's own controller.*switch it off/);
  });

  test("what comes from the cluster is text and never markup", async () => {
    server.say('part attention [{"node":"gpu-1","state":10,"name":"<b>x</b>","text":"<img src=x onerror=document.title=1>","remedy":"<script>1</script>"}]');
    await waitForText(byTest(page, "now"), /<img src=x onerror=document.title=1>/);
    assert.equal(await page.locator("main img, main script, main b").count(), 0);
  });

  test("loading that fails says so and tries again", async () => {
    await page.route("**/api/snapshot", (route) => route.fulfill({ status: 500, body: "" }));
    await page.reload();
    await waitForText(byTest(page, "failed-to-load"), /cannot be shown[\s\S]*answers 500/);
    await page.unroute("**/api/snapshot");
    await waitForText(byTest(page, "headline"), /of 48 nodes/);
  });

  test("an empty fleet says what it waits for", async () => {
    const empty = await startFixture(0);
    const other = await openPage(browser, empty.url);
    await waitForText(byTest(other, "empty"), /No GPU nodes/);
    empty.say("add gpu-1");
    await waitForText(byTest(other, "headline"), /of 1 node/);
    await other.context().close();
    await empty.end();
  });

  for (const [width, height] of [[1280, 900], [390, 844]]) {
    for (const colorScheme of ["light", "dark"]) {
      test(`everybody can use it at ${width} pixels, ${colorScheme}`, async () => {
        server.say("step 60");
        server.say("fail gpu-5");
        const other = await openPage(browser, `${server.url}#token=steer`, { viewport: { width, height }, colorScheme });
        await waitForText(byTest(other, "link"), /live/);
        assert.deepEqual(await accessibilityProblems(other), []);
        await other.getByRole("button", { name: "Sign in", exact: true }).click();
        await byTest(other, "failed").waitFor();
        assert.deepEqual(await accessibilityProblems(other), []);
        await byTest(other, "failed").getByRole("button", { name: "gpu-5" }).click();
        await waitForText(byTest(other, "node-panel"), /an event of gpu-5/);
        assert.deepEqual(await accessibilityProblems(other), []);
        await byTest(other, "node-panel").getByRole("button", { name: "Retry" }).click();
        assert.deepEqual(await accessibilityProblems(other), []);
        await other.getByRole("button", { name: "Cancel" }).click();
        assert.equal(await other.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true, "nothing is cut off at the side");
        await other.getByRole("button", { name: "Plan" }).click();
        await waitForText(byTest(other, "plan"), /at most \d+ at once/);
        assert.deepEqual(await accessibilityProblems(other), []);
        await other.getByRole("button", { name: "Versions" }).click();
        await waitForText(byTest(other, "versions"), /Who moved what/);
        assert.deepEqual(await accessibilityProblems(other), []);
        assert.deepEqual(other.complaints, []);
        await other.context().close();
      });
    }
  }
});
