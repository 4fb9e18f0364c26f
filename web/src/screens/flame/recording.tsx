/* The flame graph of a recording, whole or of a part of its time. */
import { useMemo } from "preact/hooks";
import type { Route } from "../../route";
import { Loading } from "../../ui/parts";
import { sharedTable, useFeed } from "./feed";
import { FlameScreen } from "./screen";
import { readState } from "./state";

const NODES = 100_000;
const NODES_ALL = 1_000_000;

export interface RecordingFlameProps {
    recordingId: string;
    route: Route;
    process?: string | undefined; // of a recording of the machine: a pid or a pattern of names
    from?: number | undefined; // seconds of the recording's time
    to?: number | undefined;
}

export function RecordingFlame({ recordingId, route, process, from, to }: RecordingFlameProps) {
    const state = readState(route);
    const table = useMemo(sharedTable, [recordingId]);
    const source = useMemo(() => ({ recording: recordingId, view: state.view, process, from, to, nodes: state.all ? NODES_ALL : NODES }),
        [recordingId, state.view, process, from, to, state.all]);
    const feed = useFeed(source, table, false, () => undefined);
    return <FlameScreen feed={feed} table={table} route={route} isLive={false} subject={[recordingId, process, from, to].join(" ")} waiting={<Loading what="Reading the profile…" />} />;
}
