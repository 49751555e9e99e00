// What people call the kinds of a cluster when they list them: budgets, not defenderledgers. Pure.
import type { ObservedKinds } from './observed.ts'

export type NamedKind = keyof ObservedKinds | 'programs'

export const KINDS_IN_WORDS: Readonly<Record<NamedKind, string>> = {
  machines: 'machines',
  nodes: 'nodes',
  machineSets: 'machine sets',
  sets: 'rollouts',
  canaries: 'canaries',
  permits: 'permits',
  policies: 'policies of the Defender',
  ledgers: 'budgets',
  brakes: 'fleet brakes',
  holds: 'holds',
  jobs: 'repairs',
  rules: 'repair rules',
  events: 'maintenance',
  sources: 'commits',
  releases: 'releases',
  clusters: 'clusters',
  programs: 'heartbeats of the programs',
}
