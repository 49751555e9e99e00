// The clusters of the fleet and their differences. The hub makes one for each stage that size.json names, with so many demo machines: a commit that adds
// "pre": 2 brings up a third one, and a commit that takes it out removes it. A cluster that exists already is named in registered.json instead, once the hub
// has its kubeconfig; its nodes are hosts that join (machines/hosts.ts).
import hosts from './hosts.json' with { type: 'json' }
import registered from './registered.json' with { type: 'json' }
import size from './size.json' with { type: 'json' }

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

const sizes: Readonly<Partial<Record<Stage, number>>> = size

/** A commit adds the cluster whose first host joined. */
const withHosts: readonly string[] = hosts.clusters
const elsewhere: readonly string[] = registered.clusters

export const clusters: readonly FleetCluster[] = STAGES.flatMap((stage) => {
  const isRegistered = elsewhere.includes(stage)
  const workers = isRegistered ? 0 : sizes[stage]
  const madeHosts = isRegistered ? 0 : hosts.made
  const hasHosts = withHosts.includes(stage) || madeHosts > 0
  return workers === undefined ? [] : [{ name: stage, stage, isRegistered, workers, hasHosts, madeHosts }]
})
