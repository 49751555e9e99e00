// How a Cluster is, in words: some of its phases are nouns, and "cider-1 is Addons" says nothing. Pure.
import type { Phase } from '#api/phases.ts'

const CLUSTER_IS: Readonly<Record<Phase<'Cluster'>, string>> = {
  Pending: 'is Pending',
  Creating: 'is being created',
  Addons: 'is getting its addons',
  Ready: 'is Ready',
  Upgrading: 'is being upgraded',
  RollingBack: 'is being rolled back',
  Restoring: 'is being restored from a snapshot',
  Expired: 'is Expired',
  Unreachable: 'is Unreachable',
  Deleting: 'is being deleted',
  Failed: 'is Failed',
}

/** A phase of a later version is shown as it is. */
export const clusterIs = (phase: string): string =>
  Object.hasOwn(CLUSTER_IS, phase) ? CLUSTER_IS[phase as Phase<'Cluster'>] : `is ${phase}`
