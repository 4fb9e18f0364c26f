/* The start dialog's fields, and the request that they make. */
import { DEPTHS, PRESETS, type Depth, type Preset, type Settings } from "./presets";

export interface Form {
    preset: string;
    pid: number; // of whom; 0: nobody is chosen yet
    scope: "machine" | "one" | "some"; // of a recording by the kernel
    pids: number[]; // when `some`
    depth: Depth;
    seconds: number; // 0: until somebody stops it
    megabytes: number; // 0: as much as the store may hold
    name: string;
    providers: string; // one a line
    stacks: boolean;
    bufferMegabytes: string;
    stopProvider: string;
    stopEvent: string;
    frequency: string;
    tracepoints: string;
}

export function emptyForm(pid: number, preset: string): Form {
    const chosen = PRESETS.find((one) => one.id === preset) ?? PRESETS[0]!;
    return {
        preset: chosen.id,
        pid,
        scope: "machine",
        pids: [],
        depth: "cpu",
        seconds: chosen.seconds,
        megabytes: 0,
        name: "",
        providers: "",
        stacks: true,
        bufferMegabytes: "",
        stopProvider: "",
        stopEvent: "",
        frequency: "",
        tracepoints: "",
    };
}

export function presetOfForm(form: Form): Preset {
    return PRESETS.find((one) => one.id === form.preset) ?? PRESETS[0]!;
}

/* What it costs as it is configured: of the preset, or of how deep it looks. */
export function costOf(form: Form): Pick<Preset, "slows" | "size" | "weight"> {
    const preset = presetOfForm(form);
    return preset.kind === "record" ? DEPTHS.find((one) => one.id === form.depth)! : preset;
}

function lines(text: string): string[] {
    return text.split(/[\n]+/).map((line) => line.trim()).filter((line) => line !== "");
}

function traceBody(form: Form, preset: Preset): Settings {
    const body: Settings = { kind: "trace", process: { pid: form.pid }, ...preset.settings };
    if (!form.stacks)
        body["stacks"] = false;
    if (Number(form.bufferMegabytes) > 0)
        body["bufferMB"] = Math.round(Number(form.bufferMegabytes));
    if (form.stopProvider.trim()) {
        const event = form.stopEvent.trim();
        body["stoppingEvent"] = { provider: form.stopProvider.trim(), ...(event ? { event } : {}) };
    }
    return body;
}

function recordBody(form: Form): Settings {
    const body: Settings = { kind: "record", preset: form.depth };
    if (form.scope === "one")
        body["process"] = { pid: form.pid };
    if (form.scope === "some")
        body["pids"] = form.pids;
    if (Number(form.frequency) > 0)
        body["frequency"] = Math.round(Number(form.frequency));
    if (lines(form.tracepoints).length)
        body["tracepoints"] = lines(form.tracepoints);
    return body;
}

export function bodyOf(form: Form, isStarted: boolean): Settings {
    const preset = presetOfForm(form);
    const body = preset.kind === "record" ? recordBody(form) : traceBody(form, preset);
    if (form.name.trim())
        body["name"] = form.name.trim();
    if (form.seconds > 0)
        body["durationSeconds"] = form.seconds;
    if (form.megabytes > 0)
        body["maxBytes"] = Math.round(form.megabytes * 1e6);
    if (lines(form.providers).length)
        body["providers"] = lines(form.providers);
    if (!isStarted)
        body["enabled"] = false;
    return body;
}

/* Why it cannot start as it is, or "". */
export function lackOf(form: Form): string {
    const preset = presetOfForm(form);
    const isOfOne = preset.kind === "trace" || form.scope === "one";
    if (isOfOne && !form.pid)
        return "Choose a process.";
    if (preset.kind === "record" && form.scope === "some" && form.pids.length === 0)
        return "Choose the processes.";
    return "";
}
