/* What a live recording costs: known where the load was steady around its start, and kept; load that comes later is no cost. */
import assert from "node:assert/strict";
import { test } from "node:test";

Object.assign(globalThis, { document: { addEventListener: () => undefined, baseURI: "http://localhost/" }, location: new URL("http://localhost/") }); // what the page has when it loads
const cost = import("./cost");

const CHART = 300; // seconds
const SETTLE = 3;
let start = 1000;

type Load = (second: number) => number; // since the view was opened

/* What is said at each second of a view that was opened `after` seconds since the first of this process. */
async function told(load: Load, seconds: number, after = 0): Promise<(number | string)[]> {
    const { costOf } = await cost;
    start += 10_000;
    const all = Array.from({ length: 60 + after + seconds }, (_, i) => i - 60);
    return all.slice(60 + after).map((second) => {
        const shown = all.filter((one) => one <= second && one > second - CHART);
        const said = costOf(shown.map((one) => start + one), shown.map((one) => load(one) + ((one * 7 + 420) % 5) / 500), start, start + after);
        return said.state === "known" ? said.share : said.state;
    });
}

const knownOf = (all: (number | string)[]): number[] => all.filter((one): one is number => typeof one === "number");

test("the load of before is kept when the chart forgets it", async () => {
    const { costOf } = await cost;
    const times = Array.from({ length: 400 }, (_, i) => 1000 - 60 + i);
    const values = times.map((time, i) => (time < 1000 ? 0.1 : 0.3) + (i % 2) / 1000);
    assert.equal(costOf(times.slice(0, 100), values.slice(0, 100), 1000, 1000).state, "known");
    const later = costOf(times.slice(100), values.slice(100), 1000, 1000);
    assert.ok(later.state === "known" && Math.abs(later.share - 0.2) < 0.01);
    assert.equal(costOf(times.slice(100), values.slice(100), 1001, 1001).state, "missing");
});

test("a steady load tells the cost, and it stays what it was", async () => {
    const all = await told((second) => (second < 0 ? 0.1 : 0.18), 360);
    assert.equal(all[0], "measuring");
    assert.ok(Math.abs((all[20] as number) - 0.08) < 0.01, String(all[20]));
    assert.deepEqual(new Set(all.slice(20)), new Set([all[20]]));
});

for (const [first, then] of [[5, 30], [30, 100], [60, 120], [60, 240], [0, 300], [60, 60]] as const) {
    test(`load that comes later is no cost: ${first} s as before, then ${then} s of 60 %`, async () => {
        const rises = SETTLE + first; // with the view there is nothing that tells it from the view's cost
        assert.deepEqual(knownOf(await told((second) => (second < rises ? 0.1 : 0.6), rises + then)), []);
        const known = knownOf(await told((second) => (second < 0 ? 0.1 : second < rises ? 0.18 : 0.6), rises + then));
        assert.deepEqual(known.filter((share) => Math.abs(share - 0.08) > 0.02), []);
    });
}

test("load in waves, and load that drifts, is no cost", async () => {
    for (const shift of [0, 5, 10, 15, 20, 25, 30, 35])
        assert.deepEqual(knownOf(await told((second) => ((second + shift + 400) % 40 < 20 ? 0.1 : 0.6), 120)), [], `shifted by ${shift}`);
    assert.deepEqual(knownOf(await told((second) => 0.5 + second / 400, 120)), []);
});

test("what rose under the view of another tab is not the cost of this one", async () => {
    assert.deepEqual(knownOf(await told((second) => (second < 60 ? 0.1 : 0.6), 120, 120)), []);
    assert.deepEqual(knownOf(await told((second) => (second < 60 ? 0.1 : 0.6), 120, 400)), []); // the chart has forgotten that
    const known = knownOf(await told((second) => (second < 0 ? 0.1 : second < 120 ? 0.11 : 0.18), 120, 120));
    assert.ok(known.length > 60 && known.every((share) => Math.abs(share - 0.08) < 0.01), String(known.slice(0, 3)));
});
