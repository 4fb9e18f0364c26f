/* What one must know of the numbers of a process: what the controller says of its counters, and whether the history is all there. */
import type { Process } from "../../api";
import { clean } from "../../format";
import { Notice } from "../../ui/parts";
import { isCut, type Frame } from "./frames";

/* Limits of the controller: what is beyond them is counted nowhere. */
const PART = /the rest is/;

function textOf(note: string): string {
    const said = `About the counters of this process: ${clean(note.replace(/\.$/, ""))}.`;
    return PART.test(note) ? `${said} Numbers that are put together from counters, such as those of requests, are of a part only.` : said;
}

/* Not read out: it may change with each second. Why a runtime cannot be asked is said above all tabs. */
export function CountersNote({ process, live }: { process: Process | null; live: Frame | null }) {
    if (!live?.note || process?.isReachable === false)
        return null;
    return <div class="notice warn" data-testid="counters-note"><div>{textOf(live.note)}</div></div>;
}

export function HistoryNote({ frame }: { frame: Frame | null }) {
    if (!frame || !isCut(frame))
        return null;
    return (
        <Notice mood="warn">
            The history is not shown whole: this time has more than one answer holds, or the controller was too busy to read all of it. Counters and times are missing; a shorter time shows more of them.
        </Notice>
    );
}
