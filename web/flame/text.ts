/* Numbers and names for people. The same everywhere: no locale. */

/* Control characters and marks that turn the direction of text, which would hide what a name says. */
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/* A name with everything invisible written out: "\u{202e}". */
export function visible(text: string): string {
    return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/* At most `most` characters: the beginning and the end, which is where methods differ. */
export function shorten(text: string, most: number): string {
    if (text.length <= most)
        return text;
    const tail = Math.floor(most / 3);
    return `${text.slice(0, most - tail - 1)}…${text.slice(text.length - tail)}`;
}

export function formatCount(count: number): string {
    return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/* Three digits: "1.23", "12.3", "123". */
function threeDigits(value: number): string {
    if (value >= 99.95)
        return formatCount(value);
    return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

const TIMES = ["ns", "µs", "ms", "s"];
const SIZES = ["B", "KB", "MB", "GB", "TB"];

function scaled(value: number, units: readonly string[]): string {
    let unit = 0;
    while (value >= 999.5 && unit + 1 < units.length) {
        value /= 1000;
        unit++;
    }
    return `${threeDigits(value)} ${units[unit]}`;
}

/* `unit`: "ns", "bytes", "count", each also per second ("ns/s"). */
export function formatValue(value: number, unit: string): string {
    if (value < 0)
        return `−${formatValue(-value, unit)}`;
    if (value === 0)
        return "0";
    switch (unit) {
    case "ns":
        return scaled(value, TIMES);
    case "bytes":
        return value < 1000 ? `${formatCount(value)} B` : scaled(value, SIZES);
    case "ns/s":
        return `${scaled(value, TIMES)}/s`;
    case "bytes/s":
        return `${scaled(value, SIZES)}/s`;
    case "count/s":
        return `${threeDigits(value)}/s`;
    default:
        return formatCount(value);
    }
}

export function formatPercent(part: number, whole: number): string {
    if (!(whole > 0))
        return "0 %";
    const percent = (100 * part) / whole;
    if (percent > 0 && percent < 0.01)
        return "< 0.01 %";
    return `${percent >= 99.95 ? percent.toFixed(0) : percent >= 9.95 ? percent.toFixed(1) : percent.toFixed(2)} %`;
}

/* "+12.3 ms", "−4 %". */
export function formatChange(value: number, format: (value: number) => string): string {
    return value > 0 ? `+${format(value)}` : value < 0 ? `−${format(-value)}` : "±0";
}

/* Without the folders of the machine that built it. */
export function fileOf(source: string): string {
    return source.slice(Math.max(source.lastIndexOf("/"), source.lastIndexOf("\\")) + 1);
}
