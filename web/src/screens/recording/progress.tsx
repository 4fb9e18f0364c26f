/* How a recording fares while it runs: elapsed, left, bytes, events, losses. */
import { useEffect, useRef } from "preact/hooks";
import type { Recording } from "../../api";
import { bytes, count, seconds, span } from "../../format";
import { Card, Notice } from "../../ui/parts";
import { Spark } from "../../ui/spark";
import { isActive, numberOf, secondsOf, sizeOf, stageOf, stateOf, textOf } from "../recordings/words";

function Fact({ label, value, mood = "" }: { label: string; value: string; mood?: string }) {
    return <div class="rec-fact"><dt>{label}</dt><dd class={mood}>{value}</dd></div>;
}

/* Events each second between two messages, for the small line. */
function useRates(recording: Recording): number[] {
    const rates = useRef<{ values: number[]; events: number; at: number }>({ values: [], events: 0, at: 0 });
    const events = numberOf(recording, "events") ?? 0;
    const at = secondsOf(recording) ?? 0;
    useEffect(() => {
        const one = rates.current;
        if (at > one.at + 0.5) {
            one.values = [...one.values, Math.max(0, events - one.events) / (at - one.at)].slice(-120);
            one.events = events;
            one.at = at;
        }
    }, [events, at]);
    return rates.current.values;
}

function howFar(recording: Recording): { share: number; words: string } {
    const elapsed = secondsOf(recording) ?? 0;
    const wanted = Number(recording.settings?.["durationSeconds"] ?? 0);
    const most = Number(recording.settings?.["maxBytes"] ?? 0);
    if (recording.state === "Stopping")
        return { share: 1, words: stageOf(recording) || "The runtime tells the names of its methods" };
    if (wanted > 0)
        return { share: Math.min(1, elapsed / wanted), words: elapsed < wanted ? `${span(Math.ceil(wanted - elapsed))} to go` : "Ending" };
    if (most > 0)
        return { share: Math.min(1, sizeOf(recording) / most), words: `until ${bytes(most)}, or until it is stopped` };
    return { share: 0, words: "until it is stopped" };
}

export function Progress({ recording }: { recording: Recording }) {
    const rates = useRates(recording);
    if (!isActive(recording))
        return null;
    const { share, words } = howFar(recording);
    const lost = numberOf(recording, "lost") ?? 0;
    const limited = textOf(recording, "wayNote");
    return (
        <Card title={stateOf(recording)[0]} tools={<span class="quiet">{words}</span>}>
            <div class="rec-progress">
                <div class={share ? "meter" : "meter rec-endless"} role="progressbar" aria-label="Progress" aria-valuemin={0} aria-valuemax={100} aria-valuenow={share ? Math.round(share * 100) : undefined}>
                    <div style={{ width: share ? `${share * 100}%` : "30%" }} />
                </div>
                <dl class="rec-fact-row">
                    <Fact label="Elapsed" value={seconds(Math.round((secondsOf(recording) ?? 0) * 10) / 10)} />
                    <Fact label="Size" value={bytes(sizeOf(recording))} />
                    <Fact label="Events" value={count(numberOf(recording, "events") ?? 0)} />
                    <Fact label="Lost" value={count(lost)} mood={lost ? "rec-lost" : ""} />
                    {rates.length > 1 && <div class="rec-fact grow"><dt>Events each second</dt><dd><Spark values={rates} span={Math.max(20, rates.length - 1)} label={`Events each second, now ${count(rates[rates.length - 1]!)}`} /></dd></div>}
                </dl>
                {lost > 0 && <p class="rec-hint">Events come faster than they can be written. Stop it and record with fewer providers, without stacks, or with a larger buffer.</p>}
            </div>
            {limited && <Notice mood="warn">{limited}</Notice>}
        </Card>
    );
}

/* What the recorder remarked, after its end too. */
export function Remarks({ recording }: { recording: Recording }) {
    const notes = [isActive(recording) ? "" : textOf(recording, "wayNote"), textOf(recording, "note")].filter((text) => text !== "");
    return <>{notes.map((text) => <p key={text} class="rec-hint">Note: {text}.</p>)}</>;
}
