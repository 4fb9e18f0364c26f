/* Our few icons: strokes on a 16 by 16 grid, in the colour of the text. */
const PATHS: Record<string, string> = {
    logo: "M2 12 C4 12 4 4 6 4 S8 12 10 12 S12 7 14 7",
    sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
    moon: "M13.5 9.5A5.8 5.8 0 0 1 6.5 2.5a5.8 5.8 0 1 0 7 7z",
    search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14",
    record: "M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z",
    stop: "M4.5 4.5h7v7h-7z",
    download: "M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11",
    upload: "M8 10.5v-8M4.5 6 8 2.5 11.5 6M2.5 13.5h11",
    copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
    link: "M6.5 9.5l3-3M7 4.5 8.5 3a3 3 0 0 1 4.3 4.3L11.5 8.8M9 11.5 7.5 13a3 3 0 0 1-4.3-4.3L4.5 7.2",
    close: "M4 4l8 8M12 4l-8 8",
    pin: "M6 2h4l-.5 4.5L12 9H4l2.5-2.5zM8 9v5",
    pause: "M5.5 3.5v9M10.5 3.5v9",
    play: "M5 3l8 5-8 5z",
    trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.5 9h6l.5-9",
    warning: "M8 2 15 14H1zM8 6.5v3.5M8 12v.2",
    back: "M9.5 3.5 5 8l4.5 4.5",
    more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
};

export function Icon({ name, size = 16 }: { name: string; size?: number }) {
    return (
        <svg width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"
            stroke-linejoin="round" aria-hidden="true">
            <path d={PATHS[name] ?? ""} />
        </svg>
    );
}
