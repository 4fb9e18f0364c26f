/* The dialog that configures a recording: what, of whom, how long; what it costs is said before it starts. */
import { useState } from "preact/hooks";
import { ApiError, post, type Process, type Recording } from "../../api";
import { go, link, setParams } from "../../route";
import { info, useCell, useProcesses } from "../../store";
import { Icon } from "../../ui/icons";
import { Badge, Choice, Field, Notice } from "../../ui/parts";
import { toast } from "../../ui/toasts";
import { Advanced } from "./advanced";
import { Dialog } from "./dialog";
import { DEPTHS, PRESETS, WEIGHTS } from "./presets";
import { bodyOf, costOf, emptyForm, lackOf, presetOfForm, type Form } from "./request";
import { isActive, textOf, titleOf } from "./words";

export interface FormProps {
    form: Form;
    change: (changes: Partial<Form>) => void;
    processes: Process[];
}

const LENGTHS = [[10, "10 s"], [30, "30 s"], [60, "1 min"], [300, "5 min"], [3600, "1 h"], [0, "Until I stop it"]] as const;
const LIMITS = [[0, "No limit"], [50, "50 MB"], [200, "200 MB"], [1000, "1 GB"]] as const;

function PresetChoice({ form, change }: FormProps) {
    return (
        <fieldset class="rec-presets">
            <legend>What do you want to know?</legend>
            {PRESETS.map((preset) => (
                <label key={preset.id} class={preset.kind === "record" ? "rec-preset rec-whole" : "rec-preset"}>
                    <input type="radio" name="preset" value={preset.id} checked={preset.id === form.preset} autofocus={preset.id === form.preset}
                        onChange={() => change({ preset: preset.id, seconds: preset.seconds })} />
                    <b>{preset.title}</b>
                    <span>{preset.answers}</span>
                </label>
            ))}
        </fieldset>
    );
}

export function processLabel(process: Process): string {
    return `${process.name} (${process.pid})${process.runtime ? `, .NET ${process.runtime}` : ""}`;
}

function ProcessChoice({ form, change, processes }: FormProps) {
    const chosen = processes.find((one) => one.pid === form.pid);
    const others = processes.filter((one) => !one.isReachable);
    const hint = chosen && !chosen.isReachable ? `${chosen.reason} ${chosen.fix}`
        : others.length ? `${others.length} more cannot be watched; the list of processes says why.` : undefined;
    return (
        <Field label="Process" hint={hint}>
            <select value={String(form.pid)} onChange={(event) => change({ pid: Number(event.currentTarget.value) })}>
                <option value="0">Choose a process</option>
                {form.pid > 0 && !chosen && <option value={String(form.pid)}>pid {form.pid}</option>}
                {processes.map((one) => (
                    <option key={one.pid} value={String(one.pid)} disabled={!one.isReachable}>{processLabel(one)}{one.isReachable ? "" : ": cannot be watched"}</option>
                ))}
            </select>
        </Field>
    );
}

/* Of whom a recording by the kernel is, and how deep it looks. */
function MachineChoice(props: FormProps) {
    const { form, change, processes } = props;
    const toggle = (pid: number) => change({ pids: form.pids.includes(pid) ? form.pids.filter((one) => one !== pid) : [...form.pids, pid] });
    return (
        <>
            <div class="field">
                <span class="label">Of whom</span>
                <Choice label="Of whom" value={form.scope} onChange={(scope) => change({ scope })}
                    options={[["machine", "All processes"], ["one", "One"], ["some", "Some"]]} />
            </div>
            {form.scope === "one" && <ProcessChoice {...props} />}
            {form.scope === "some" && (
                <fieldset class="rec-checks">
                    <legend class="label">Processes, with what they start</legend>
                    {processes.map((one) => (
                        <label key={one.pid}><input type="checkbox" checked={form.pids.includes(one.pid)} onChange={() => toggle(one.pid)} />{processLabel(one)}</label>
                    ))}
                </fieldset>
            )}
            <div class="field">
                <span class="label">How deep</span>
                <Choice label="How deep" value={form.depth} onChange={(depth) => change({ depth })} options={DEPTHS.map((one) => [one.id, one.title] as const)} />
            </div>
        </>
    );
}

