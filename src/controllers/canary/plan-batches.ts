// Decides the batches of a canary: which machines are requested next, which targets are reported, which permits are renewed. Pure.
import type { DeclaredComponent } from '#api/kinds/component-config.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { CanaryPhase } from '#api/protocol/canary.ts'
import { isLetGo } from '#api/protocol/let-go.ts'
import { batchNumber } from '#api/protocol/part.ts'
import { counted } from '#lib/counted.ts'
import { componentObjectName } from '#lib/names.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { askAgainInMs } from '#permits/ended-for.ts'
import { renewalOf } from '#permits/holder.ts'
import { LEASES } from '#permits/leases.ts'
import { namesOf, nextPermitName, numbered } from '#permits/permit-names.ts'
import {
  type PermitRequest,
  type TargetResult,
  commitOf,
  isOpen,
  isUndecided,
  requesterOf,
  targetRef,
} from '#permits/permits.ts'
import type { CanaryAction, MachineResult } from './actions.ts'
import { type Assessment, isHeld } from './trials/assessment.ts'
import type { Seen } from './seen.ts'
import { isHeldMachine, isSilent, isSound, standingOf } from './trials/machine-state.ts'
import type { Trial } from './trials/trial.ts'

/** Reports finished targets; once the canary is over, or held, those that have not begun are released. */
export function results({ canary, permits, machines }: Seen, isGoingOn: boolean): readonly CanaryAction[] {
  return permits.filter(isOpen).flatMap((permit) => {
    const wanted = canary.spec.components.find((c) => c.name === permit.spec.component?.name)
    if (wanted === undefined) return []
    const ended = permit.spec.targets.flatMap(({ name, uid }): readonly MachineResult[] => {
      if (permit.spec.results?.[uid] !== undefined) return []
      const machine = machines.find((m) => m.metadata.name === name && m.metadata.uid === uid)
      const mayGoOn = isGoingOn && machine !== undefined && !isLetGo(machine, permit.metadata.uid ?? '')
      const result = machine === undefined ? 'Released' : resultOf(machine, wanted, mayGoOn, isUndecided(permit))
      return result === undefined ? [] : [{ machine: name, uid, result }]
    })
    if (ended.length === 0) return []
    const reason = `${ended.length} of ${counted(permit.spec.targets.length, 'machine')} came to an end`
    return [{ kind: 'Report' as const, reason, permit, wanted, results: ended }]
  })
}

export function resultOf(
  machine: Machine,
  wanted: DeclaredComponent,
  isGoingOn: boolean,
  isUngranted: boolean,
): TargetResult | undefined {
  const standing = standingOf(machine, wanted)
  if (standing === 'Healthy') return 'Succeeded'
  if (standing === 'Failed') return 'Failed'
  // The Defender gives no answer about a silent machine: one that is dead would hold its batch until the canary ends.
  if (isUngranted && standing !== 'Switching' && isSilent(machine)) return 'Released'
  return isGoingOn || standing === 'Switching' || isSilent(machine) ? undefined : 'Released'
}

/** The next batch, one component after the other: never more machines at once than maxBatchSize, none after a failure too many. */
export function nextBatch(
  seen: Seen,
  phase: CanaryPhase,
  { trials, holds, now, problem, fit }: Assessment,
): readonly CanaryAction[] {
  const { canary, permits, refusedFor, nodes, components } = seen
  if (phase !== 'Rolling' || isHeld(holds) || problem !== undefined || askAgainInMs(refusedOf(permits), refusedFor) > 0)
    return []
  const open = new Set(
    permits
      .filter(isOpen)
      .flatMap((p) => p.spec.targets.filter((t) => p.spec.results?.[t.uid] === undefined))
      .map((t) => t.name),
  )
  const room = canary.spec.strategy.maxBatchSize - open.size
  const isNext = (t: Trial) => t.standing === 'Waiting' && fit.now(t.machine, t.wanted) === undefined
  // What needs another component of the canary comes after that one.
  const wanted = canary.spec.components.find((c) => trials.some((t) => t.wanted === c && isNext(t)))
  if (room <= 0 || wanted === undefined) return []
  const batch = trials
    .filter((t) => t.wanted === wanted && isNext(t))
    .map((t) => t.machine)
    .filter((m) => !open.has(m.metadata.name ?? '') && isSound(m, nodes) && !isHeldMachine(seen, m, now))
    .slice(0, room)
  if (batch.length === 0) return []
  const disruption = components.get(componentObjectName(wanted.name, wanted.version))?.spec.disruption
  const permit = permitName(canary.metadata, wanted, permits)
  const request: PermitRequest = {
    operations: [
      'SwitchComponent',
      ...(disruption === 'Drain' ? (['Drain'] as const) : []),
      ...(disruption === 'Reboot' ? (['Drain', 'Reboot'] as const) : []),
    ],
    component: { name: wanted.name, version: wanted.version },
    targets: batch.map((m) => targetRef('Machine', m)),
    requester: { ...requesterOf(FIELD_MANAGERS.canary, canary.kind, canary), part: partIn(permit) },
    reason: `canary of ${wanted.name} ${wanted.version}`,
    ...commitOf(canary),
    leaseSeconds: LEASES.renewed,
  }
  return [{ kind: 'RequestPermit', reason: `next ${counted(batch.length, 'machine')} of the canary`, permit, request }]
}

/** The permit that was decided last, when the Defender refused it. */
export function refusedOf(permits: readonly OperationPermit[]): OperationPermit | undefined {
  const at = ({ status }: OperationPermit) => Date.parse(status?.decidedAt ?? '') || 0
  const [last] = permits.toSorted((a, b) => at(b) - at(a))
  return last?.status?.phase === 'Denied' ? last : undefined
}

const MOST_NAME_CHARS = 100

/** Numbered: a batch requested before a crash is still open, and its machines are not requested again. Permits outlive their canary. */
function permitName(
  { name: canary = '', uid = '' }: Seen['canary']['metadata'],
  { name, version }: DeclaredComponent,
  permits: readonly OperationPermit[],
): string {
  const short = (text: string) => withoutEnd(text.slice(0, MOST_NAME_CHARS), /[-.]/)
  const base = `${short(canary)}.${short(componentObjectName(name, version))}-${uid.slice(0, 8)}-b`
  return nextPermitName(numbered(base), namesOf(permits))
}

/** The number that its name ends with. */
const partIn = (permit: string): string => batchNumber(Number(permit.slice(permit.lastIndexOf('-b') + 2)))

export const renewals = ({ permits }: Seen, now: number): readonly CanaryAction[] =>
  permits
    .filter((p) => p.spec.targets.some((t) => p.spec.results?.[t.uid] === undefined))
    .flatMap((permit) => renewalOf(permit, now, 'the batch is still running'))
