/* The time line itself: lanes with their labels, hover, a dragged span, and all of it by keyboard. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { seconds } from "../../format";
import { useCell } from "../../store";
import { theme } from "../../ui/theme";
import { laneAt, makeLanes, packRequests, REQUEST_ROW, requestAt, collectionAt, type FullTimeline, type Lane, type PackedRequest, type Window } from "./lanes";
import { drawTimeline, type Scene } from "./timeline_draw";
import { tipAt } from "./timeline_tip";

export interface CanvasProps {
    data: FullTimeline;
    view: Window;
    span: Window | null;
    shown: number;
    onSpan: (span: Window | null) => void;
    onView: (view: Window | null) => void;
}

const DRAG_PIXELS = 4;

interface Hover {
    x: number;
    y: number;
}

function useWidth(): [(element: HTMLElement | null) => void, number] {
    const [element, setElement] = useState<HTMLElement | null>(null);
    const [width, setWidth] = useState(0);
    useEffect(() => {
        if (!element)
            return undefined;
        const observer = new ResizeObserver(() => setWidth(element.clientWidth));
        observer.observe(element);
        setWidth(element.clientWidth);
        return () => observer.disconnect();
    }, [element]);
    return [setElement, width];
}

function Labels({ lanes }: { lanes: Lane[] }) {
    return (
        <div class="rec-lane-labels">
            {lanes.map((lane, i) => (
                <div key={i} class={`rec-lane-label rec-of-${lane.kind}`} style={{ height: `${lane.height}px` }} title={`${lane.label} ${lane.detail}`}>
                    <span class="cut">{lane.label}</span><span class="rec-lane-detail">{lane.detail}</span>
                </div>
            ))}
        </div>
    );
}

/* A click without a drag: the collection or request under it becomes the span. */
function itemAt(scene: Scene, at: number, y: number): Window | null {
    const lane = laneAt(scene.lanes, y);
    const slack = ((scene.view.to - scene.view.from) / scene.width) * 3;
    const found = lane?.kind === "gc" ? collectionAt(scene.data, at, slack)
        : lane?.kind === "requests" ? requestAt(scene.packed, at, Math.floor((y - lane.top - 5) / REQUEST_ROW), slack) : null;
    return found ? { from: found.start, to: Math.max(found.end, found.start + 0.001) } : null;
}

