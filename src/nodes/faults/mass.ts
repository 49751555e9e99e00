// Decides whether so many nodes are faulty or silent at once that the cause is not in the nodes: a change, an agent's bug, the network. In that case
// no node is touched.

/** Two nodes at once happen by chance. */
const FEWEST = 3
/** The minimum share of the nodes. A rack or a bad batch stays below it. */
const SHARE = 1 / 3

export const isMass = (count: number, total: number): boolean => count >= FEWEST && count >= total * SHARE
