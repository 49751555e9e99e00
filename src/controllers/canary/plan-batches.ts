// Decides the batches of a canary: which machines to request next, which targets to report, which permits to renew. Pure.
import type { DeclaredComponent } from '#api/kinds/component-config.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { CanaryPhase } from '#api/protocol/canary.ts'
import { isLetGo } from '#api/protocol/let-go.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import { type RolloutPart, batchPart } from '#api/protocol/part.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import { componentObjectName } from '#lib/names.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { askAgainInMs } from '#permits/ended-for.ts'
import { renewalOf } from '#permits/holder.ts'
import type { MachineResult } from '#permits/let-go.ts'
import { namesOf, nextPermitName, numbered } from '#permits/permit-names.ts'
import { type TargetResult, isOpen, isUndecided } from '#permits/permits.ts'
import { switchRequest } from '#permits/switch-request.ts'
import type { CanaryAction } from './actions.ts'
import { type Assessment, isHeld } from './trials/assessment.ts'
import type { Seen } from './seen.ts'
import { isHeldMachine, isSilent, isSound, standingOf } from './trials/machine-state.ts'
import type { Trial } from './trials/trial.ts'

/** Reports finished targets. Once the canary is over or held, releases the targets that have not started. */
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
  // The Defender does not decide about silent machines. A dead machine would block its batch until the canary ends.
  if (isUngranted && standing !== 'Switching' && isSilent(machine)) return 'Released'
  return isGoingOn || standing === 'Switching' || isSilent(machine) ? undefined : 'Released'
}

interface Batch {
  readonly part: RolloutPart & { readonly to: ComponentTarget }
  readonly machines: readonly Machine[]
  readonly permit: string
}

/** The next batch, one component at a time. Never more machines at once than maxBatchSize, and none after too many failures. */
function decideBatch(seen: Seen, { trials, now, fit }: Assessment): Batch | undefined {
  const { canary, permits, nodes } = seen
  const open = new Set(
    permits
      .filter(isOpen)
      .flatMap((p) => p.spec.targets.filter((t) => p.spec.results?.[t.uid] === undefined))
      .map((t) => t.name),
  )
  const room = canary.spec.strategy.maxBatchSize - open.size
  const isNext = (t: Trial) => t.standing === 'Waiting' && fit.now(t.machine, t.wanted) === undefined
  // A component that needs another component of the canary comes after it.
  const wanted = canary.spec.components.find((c) => trials.some((t) => t.wanted === c && isNext(t)))
  if (room <= 0 || wanted === undefined) return undefined
  const machines = trials
    .filter((t) => t.wanted === wanted && isNext(t))
    .map((t) => t.machine)
    .filter((m) => !open.has(nameOf(m)) && isSound(m, nodes) && !isHeldMachine(seen, m, now))
    .slice(0, room)
  if (machines.length === 0) return undefined
  const permit = permitName(canary.metadata, wanted, permits)
  // No configuration here: a canary tries what git declares, with the secret values at the time a machine gets them.
  const to = { name: wanted.name, version: wanted.version }
  const part = {
    parent: { kind: canary.kind, name: nameOf(canary) },
    part: partIn(permit),
    to,
    targets: machines.map(nameOf),
  }
  return { part, machines, permit }
}

export function nextBatch(seen: Seen, phase: CanaryPhase, assessment: Assessment): readonly CanaryAction[] {
  const { canary, permits, refusedFor, components } = seen
  const { holds, problem } = assessment
  if (phase !== 'Rolling' || isHeld(holds) || problem !== undefined || askAgainInMs(refusedOf(permits), refusedFor) > 0)
    return []
  const batch = decideBatch(seen, assessment)
  if (batch === undefined) return []
  const { part, machines, permit } = batch
  const { name, version = '' } = part.to
  const request = switchRequest(part, {
    manager: FIELD_MANAGERS.canary,
    parent: canary,
    machines,
    disruption: components.get(componentObjectName(name, version))?.spec.disruption,
    reason: `canary of ${name} ${version}`,
  })
  return [
    { kind: 'RequestPermit', reason: `next ${counted(machines.length, 'machine')} of the canary`, permit, request },
  ]
}

/** The latest decided permit, if the Defender refused it. */
export function refusedOf(permits: readonly OperationPermit[]): OperationPermit | undefined {
  const at = ({ status }: OperationPermit) => Date.parse(status?.decidedAt ?? '') || 0
  const [last] = permits.toSorted((a, b) => at(b) - at(a))
  return last?.status?.phase === 'Denied' ? last : undefined
}

const MOST_NAME_CHARS = 100

/** Numbered, so that a batch requested before a crash is found open and its machines are not requested again. Permits outlive their canary. */
function permitName(
  { name: canary = '', uid = '' }: Seen['canary']['metadata'],
  { name, version }: DeclaredComponent,
  permits: readonly OperationPermit[],
): string {
  const short = (text: string) => withoutEnd(text.slice(0, MOST_NAME_CHARS), /[-.]/)
  const base = `${short(canary)}.${short(componentObjectName(name, version))}-${uid.slice(0, 8)}-b`
  return nextPermitName(numbered(base), namesOf(permits))
}

/** The number at the end of its name. */
const partIn = (permit: string): string => batchPart(Number(permit.slice(permit.lastIndexOf('-b') + 2)))

export const renewals = ({ permits }: Seen, now: number): readonly CanaryAction[] =>
  permits
    .filter((p) => p.spec.targets.some((t) => p.spec.results?.[t.uid] === undefined))
    .flatMap((permit) => renewalOf(permit, now, 'the batch is still running'))
