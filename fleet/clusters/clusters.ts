// The clusters of the fleet: clusters.json names each, with its stage and the number of its demo machines beside it. A commit that adds an entry brings up a
// cluster, and one that takes it out removes it. A cluster that exists already has "registered": true in place of "nodes", once the hub has its kubeconfig; its
// nodes are hosts that join (machines/hosts.ts). What these files do not explain is refused: an entry that nothing reads would be a cluster that is missing.
import declared from './clusters.json' with { type: 'json' }
import hosts from './hosts.json' with { type: 'json' }

const CLUSTERS = 'fleet/clusters/clusters.json'
const HOSTS = 'fleet/clusters/hosts.json'

/** In the order in which changes reach them. */
export const STAGES = ['test', 'pre', 'prod'] as const
export type Stage = (typeof STAGES)[number]

export interface FleetCluster {
  readonly name: string
  readonly stage: Stage
  /** It exists already; the hub has a Secret with its kubeconfig. */
  readonly isRegistered: boolean
  readonly workers: number
  /** Hosts have joined it, or are made for it. A set that selects no machine is Stalled, so theirs is declared with the first of them. */
  readonly hasHosts: boolean
  /** Systemd machines that the local fleet makes for it (npm start -- --driver nspawn). */
  readonly madeHosts: number
}

export interface DeclaredHosts {
  /** Names of clusters: a commit adds the one whose first host joined. */
  readonly clusters: readonly string[]
  readonly made: number
}

type Entry = Readonly<Record<string, unknown>>

const FIELDS: readonly string[] = ['stage', 'nodes', 'registered']
const NEXT = `write { "stage": "${STAGES[0]}", "nodes": 2 }, or { "stage": "${STAGES[0]}", "registered": true } for a cluster that exists already`

function stageOf(name: string, { stage }: Entry): Stage {
  const found = STAGES.find((known) => known === stage)
  if (found !== undefined) return found
  const seen = stage === undefined ? 'has no stage' : `has the unknown stage ${JSON.stringify(stage)}`
  throw new Error(
    `${CLUSTERS}: cluster ${name} ${seen}; use one of ${STAGES.join(', ')}, or add a stage to STAGES in fleet/clusters/clusters.ts and to fleet/pipelines/standard.ts`,
  )
}

function clusterOf(name: string, entry: unknown, { clusters: withHosts, made }: DeclaredHosts): FleetCluster {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    throw new Error(`${CLUSTERS}: cluster ${name} is ${JSON.stringify(entry)}, so its stage is missing; ${NEXT}`)
  const fields = entry as Entry
  const unknown = Object.keys(fields).find((field) => !FIELDS.includes(field))
  if (unknown !== undefined)
    throw new Error(`${CLUSTERS}: cluster ${name} has the unknown field "${unknown}"; known are ${FIELDS.join(', ')}`)
  const stage = stageOf(name, fields)
  const { nodes, registered = false } = fields
  if (typeof registered !== 'boolean')
    throw new Error(`${CLUSTERS}: "registered" of cluster ${name} is ${JSON.stringify(registered)}; use true or false`)
  if (registered && nodes !== undefined)
    throw new Error(`${CLUSTERS}: cluster ${name} is registered and has "nodes"; take one of them out: its nodes join`)
  if (!registered && !(typeof nodes === 'number' && Number.isInteger(nodes) && nodes >= 0))
    throw new Error(
      `${CLUSTERS}: "nodes" of cluster ${name} is ${nodes === undefined ? 'missing' : JSON.stringify(nodes)}; use a whole number such as 2`,
    )
  const madeHosts = registered ? 0 : made
  return {
    name,
    stage,
    isRegistered: registered,
    workers: registered ? 0 : (nodes as number),
    hasHosts: withHosts.includes(name) || madeHosts > 0,
    madeHosts,
  }
}

/** In the order of their stages, and by name within one. */
export function clustersIn(entries: Entry, declaredHosts: DeclaredHosts): readonly FleetCluster[] {
  const found = Object.entries(entries).map(([name, entry]) => clusterOf(name, entry, declaredHosts))
  const stranger = declaredHosts.clusters.find((name) => !Object.hasOwn(entries, name))
  if (stranger !== undefined)
    throw new Error(
      `${HOSTS}: the fleet has no cluster ${stranger}; correct the name, or add the cluster to ${CLUSTERS}`,
    )
  const rank = ({ stage }: FleetCluster) => STAGES.indexOf(stage)
  return found.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

export const clusters: readonly FleetCluster[] = clustersIn(declared, hosts)
