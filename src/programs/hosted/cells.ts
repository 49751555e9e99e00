// Decides which Clusters of a replica share a process. Pure. A cell is one process with one heap limit; a cluster stays in its cell, because each move is a
// restart of its programs.

export interface Cell {
  readonly name: string
  readonly clusters: readonly string[]
}

export interface CellsSeen {
  readonly cells: readonly Cell[]
  readonly clusters: readonly string[]
  /** Those that were in a process that failed: each gets one of its own, so that the next failure is of one cluster alone. */
  readonly apart: ReadonlySet<string>
  readonly perProcess: number
}

/** `namespace/name`: Clusters of two namespaces belong to two tenants and share no process. */
const tenantOf = (cluster: string): string => cluster.split('/', 1)[0] ?? ''

export function planCells({ cells, clusters, apart, perProcess }: CellsSeen): readonly Cell[] {
  const wanted = new Set(clusters)
  const stays = (cell: Cell) => (cluster: string) =>
    wanted.has(cluster) && (!apart.has(cluster) || cell.clusters.length === 1)
  const planned = cells
    .map((cell) => ({ name: cell.name, clusters: cell.clusters.filter(stays(cell)) }))
    .filter((cell) => cell.clusters.length > 0)
  const placed = new Set(planned.flatMap((cell) => cell.clusters))
  for (const cluster of clusters) {
    if (placed.has(cluster)) continue
    const room = apart.has(cluster) ? undefined : planned.find((cell) => hasRoom(cell, cluster, { apart, perProcess }))
    if (room === undefined) planned.push({ name: freeName([...cells, ...planned]), clusters: [cluster] })
    else room.clusters.push(cluster)
  }
  return planned
}

function hasRoom(
  { clusters }: Cell,
  cluster: string,
  { apart, perProcess }: Pick<CellsSeen, 'apart' | 'perProcess'>,
): boolean {
  if (clusters.length >= perProcess || clusters.some((c) => apart.has(c))) return false
  return tenantOf(clusters[0] ?? '') === tenantOf(cluster)
}

/** Not one that a process may still have. */
function freeName(cells: readonly Cell[]): string {
  const taken = new Set(cells.map(({ name }) => name))
  let n = 1
  while (taken.has(`cell-${n}`)) n++
  return `cell-${n}`
}
