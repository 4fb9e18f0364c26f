/* The tab of the live flame graph. */
import { LiveFlame } from "../flame/live";
import type { TabProps } from "./tab";

export function FlameTab({ pid, hasEnded, live, route }: TabProps) {
    return <LiveFlame pid={pid} hasEnded={hasEnded} frame={live} route={route} />;
}
