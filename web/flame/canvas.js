/* Draws a tree into a canvas: what is in sight and at least half a pixel wide, nothing else. Knows where
 * a pointer is, and moves smoothly between zooms. Who calls whom is tree.js, buttons are flame.js. */
import { shorten, visible } from "./text.js";

const ROW = 20; // pixels a level
const NARROWEST = 0.5;
const WITH_TEXT = 34;
const ZOOM_MS = 240;
const LABEL_MAX = 240;

const prefersStill = matchMedia("(prefers-reduced-motion: reduce)");

export class FlameCanvas {
    constructor(scroller, spacer, canvas) {
        this.scroller = scroller;
        this.spacer = spacer;
        this.canvas = canvas;
        this.context = canvas.getContext("2d", { alpha: true });
        this.widths = new Map();
        this.tree = null;
        this.zoomed = 0;
        this.from = 0;
        this.to = 0;
        this.selected = -1;
        this.hovered = -1;
        this.isMatch = null;
        this.isPending = false;
        scroller.addEventListener("scroll", () => this.requestDraw(), { passive: true });
        this.observer = new ResizeObserver(() => this.resize());
        this.observer.observe(scroller);
    }

    destroy() {
        this.observer.disconnect();
        cancelAnimationFrame(this.animation);
    }

    /* `colourOf(node)`, `rootLabel`: how the tree looks. */
    show(tree, colourOf, rootLabel) {
        this.tree = tree;
        this.colourOf = colourOf;
        this.rootLabel = rootLabel;
        this.labels = new Array(tree.profile.frameCount);
        this.selected = this.hovered = -1;
        this.zoomed = 0;
        this.from = 0;
        this.to = tree.total[0];
        cancelAnimationFrame(this.animation);
        this.spacer.style.height = `${tree.depth * ROW + 2}px`;
        this.levelsShown = 0;
        this.width = this.scroller.clientWidth;
        this.makeRoom(this.from, this.to);
        this.resize();
    }

    /* As high as what can be seen in a window, and never less than before: nothing jumps while one zooms. */
    makeRoom(from, to) {
        let levels = 0;
        for (let nodes = [0]; nodes.length; nodes = this.wideChildren(nodes, from, to))
            levels++;
        this.levelsShown = Math.max(this.levelsShown, levels);
        this.scroller.style.height = `${Math.min(this.tree.depth, this.levelsShown + 1) * ROW + 2}px`;
    }

