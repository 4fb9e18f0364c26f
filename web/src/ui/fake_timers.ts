/* Timers and a clock that a test turns on by itself. Not part of the page. Node's own cannot do the clock before Node 20. */

/* The part of Node's TestContext that is used: the page is checked without Node's types. */
interface Test {
    mock: { method: (of: object, name: never, fake: never) => unknown };
}

interface Due {
    at: number;
    every: number; // milliseconds; 0: once
    work: () => void;
}

export interface FakeTimers {
    /* What is due within these milliseconds is done, in its order. */
    tick: (milliseconds: number) => void;
}

export function fakeTimers(t: Test): FakeTimers {
    let now = Date.now();
    let last = 0;
    const all = new Map<number, Due>();
    const add = (isRepeated: boolean) => (work: () => void, milliseconds = 0) => {
        all.set(++last, { at: now + milliseconds, every: isRepeated ? Math.max(1, milliseconds) : 0, work });
        return last;
    };
    const remove = (id: number) => void all.delete(id);
    const fakes = { setTimeout: add(false), setInterval: add(true), clearTimeout: remove, clearInterval: remove };
    for (const [name, fake] of Object.entries(fakes))
        t.mock.method(globalThis, name as never, fake as never);
    t.mock.method(Date, "now" as never, (() => now) as never);
    const next = (until: number) => [...all].filter(([, { at }]) => at <= until).sort(([, a], [, b]) => a.at - b.at)[0];
    return {
        tick: (milliseconds) => {
            const until = now + milliseconds;
            for (let found = next(until); found; found = next(until)) {
                const [id, due] = found;
                now = due.at;
                if (due.every)
                    due.at += due.every;
                else
                    all.delete(id);
                due.work();
            }
            now = until;
        },
    };
}
