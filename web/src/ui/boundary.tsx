/* Keeps an exception of a view to that view: its text is shown in the view's place, and all around it goes on. */
import { Component, type ComponentChildren } from "preact";
import { clean } from "../format";
import { Empty } from "./parts";

interface BoundaryProps {
    at: string; // where one is: elsewhere is another view, which has not failed
    children: ComponentChildren;
}

interface BoundaryState {
    failed: { at: string; text: string } | null;
}

export class Boundary extends Component<BoundaryProps, BoundaryState> {
    override state: BoundaryState = { failed: null };

    override componentDidCatch(problem: unknown): void {
        console.error(problem);
        this.setState({ failed: { at: this.props.at, text: problem instanceof Error ? `${problem.name}: ${problem.message}` : String(problem) } });
    }

    override componentDidUpdate(): void {
        if (this.state.failed && this.state.failed.at !== this.props.at)
            this.setState({ failed: null }); // who comes back finds it as it is then
    }

    override render() {
        const { at, children } = this.props;
        const { failed } = this.state;
        if (failed === null || failed.at !== at)
            return children;
        return (
            <div role="alert">
                <Empty title="This view failed" action={<button type="button" onClick={() => this.setState({ failed: null })}>Reload this view</button>}>
                    {clean(failed.text)}
                </Empty>
            </div>
        );
    }
}
