/* What goes wrong in a part of the page is shown in its place, also where it is thrown outside of drawing; all around it stays. */
import assert from "node:assert/strict";
import test from "node:test";
import { h, render } from "preact";
import { useEffect } from "preact/hooks";
import { act } from "preact/test-utils";
import { FakeNode, fakePage } from "./fake_dom";
import { fakeTimers } from "./fake_timers";

fakePage();
Object.assign(globalThis, { SharedWorker: class { port = { postMessage: () => undefined }; } }); // the event stream says nothing

test("what a timer or a callback throws is shown in place of its view", async (t) => {
    const { Boundary } = await import("./boundary");
    const { useGuard } = await import("./guard");
    const timers = fakeTimers(t);
    t.mock.method(console, "error", () => undefined);
    const View = () => {
        const guard = useGuard();
        useEffect(() => void setTimeout(() => guard(() => { throw new RangeError("planted"); }), 1000), []);
        return h("p", null, "a view");
    };
    const place = new FakeNode("div");
    await act(() => render(h("main", null, h("p", null, "around"), h(Boundary, { at: "", children: h(View, null) })), place as unknown as HTMLElement));
    assert.equal(place.textContent, "arounda view");
    await act(() => timers.tick(1000));
    assert.match(place.textContent, /^aroundThis view failedRangeError: planted/);
});

test("a log-in, a header or a corner that fails says so, and the others stay", async (t) => {
    const { session } = await import("../store");
    const { App } = await import("../app");
    const { toast } = await import("./toasts");
    t.mock.method(console, "error", () => undefined);
    const make = document.createTextNode.bind(document);
    let broken = /^$/;
    document.createTextNode = (text: string) => {
        if (broken.test(text))
            throw new RangeError(`planted ${text}`);
        return make(text);
    };
    const textWith = async (scope: "none" | "metrics", pattern: RegExp) => {
        broken = pattern;
        session.set({ name: "", kind: "key", scope });
        const place = new FakeNode("div");
        await act(() => render(h(App, null), place as unknown as HTMLElement));
        const text = place.textContent;
        await act(() => render(null, place as unknown as HTMLElement));
        return text;
    };
    fakeTimers(t);
    toast("a toast");
    assert.match(await textWith("none", /^Good once/), /^This view failedRangeError: planted Good once.*a toast$/);
    assert.match(await textWith("none", /^a toast/), /Good once.*This view failedRangeError: planted a toast/);
    assert.match(await textWith("metrics", /^Recordings$/), /This view failedRangeError: planted Recordings.*your key shows metrics only.*a toast$/);
});
