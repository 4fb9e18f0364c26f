/* How long a process ran that has ended: until it ended, not until the list of processes last changed. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Process } from "../../api";

Object.assign(globalThis, { document: { addEventListener: () => undefined, baseURI: "http://localhost/" }, location: new URL("http://localhost/") }); // what the page has when it loads

const shop: Process = {
    pid: 7, nsPid: 7, uid: "one", name: "shop", runtime: "9.0.0", user: "", container: "", commandLine: "", architecture: "x64",
    isReachable: true, reason: "", fix: "", upSeconds: 3, rssBytes: 0, threadCount: 0,
};

test("a process that has ended ran until then, and was seen until then", async (t) => {
    const { remember, rememberEnd, rememberedOf } = await import("./presence");
    const { upNow } = await import("../../store");
    let now = Date.now();
    t.mock.method(Date, "now", () => now);
    remember({ ...shop, upSeconds: upNow(shop) }); // as the list of processes gives it
    now += 5000; // the list has changed, for another process
    remember({ ...shop, upSeconds: upNow({ ...shop, upSeconds: 8 }) });
    now += 600_000; // and not again for ten minutes
    rememberEnd(shop.pid);
    const { process, at } = rememberedOf(shop.pid)!;
    assert.equal(Math.round(process.upSeconds), 608);
    assert.equal(at, now / 1000);
});

test("how long is not known of a process that is known by counters alone", async () => {
    const { remember, rememberEnd, rememberedOf } = await import("./presence");
    remember({ ...shop, pid: 8, uid: "counters-8", upSeconds: 0 });
    rememberEnd(8);
    assert.equal(rememberedOf(8)!.process.upSeconds, 0);
});

test("the history knows how long it watched a process, not how long that ran", async () => {
    const { upLabel } = await import("./header");
    assert.deepEqual([upLabel(false, true), upLabel(true, true), upLabel(true, false)], ["Up", "Ran for", "Watched for"]);
});
