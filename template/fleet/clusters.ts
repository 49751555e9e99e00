// The further clusters of the fleet: clusters.json names each as you call it, with its stage beside it; a stage may have any number of them. An entry that is not
// understood is refused, since a cluster would be missing otherwise.
//   "eu-prod-7": { "stage": "prod", "nodes": 3, "provider": "static" }
import declared from './clusters.json' with { type: 'json' }

const FILE = 'fleet/clusters.json'

/** In the order in which changes reach them. */
export const STAGES = ['test', 'prod'] as const
export type Stage = (typeof STAGES)[number]

/** How many nodes, made by which provider. */
export interface Pool {
  readonly nodes: number
  readonly provider: string
}

export interface FleetCluster extends Pool {
  readonly name: string
  readonly stage: Stage
}

const FIELDS = ['stage', 'nodes', 'provider']
const EXAMPLE = `{ "stage": "${STAGES[0]}", "nodes": 3, "provider": "static" }`

function clusterOf(name: string, entry: unknown): FleetCluster {
  const refused = (seen: string, next: string): Error => new Error(`${FILE}: cluster ${name} ${seen}; ${next}`)
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    throw refused(`is ${JSON.stringify(entry)}`, `write ${EXAMPLE}`)
  const { stage, nodes, provider, ...others } = entry as Readonly<Record<string, unknown>>
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw refused(`has the unknown field "${unknown}"`, `known are ${FIELDS.join(', ')}`)
  const known = STAGES.find((s) => s === stage)
  if (known === undefined)
    throw refused(
      stage === undefined ? 'has no stage' : `has the unknown stage ${JSON.stringify(stage)}`,
      `use one of ${STAGES.join(', ')}, or add a stage to STAGES in fleet/clusters.ts`,
    )
  if (typeof nodes !== 'number' || !Number.isInteger(nodes) || nodes < 0)
    throw refused(
      nodes === undefined ? 'has no "nodes"' : `has "nodes": ${JSON.stringify(nodes)}`,
      `write a whole number, as in ${EXAMPLE}`,
    )
  if (typeof provider !== 'string') throw refused('has no provider', `name one, as in ${EXAMPLE}`)
  return { name, stage: known, nodes, provider }
}

export const clustersIn = (entries: Readonly<Record<string, unknown>>): readonly FleetCluster[] =>
  Object.entries(entries).map(([name, entry]) => clusterOf(name, entry))

export const clusters: readonly FleetCluster[] = clustersIn(declared)
