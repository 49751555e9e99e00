// When so many nodes are faulty or silent at once that the cause is not in the nodes: a change, an agent's bug, the network. Then no node is touched.

/** Two nodes at once happen by chance. */
const FEWEST = 3
/** This share of the nodes and more. A rack or a bad batch stays below it. */
const SHARE = 1 / 3

export const isMass = (count: number, total: number): boolean => count >= FEWEST && count >= total * SHARE
