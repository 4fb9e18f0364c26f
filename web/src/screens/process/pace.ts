/* Draws what keeps changing, but leaves a slow machine time for other things: after each drawing, three times as long as it took. */
export class Pace {
    #isWanted = false;
    #isWaiting = false;
    #isOver = false;

    constructor(readonly draw: () => void, readonly leastMs = 0) {
        document.addEventListener("visibilitychange", this.#shown);
    }

    /* Something changed. */
    ask(): void {
        this.#isWanted = true;
        if (!this.#isWaiting && !document.hidden)
            this.#run();
    }

    end(): void {
        this.#isOver = true;
        document.removeEventListener("visibilitychange", this.#shown);
    }

    #shown = (): void => {
        if (this.#isWanted)
            this.ask();
    };

    #run(): void {
        this.#isWanted = false;
        this.#isWaiting = true;
        const began = performance.now();
        this.draw();
        const painted = () => setTimeout(() => this.#rest(performance.now() - began), 0);
        requestAnimationFrame(painted);
    }

    #rest(costMs: number): void {
        setTimeout(() => {
            this.#isWaiting = false;
            if (this.#isWanted && !this.#isOver)
                this.ask();
        }, Math.max(this.leastMs, 3 * costMs));
    }
}
