/* Recordings in plain words: what state one is in, whom it is about, how long and how large it is. */
import type { Recording } from "../../api";
import { moment } from "../../format";

type Mood = "good" | "warn" | "bad" | "accent" | "";

const STATES: Record<Recording["state"], [string, Mood]> = {
    Configured: ["Not started", ""],
    Starting: ["Starting", "accent"],
    Running: ["Recording", "accent"],
    Stopping: ["Finishing", "accent"],
    Succeeded: ["Done", "good"],
    Failed: ["Failed", "bad"],
    Cancelled: ["Cancelled", "warn"],
};

export function stateOf(recording: Recording): [word: string, mood: Mood] {
    return STATES[recording.state] ?? [recording.state, ""];
}

export function isActive({ state }: Recording): boolean {
    return state === "Starting" || state === "Running" || state === "Stopping";
}

/* There is a file to look into: an archive of the machine is made at its end. */
export function hasData(recording: Recording): boolean {
    if (recording.kind === "record" && isActive(recording))
        return false;
    return recording.state !== "Configured" && recording.state !== "Starting" && sizeOf(recording) > 0;
}

/* What people call it: the name they gave; a file from elsewhere has its own; else of whom and when. */
export function titleOf(recording: Recording): string {
    if (recording.name)
        return recording.name;
    const file = recording.kind === "upload" ? recording.fileName?.replace(/\.(nettrace|sonde\.zip|trace\.zip)$/, "") : "";
    return file || `${recording.process?.name ?? "Machine"}, ${moment(recording.createdUtc)}`;
}

export function aboutOf({ kind, process }: Recording): string {
    if (process) {
        const who = process.pid ? `${process.name} (${process.pid})` : process.name;
        return kind === "upload" ? `${who}, from elsewhere` : who;
    }
    return kind === "upload" ? "a file from elsewhere" : "the machine";
}

export function numberOf(recording: Recording, name: string): number | null {
    const value = recording.progress?.[name];
    return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function textOf(recording: Recording, name: string): string {
    const value = recording.progress?.[name];
    return typeof value === "string" ? value : "";
}

export function sizeOf(recording: Recording): number {
    return Math.max(recording.fileBytes, numberOf(recording, "bytes") ?? 0);
}

export function secondsOf(recording: Recording): number | null {
    const told = numberOf(recording, "durationSeconds");
    if (told)
        return told;
    if (!recording.startedUtc || recording.kind === "upload")
        return told;
    const end = recording.endedUtc ? Date.parse(recording.endedUtc) : Date.now();
    return Math.max(0, (end - Date.parse(recording.startedUtc)) / 1000);
}

/* When it was made; one that waits was only configured then. */
export function whenOf(recording: Recording): string {
    return recording.startedUtc ?? recording.createdUtc ?? "";
}

export function ownerOf({ owner }: Recording): string {
    return owner || "anonymous";
}

/* What the finish of a recording of the machine is doing. */
export function stageOf(recording: Recording): string {
    const stages: Record<string, string> = {
        stopping: "Stopping",
        naming: "Finding the names of methods and functions",
        packing: "Packing the archive",
    };
    return stages[textOf(recording, "stage")] ?? "";
}
