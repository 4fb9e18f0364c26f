/* The one event stream of a browser: a shared worker that all its tabs talk to. A browser allows six connections a host; ten tabs
 * must not use them up. It asks for what its tabs want together, and asks anew when that changes.
 *
 * A tab says { want: [topic, ...] } or { bye: true }; it hears { topic, data }, { refused: { topic, why } } and
 * { state: "connecting" | "open" | "lost" }. */

interface Port {
    port: MessagePort;
    topics: Set<string>;
    heard: number; // when it last said something
}

const SETTLE_MS = 80; // screens change several topics at once
const SILENCE_MS = 90_000; // a tab that was killed says no goodbye

const ports = new Set<Port>();
const latest = new Map<string, string>(); // for tabs that come later: a state's last message
const refusals = new Map<string, string>(); // topics that the controller does not send, and why
const sources = new Set<EventSource>(); // the current one, and older ones until it is open
let source: EventSource | null = null;
let asked = "";
let state = "connecting";
let timer = 0;

function tell(message: unknown, to?: Iterable<Port>): void {
    for (const one of to ?? ports)
        one.port.postMessage(message);
}

function setState(next: string): void {
    state = next;
    tell({ state });
}

function wantedTopics(): string[] {
    const all = new Set<string>();
    for (const one of ports)
        one.topics.forEach((topic) => all.add(topic));
    return [...all].sort();
}

function take(topic: string, data: string): void {
    if (!isSequence(topic))
        latest.set(topic, data);
    tell({ topic, data }, takersOf(topic));
}

function takersOf(topic: string): Port[] {
    return [...ports].filter((one) => one.topics.has(topic));
}

/* The others go on; who wanted this one can say why it is empty. */
function refuse(data: string): void {
    const { topic, why } = JSON.parse(data) as { topic: string; why: string };
    refusals.set(topic, why);
    tell({ refused: { topic, why } }, takersOf(topic));
}

/* What this reader missed of a sequence is told as the topic tells of its own losses. A state comes again. */
function lose(data: string): void {
    const { topic, count } = JSON.parse(data) as { topic: string; count: number };
    if (isSequence(topic))
        tell({ topic, data: JSON.stringify({ lost: count }) }, takersOf(topic));
}

/* Logs and events are sequences: an old message is not the state of anything. */
function isSequence(topic: string): boolean {
    return topic.startsWith("logs/") || topic.startsWith("events/");
}

/* The new stream is opened before the old one is closed, so that nothing is missed between. */
function connect(): void {
    const topics = wantedTopics();
    const wanted = topics.join(",");
    if (wanted === asked && source && source.readyState !== EventSource.CLOSED)
        return;
    asked = wanted;
    for (const topic of latest.keys()) {
        if (!topics.includes(topic))
            latest.delete(topic);
    }
    refusals.clear();
    if (topics.length > 0) {
        open(topics);
        return;
    }
    source = null;
    closeOthers();
    setState("connecting"); // whoever comes next has not lost anything
}

function closeOthers(): void {
    for (const one of sources) {
        if (one !== source)
            drop(one);
    }
}

function drop(one: EventSource): void {
    one.close();
    sources.delete(one);
}

function open(topics: string[]): void {
    const url = new URL("../api/v1/stream", self.location.href);
    url.searchParams.set("topics", topics.join(","));
    const made = new EventSource(url);
    source = made;
    sources.add(made);
    made.addEventListener("open", () => {
        if (source !== made)
            return;
        closeOthers();
        setState("open");
    });
    made.addEventListener("error", () => {
        if (source !== made) {
            drop(made);
            return;
        }
        closeOthers();
        setState("lost");
        if (made.readyState === EventSource.CLOSED) // refused: the browser does not try again by itself
            later(3000);
    });
    made.addEventListener("refused", (event) => source === made && refuse((event as MessageEvent<string>).data));
    made.addEventListener("lost", (event) => source === made && lose((event as MessageEvent<string>).data));
    for (const topic of topics)
        made.addEventListener(topic, (event) => source === made && take(topic, (event as MessageEvent<string>).data));
}

function later(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(connect, ms) as unknown as number;
}

function welcome(one: Port, topics: string[]): void {
    const fresh = topics.filter((topic) => !one.topics.has(topic));
    one.topics = new Set(topics);
    one.heard = Date.now();
    tell({ state }, [one]);
    for (const topic of fresh) {
        const data = latest.get(topic);
        if (data !== undefined)
            tell({ topic, data }, [one]);
        const why = refusals.get(topic);
        if (why !== undefined)
            tell({ refused: { topic, why } }, [one]);
    }
    later(SETTLE_MS);
}

function attach(port: MessagePort): void {
    const one: Port = { port, topics: new Set(), heard: Date.now() };
    ports.add(one);
    port.onmessage = (event: MessageEvent<{ want?: string[]; bye?: boolean; retry?: boolean }>) => {
        if (event.data.bye) {
            ports.delete(one);
            later(SETTLE_MS);
            return;
        }
        ports.add(one);
        if (event.data.retry) {
            asked = "";
            latest.clear(); // of whoever was logged in before
        }
        welcome(one, event.data.want ?? [...one.topics]);
    };
    port.start();
}

setInterval(() => {
    const now = Date.now();
    for (const one of ports) {
        if (now - one.heard > SILENCE_MS)
            ports.delete(one);
    }
    connect();
}, 30_000);

/* As a shared worker; or, where there are none, as a worker of one tab. */
if ("onconnect" in self)
    (self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = (event) => attach(event.ports[0]!);
else
    self.onmessage = (event: MessageEvent) => event.ports[0] && attach(event.ports[0]);
