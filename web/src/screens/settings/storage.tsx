/* What the controller keeps, how much room that takes, and how to change the limits. */
import { useState } from "preact/hooks";
import { patch, reaches, type Session } from "../../api";
import { bytes, count, moment, percent, span } from "../../format";
import { Action, Badge, Card, Empty, Field, Notice } from "../../ui/parts";
import { toast } from "../../ui/toasts";
import { Command, sentence } from "../login";
import type { Retention, SettingsData } from "./shapes";

const DAY = 86400;

function Bar({ used, size, recordings }: { used: number; size: number; recordings: number }) {
    const share = size ? Math.min(1, used / size) : 0;
    const width = (part: number) => (element: HTMLElement | null) => {
        if (element)
            element.style.width = `${Math.min(100, (100 * part) / Math.max(size, used, 1))}%`;
    };
    return (
        <div class="usage">
            <div class="usage-bar" role="meter" aria-label="Room used" aria-valuemin={0} aria-valuemax={size} aria-valuenow={used} aria-valuetext={`${bytes(used)} of ${bytes(size)}`}>
                <div class="of-recordings" ref={width(Math.min(recordings, used))} />
                <div class="of-history" ref={width(Math.max(0, used - recordings))} />
            </div>
            <p><b>{bytes(used)}</b> of {bytes(size)} used ({percent(share)})</p>
            <ul class="facts">
                <li><i class="of-recordings" />recordings {bytes(Math.min(recordings, used))}</li>
                <li><i class="of-history" />counters and the rest {bytes(Math.max(0, used - recordings))}</li>
            </ul>
        </div>
    );
}

function Degraded({ retention }: { retention: Retention }) {
    return (
        <Notice mood="bad">
            <b>Nothing new is kept:</b> {sentence(retention.why)} Make room on the disk of the state folder ({bytes(retention.freeBytes)} are free), or delete recordings; it goes on by itself then.
            {retention.droppedPoints > 0 && <> {count(retention.droppedPoints)} values were lost so far.</>}
        </Notice>
    );
}

/* Two places behind the point are enough to change it by. */
const short = (value: number): string => String(Number(value.toFixed(2)) || Number(value.toPrecision(2)));

function Limits({ retention, onChange }: { retention: Retention; onChange: (data: SettingsData) => void }) {
    const was = [short(retention.sizeBytes / 1e9), short(retention.ageSeconds / DAY)] as const;
    const [size, setSize] = useState<string>(was[0]);
    const [age, setAge] = useState<string>(was[1]);
    const isSame = size === was[0] && age === was[1];
    const isGood = Number(size) >= 0.001 && Number(age) * DAY >= 60;
    const save = async () => {
        const sizeBytes = size === was[0] ? retention.sizeBytes : Math.round(Number(size) * 1e9);
        const ageSeconds = age === was[1] ? retention.ageSeconds : Math.round(Number(age) * DAY);
        onChange(await patch<SettingsData>("settings", { retention: { sizeBytes, ageSeconds } }));
        toast("Changed until the controller restarts.", "good");
    };
    return (
        <div class="stack">
            <div class="limits">
                <Field label="Size at most, GB"><input type="number" min="0.001" step="any" value={size} onInput={(event) => setSize(event.currentTarget.value)} /></Field>
                <Field label="Age at most, days"><input type="number" min="0.001" step="any" value={age} onInput={(event) => setAge(event.currentTarget.value)} /></Field>
                <Action kind="primary" run={save} disabled={isSame || !isGood}>Change</Action>
            </div>
            <p class="quiet">The oldest goes first. A change holds until the controller restarts; to keep it, start with:</p>
            <Command text={`sonde serve --store-size ${Number(size) || 2}GB --store-age ${Math.max(1, Math.round((Number(age) || 7) * 24))}h`} />
        </div>
    );
}

function Facts({ retention }: { retention: Retention }) {
    return (
        <dl class="pairs">
            <dt>Limits</dt>
            <dd class="row">{bytes(retention.sizeBytes)} and {span(retention.ageSeconds)}{retention.isUntilRestart && <Badge mood="warn">until restart</Badge>}</dd>
            <dt>Oldest</dt><dd>{retention.oldest ? moment(retention.oldest) : "nothing is kept yet"}</dd>
            <dt>Recordings</dt><dd><a href="#/recordings">{count(retention.recordings)}</a>, {bytes(retention.recordingBytes)}</dd>
            <dt>History</dt><dd>{count(retention.series)} series of {count(retention.processes)} processes</dd>
            <dt>Free on the disk</dt><dd>{bytes(retention.freeBytes)}</dd>
            {retention.droppedPoints > 0 && <><dt>Lost</dt><dd>{count(retention.droppedPoints)} values that could not be written</dd></>}
            {retention.clampedPoints > 0 && <><dt>Wrong clocks</dt><dd>{count(retention.clampedPoints)} values had times that cannot be; they are kept with the time they came at</dd></>}
            {retention.damagedChunks > 0 && <><dt>Damaged</dt><dd>{count(retention.damagedChunks)} pieces of history cannot be read and are passed over</dd></>}
            {retention.setAside && <><dt>Set aside</dt><dd>a damaged database, as <code>{retention.setAside}</code></dd></>}
        </dl>
    );
}

export function StorageTab({ data, who, onChange }: { data: SettingsData; who: Session; onChange: (data: SettingsData) => void }) {
    const { retention } = data;
    if (!retention.isKept) {
        return (
            <Card title="Storage">
                <Empty title="Nothing is kept">This controller runs without a store: charts begin when the page is opened, and recordings go with it. Start it without <code>--no-store</code> to keep history.</Empty>
            </Card>
        );
    }
    return (
        <>
            {retention.isDegraded && <Degraded retention={retention} />}
            <div class="halves">
                <Card title="Room">
                    <div class="stack">
                        <Bar used={retention.usedBytes} size={retention.sizeBytes} recordings={retention.recordingBytes} />
                        <Facts retention={retention} />
                    </div>
                </Card>
                <Card title="Limits">
                    {reaches(who.scope, "secrets")
                        ? <Limits retention={retention} onChange={onChange} />
                        : <Notice>Changing them needs the scope <b>secrets</b>; you have <b>{who.scope}</b>.</Notice>}
                </Card>
            </div>
        </>
    );
}
