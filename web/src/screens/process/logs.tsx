/* Log messages as they come: by level, searched, paused, followed. The last ones only: rows are bounded. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock } from "../../format";
import { setParams } from "../../route";
import { subscribe } from "../../stream";
import { useGuard } from "../../ui/guard";
import { Icon } from "../../ui/icons";
import { Badge, CopyButton, Empty, Field, Notice } from "../../ui/parts";
import { LogChart, LogRates, type Rates } from "./log_chart";
import { LEVELS, rank } from "./log_levels";
import { Pace } from "./pace";
import type { TabProps } from "./tab";

const KEPT = 2000;
const SHOWN = 200;
const LEAST_MS = 250;
const AT_END = 8; // pixels

interface Message {
    Timestamp: string;
    LogLevel: string;
    EventId: number;
    EventName: string;
    Category: string;
    Message: string;
    Exception?: string;
    State?: Record<string, string | null>;
    Scopes?: (Record<string, string | null> | string)[];
    Redacted?: string; // something of it is hidden, and why
}

interface Row {
    id: number;
    message: Message;
    text: string; // what search looks in
}

interface Log {
    rows: Row[];
    ended: string | null;
    seen: number;
    lost: number;
    rates: Rates;
}

/* Kept outside of the drawing: a busy program logs more often than one can look. */
class Tail {
    rows: Row[] = [];
    ended: string | null = null;
    seen = 0;
    lost = 0; // messages that were too large, or came too fast for their readers
    readonly rates = new LogRates();

    take(data: unknown): void {
        const message = data as Message & { hasEnded?: boolean; why?: string; lost?: number };
        if (message.hasEnded) {
            this.ended = message.why ?? "";
            return;
        }
        if (message.lost !== undefined) {
            this.lost += message.lost;
            return;
        }
        this.ended = null;
        this.rates.count(message.LogLevel);
        this.rows.push({ id: this.seen++, message, text: `${message.Category} ${message.Message} ${message.Exception ?? ""}`.toLowerCase() });
        if (this.rows.length > KEPT + 200)
            this.rows.splice(0, this.rows.length - KEPT);
    }
}

/* While paused, messages are still taken: they are there when one goes on. */
function useLog(pid: number, isPaused: boolean): [Log, () => void] {
    const tail = useRef(new Tail());
    const [log, setLog] = useState<Log>({ rows: [], ended: null, seen: 0, lost: 0, rates: { times: [], series: [] } });
    const guard = useGuard();
    const paused = useRef(isPaused);
    paused.current = isPaused;
    const show = () => setLog({ rows: tail.current.rows.slice(), ended: tail.current.ended, seen: tail.current.seen, lost: tail.current.lost, rates: tail.current.rates.latest() });
    useEffect(() => {
        const pace = new Pace(() => paused.current || show(), LEAST_MS);
        const stop = subscribe(`logs/${pid}`, (data) => guard(() => {
            tail.current.take(data);
            if (!paused.current)
                pace.ask();
        }));
        const timer = setInterval(() => paused.current || tail.current.seen === 0 || pace.ask(), 1000); // the chart goes on when nothing comes
        return () => {
            stop();
            clearInterval(timer);
            pace.end();
        };
    }, [pid]);
    useEffect(show, [isPaused]); // all that came before the pause, at once
    const clear = () => {
        tail.current.rows = [];
        show();
    };
    return [log, clear];
}

const moodOf = (level: string) => (rank(level) >= 4 ? "bad" : rank(level) === 3 ? "warn" : "");
const SHORT: Record<string, string> = { Trace: "trace", Debug: "debug", Information: "info", Warning: "warn", Error: "error", Critical: "critical" };

/* "2026-11-16 10:45:09Z", in local time as everything else. */
function timeOf(text: string): string {
    const date = new Date(text.replace(" ", "T"));
    return Number.isNaN(date.getTime()) ? text : clock(date);
}

function lineOf({ message }: Row): string {
    return `${message.Timestamp} ${message.LogLevel} ${message.Category}: ${message.Message}${message.Exception ? `\n${message.Exception}` : ""}`;
}

function pairsOf(message: Message): [string, string][] {
    const scopes = (message.Scopes ?? []).flatMap((one): [string, string][] => (typeof one === "string" ? [["scope", one]] : Object.entries(one).map(([name, value]) => [name, value ?? "null"])));
    const state = Object.entries(message.State ?? {}).filter(([name]) => name !== "Message").map(([name, value]): [string, string] => [name, value ?? "null"]);
    return [...state, ...scopes];
}

