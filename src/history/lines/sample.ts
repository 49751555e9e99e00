// Chooses the objects of a sample: all with an incident, and one percent of the nodes without one, so that a rule can be tried against both. Pure.
import { sha256 } from '#lib/sha256.ts'
import { isGoodWhenTrue, isNeutral } from '../ask/meaning.ts'
import type { HistoryReader, Range } from '../ask/reader.ts'
import type { Subject } from '../store/names.ts'

/** One in this many nodes without an incident. */
const QUIET_SHARE = 100
/** Size limit of the file, since samples are kept in a repository. */
export const MAX_SAMPLE_BYTES = 5 * 1024 * 1024

/** Few objects, which every replay needs. */
const ALWAYS: ReadonlySet<string> = new Set([
  'NodeRemedier',
  'DefenderPolicy',
  'MachineComponentSet',
  'MachineSet',
  'OperationalHold',
  'Approval',
])

/** Names of nodes and machines with an incident in the period. */
export function incidentNodes(reader: HistoryReader, range: Range): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { subject, topic, value, observed } of reader.rows(range)) {
    if (subject.kind === 'RemedyOperationJob' && value !== undefined && topic === 'spec') names.add(nodeOfJob(value))
    if (subject.kind !== 'Node' && subject.kind !== 'Machine') continue
    // A state from before the period is not an incident in it.
    if (observed <= range.from || value === undefined) continue
    if (isTrouble(topic, value)) names.add(subject.name)
  }
  names.delete('')
  return names
}

const CONDITION = 'status/conditions/'

function isTrouble(topic: string, value: string): boolean {
  if (!topic.startsWith(CONDITION)) return false
  const type = topic.slice(CONDITION.length)
  const isTrue = value.includes('"status":"True"')
  return isGoodWhenTrue(type) ? !isTrue : isTrue && !isNeutral(type)
}

function nodeOfJob(spec: string): string {
  const node = (JSON.parse(spec) as { readonly node?: { readonly name?: string } }).node
  return node?.name ?? ''
}

/** Stable: each export samples the same nodes. */
const isQuietSample = (name: string): boolean => sha256(name).readUInt32BE() % QUIET_SHARE === 0

export function inSample(incidents: ReadonlySet<string>): (subject: Subject) => boolean {
  return ({ kind, name }) => {
    if (ALWAYS.has(kind)) return true
    if (kind === 'Node' || kind === 'Machine') return incidents.has(name) || isQuietSample(name)
    return kind === 'RemedyOperationJob' || kind === 'OperationPermit' || kind === 'MaintenanceEvent'
  }
}
