/* A method as people name it, with file and line where they are known; the full name on hover. */
import type { Site } from "./report";

export function Place({ site: { method, fullName, module, file, line } }: { site: Pick<Site, "method" | "fullName" | "module" | "file" | "line"> }) {
    if (!method)
        return <span class="quiet">no stack</span>;
    return (
        <span class="place" title={fullName ?? method}>
            <span class="mono">{method}</span>
            <small class="quiet">{file ? `${file.replace(/^.*[\\/]/, "")}${line ? `:${line}` : ""}` : module}</small>
        </span>
    );
}