function Cost({ form }: { form: Form }) {
    const cost = costOf(form);
    const [mood, word] = WEIGHTS[cost.weight];
    return (
        <section class="rec-cost" aria-label="What it costs">
            <h3>What it costs <Badge mood={mood}>{word}</Badge></h3>
            <dl>
                <dt>Slows</dt><dd>{cost.slows}</dd>
                <dt>File</dt><dd>{cost.size}</dd>
            </dl>
        </section>
    );
}

/* What the kernel allows here is known for sure only by trying; what it said last is a good guess. */
function Rights({ recordings }: { recordings: Recording[] }) {
    const since = useCell(info)?.started ?? "";
    const running = recordings.find((one) => one.kind === "record" && isActive(one));
    const last = recordings.find((one) => one.kind === "record" && (one.createdUtc ?? "") >= since && textOf(one, "wayNote"));
    if (running)
        return <Notice mood="warn">One recording of this sort runs at a time, and “{titleOf(running)}” does. Stop it first, or save this one for later.</Notice>;
    return (
        <p class="rec-hint">
            Seeing the whole machine with kernel frames needs a controller that runs as root or with CAP_PERFMON. Without it, it takes what it may and says so.
            {last && <> Last time: {textOf(last, "wayNote")}.</>}
        </p>
    );
}

function Limits({ form, change }: FormProps) {
    const options = (all: readonly (readonly [number, string])[], value: number, unit: string) =>
        (all.some(([one]) => one === value) ? all : [...all, [value, `${value} ${unit}`] as const]);
    return (
        <div class="rec-fields">
            <Field label="Length">
                <select value={String(form.seconds)} onChange={(event) => change({ seconds: Number(event.currentTarget.value) })}>
                    {options(LENGTHS, form.seconds, "s").map(([value, text]) => <option key={value} value={String(value)}>{text}</option>)}
                </select>
            </Field>
            <Field label="Ends also at">
                <select value={String(form.megabytes)} onChange={(event) => change({ megabytes: Number(event.currentTarget.value) })}>
                    {options(LIMITS, form.megabytes, "MB").map(([value, text]) => <option key={value} value={String(value)}>{text}</option>)}
                </select>
            </Field>
            <Field label="Name">
                <input type="text" value={form.name} maxLength={80} placeholder="Slow orders, Monday" onInput={(event) => change({ name: event.currentTarget.value })} />
            </Field>
        </div>
    );
}

export function StartDialog({ pid, preset, recordings, onClose }: { pid: number; preset: string; recordings: Recording[]; onClose: () => void }) {
    const [form, setForm] = useState(() => emptyForm(pid, preset));
    const [busy, setBusy] = useState(false);
    const [problem, setProblem] = useState("");
    const processes = useProcesses() ?? [];
    const change = (changes: Partial<Form>) => setForm((before) => ({ ...before, ...changes }));
    const props = { form, change, processes };
    const isRecord = presetOfForm(form).kind === "record";
    const send = async (isStarted: boolean) => {
        const lack = lackOf(form);
        if (lack)
            return setProblem(lack);
        setBusy(true);
        setProblem("");
        try {
            const made = await post<Recording>("recordings", bodyOf(form, isStarted));
            toast(isStarted ? "The recording starts." : "Saved. Start it when you are ready.", "good");
            setParams({ new: "", preset: "" }); // "back" leads to the list, not to this dialog
            go(link(["recording", made.id]));
        } catch (error) {
            setProblem(error instanceof ApiError && error.status === 403 ? "Your key may look but not record: that needs the scope control." : (error as Error).message);
            setBusy(false);
        }
    };
    return (
        <Dialog title="New recording" wide onClose={onClose} foot={(
            <>
                <button type="button" class="plain rec-wide" onClick={onClose}>Cancel</button>
                <button type="button" disabled={busy} onClick={() => void send(false)}>Save for later</button>
                <button type="button" class="primary" disabled={busy} onClick={() => void send(true)}><Icon name="record" />Start recording</button>
            </>
        )}>
            <PresetChoice {...props} />
            {isRecord ? <MachineChoice {...props} /> : <ProcessChoice {...props} />}
            <Cost form={form} />
            {isRecord && <Rights recordings={recordings} />}
            <Limits {...props} />
            <Advanced {...props} isRecord={isRecord} />
            {problem && <Notice mood="bad">{problem}</Notice>}
        </Dialog>
    );
}
