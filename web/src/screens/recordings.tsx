/* All recordings: those that run, those that were, those of earlier lives of the controller; a new one; a file from elsewhere; history. */
import { reaches, type Recording } from "../api";
import { link, setParams, type Route } from "../route";
import { session, useCell, useRecordings } from "../store";
import { Icon } from "../ui/icons";
import { Card, Empty, Loading, Notice, Tabs } from "../ui/parts";
import type { SortOrder } from "../ui/table";
import { History } from "./recordings/history";
import "./recordings/recordings.css";
import { matches, RecordingRows } from "./recordings/rows";
import { StartDialog } from "./recordings/start";
import { DropZone, UploadButton, Uploads } from "./recordings/upload";
import { aboutOf } from "./recordings/words";

const NEWEST: SortOrder = { id: "when", down: true };

function orderOf(route: Route): SortOrder {
    const text = route.params.get("sort");
    return text ? { id: text.replace(/^-/, ""), down: text.startsWith("-") } : NEWEST;
}

function NewButton() {
    return <button type="button" class="primary" onClick={() => setParams({ new: "any" }, false)}><Icon name="record" />New recording</button>;
}

function Head({ at, mayControl }: { at: "list" | "history"; mayControl: boolean }) {
    const tabs = [
        { id: "list", label: "All", href: link(["recordings"]) },
        { id: "history", label: "History", href: link(["recordings", "history"]) },
    ];
    return (
        <>
            <div class="head">
                <h1 class="grow">Recordings</h1>
                {mayControl && <div class="row"><UploadButton /><NewButton /></div>}
            </div>
            <Tabs tabs={tabs} at={at} label="Recordings" />
        </>
    );
}

/* Looks at running processes that others have open: they are no files, and go away by themselves. */
function LiveLine({ recordings }: { recordings: Recording[] }) {
    if (recordings.length === 0)
        return null;
    return (
        <p class="quiet rec-live-line">
            <i class="rec-pulse" aria-hidden="true" />
            Looked at live now:{" "}
            {recordings.map((one, i) => (
                <span key={one.id}>{i > 0 && ", "}{one.process ? <a href={link(["process", one.process.pid, "flame"])}>{aboutOf(one)}</a> : aboutOf(one)}</span>
            ))}
            . Such recordings end by themselves when nobody looks.
        </p>
    );
}

function Nothing({ mayControl }: { mayControl: boolean }) {
    return (
        <Empty title="No recordings yet" action={mayControl ? <div class="row"><NewButton /><UploadButton /></div> : undefined}>
            A recording keeps what a process, or the whole machine, did for a while: where time went, what was allocated, thrown and requested.
            {mayControl ? " Make one here, or drop a file from elsewhere onto this page." : " Your key may look at recordings but not make them: that needs the scope control."}
        </Empty>
    );
}

function List({ route, all }: { route: Route; all: Recording[] }) {
    const search = route.params.get("q") ?? "";
    const kept = all.filter((one) => !one.live);
    const shown = kept.filter((one) => matches(one, search));
    return (
        <>
            <Card flush title={`${shown.length === kept.length ? kept.length : `${shown.length} of ${kept.length}`} ${kept.length === 1 ? "recording" : "recordings"}`}
                tools={<input type="search" placeholder="Search" aria-label="Search recordings" value={search} onInput={(event) => setParams({ q: event.currentTarget.value })} />}>
                {shown.length > 0
                    ? <RecordingRows rows={shown} order={orderOf(route)} onOrder={(order) => setParams({ sort: `${order.down ? "-" : ""}${order.id}` })} />
                    : <Empty title="None of them matches" action={<button type="button" onClick={() => setParams({ q: "" })}>Show all</button>}>Names, processes, owners and states are searched.</Empty>}
            </Card>
            <LiveLine recordings={all.filter((one) => one.live)} />
        </>
    );
}

function ListScreen({ route, mayControl }: { route: Route; mayControl: boolean }) {
    const all = useRecordings();
    const isNew = route.params.get("new");
    return (
        <DropZone isAllowed={mayControl}>
            <Head at="list" mayControl={mayControl} />
            <Uploads />
            {!mayControl && all?.some((one) => !one.live) && (
                <Notice>Your key may look at recordings and download them. To make, stop or delete one, log in with a key of the scope control.</Notice>
            )}
            {all === null ? <Loading what="Reading the list of recordings…" />
                : all.some((one) => !one.live) ? <List route={route} all={all} />
                : <><Card><Nothing mayControl={mayControl} /></Card><LiveLine recordings={all} /></>}
            {mayControl && isNew !== null && (
                <StartDialog pid={Number(isNew) || 0} preset={route.params.get("preset") ?? ""} recordings={all ?? []}
                    onClose={() => setParams({ new: undefined, preset: undefined })} />
            )}
        </DropZone>
    );
}

export function Recordings({ route }: { route: Route }) {
    const scope = useCell(session)?.scope ?? "none";
    if (!reaches(scope, "read")) {
        return (
            <Empty title="Your key does not reach recordings" action={<a class="button" href={link([])}>All processes</a>}>
                They need a key with the scope read; yours has {scope}. Who runs the controller can make one: <code>sonde key add --scope read</code>.
            </Empty>
        );
    }
    const mayControl = reaches(scope, "control");
    if (route.path[1] === "history")
        return <div class="rec-drop-zone"><Head at="history" mayControl={false} /><History route={route} /></div>;
    return <ListScreen route={route} mayControl={mayControl} />;
}
