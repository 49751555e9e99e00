// Objects that were edited and differ from git. The edit has no effect, and sync usually reverts it within a minute. Pure.
import { shortWord } from '#api/nouns.ts'
import { findCondition } from '#kube/conditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { bounded, causeIn, commandStep, type FleetFinding, finding, objectIn, stampOf } from './finding.ts'
import type { ObservedCluster } from './observed.ts'

const EDITED = 'UncommittedChange'
/** An edit that is still there after this time was not reverted: sync is paused or away, or only detects. */
const REVERTED_WITHIN_MS = 5 * 60_000

type Editable = KubeObject & {
  readonly status?: {
    readonly conditions?: Parameters<typeof findCondition>[0]
    readonly phase?: string
    readonly waitingFor?: { readonly predicate: string }
  }
}

/** Then its wait is a finding already. */
const showsWait = ({ status }: Editable): boolean =>
  status?.waitingFor?.predicate === EDITED && status.phase !== 'Complete'

export function editFindings(cluster: ObservedCluster, now: number): readonly FleetFinding[] {
  const found = (kind: string, objects: readonly Editable[]) =>
    bounded(
      objects.flatMap((object) => editFinding(cluster.name, kind, object, now)),
      `edited ${kind}s`,
    )
  return [
    ...found('NodeRemedier', cluster.list('rules')),
    ...found('MachineComponentSet', cluster.list('sets')),
    ...found('MachineSet', cluster.list('machineSets')),
    ...found('ComponentCanary', cluster.list('canaries')),
    ...found('DefenderPolicy', cluster.list('policies')),
  ]
}

function editFinding(cluster: string, kind: string, object: Editable, now: number): readonly FleetFinding[] {
  const edited = findCondition(object.status?.conditions, EDITED)
  // Another reason: a hold allows the edit, and is a finding itself.
  if (edited?.status !== 'True' || edited.reason !== EDITED || showsWait(object)) return []
  const found = objectIn(cluster, kind, object.metadata)
  const word = shortWord(`${kind.toLowerCase()}/${found.name}`)
  const stays = now - (stampOf(edited.lastTransitionTime) ?? now) > REVERTED_WITHIN_MS
  return [
    finding(found, {
      cause: causeIn(found, word, EDITED),
      weight: stays ? 'Act' : 'Wait',
      urgency: 'Waiting',
      part: EDITED,
      text: `${word} was ${edited.message}`,
      since: edited.lastTransitionTime,
      first: stays
        ? commandStep(`kubenode put-back ${word}`)
        : { ends: 'sync reverts the edit, usually within a minute' },
    }),
  ]
}
