/* What each tab of a process gets. */
import type { Process } from "../../api";
import type { Route } from "../../route";
import type { Frame } from "./frames";
import type { View, Window } from "./use_frame";

export interface TabProps {
    pid: number;
    process: Process | null; // as it was last seen; null: only the history knows it
    hasEnded: boolean;
    route: Route;
    live: Frame | null; // the last minutes
    view: View; // of the time that the address names
    window: Window;
}
