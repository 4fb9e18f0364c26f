/* How many log messages came each second, by level: counted as they come, for the last minutes only. */
import { inUnit } from "../../format";
import { Chart } from "../../ui/chart";
import { LEVELS, rank } from "./log_levels";

const SECONDS = 180;
const COLOURS = ["--c8", "--c6", "--c1", "--warn", "--bad", "--c7"];

export interface Rates {
    times: number[]; // whole seconds since 1970
    series: { label: string; values: number[]; colour: string }[];
}

export class LogRates {
    #counts = new Map<number, number[]>(); // by second, one a level
    #first = 0;

    count(level: string, now = Math.floor(Date.now() / 1000)): void {
        this.#first ||= now;
        const counts = this.#counts.get(now) ?? LEVELS.map(() => 0);
        this.#counts.set(now, counts);
        const at = rank(level);
        if (at >= 0)
            counts[at]!++;
        for (const second of this.#counts.keys()) { // in the order of their coming
            if (second > now - SECONDS)
                break;
            this.#counts.delete(second);
        }
    }

    /* The second that is under way is not counted to its end: it comes with the next. */
    latest(now = Math.floor(Date.now() / 1000)): Rates {
        const start = Math.max(this.#first || now, now - SECONDS);
        const times = Array.from({ length: Math.max(0, now - start) }, (_, i) => start + i);
        const series = LEVELS.map((label, i) => ({ label, colour: COLOURS[i]!, values: times.map((time) => this.#counts.get(time)?.[i] ?? 0) }));
        return { times, series: series.filter(({ values }) => values.some((value) => value > 0)) };
    }
}

const format = (value: number): string => inUnit(value, "", true);

export function LogChart({ rates: { times, series } }: { rates: Rates }) {
    if (series.length === 0)
        return null;
    return (
        <section class="card plan" data-testid="log-chart">
            <header><h2>Messages by level</h2></header>
            <Chart times={times} series={series} format={format} label="Messages a second, by level" height={90} least={2} />
        </section>
    );
}
