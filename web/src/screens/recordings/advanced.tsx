/* The start dialog's settings for those who know what they want: providers, stacks, buffers, frequency. */
import { Field } from "../../ui/parts";
import type { FormProps } from "./start";

function TraceFields({ form, change }: FormProps) {
    return (
        <>
            <label class="rec-check">
                <input type="checkbox" checked={form.stacks} onChange={(event) => change({ stacks: event.currentTarget.checked })} />
                Note the stack of each event
            </label>
            <p class="rec-hint">Without stacks an event costs the program a fifth (.NET 9 and later), but nothing says who caused it.</p>
            <div class="rec-fields">
                <Field label="Buffer, MB" hint="256 if empty. More if events are lost.">
                    <input type="number" min={1} max={4096} value={form.bufferMegabytes} onInput={(event) => change({ bufferMegabytes: event.currentTarget.value })} />
                </Field>
                <Field label="Stop at an event of" hint="A provider's name, or empty.">
                    <input type="text" value={form.stopProvider} onInput={(event) => change({ stopProvider: event.currentTarget.value })} />
                </Field>
                <Field label="Of this name" hint="Empty: its first event.">
                    <input type="text" value={form.stopEvent} disabled={!form.stopProvider} onInput={(event) => change({ stopEvent: event.currentTarget.value })} />
                </Field>
            </div>
        </>
    );
}

function RecordFields({ form, change }: FormProps) {
    return (
        <div class="rec-fields">
            <Field label="Samples a second, each CPU" hint="999 if empty.">
                <input type="number" min={1} max={10000} value={form.frequency} onInput={(event) => change({ frequency: event.currentTarget.value })} />
            </Field>
            <Field label="Tracepoints of the kernel" hint="One a line: sched:sched_process_exec">
                <textarea rows={2} value={form.tracepoints} onInput={(event) => change({ tracepoints: event.currentTarget.value })} />
            </Field>
        </div>
    );
}

export function Advanced(props: FormProps & { isRecord: boolean }) {
    const { form, change, isRecord } = props;
    return (
        <details class="rec-advanced">
            <summary>Advanced</summary>
            <Field label="More providers" hint={<>One a line: <code>Provider:Keywords:Level</code>, such as <code>System.Net.Http:0xffffffff:4</code>. They are added to the preset's.</>}>
                <textarea rows={2} value={form.providers} onInput={(event) => change({ providers: event.currentTarget.value })} />
            </Field>
            {isRecord ? <RecordFields {...props} /> : <TraceFields {...props} />}
        </details>
    );
}
