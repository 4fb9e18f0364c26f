/* The settings that a recording was made with, and what making it cost. */
import type { Recording } from "../../api";
import { bytes, count, moment, seconds } from "../../format";
import { link } from "../../route";
import { Card } from "../../ui/parts";
import { DEPTHS, presetOf } from "../recordings/presets";
import { aboutOf, numberOf, ownerOf, textOf } from "../recordings/words";

const WORDS: Record<string, [string, (value: unknown) => string]> = {
    profile: ["Profiles", String],
    preset: ["How deep", (value) => DEPTHS.find((one) => one.id === value)?.title ?? String(value)],
    durationSeconds: ["Length at most", (value) => seconds(Number(value))],
    maxBytes: ["Size at most", (value) => bytes(Number(value))],
    providers: ["More providers", list],
    clrEvents: ["Events of the runtime", String],
    clrEventLevel: ["Their level", String],
    events: ["Only the events", list],
    excludeEvents: ["Without the events", list],
    stacks: ["Stacks", yes],
    rundown: ["Names of methods", yes],
    bufferMB: ["Buffer", (value) => bytes(Number(value) * 1e6)],
    format: ["Format", String],
    cpu: ["CPU time beside it", yes],
    way: ["Sampled by", String],
    frequency: ["Samples a second", (value) => count(Number(value))],
    offCpu: ["Waits", yes],
    syscalls: ["System calls", yes],
    pids: ["Processes", list],
    names: ["Processes called", list],
    tracepoints: ["Tracepoints", list],
    leaseSeconds: ["Ends without a reader after", (value) => seconds(Number(value))],
};

const SAID_ELSEWHERE = new Set(["kind", "name", "process", "pid", "enabled", "live"]);

function list(value: unknown): string {
    return Array.isArray(value) ? value.join(", ") : String(value);
}

function yes(value: unknown): string {
    return value ? "yes" : "no";
}

function pairsOf(recording: Recording): [string, string][] {
    const settings = Object.entries(recording.settings ?? {}).filter(([name]) => !SAID_ELSEWHERE.has(name));
    return settings.map(([name, value]) => {
        const [label, format] = WORDS[name] ?? [name, (one: unknown) => (typeof one === "object" ? JSON.stringify(one) : String(one))];
        return [label, format(value)];
    });
}

function costOf(recording: Recording): [string, string][] {
    const cost = (recording.progress?.["cost"] ?? {}) as Record<string, number>;
    const pairs: [string, string][] = [];
    if (cost["targetCpuSeconds"])
        pairs.push(["CPU of the process meanwhile", seconds(cost["targetCpuSeconds"])], ["Of that, for writing events", seconds(cost["tracingCpuSeconds"] ?? 0)]);
    if (cost["ownCpuSeconds"])
        pairs.push(["CPU that recording took", seconds(cost["ownCpuSeconds"])]);
    if (numberOf(recording, "lost") !== null)
        pairs.push(["Events lost", count(numberOf(recording, "lost") ?? 0)]);
    return pairs;
}

function Pairs({ pairs }: { pairs: [string, string][] }) {
    return <dl class="pairs">{pairs.flatMap(([label, value]) => [<dt key={label}>{label}</dt>, <dd key={`${label}=`}>{value}</dd>])}</dl>;
}

export function MadeWith({ recording }: { recording: Recording }) {
    const preset = presetOf(recording.kind, recording.settings ?? {});
    const times: [string, string][] = [
        ["Of", aboutOf(recording)],
        ["By", ownerOf(recording)],
        ["Configured", moment(recording.createdUtc)],
        ["Started", moment(recording.startedUtc)],
        ["Ended", moment(recording.endedUtc)],
        ...(textOf(recording, "runtime") ? [["Runtime", `.NET ${textOf(recording, "runtime")}`] as [string, string]] : []),
    ];
    const again = link(["recordings"], { new: recording.process?.pid ?? "any", preset: preset?.id });
    return (
        <div class="grid rec-two">
            <Card title={recording.kind === "upload" ? "Where it is from" : preset ? `Preset: ${preset.title}` : "Settings of its own"}
                tools={recording.kind !== "upload" && <a class="button" href={again}>Another like it</a>}>
                <Pairs pairs={[...times, ...pairsOf(recording)]} />
            </Card>
            {recording.kind !== "upload" && costOf(recording).length > 0 && <Card title="What it cost"><Pairs pairs={costOf(recording)} /></Card>}
        </div>
    );
}
