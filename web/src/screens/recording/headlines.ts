/* A report in plain words: one headline for each thing that it tells of, the ones that need a look first. */
import { bytes, count, percent, seconds } from "../../format";
import type { Report } from "./report";

export interface Headline {
    id: string;
    title: string;
    value: string;
    text: string;
    mood: "" | "warn" | "bad";
    goes?: string; // a tab, or a view of the flame graph
}

const inSeconds = (ns: number): string => seconds(ns / 1e9);
const plural = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;

function cpuLine(report: Report): Headline | null {
    const top = report.profiles?.["cpu"];
    const ns = report.cpu?.ns ?? top?.total;
    if (!top || !ns || !top.total)
        return null;
    const hot = top.bySelf[0];
    const share = report.programNs ? ns / report.programNs : 0;
    const first = hot ? `The most in one method: ${hot.name}, ${percent(hot.self / top.total)}.` : "";
    return { id: "cpu", title: "CPU time", value: inSeconds(ns), text: `${percent(share)} on average, where 100 % is one CPU. ${first}`, mood: "", goes: "cpu" };
}

/* Without a record of CPU time, stacks tell where threads were. */
function wallLine(report: Report): Headline | null {
    const top = report.profiles?.["wall"];
    if (!top || !top.total || report.profiles?.["cpu"])
        return null;
    const hot = top.bySelf[0];
    return { id: "wall", title: "Time of all threads", value: inSeconds(top.total), text: `At work or waiting. ${hot ? `The most in one method: ${hot.name}, ${percent(hot.self / top.total)}.` : ""}`, mood: "", goes: "wall" };
}

function waitLine(report: Report): Headline | null {
    const off = report.offCpu;
    const reasons = off?.reasons.filter((one) => one.reason !== "no work").sort((a, b) => b.timeNs - a.timeNs) ?? [];
    if (!off || !reasons.length)
        return null;
    const queue = report.runQueue ? ` For a free CPU: ${inSeconds(report.runQueue.timeNs)}.` : "";
    return { id: "wait", title: "Waiting", value: inSeconds(off.timeNs), text: `All threads together; the most for ${reasons[0]!.reason}, ${inSeconds(reasons[0]!.timeNs)}.${queue}`, mood: "", goes: "wait" };
}

function gcLine(report: Report): Headline | null {
    const gc = report.gc;
    if (!gc)
        return null;
    const share = report.programNs ? gc.pauses.totalNs / report.programNs : 0;
    if (!gc.collections)
        return { id: "gc", title: "Garbage collection", value: "None", text: "No collection began while it was watched.", mood: "" };
    const generations = gc.byGeneration.filter((one) => one.collections).map((one) => `${one.collections} of generation ${one.generation}`).join(", ");
    const growing = gc.heap.growing ? " The heap grows and does not come down." : "";
    return {
        id: "gc",
        title: "Garbage collection",
        value: plural(gc.collections, "collection"),
        text: `Paused for ${inSeconds(gc.pauses.totalNs)} in all, ${percent(share)} of the time; ${inSeconds(gc.pauses.maxNs)} at most.${generations ? ` ${generations}.` : ""}${growing}`,
        mood: share > 0.1 || gc.heap.growing ? "warn" : "",
    };
}

function exceptionLine(report: Report): Headline | null {
    const found = report.exceptions;
    if (!found || !found.thrown)
        return null;
    const most = [...found.types].sort((a, b) => b.thrown - a.thrown)[0];
    return { id: "exceptions", title: "Exceptions", value: `${count(found.thrown)} thrown`, text: `${count(found.perSecond)} each second. ${most ? `Most: ${most.name}, ${count(most.thrown)}.` : ""}`,
        mood: found.perSecond > 100 ? "warn" : "", goes: "exceptions" };
}

function lockLine(report: Report): Headline | null {
    const found = report.contention;
    if (!found || !found.waits)
        return null;
    const dead = found.deadlocked ? ` ${plural(found.deadlocked, "thread")} wait for each other and will never go on.` : "";
    const site = found.sites[0]?.method;
    return { id: "locks", title: "Lock waits", value: plural(found.waits, "wait"), text: `${inSeconds(found.timeNs)} in all, ${inSeconds(found.maxNs)} at most.${site ? ` Most in ${site}.` : ""}${dead}`,
        mood: found.deadlocked ? "bad" : "", goes: "contention" };
}

