/* As much of a document as Preact needs to draw components in a unit test. Not part of the page. */

export class FakeNode {
    readonly childNodes: FakeNode[] = [];
    parentNode: FakeNode | null = null;
    readonly style = {};
    readonly namespaceURI = "http://www.w3.org/1999/xhtml";
    readonly nodeType: number;

    constructor(readonly localName: string, public data = "") {
        this.nodeType = localName === "" ? 3 : 1;
    }

    get firstChild(): FakeNode | null {
        return this.childNodes[0] ?? null;
    }

    get nextSibling(): FakeNode | null {
        const all = this.parentNode?.childNodes ?? [];
        return all[all.indexOf(this) + 1] ?? null;
    }

    get textContent(): string {
        return this.data + this.childNodes.map((one) => one.textContent).join("");
    }

    insertBefore(child: FakeNode, before: FakeNode | null): FakeNode {
        child.remove();
        this.childNodes.splice(before ? this.childNodes.indexOf(before) : this.childNodes.length, 0, child);
        child.parentNode = this;
        return child;
    }

    removeChild(child: FakeNode): void {
        child.remove();
    }

    remove(): void {
        this.parentNode?.childNodes.splice(this.parentNode.childNodes.indexOf(this), 1);
        this.parentNode = null;
    }

    contains(other: FakeNode | null): boolean {
        return other === this || this.childNodes.some((one) => one.contains(other));
    }

    setAttribute(): void {}

    removeAttribute(): void {}

    addEventListener(): void {}

    removeEventListener(): void {}
}

/* What the page has when it loads. */
export function fakePage(): void {
    Object.assign(globalThis, {
        document: {
            baseURI: "http://localhost/", hidden: false, addEventListener: () => undefined, removeEventListener: () => undefined,
            createElement: (name: string) => new FakeNode(name),
            createElementNS: (_: string, name: string) => new FakeNode(name),
            createTextNode: (text: string) => new FakeNode("", String(text)),
        },
        location: new URL("http://localhost/"),
        matchMedia: () => ({ matches: false, addEventListener: () => undefined, removeEventListener: () => undefined }),
        addEventListener: () => undefined, removeEventListener: () => undefined,
    });
}
