/* Numbers as people read them: always with their unit, never more digits than matter. */

const LARGE = ["", "k", "M", "G", "T", "P"];
const BYTES = ["B", "KB", "MB", "GB", "TB", "PB"];

function digits(value: number): string {
    const size = Math.abs(value);
    if (size >= 100 || value === 0 || (size >= 10 && Number.isInteger(value)) || Number.isInteger(value))
        return value.toFixed(0);
    return value.toFixed(size >= 10 ? 1 : 2).replace(/\.?0+$/, "");
}

function scaled(value: number, step: number, units: string[]): string {
    let at = 0;
    let rest = value;
    while (Math.abs(rest) >= step * 0.9995 && at < units.length - 1) {
        rest /= step;
        at++;
    }
    return `${at === 0 && Number.isInteger(value) ? value : digits(rest)} ${units[at]}`.trim();
}

export function bytes(value: number): string {
    return scaled(value, 1000, BYTES);
}

export function count(value: number): string {
    return scaled(value, 1000, LARGE).replace(" ", "\u202f");
}

export function percent(share: number): string {
    const value = share * 100;
    return `${Math.abs(value) >= 10 || value === 0 ? value.toFixed(0) : value.toFixed(1)} %`;
}

/* CPUs in use: 100 % is one of them, all the time. */
export const cpus = percent;

export function seconds(value: number): string {
    const size = Math.abs(value);
    if (value === 0)
        return "0 s";
    if (size < 1e-6)
        return `${digits(value * 1e9)} ns`;
    if (size < 1e-3)
        return `${digits(value * 1e6)} µs`;
    if (size < 1)
        return `${digits(value * 1e3)} ms`;
    if (size < 120)
        return `${digits(value)} s`;
    return span(value);
}

/* "3 d 4 h", "5 min 20 s": two units are enough. */
export function span(value: number): string {
    const units: [number, string][] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const whole = Math.max(0, Math.floor(value));
    const first = units.findIndex(([size]) => whole >= size);
    if (first < 0)
        return "0 s";
    const [size, name] = units[first]!;
    const next = units[first + 1];
    const rest = next ? Math.floor((whole % size) / next[0]) : 0;
    return `${Math.floor(whole / size)} ${name}${rest && next ? ` ${rest} ${next[1]}` : ""}`;
}

/* Of unit "1" are shares and plain numbers: a counter's name tells. */
const SHARE_NAME = /(utili[sz]ation|ratio|share|percent|avg\d+)$|pressure/i;

const UNIT_MAX = 24; // a program may write anything there

/* A counter's value in its unit, as UCUM and the runtimes name them. `perSecond`: it is a rate. `name`: the counter's, if it is one. */
export function inUnit(value: number | null | undefined, unit: string, perSecond = false, name = ""): string {
    if (value === null || value === undefined || !Number.isFinite(value))
        return "–";
    const tail = perSecond ? "/s" : "";
    switch (unit) {
    case "By": case "B": case "bytes":
        return bytes(value) + tail;
    case "MB":
        return bytes(value * 1e6) + tail;
    case "s":
        return perSecond ? percent(value) : seconds(value);
    case "ms":
        return seconds(value / 1000) + tail;
    case "ns":
        return seconds(value / 1e9) + tail;
    case "%":
        return percent(value / 100);
    case "1":
        return name === "" || SHARE_NAME.test(name) ? percent(value) : count(value) + tail;
    case "{cpu}":
        return name.endsWith(".count") ? `${count(value)} ${value === 1 ? "CPU" : "CPUs"}${tail}` : cpus(value);
    default: {
        const noun = unit.replace(/[{}]/g, "").replace(/_/g, " ").slice(0, UNIT_MAX);
        return `${count(value)}${noun && !perSecond ? ` ${value === 1 ? noun : plural(noun)}` : ""}${tail}`;
    }
    }
}

function plural(noun: string): string {
    return /s$/.test(noun) || noun.length < 3 ? noun : /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

export function clock(date: Date): string {
    return date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

export function moment(text: string | null | undefined): string {
    if (!text)
        return "–";
    const date = new Date(text);
    const today = new Date().toDateString() === date.toDateString();
    return today ? clock(date) : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/* Marks that turn the direction of text or show nothing would hide what a name says: they are written out, as "\u{202e}". */
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

export function clean(text: string): string {
    return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
