/* Short messages at the corner that go away by themselves. */
import { clean } from "../format";
import { Cell, useCell } from "../store";

interface Toast {
    id: number;
    text: string;
    mood: "good" | "bad" | "";
}

const toasts = new Cell<Toast[]>([]);
let next = 1;

export function toast(text: string, mood: Toast["mood"] = ""): void {
    const one = { id: next++, text, mood };
    toasts.set([...toasts.value.filter((other) => other.text !== text), one].slice(-4));
    setTimeout(() => toasts.set(toasts.value.filter((other) => other !== one)), mood === "bad" ? 12_000 : 4000);
}

export function Toasts() {
    return (
        <div class="toasts" role="status" aria-live="polite">
            {useCell(toasts).map((one) => <div key={one.id} class={`notice ${one.mood}`}>{clean(one.text)}</div>)}
        </div>
    );
}
