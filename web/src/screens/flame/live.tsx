/* The flame graph of a process that runs. */
import { useMemo } from "preact/hooks";
import { touchLive, useLive } from "../../live";
import type { Route } from "../../route";
import { Empty, Loading } from "../../ui/parts";
import { sharedTable, useFeed } from "./feed";
import { FlameScreen } from "./screen";
import { readState } from "./state";

const NODES = 20_000;
const NODES_ALL = 1_000_000;

export function LiveFlame({ pid, route }: { pid: number; route: Route }) {
    const live = useLive(pid);
    const state = readState(route);
    const table = useMemo(sharedTable, [pid]);
    const source = live.id === null ? null : { recording: live.id, view: state.view, nodes: state.all ? NODES_ALL : NODES };
    const feed = useFeed(source, table, true, () => touchLive(pid));
    const waiting = live.state === "refused" || live.state === "failed"
        ? <Empty title={live.state === "refused" ? "This log-in may not record" : "The recording does not start"}>{live.error}</Empty>
        : <Loading what="Starting to look: the first samples come in a few seconds…" />;
    return <FlameScreen feed={feed} table={table} route={route} isLive={true} subject={String(pid)} waiting={waiting} />;
}
