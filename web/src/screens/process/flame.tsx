/* The tab of the live flame graph. */
import { LiveFlame } from "../flame/live";
import { Notice } from "../../ui/parts";
import type { TabProps } from "./tab";

export function FlameTab({ pid, hasEnded, live, route }: TabProps) {
    if (hasEnded && !live)
        return <Notice>A live flame graph needs a running process, and this one has ended. Its recordings have theirs.</Notice>;
    return (
        <>
            {hasEnded && <Notice>The flame graph stands still: the process has ended.</Notice>}
            <LiveFlame pid={pid} route={route} />
        </>
    );
}
