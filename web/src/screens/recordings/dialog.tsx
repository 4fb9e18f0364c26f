/* A dialog over the page: Escape and a click beside it close it, the focus comes back to where it was. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "../../ui/icons";

export function Dialog({ title, onClose, children, foot, wide = false }: {
    title: string;
    onClose: () => void;
    children: ComponentChildren;
    foot?: ComponentChildren;
    wide?: boolean;
}) {
    const element = useRef<HTMLDialogElement>(null);
    const id = useId();
    useEffect(() => {
        const before = document.activeElement;
        element.current?.showModal();
        return () => {
            if (before instanceof HTMLElement)
                before.focus();
        };
    }, []);
    return (
        <dialog ref={element} class={wide ? "rec-sheet rec-wide-sheet" : "rec-sheet"} aria-labelledby={id} onClose={onClose}
            onMouseDown={(event) => event.target === element.current && onClose()}>
            <div class="rec-sheet-frame">
                <header>
                    <h2 id={id}>{title}</h2>
                    <button type="button" class="plain" aria-label="Close" onClick={onClose}><Icon name="close" /></button>
                </header>
                <div class="rec-sheet-body">{children}</div>
                {foot && <footer>{foot}</footer>}
            </div>
        </dialog>
    );
}
