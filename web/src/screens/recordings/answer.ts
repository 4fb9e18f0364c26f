/* An answer of the controller that a screen shows, asked for again when its address changes. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, get } from "../../api";

const RETRY_MS = 3000;
const PASSING = [0, 409, 429, 503]; // no connection, not ready, too busy: ask again

export interface Answer<T> {
    answer: T | null; // that of the address before stays until the next is there, where both are of the same
    problem: ApiError | null;
    isOld: boolean;
    retry: () => void;
}

interface Known<T> {
    answer: T | null;
    problem: ApiError | null;
    of: string | null;
    subject: string;
}

/* `version`: what tells that the same address has another answer by now. `subject`: what it is of; an answer of another one is
 * none. */
export function useAnswer<T>(address: string | null, version = "", subject = ""): Answer<T> {
    const [state, setState] = useState<Known<T>>({ answer: null, problem: null, of: null, subject });
    const [tries, setTries] = useState(0);
    const retry = () => setTries((before) => before + 1);
    useEffect(() => {
        if (address === null)
            return undefined;
        const abort = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        get<T>(address, abort.signal)
            .then((answer) => setState({ answer, problem: null, of: address, subject }))
            .catch((error: unknown) => {
                if (abort.signal.aborted)
                    return;
                const problem = error instanceof ApiError ? error : new ApiError(-1, "failed", String(error));
                setState((before) => ({ answer: PASSING.includes(problem.status) && before.of === address ? before.answer : null, problem, of: address, subject }));
                if (PASSING.includes(problem.status))
                    timer = setTimeout(retry, RETRY_MS);
            });
        return () => {
            abort.abort();
            clearTimeout(timer);
        };
    }, [address, version, subject, tries]);
    const { answer, problem } = state.subject === subject ? state : { answer: null, problem: null };
    return { answer, problem: state.of === address ? problem : null, isOld: state.of !== address, retry };
}
