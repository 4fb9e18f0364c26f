/* For work that Preact does not see, in a timer, a frame or a callback: what it throws is thrown again when the component is drawn, so
 * that the boundary around it shows the text. */
import { useEffect, useRef, useState } from "preact/hooks";

export type Guard = (work: () => void) => void;

export function useGuard(): Guard {
    const [failed, setFailed] = useState<{ problem: unknown } | null>(null);
    const isShown = useRef(true);
    useEffect(() => () => { isShown.current = false; }, []);
    if (failed)
        throw failed.problem;
    return (work) => {
        try {
            work();
        } catch (problem) {
            if (isShown.current)
                setFailed({ problem });
            else
                console.error(problem);
        }
    };
}
