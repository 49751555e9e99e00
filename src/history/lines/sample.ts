// Which objects go into a sample: all with an incident, and one per cent of the quiet nodes, so that a rule can be tried against both. Pure.
import { isOfLifecycle } from '#api/node-conditions.ts'
import { sha256 } from '#lib/sha256.ts'
import type { HistoryReader, Range } from '../ask/reader.ts'
import type { Subject } from '../store/names.ts'

/** Of quiet nodes, one in so many. */
const QUIET_SHARE = 100
/** The largest sample, as it is written; for a repository. */
export const MAX_SAMPLE_BYTES = 5 * 1024 * 1024

/** Objects that are few, and without which nothing can be replayed. */
const ALWAYS: ReadonlySet<string> = new Set([
  'NodeRemedier',
  'DefenderPolicy',
  'MachineComponentSet',
  'MachineSet',
  'OperationalHold',
  'Approval',
])

/** Names of nodes and machines with an incident in this time. */
export function incidentNodes(reader: HistoryReader, range: Range): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { subject, topic, value, heard } of reader.rows(range)) {
    if (subject.kind === 'RemedyOperationJob' && value !== undefined && topic === 'spec') names.add(nodeOfJob(value))
    if (subject.kind !== 'Node' && subject.kind !== 'Machine') continue
    // What was so at the beginning is no incident of this time.
    if (heard <= range.from || value === undefined) continue
    if (isTrouble(topic, value)) names.add(subject.name)
  }
  names.delete('')
  return names
}

/** Of work, not of trouble. */
const NEUTRAL = /\/(Reconciling|Cordoned|Drained|Paused)$/
const CONDITION = 'status/conditions/'

function isTrouble(topic: string, value: string): boolean {
  if (!topic.startsWith(CONDITION)) return false
  const isGoodWhenTrue = /\/(Ready|AgentReachable|NodeReady|Joined|ComponentsConsistent|InfrastructureReady)$/.test(
    topic,
  )
  const isTrue = value.includes('"status":"True"')
  return isGoodWhenTrue ? !isTrue : isTrue && !NEUTRAL.test(topic) && !isOfLifecycle(topic.slice(CONDITION.length))
}

function nodeOfJob(spec: string): string {
  const node = (JSON.parse(spec) as { readonly node?: { readonly name?: string } }).node
  return node?.name ?? ''
}

/** Stable: the same nodes are quiet samples in each export. */
const isQuietSample = (name: string): boolean => sha256(name).readUInt32BE() % QUIET_SHARE === 0

export function inSample(incidents: ReadonlySet<string>): (subject: Subject) => boolean {
  return ({ kind, name }) => {
    if (ALWAYS.has(kind)) return true
    if (kind === 'Node' || kind === 'Machine') return incidents.has(name) || isQuietSample(name)
    return kind === 'RemedyOperationJob' || kind === 'OperationPermit' || kind === 'MaintenanceEvent'
  }
}
