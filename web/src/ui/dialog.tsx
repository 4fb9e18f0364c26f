/* A window above the page, which keeps the keyboard until it is closed. What goes wrong in it is said in it: what lies below cannot
 * be read meanwhile. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Complain, Notice } from "./parts";

export interface DialogProps {
    title: string;
    onClose: () => void;
    children: ComponentChildren;
    foot?: ComponentChildren; // buttons, at the right
    error?: string; // what went wrong, if not by an Action within
    canCancel?: boolean; // Escape closes it
    closesBeside?: boolean; // so does a click beside it
    class?: string;
}

export function Dialog({ title, onClose, children, foot, error = "", canCancel = true, closesBeside = false, class: name = "" }: DialogProps) {
    const element = useRef<HTMLDialogElement>(null);
    const isGone = useRef(false);
    const [problem, setProblem] = useState("");
    const id = useId();
    useEffect(() => {
        const dialog = element.current!;
        const before = document.activeElement;
        isGone.current = false;
        dialog.showModal();
        return () => {
            isGone.current = true;
            dialog.close();
            if (before instanceof HTMLElement && before.isConnected)
                before.focus();
        };
    }, []);
    const cancel = (event: Event) => {
        event.preventDefault();
        if (canCancel)
            onClose();
    };
    const closed = () => { // Chrome closes it at a second Escape, whatever the page says
        if (isGone.current)
            return;
        if (canCancel)
            onClose();
        else
            element.current?.showModal();
    };
    return (
        <dialog ref={element} class={`sheet ${name}`.trim()} aria-labelledby={id} onCancel={cancel} onClose={closed}
            onMouseDown={(event) => closesBeside && event.target === element.current && onClose()}>
            <div class="frame">
                <h2 id={id}>{title}</h2>
                <Complain.Provider value={setProblem}>
                    {children}
                    {(error || problem) && <Notice mood="bad">{error || problem}</Notice>}
                    {foot && <div class="row end">{foot}</div>}
                </Complain.Provider>
            </div>
        </dialog>
    );
}
