// An object's phase as words in a sentence: some phases are nouns or two words in one, and "cluster/cider-1 is Addons" makes no sense. Pure.
import type { Phase, PhaseTable } from '#api/phases.ts'

type Words<T extends PhaseTable> = Readonly<Partial<Record<Phase<T>, string>>>

const CLUSTER: Words<'Cluster'> = {
  Creating: 'is being created',
  Addons: 'is getting its addons',
  Upgrading: 'is being upgraded',
  RollingBack: 'is being rolled back',
  Restoring: 'is being restored from a snapshot',
  Deleting: 'is being deleted',
}
const JOB: Words<'Job'> = { AwaitingPermit: 'is waiting for its permit' }
const MAINTENANCE: Words<'Maintenance'> = { InProgress: 'is in progress' }

const BY_KIND: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Cluster: CLUSTER,
  RemedyOperationJob: JOB,
  MaintenanceEvent: MAINTENANCE,
}

/** All others are adjectives. An unknown phase from a later version is shown unchanged. */
export function phaseWords(kind: string, phase: string): string {
  const words = Object.hasOwn(BY_KIND, kind) ? BY_KIND[kind] : undefined
  return words !== undefined && Object.hasOwn(words, phase) ? (words[phase] ?? '') : `is ${phase}`
}
