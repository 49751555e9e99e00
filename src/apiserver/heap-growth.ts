// How the heap of a server process grows: to three times what was alive after a full collection. The engine's own rule lets a small heap
// grow by a tenth and begins to mark when less than one new space is left of that: a server in its first minute marked six times on its way
// to 30 MB. With so much room it marks as rarely, and begins early enough to do it beside the work: to begin at the last moment, where bodies
// outside the heap count too, was to collect at once, and everybody waited 20 ms or more.
import { setFlagsFromString } from 'node:v8'

/** Of what is alive. */
const GROWTH_PERCENT = 200

/** Once all is loaded: compiled code that was kept under other flags is not taken. */
export function letHeapGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