export function TimelineCanvas({ data, view, span, shown, onSpan, onView }: CanvasProps) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const [hold, width] = useWidth();
    const [hover, setHover] = useState<Hover | null>(null);
    const [drag, setDrag] = useState<Window | null>(null);
    const [cursor, setCursor] = useState<number | null>(null);
    const anchor = useRef<number | null>(null);
    const mode = useCell(theme);
    const { packed, rows } = useMemo(() => packRequests(data.requests), [data]);
    const { lanes, height } = useMemo(() => makeLanes(data, rows, shown), [data, rows, shown]);
    const scene: Scene = { data, lanes, packed: packed as PackedRequest[], view, width, height };
    useEffect(() => {
        if (canvas.current)
            drawTimeline(canvas.current, scene);
    }, [data, lanes, view.from, view.to, width, mode]);

    const wide = view.to - view.from;
    const timeAt = (x: number) => Math.min(view.to, Math.max(view.from, view.from + (x / Math.max(1, width)) * wide));
    const place = (event: PointerEvent): Hover => {
        const box = canvas.current!.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const down = (event: PointerEvent) => {
        if (event.button !== 0)
            return;
        canvas.current!.setPointerCapture(event.pointerId);
        anchor.current = timeAt(place(event).x);
        setDrag({ from: anchor.current, to: anchor.current });
    };
    const move = (event: PointerEvent) => {
        const at = place(event);
        setHover(at);
        if (anchor.current !== null && drag)
            setDrag(ordered(anchor.current, timeAt(at.x)));
    };
    const up = (event: PointerEvent) => {
        const at = place(event);
        if (drag && ((drag.to - drag.from) / wide) * width >= DRAG_PIXELS)
            onSpan(drag);
        else if (drag)
            onSpan(itemAt(scene, timeAt(at.x), at.y));
        anchor.current = null;
        setDrag(null);
    };
    const cancel = () => {
        anchor.current = null;
        setDrag(null);
        setHover(null);
    };
    const zoom = (factor: number, around: number) => onView(zoomed(view, factor, around, data.durationSeconds));
    const wheel = (event: WheelEvent) => {
        if (!event.ctrlKey && !event.metaKey)
            return;
        event.preventDefault();
        zoom(event.deltaY < 0 ? 0.7 : 1 / 0.7, timeAt(event.clientX - canvas.current!.getBoundingClientRect().left));
    };
    const steer = (to: number, isSelecting: boolean) => {
        const at = Math.min(view.to, Math.max(view.from, to));
        if (isSelecting) {
            anchor.current ??= cursor ?? view.from;
            onSpan(ordered(anchor.current, at));
        } else {
            anchor.current = null;
        }
        setCursor(at);
    };
    const key = (event: KeyboardEvent) => {
        const now = cursor ?? span?.from ?? view.from;
        const step = wide / (event.altKey ? 500 : 50);
        const keys: Record<string, () => void> = {
            ArrowLeft: () => steer(now - step, event.shiftKey),
            ArrowRight: () => steer(now + step, event.shiftKey),
            Home: () => steer(view.from, event.shiftKey),
            End: () => steer(view.to, event.shiftKey),
            "+": () => zoom(0.5, now),
            "=": () => zoom(0.5, now),
            "-": () => zoom(2, now),
            Enter: () => span && onView(span),
            Escape: () => (span ? onSpan(null) : onView(null)),
        };
        const action = keys[event.key];
        if (!action || event.ctrlKey || event.metaKey)
            return;
        event.preventDefault();
        action();
    };

    const chosen = drag ?? span;
    const left = (at: number) => `${Math.min(100, Math.max(0, ((at - view.from) / wide) * 100))}%`;
    const tip = hover ? tipAt(scene, timeAt(hover.x), hover.y) : null;
    return (
        <div class="rec-timeline">
            <Labels lanes={lanes} />
            <div class="rec-lanes" ref={hold}>
                <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="time line" aria-describedby="timeline-keys"
                    aria-label={`Time line from ${seconds(view.from)} to ${seconds(view.to)}${span ? `, chosen ${seconds(span.from)} to ${seconds(span.to)}` : ""}`}
                    style={{ height: `${height}px` }} onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerCancel={cancel}
                    onPointerLeave={() => setHover(null)} onDblClick={() => onView(null)} onWheel={wheel} onKeyDown={key} onBlur={() => { setCursor(null); anchor.current = null; }} />
                {chosen && chosen.to > view.from && chosen.from < view.to && (
                    <div class="rec-span" style={{ left: left(chosen.from), right: `calc(100% - ${left(chosen.to)})` }} />
                )}
                {cursor !== null && <div class="rec-cursor" style={{ left: left(cursor) }} />}
                {hover && <div class="rec-cursor rec-faint" style={{ left: `${hover.x}px` }} />}
                {tip && hover && (
                    <div class="rec-tip" style={{ left: `${Math.min(Math.max(0, hover.x + 12), Math.max(0, width - 240))}px`, top: `${hover.y + 16}px` }}>
                        {tip.map((line, i) => <div key={i} class={i === 0 ? "quiet" : ""}>{line}</div>)}
                    </div>
                )}
            </div>
            <span class="only-read" aria-live="polite">{cursor === null ? "" : `at ${seconds(cursor)}`}</span>
        </div>
    );
}

export function ordered(a: number, b: number): Window {
    return a <= b ? { from: a, to: b } : { from: b, to: a };
}

/* Null: all of it. */
export function zoomed(view: Window, factor: number, around: number, duration: number): Window | null {
    const wide = Math.min(duration, Math.max(0.001, (view.to - view.from) * factor));
    const share = (around - view.from) / (view.to - view.from);
    const from = Math.min(Math.max(0, around - share * wide), duration - wide);
    return wide >= duration * 0.999 ? null : { from, to: from + wide };
}
