/* The report's table of methods: self, total and, of two profiles, the change. */
import { aboutFrame } from "./about";
import { changeOf, growth, type Change } from "./change";
import { make } from "./dom";
import { KIND, type Weights, type Words } from "./profile";
import { formatChange, formatPercent, formatValue, shorten } from "./text";

const TABLE_ROWS = 100;

export interface MethodsInput {
    words: Words;
    sums: Weights;
    baseSums: Weights | null;
    isAfter: boolean; // whether `sums` are those after
    whole: number;
    unit: string;
    sort: string;
    marked: number;
    isShown: ((frame: number) => boolean) | null;
    colourOf: (frame: number, change: number) => string;
    onSort: (key: string) => void;
    onMark: (frame: number) => void;
}

interface Column {
    key: string;
    label: string;
    values: ArrayLike<number>;
    percent: (frame: number) => string;
    isSigned?: boolean;
    largest: number;
}

function largestOf(values: ArrayLike<number>): number {
    let most = 0;
    for (let i = 0; i < values.length; i++)
        most = Math.max(most, Math.abs(values[i]!));
    return most;
}

function columnsOf({ sums, baseSums, isAfter, whole }: MethodsInput): Column[] {
    const share = (values: Float64Array) => (frame: number) => formatPercent(values[frame]!, whole);
    const column = (key: string, label: string, values: Float64Array): Column =>
        ({ key, label, values, percent: share(values), largest: largestOf(values) });
    const columns = [column("self", "Self", sums.self), column("total", "Total", sums.total)];
    if (!baseSums)
        return columns;
    const changes: Change[] = Array.from(sums.self, (value, f) =>
        (isAfter ? changeOf(baseSums.self[f]!, value) : changeOf(value, baseSums.self[f]!)));
    const values = changes.map(({ change }) => change);
    return [{ key: "change", label: "Change", values, isSigned: true, percent: (frame) => growth(changes[frame]!), largest: largestOf(values) }, ...columns];
}

function cellOf(column: Column, frame: number, unit: string): HTMLElement {
    const value = column.values[frame]!;
    const text = (amount: number) => formatValue(amount, unit);
    const bar = make("div", { class: column.isSigned ? (value > 0 ? "is-more" : "is-less") : null });
    bar.style.setProperty("--share", String(Math.abs(value) / (column.largest || 1)));
    return make("td", {}, bar, make("span", { text: column.isSigned ? formatChange(value, text) : text(value) }),
        make("small", { text: column.percent(frame) }));
}

function rowOf(input: MethodsInput, frame: number, columns: Column[]): HTMLElement {
    const about = aboutFrame(input.words, frame);
    const swatch = make("i", { "aria-hidden": "true" });
    swatch.style.background = input.colourOf(frame, columns[0]!.isSigned ? columns[0]!.values[frame]! : 0);
    const name = make("button", { type: "button", title: shorten(about.name, 200), onclick: () => input.onMark(frame) },
        make("bdi", { text: about.short }));
    const place = [...new Set([about.space, about.module])].filter(Boolean).join(" · ") || about.kind;
    return make("tr", { class: frame === input.marked ? "is-marked" : null },
        make("th", { scope: "row" }, make("div", {}, swatch, name), make("small", { text: place, title: shorten(place, 200) })),
        ...columns.map((column) => cellOf(column, frame, input.unit)));
}

export function fillMethods(head: HTMLElement, body: HTMLElement, input: MethodsInput): void {
    const columns = columnsOf(input);
    const key = columns.find((column) => column.key === input.sort)!.values;
    const kinds = input.words.frames.kind; // a process is no method
    const frames = Array.from(key, (_, f) => f).filter((f) => kinds[f] !== KIND.process &&
        columns.some(({ values }) => values[f]) && (!input.isShown || input.isShown(f)))
        .sort((a, b) => Math.abs(key[b]!) - Math.abs(key[a]!)).slice(0, TABLE_ROWS);
    head.replaceChildren(make("th", { scope: "col", text: "Method" }), ...columns.map((column) =>
        make("th", { scope: "col", "aria-sort": column.key === input.sort ? "descending" : "none" },
            make("button", { type: "button", text: column.label, onclick: () => input.onSort(column.key) }))));
    body.replaceChildren(...frames.map((frame) => rowOf(input, frame, columns)));
}