function LogRow({ row }: { row: Row }) {
    const [isOpen, setOpen] = useState(false);
    const { message } = row;
    return (
        <details class="entry log" data-level={message.LogLevel} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>
                <time class="quiet">{timeOf(message.Timestamp)}</time>
                <Badge mood={moodOf(message.LogLevel)}>{SHORT[message.LogLevel] ?? message.LogLevel}</Badge>
                <span class="message"><span class="quiet">{message.Category}</span> {message.Message}</span>
            </summary>
            {isOpen && (
                <div class="inside">
                    <dl class="pairs">
                        {message.EventId || message.EventName ? <><dt>Event</dt><dd>{message.EventName || "–"} ({message.EventId})</dd></> : null}
                        {pairsOf(message).map(([name, value], i) => <><dt key={`t${i}`}>{name}</dt><dd key={`d${i}`} class="mono">{value}</dd></>)}
                    </dl>
                    {message.Exception && <pre class="text">{message.Exception}</pre>}
                </div>
            )}
        </details>
    );
}

const ACTS = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

/* Whether somebody did anything since `follows` became true. A scroll event alone does not tell: a key pressed before goes on scrolling
 * for half a second, and whatever grows above the box moves it. */
function useActs(follows: boolean): { current: boolean } {
    const acted = useRef(false);
    useLayoutEffect(() => {
        acted.current = false;
        const act = () => { acted.current = true; };
        ACTS.forEach((name) => addEventListener(name, act, { capture: true, passive: true }));
        return () => ACTS.forEach((name) => removeEventListener(name, act, { capture: true }));
    }, [follows]);
    return acted;
}

/* The newest is at the end; while one follows, it is in sight. Who goes elsewhere by wheel, keys, touch or bar follows no longer. */
function List({ rows, follows, onLeave }: { rows: Row[]; follows: boolean; onLeave: () => void }) {
    const box = useRef<HTMLDivElement>(null);
    const acted = useActs(follows);
    const showEnd = () => {
        if (follows && box.current)
            box.current.scrollTop = box.current.scrollHeight;
    };
    useLayoutEffect(showEnd); // before a scroll event can tell of rows that have just come
    useLayoutEffect(() => {
        const watch = new ResizeObserver(showEnd);
        watch.observe(box.current!);
        return () => watch.disconnect();
    }, [follows]);
    const scrolled = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { currentTarget: HTMLDivElement }) => {
        if (!follows || scrollHeight - scrollTop - clientHeight <= AT_END)
            return;
        if (acted.current)
            onLeave();
        else
            showEnd();
    };
    return (
        <div class="card entries tail" ref={box} tabIndex={0} role="log" aria-live="off" aria-label="Log messages" onScroll={scrolled}>
            {rows.map((row) => <LogRow key={row.id} row={row} />)}
        </div>
    );
}

function countText(shown: number, found: number, { rows, seen }: Log): string {
    const part = shown < found ? `The last ${shown} of ${found} shown` : `${shown} shown`;
    return seen > rows.length ? `${part}; ${rows.length} of ${seen} are kept` : part;
}

export function LogsTab({ pid, hasEnded, route }: TabProps) {
    const [isPaused, setPaused] = useState(false);
    const [follows, setFollows] = useState(true);
    const [log, clear] = useLog(pid, isPaused);
    const level = LEVELS.find((one) => one === route.params.get("level")) ?? "Trace";
    const query = route.params.get("q") ?? "";
    const wanted = query.toLowerCase();
    const found = log.rows.filter((row) => rank(row.message.LogLevel) >= rank(level) && row.text.includes(wanted));
    const shown = found.slice(-SHOWN);
    return (
        <>
            <div class="row tools">
                <Field label="Level">
                    <select value={level} onChange={(event) => setParams({ level: event.currentTarget.value === "Trace" ? undefined : event.currentTarget.value })}>
                        {LEVELS.map((one) => <option key={one} value={one}>{one === "Trace" ? "All" : `${one} and above`}</option>)}
                    </select>
                </Field>
                <Field label="Search">
                    <input type="search" value={query} onInput={(event) => setParams({ q: event.currentTarget.value })} />
                </Field>
                <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}><Icon name={isPaused ? "play" : "pause"} />{isPaused ? "Go on" : "Pause"}</button>
                <button type="button" aria-pressed={follows} onClick={() => setFollows(!follows)}>Follow</button>
                <CopyButton text={() => found.map(lineOf).join("\n")} label="Copy" />
                <button type="button" class="plain" onClick={clear}>Clear</button>
                <span class="quiet" data-testid="log-count">{countText(shown.length, found.length, log)}</span>
            </div>
            {log.ended !== null && !hasEnded && <Notice mood="warn">No more messages come: {log.ended}</Notice>}
            {log.lost > 0 && <Notice mood="warn">{log.lost === 1 ? "One message is" : `${log.lost} messages are`} missing: too large, or more at once than can be shown.</Notice>}
            {log.rows.some((row) => row.message.Redacted) && <Notice>What looks like a secret is hidden as [redacted]. A key of the scope secrets shows it.</Notice>}
            <LogChart rates={log.rates} />
            {shown.length
                ? <List rows={shown} follows={follows} onLeave={() => setFollows(false)} />
                : <Empty title={log.rows.length ? "Nothing found" : "No messages yet"}>{log.rows.length ? "No message of that level has this in it." : "Messages that the program logs by ILogger from now on appear here."}</Empty>}
        </>
    );
}
