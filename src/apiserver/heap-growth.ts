// How the heap of a server process grows: by a good part between two full collections. The engine's own rule lets a small heap grow by a
// tenth, and begins to mark as soon as what is left of that is less than one new space: a server in its first minute marked six times on
// its way to 30 MB, for one twentieth of its processor time. Bodies lie outside the heap and have a bound of their own there.
import { setFlagsFromString } from 'node:v8'

/** Of what is alive after a full collection. */
const GROWTH_PERCENT = 80
/** Of that growth: when marking begins beside the work, and when it begins at once. */
const MARKING_BEGINS_PERCENT = 80
const MARKING_MUST_BEGIN_PERCENT = 90

/** Once all is loaded: compiled code that was kept under other flags is not taken. */
export function letHeapGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
  setFlagsFromString(`--incremental-marking-soft-trigger=${MARKING_BEGINS_PERCENT}`)
  setFlagsFromString(`--incremental-marking-hard-trigger=${MARKING_MUST_BEGIN_PERCENT}`)
}
