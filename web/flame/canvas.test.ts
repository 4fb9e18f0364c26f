/* What a drawing throws that nobody called for, in a frame of the browser, gets to the one who can show it. */
import assert from "node:assert/strict";
import test from "node:test";

test("a drawing that fails in a frame is reported, and the next one is drawn", async () => {
    const frames: ((now: number) => void)[] = [];
    let resized = () => {};
    const pen = new Proxy({}, { get: (_, name) => (name === "clearRect" ? () => { throw new RangeError("planted"); } : () => undefined), set: () => true });
    const element = () => ({ style: {}, clientWidth: 100, clientHeight: 100, getContext: () => pen, setAttribute: () => undefined, after: () => undefined, addEventListener: () => undefined });
    Object.assign(globalThis, {
        matchMedia: () => ({ matches: false }), document: { createElement: element }, devicePixelRatio: 1, cancelAnimationFrame: () => undefined,
        requestAnimationFrame: (call: (now: number) => void) => frames.push(call),
        ResizeObserver: class { constructor(call: () => void) { resized = call; } observe() {} },
    });
    const { FlameCanvas } = await import("./canvas");
    const told: string[] = [];
    const [scroller, spacer, drawing] = [element(), element(), element()] as unknown as [HTMLElement, HTMLElement, HTMLCanvasElement];
    const canvas = new FlameCanvas(scroller, spacer, drawing, (work) => {
        try {
            work();
        } catch (problem) {
            told.push(String(problem));
        }
    });
    for (const draws of [1, 2]) {
        canvas.requestDraw();
        frames.pop()!(0);
        assert.deepEqual(told, new Array(draws).fill("RangeError: planted"));
    }
    resized();
    assert.equal(told.length, 3);
    const plain = new FlameCanvas(scroller, spacer, drawing); // of a page without a boundary
    plain.requestDraw();
    assert.throws(() => frames.pop()!(0), /planted/);
});
