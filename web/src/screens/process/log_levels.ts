/* The levels of ILogger, the least first. */
export const LEVELS = ["Trace", "Debug", "Information", "Warning", "Error", "Critical"] as const;

/* -1: no level. */
export const rank = (level: string): number => LEVELS.findIndex((one) => one === level);
