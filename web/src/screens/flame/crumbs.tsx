/* The path of what is zoomed into: each part leads there. */
import { useEffect, useRef } from "preact/hooks";
import { aboutFrame } from "../../../flame/about";
import { shorten } from "../../../flame/text";
import type { Tree } from "../../../flame/tree";

const SHOWN = 6;

export function Crumbs({ tree, zoomed, rootName, onZoom }: { tree: Tree; zoomed: number; rootName: string; onZoom: (node: number) => void }) {
    const path = tree.pathTo(zoomed);
    const shown = path.length > SHOWN ? [path[0]!, -1, ...path.slice(1 - SHOWN)] : path;
    const place = useRef<HTMLElement>(null);
    useEffect(() => {
        if (place.current)
            place.current.scrollLeft = place.current.scrollWidth;
    }, [zoomed]);
    const crumb = (node: number, text: string) => (
        <button key={node} type="button" class="plain" title={text} aria-current={node === zoomed ? "location" : undefined} onClick={() => onZoom(node)}>
            <bdi>{shorten(text, 60)}</bdi>
        </button>
    );
    return (
        <nav ref={place} class="flame-crumbs" aria-label="Zoomed into">
            {crumb(0, rootName)}
            {shown.map((node) => (node < 0 ? <span key="more">… {path.length - SHOWN} more …</span>
                : crumb(node, aboutFrame(tree.profile.words, tree.frame[node]!).short)))}
        </nav>
    );
}
