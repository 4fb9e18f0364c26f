/* The list of recordings as a table: state and progress, whom it is about, when, how long, how large, and what can be done with it. */
import { reaches, type Recording } from "../../api";
import { bytes, count, moment, seconds } from "../../format";
import { link } from "../../route";
import { session, useCell } from "../../store";
import { Icon } from "../../ui/icons";
import { Badge } from "../../ui/parts";
import { Table, type Column, type SortOrder } from "../../ui/table";
import { DeleteButton, StartButton, StopButton } from "./actions";
import { aboutOf, hasData, isActive, numberOf, ownerOf, secondsOf, sizeOf, stageOf, stateOf, titleOf, whenOf } from "./words";

export function StateBadge({ recording }: { recording: Recording }) {
    const [word, mood] = stateOf(recording);
    return (
        <Badge mood={mood} title={recording.message || stageOf(recording) || undefined}>
            {isActive(recording) && <i class="rec-pulse" aria-hidden="true" />}
            {word}
        </Badge>
    );
}

function Losses({ recording }: { recording: Recording }) {
    const lost = numberOf(recording, "lost") ?? 0;
    return lost > 0 ? <span class="rec-lost" title="Events that came faster than they could be written">{count(lost)} lost</span> : null;
}

/* Name, and below it what a person needs to tell it from the others; on a phone also what the other columns say. */
function NameCell({ recording }: { recording: Recording }) {
    const long = secondsOf(recording);
    return (
        <div class="rec-recording-name">
            <a class="rec-strong" href={link(["recording", recording.id])}>{titleOf(recording)}</a>
            <div class="facts">
                <span class="rec-narrow"><StateBadge recording={recording} /></span>
                <span>{aboutOf(recording)}</span>
                <span class="rec-narrow">{moment(whenOf(recording))}</span>
                {long !== null && <span class="rec-narrow">{seconds(long)}</span>}
                {sizeOf(recording) > 0 && <span class="rec-narrow">{bytes(sizeOf(recording))}</span>}
                <Losses recording={recording} />
                {recording.state === "Failed" && recording.message && <span class="rec-lost">{recording.message}</span>}
            </div>
        </div>
    );
}

function RowActions({ recording }: { recording: Recording }) {
    const mayControl = reaches(useCell(session)?.scope ?? "none", "control");
    return (
        <div class="row rec-end">
            {mayControl && recording.state === "Configured" && <StartButton recording={recording} />}
            {mayControl && isActive(recording) && <StopButton recording={recording} />}
            {hasData(recording) && !isActive(recording) && (
                <a class="button plain rec-wide" href={link(["recording", recording.id, "downloads"])} title={`Download ${titleOf(recording)}`}
                    aria-label={`Download ${titleOf(recording)}`}>
                    <Icon name="download" />
                </a>
            )}
            {mayControl && !isActive(recording) && <span class="rec-wide"><DeleteButton recording={recording} /></span>}
        </div>
    );
}

const COLUMNS: Column<Recording>[] = [
    { id: "name", label: "Recording", cell: (one) => <NameCell recording={one} />, sort: (one) => titleOf(one).toLowerCase() },
    { id: "state", label: "State", cell: (one) => <StateBadge recording={one} />, sort: (one) => stateOf(one)[0], class: "rec-wide" },
    { id: "owner", label: "By", cell: (one) => ownerOf(one), sort: ownerOf, class: "rec-wide quiet" },
    { id: "when", label: "When", cell: (one) => moment(whenOf(one)), sort: (one) => Date.parse(whenOf(one)) || 0, isNumber: true, class: "rec-wide" },
    { id: "long", label: "Length", cell: (one) => { const long = secondsOf(one); return long === null ? "–" : seconds(Math.round(long * 10) / 10); },
        sort: (one) => secondsOf(one) ?? -1, isNumber: true, class: "rec-wide" },
    { id: "events", label: "Events", cell: (one) => { const all = numberOf(one, "events"); return all === null ? "–" : count(all); },
        sort: (one) => numberOf(one, "events") ?? -1, isNumber: true, class: "rec-wide" },
    { id: "size", label: "Size", cell: (one) => (sizeOf(one) ? bytes(sizeOf(one)) : "–"), sort: sizeOf, isNumber: true, class: "rec-wide" },
    { id: "actions", label: "", cell: (one) => <RowActions recording={one} />, class: "rec-actions" },
];

export function RecordingRows({ rows, order, onOrder }: { rows: Recording[]; order: SortOrder; onOrder: (order: SortOrder) => void }) {
    return <Table rows={rows} columns={COLUMNS} rowKey={(one) => one.id} order={order} onOrder={onOrder} caption="Recordings" />;
}

export function matches(recording: Recording, search: string): boolean {
    const text = [titleOf(recording), aboutOf(recording), ownerOf(recording), stateOf(recording)[0], recording.id].join("\n").toLowerCase();
    return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