    resize() {
        const ratio = devicePixelRatio || 1;
        this.width = this.scroller.clientWidth;
        this.height = this.scroller.clientHeight;
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${this.height}px`;
        this.canvas.width = Math.max(1, Math.round(this.width * ratio));
        this.canvas.height = Math.max(1, Math.round(this.height * ratio));
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.draw();
    }

    zoomTo(node) {
        const tree = this.tree;
        const begin = { from: this.from, to: this.to, time: performance.now() };
        const end = { from: tree.start[node], to: tree.start[node] + tree.total[node] };
        this.zoomed = node;
        this.makeRoom(end.from, end.to);
        this.reveal(node, true);
        cancelAnimationFrame(this.animation);
        const step = (now) => {
            const elapsed = prefersStill.matches ? 1 : Math.max(0, Math.min(1, (now - begin.time) / ZOOM_MS));
            const eased = 1 - (1 - elapsed) ** 3;
            this.from = begin.from + (end.from - begin.from) * eased;
            this.to = begin.to + (end.to - begin.to) * eased;
            this.draw();
            if (elapsed < 1)
                this.animation = requestAnimationFrame(step);
        };
        step(performance.now());
    }

    /* Scrolls so that a node is in sight; with `below`, some of what is below it as well. */
    reveal(node, below = false) {
        const top = this.tree.level[node] * ROW;
        const fits = this.tree.depth * ROW <= this.height;
        const least = below ? this.height * 0.5 : ROW * 2;
        if (!fits && (top < this.scroller.scrollTop || top > this.scroller.scrollTop + this.height - least))
            this.scroller.scrollTo({ top: Math.max(0, top - ROW * 3), behavior: prefersStill.matches ? "auto" : "smooth" });
    }

    nodeAt(clientX, clientY) {
        const box = this.canvas.getBoundingClientRect();
        const level = Math.floor((clientY - box.top + this.scroller.scrollTop) / ROW);
        if (!this.tree || level < 0 || level >= this.tree.depth || clientX < box.left || clientX >= box.right)
            return -1;
        const value = this.from + ((clientX - box.left) / this.width) * (this.to - this.from);
        const node = this.tree.findInLevel(level, value);
        const start = this.tree.start[node];
        return value >= start && value < start + this.tree.total[node] ? node : -1;
    }

    /* Where a node is in the window, for pointers that tests or tooltips make up. */
    boxOf(node) {
        const scale = this.width / (this.to - this.from);
        const left = Math.max(0, (this.tree.start[node] - this.from) * scale);
        const right = Math.min(this.width, (this.tree.start[node] + this.tree.total[node] - this.from) * scale);
        const box = this.canvas.getBoundingClientRect();
        const top = this.tree.level[node] * ROW - this.scroller.scrollTop;
        return { left: box.left + left, top: box.top + top, width: right - left, height: ROW };
    }

    requestDraw() {
        if (this.isPending)
            return;
        this.isPending = true;
        requestAnimationFrame(() => {
            this.isPending = false;
            this.draw();
        });
    }

    draw() {
        const context = this.context;
        context.clearRect(0, 0, this.width, this.height);
        if (!this.tree || !(this.to > this.from))
            return;
        const style = getComputedStyle(this.scroller);
        this.style = {
            text: style.getPropertyValue("--flame-text"),
            match: style.getPropertyValue("--flame-match"),
            matchText: style.getPropertyValue("--flame-match-text"),
            root: style.getPropertyValue("--flame-root"),
            outline: style.getPropertyValue("--flame-outline"),
        };
        context.font = `12px ${style.fontFamily}`;
        context.textBaseline = "middle";
        context.direction = "ltr";
        const first = Math.floor(this.scroller.scrollTop / ROW);
        const last = Math.min(this.tree.depth - 1, Math.ceil((this.scroller.scrollTop + this.height) / ROW));
        let nodes = [0];
        for (let level = 0; level <= last && nodes.length; level++) {
            if (level >= first)
                this.drawLevel(nodes, level * ROW - this.scroller.scrollTop);
            nodes = this.wideChildren(nodes, this.from, this.to);
        }
        this.outline(this.hovered, 1);
        this.outline(this.selected, 2);
    }

    /* Those in sight and wide enough. Siblings are sorted by width, so most are never looked at. */
    wideChildren(nodes, from, to) {
        const { start, total, firstChild } = this.tree;
        const least = (NARROWEST * (to - from)) / this.width;
        const wide = [];
        for (const node of nodes) {
            const end = this.tree.childrenEnd(node);
            for (let n = firstChild[node]; n < end && total[n] >= least && start[n] < to; n++) {
                if (start[n] + total[n] > from)
                    wide.push(n);
            }
        }
        return wide;
    }

    drawLevel(nodes, y) {
        const { start, total } = this.tree;
        const scale = this.width / (this.to - this.from);
        for (const n of nodes) {
            const left = Math.max(0, (start[n] - this.from) * scale);
            const right = Math.min(this.width, (start[n] + total[n] - this.from) * scale);
            this.drawNode(n, left, y, right - left);
        }
    }

    drawNode(node, x, y, width) {
        const context = this.context;
        const frame = this.tree.frame[node];
        const matches = this.isMatch !== null && frame >= 0 && this.isMatch(frame);
        const isAside = (this.isMatch !== null && !matches) || this.tree.level[node] < this.tree.level[this.zoomed];
        context.globalAlpha = isAside ? 0.5 : 1;
        context.fillStyle = matches ? this.style.match : frame < 0 ? this.style.root : this.colourOf(node);
        if (width > 6) {
            context.beginPath();
            context.roundRect(x + 0.5, y + 0.5, width - 1, ROW - 1, 2.5);
            context.fill();
        } else {
            context.fillRect(x, y + 0.5, Math.max(width - (width > 2 ? 0.5 : 0), NARROWEST), ROW - 1);
        }
        if (width >= WITH_TEXT)
            this.drawText(node, x + 5, y + ROW / 2 + 0.5, width - 9, matches);
        context.globalAlpha = 1;
    }

    drawText(node, x, y, room, matches) {
        const frame = this.tree.frame[node];
        const { full, short } = frame < 0 ? { full: this.rootLabel, short: this.rootLabel } : this.labelOf(frame);
        const text = this.fit(full, short, room);
        if (!text)
            return;
        this.context.fillStyle = matches ? this.style.matchText : this.style.text;
        this.context.fillText(text, x, y, room);
    }

    /* A name, and the same without its namespace for where there is little room. */
    labelOf(frame) {
        if (!this.labels[frame]) {
            const profile = this.tree.profile;
            this.labels[frame] = {
                full: visible(shorten(profile.frames.name[frame], LABEL_MAX)),
                short: visible(shorten(profile.shortName(frame), LABEL_MAX)),
            };
        }
        return this.labels[frame];
    }

    widthOf(text) {
        let width = this.widths.get(text);
        if (width === undefined) {
            width = this.context.measureText(text).width;
            this.widths.set(text, width);
        }
        return width;
    }

    fit(full, short, room) {
        if (this.widthOf(full) <= room)
            return full;
        const width = this.widthOf(short);
        if (width <= room)
            return short;
        let length = Math.floor((short.length * room) / width);
        while (length >= 2 && this.context.measureText(`${short.slice(0, length)}…`).width > room)
            length--;
        return length >= 2 ? `${short.slice(0, length)}…` : "";
    }

    outline(node, width) {
        if (node < 0 || node >= this.tree.count)
            return;
        const scale = this.width / (this.to - this.from);
        const left = Math.max(0, (this.tree.start[node] - this.from) * scale);
        const right = Math.min(this.width, (this.tree.start[node] + this.tree.total[node] - this.from) * scale);
        if (right <= left)
            return;
        const y = this.tree.level[node] * ROW - this.scroller.scrollTop;
        this.context.strokeStyle = this.style.outline;
        this.context.lineWidth = width;
        this.context.beginPath();
        this.context.roundRect(left + 0.5, y + 0.5, Math.max(1, right - left - 1), ROW - 1, 2.5);
        this.context.stroke();
    }
}
