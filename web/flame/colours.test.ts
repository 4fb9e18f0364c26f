/* Text can be read on every box, in both themes; names are shown as they are, and harmless. */
import assert from "node:assert/strict";
import test from "node:test";
import { changeOf, growth, strengthOf } from "./change";
import { Colours } from "./colours";
import { FrameTable, type FrameRow } from "./rows";
import { formatPercent, formatValue, shorten, visible } from "./text";

/* sRGB luminance of an oklch colour, as its inventor gives the way. */
function luminance(colour: string): number {
    const [lightness, chroma, hue] = /oklch\(([\d.]+) ([\d.]+) ([\d.]+)\)/.exec(colour)!.slice(1).map(Number) as [number, number, number];
    const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const clip = (value: number) => Math.max(0, Math.min(1, value));
    const red = clip(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
    const green = clip(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
    const blue = clip(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function luminanceOfHex(hex: string): number {
    const part = (at: number) => {
        const value = parseInt(hex.slice(at, at + 2), 16) / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

function contrast(colour: string, text: string): number {
    const [one, other] = [luminance(colour), luminanceOfHex(text)];
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

test("the text of boxes has a contrast of 4.5", () => {
    const table = new FrameTable();
    for (let f = 0; f < 400; f++)
        table.place([f, `Space${f % 23}.Type.Method${f}`, `Module${f % 29}`, ["managed", "native", "runtime", "type", "kernel", "process"][f % 6]!, f % 2, ""]);
    const totals = new Float64Array(400).map((_, f) => f);
    for (const [isDark, texts] of [[false, ["#17202b", "#211c16"]], [true, ["#f3f6f9", "#f5f2ee"]]] as const) {
        for (const by of ["module", "space", "waiting"] as const) {
            const colours = new Colours(table, totals, by, isDark);
            const all = [...totals.keys()].map((f) => colours.of(f));
            for (let i = -32; i <= 32; i++)
                all.push(colours.ofChange(i / 32), colours.ofWaiting(Math.abs(i) / 32));
            for (const text of texts) {
                const worst = all.reduce((least, colour) => Math.min(least, contrast(colour, text)), 99);
                assert.ok(worst >= 4.5, `${by} ${isDark ? "dark" : "light"} ${text}: ${worst}`);
            }
        }
    }
});

test("a frame has one colour, whatever else there is and however much of it", () => {
    const rows: FrameRow[] = Array.from({ length: 60 }, (_, f) => [f, `Space${f % 7}.Type.Method${f}`, `${f % 3 ? "Shop" : "System"}.Module${f % 11}`, "managed", f % 3 ? 0 : 1]);
    const tableOf = (some: FrameRow[]) => {
        const table = new FrameTable();
        some.forEach((row) => table.place(row));
        return table;
    };
    const [one, other] = [tableOf(rows), tableOf([...rows].reverse())];
    const hues = new Set<string>();
    for (const by of ["module", "space"] as const) {
        for (const isDark of [false, true]) {
            const cpu = new Colours(one, new Float64Array(60).map((_, f) => f), by, isDark);
            const wall = new Colours(other, new Float64Array(60).map((_, f) => f * f + 1), by, isDark, null);
            for (const [f, row] of rows.entries()) {
                assert.equal(cpu.of(f), wall.of(other.find(row[1])), row[1]);
                if (cpu.isOwn(f))
                    hues.add(/([\d.]+)\)$/.exec(cpu.of(f))![1]!);
            }
        }
    }
    assert.equal(hues.size, 1, "own code has one hue");
});

test("what is in the legend stays where it is while a profile grows", () => {
    const table = new FrameTable();
    table.place([0, "A.B.C", "A", "managed", 0]);
    table.place([1, "B.B.C", "B", "managed", 0]);
    const before = new Colours(table, Float64Array.of(5, 1), "module", false);
    const after = new Colours(table, Float64Array.of(5, 90), "module", false, before);
    assert.deepEqual(after.legend(), before.legend());
});

test("changes say what grew and what shrank", () => {
    assert.equal(growth(changeOf(0, 5)), "new");
    assert.equal(growth(changeOf(5, 0)), "gone");
    assert.equal(growth(changeOf(100, 190)), "+90.0 %");
    assert.equal(growth(changeOf(100, 50)), "−50.0 %");
    assert.ok(strengthOf(changeOf(10, 100), 100) > 0.8);
    assert.ok(strengthOf(changeOf(100, 10), 100) < -0.8);
    assert.equal(strengthOf(changeOf(0, 0), 0), 0);
});

test("what grew is red, what shrank is blue, and more so the more it did", () => {
    for (const isDark of [false, true]) {
        const colours = new Colours(new FrameTable(), new Float64Array(0), "module", isDark);
        const [chroma, hue] = [2, 3].map((part) => (change: number) => Number(/oklch\(([\d.]+) ([\d.]+) ([\d.]+)\)/.exec(colours.ofChange(change))![part])) as [(change: number) => number, (change: number) => number];
        assert.deepEqual([-1, -0.25, 0.25, 1].map(hue), [255, 255, 25, 25]);
        assert.ok(chroma(1) > chroma(0.25) && chroma(0.25) > chroma(0) && chroma(-1) === chroma(1));
    }
});

test("numbers have three digits and the unit that is nearest", () => {
    assert.deepEqual([999, 1000, 999_499, 999_500, 1e6].map((size) => formatValue(size, "bytes")), ["999 B", "1.00 KB", "999 KB", "1.00 MB", "1.00 MB"]);
    assert.deepEqual([9.994, 9.996, 99.94, 99.96].map((time) => formatValue(time, "ns")), ["9.99 ns", "10.0 ns", "99.9 ns", "100 ns"]);
    assert.equal(formatValue(-2.5e6, "ns/s"), "−2.50 ms/s");
});

test("names are text, whatever they hold", () => {
    assert.equal(visible("a\u202eb\u0000"), "a\\u{202e}b\\u{0}");
    assert.equal(shorten("x".repeat(1000), 100).length, 100);
    assert.equal(formatValue(1.24e9, "ns"), "1.24 s");
    assert.equal(formatPercent(1, 0), "0 %");
});
