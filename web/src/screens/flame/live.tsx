/* The flame graph of a process that runs; of one that has just ended, its last state. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, path, patch } from "../../api";
import { touchLive, useLive, type LiveProfile } from "../../live";
import { link, type Route } from "../../route";
import { Empty, Loading, Notice } from "../../ui/parts";
import { LiveCost } from "../process/cost";
import type { Frame } from "../process/frames";
import { sharedTable, useFeed } from "./feed";
import { FlameScreen } from "./screen";
import { readState, type ViewId } from "./state";

const NODES = 20_000;
const NODES_ALL = 1_000_000;
const RENEW_MS = 8000; // the controller deletes what nobody asks for

const PROFILES: Record<ViewId, LiveProfile> = { cpu: "live-cpu", wall: "live-cpu", alloc: "live-alloc", exceptions: "live-exceptions", contention: "live-locks" };

/* The recording of a process that has ended stays as long as somebody looks at it. */
function useKept(id: string | null): void {
    useEffect(() => {
        if (id === null)
            return undefined;
        const renew = () => void get(path`recordings/${id}`).catch(() => undefined); // gone: the graph stands nevertheless
        renew();
        const timer = setInterval(renew, RENEW_MS);
        return () => clearInterval(timer);
    }, [id]);
}

function Ended({ id }: { id: string | null }) {
    const [state, setState] = useState<"offered" | "saving" | "saved">("offered");
    const [error, setError] = useState("");
    if (id === null)
        return <Notice>A live flame graph needs a running process, and this one ended before there was anything of this view. Its recordings have theirs.</Notice>;
    const save = () => {
        setState("saving");
        patch(path`recordings/${id}`, { live: false }).then(() => setState("saved"), (problem: Error) => {
            setError(problem.message);
            setState("offered");
        });
    };
    return (
        <Notice mood={error ? "bad" : "warn"} action={state === "saved"
            ? <a class="button" href={link(["recording", id])}>Open the recording</a>
            : <button type="button" disabled={state === "saving"} onClick={save}>Save as recording</button>}>
            {state === "saved" ? "Saved: it is among the recordings." : error ? `It could not be saved: ${error}` : "The process has ended. This is the last state of its flame graph; it goes when you leave, unless you save it."}
        </Notice>
    );
}

export function LiveFlame({ pid, hasEnded, frame, route }: { pid: number; hasEnded: boolean; frame: Frame | null; route: Route }) {
    const state = readState(route);
    const profile = PROFILES[state.view];
    const live = useLive(hasEnded ? null : pid, profile);
    const last = useRef(new Map<LiveProfile, string>()); // what there was of it
    if (live.id !== null && live.state === "running")
        last.current.set(profile, live.id);
    const id = hasEnded ? last.current.get(profile) ?? null : live.id;
    useKept(hasEnded ? id : null);
    const table = useMemo(sharedTable, [pid]);
    const source = id === null ? null : { recording: id, view: state.view, nodes: state.all ? NODES_ALL : NODES };
    const feed = useFeed(source, table, true, () => touchLive(pid, profile));
    const waiting = hasEnded ? <></> : live.state === "refused" || live.state === "failed"
        ? <Empty title={live.state === "refused" ? "This log-in may not record" : "The recording does not start"}>{live.error}</Empty>
        : <Loading what="Starting to look: the first samples come in a few seconds…" />;
    return (
        <>
            {hasEnded ? <Ended key={id ?? ""} id={id} /> : <LiveCost recording={live} frame={frame} />}
            <FlameScreen feed={feed} table={table} route={route} isLive={true} subject={String(pid)} waiting={waiting} />
        </>
    );
}