function requestLine(report: Report): Headline | null {
    const served = report.requests?.served;
    if (!served || !served.count)
        return null;
    const failed = served.routes.reduce((sum, route) => sum + route.failed, 0);
    return { id: "requests", title: "Requests served", value: count(served.count),
        text: `${count(served.perSecond)} each second. Half within ${inSeconds(served.times.p50Ns)}, 99 of 100 within ${inSeconds(served.times.p99Ns)}.${failed ? ` ${count(failed)} failed.` : ""}`,
        mood: failed ? "warn" : "" };
}

function sentLine(report: Report): Headline | null {
    const sent = report.requests?.sent;
    if (!sent || !sent.count)
        return null;
    return { id: "sent", title: "Requests sent", value: count(sent.count), text: `${count(sent.perSecond)} each second. Half within ${inSeconds(sent.times.p50Ns)}, 99 of 100 within ${inSeconds(sent.times.p99Ns)}.`, mood: "" };
}

function allocationLine(report: Report): Headline | null {
    const found = report.allocations;
    if (!found || !found.bytes)
        return null;
    const most = found.types[0];
    return { id: "allocations", title: "Allocated", value: bytes(found.bytes), text: `${bytes(found.bytesPerSecond)} each second, estimated. ${most ? `Most: ${most.name}, ${percent(most.bytes / found.bytes)}.` : ""}`, mood: "", goes: "alloc" };
}

function poolLine(report: Report): Headline | null {
    const pool = report.threadPool;
    if (!pool || (!pool.starvation && !pool.dequeued))
        return null;
    return { id: "pool", title: "Thread pool", value: pool.starvation ? "Starved" : plural(pool.dequeued, "work item"),
        text: pool.starvation ?? `Each waited ${inSeconds(pool.queueWaits.p50Ns)} for a thread, half of them less; ${inSeconds(pool.queueWaits.maxNs)} at most.`, mood: pool.starvation ? "warn" : "" };
}

function jitLine(report: Report): Headline | null {
    const found = report.jit;
    if (!found || !found.compiled)
        return null;
    const took = found.times?.count ? `They took ${inSeconds(found.times.totalNs)}.` : "Compiled while it was watched; many only after a start.";
    return { id: "jit", title: "Compilation", value: plural(found.compiled, "method"), text: took, mood: "" };
}

function syscallLine(report: Report): Headline | null {
    const found = report.syscalls;
    if (!found || !found.events)
        return null;
    const most = [...found.calls].sort((a, b) => b.count - a.count)[0];
    return { id: "syscalls", title: "System calls", value: count(found.events), text: `${most ? `Most: ${most.call}, ${count(most.count)}.` : ""} ${count(found.failed)} returned an error.`, mood: "" };
}

const LINES = [cpuLine, wallLine, requestLine, gcLine, exceptionLine, lockLine, allocationLine, waitLine, poolLine, sentLine, syscallLine, jitLine];
const URGENCY = { bad: 0, warn: 1, "": 2 };

export function headlines(report: Report): Headline[] {
    const all = LINES.map((line) => line(report)).filter((one) => one !== null);
    return all.sort((a, b) => URGENCY[a.mood] - URGENCY[b.mood]);
}

/* What limits the belief in all of it. */
export function doubts(report: Report): string[] {
    const all: string[] = [];
    if (report.lost)
        all.push(`${plural(report.lost, "event")} of ${count(report.events + report.lost)} were lost: sums are short by that much. A larger buffer (Advanced) or fewer providers helps.`);
    if (report.cut)
        all.push("The file ends before the recording did: names of some methods may be missing.");
    if (report.damageCount)
        all.push(`${plural(report.damageCount, "place")} of the file could not be read and were passed over.`);
    if (report.cpu?.truth === "bad record" || report.cpu?.truth === "no record")
        all.push(`CPU time is not known, so threads that wait count like those that work${report.cpu.note ? `: ${report.cpu.note}` : ""}.`);
    if (report.machine?.runtimeSampler)
        all.push("The kernel took no samples here: stacks are those of the runtime's own sampler, of one process. Run the controller as root for all of it.");
    return all;
}
