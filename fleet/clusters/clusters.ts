// The clusters of the fleet and their differences: one for each stage that size.json names.
// Stage pre has none yet. One command registers it on the hub, and one commit that adds "pre": 0 to size.json lets changes pass through it:
//   kubectl -n kubenode-clusters create secret generic cluster-pre --from-file=kubeconfig=FILE
// Its nodes are hosts that join (machines/hosts.ts); the number in size.json is that of its demo machines.
import hosts from './hosts.json' with { type: 'json' }
import size from './size.json' with { type: 'json' }

/** In the order in which changes reach them. */
export const STAGES = ['test', 'pre', 'prod'] as const
export type Stage = (typeof STAGES)[number]

export interface FleetCluster {
  readonly name: string
  readonly stage: Stage
  readonly workers: number
  /** Hosts have joined it, or are made for it. A set that selects no machine is Stalled, so theirs is declared with the first of them. */
  readonly hasHosts: boolean
  /** Systemd machines that the local fleet makes for it (npm start -- --driver nspawn). */
  readonly madeHosts: number
}

const sizes: Readonly<Partial<Record<Stage, number>>> = size

/** A commit adds the cluster whose first host joined. */
const withHosts: readonly string[] = hosts.clusters

export const clusters: readonly FleetCluster[] = STAGES.flatMap((stage) => {
  const workers = sizes[stage]
  const hasHosts = withHosts.includes(stage) || hosts.made > 0
  return workers === undefined ? [] : [{ name: stage, stage, workers, hasHosts, madeHosts: hosts.made }]
})
