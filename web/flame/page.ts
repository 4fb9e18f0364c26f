/* A page with a profile in it: finds the data and draws it. */
import { FlameGraph } from "./flame";

const place = document.getElementById("flame");
const data = document.getElementById("profile-data");
if (place && data) {
    try {
        new FlameGraph(place, JSON.parse(data.textContent ?? ""));
    } catch (error) {
        place.textContent = `The profile of this page cannot be read: ${(error as Error).message}`;
        console.error(error);
    }
}
