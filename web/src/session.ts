/* Logging in and out, and noticing when the controller has ended our session: then the page asks for a key again. */
import { ApiError, get, post, remove, type Session } from "./api";
import { Cell, connection, logIn, session } from "./store";
import { reconnect } from "./stream";

const NOBODY: Session = { name: "", kind: "nobody", scope: "none" };

/* Why the page asks for a key although it was open already; "": it was not. */
export const endedBecause = new Cell("");

async function takeUp(): Promise<void> {
    session.set(NOBODY); // what the other one has seen does not stay on the screen
    await logIn();
    reconnect();
}

export async function logInWithKey(key: string): Promise<void> {
    await post<Session>("session", { key });
    endedBecause.set("");
    await takeUp();
}

export async function logOut(): Promise<void> {
    await remove("session");
    endedBecause.set("");
    await takeUp();
}

/* Asks who we are now; what has ended is said by the log-in. */
export async function checkSession(): Promise<void> {
    const before = session.value;
    try {
        const now = await get<Session>("session");
        if (!before || now.scope !== before.scope || now.kind !== before.kind || now.name !== before.name)
            session.set(now);
    } catch (problem) {
        if (!(problem instanceof ApiError) || problem.status !== 401 || !before || before.scope === "none")
            return;
        endedBecause.set(problem.message);
        session.set(NOBODY);
    }
}

/* A stream that ends is the first to notice; other screens hear it from their next request. */
connection.watch(() => {
    if (connection.value === "lost")
        void checkSession();
});
