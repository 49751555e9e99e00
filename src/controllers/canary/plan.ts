// Decides a canary: which machines it marks, which permits it requests, when it has passed or failed. It writes no machine: its marks are read. Pure.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { type CanaryEvent, type CanaryFacts, type CanaryPhase, nextCanaryPhase } from '#api/protocol/canary.ts'
import { isLetGo } from '#api/protocol/let-go.ts'
import { timestamp } from '#lib/clock.ts'
import {
  type ComponentConfigInput,
  configObject,
  renderedConfig,
  type DeclaredComponent,
} from '#api/kinds/component-config.ts'
import { counted } from '#lib/counted.ts'
import { parseDuration } from '#lib/duration.ts'
import { jsonEqual } from '#lib/json.ts'
import { componentObjectName } from '#lib/names.ts'
import { BEHIND_LOOK_MS } from '#declared/committed.ts'
import { withEdit } from '#declared/edited-status.ts'
import { firstEnd, holdOf } from '#holds/in-force.ts'
import { holdsOver, thing } from '#holds/reach.ts'
import { selects } from '#placement/selecting.ts'
import { SECRET_LOOK_MS, hasSecretRefs } from '#secrets/secret-values.ts'
import { stagingRefusal } from '#placement/staging-refusal.ts'
import { permitWait } from '#permits/permit-wait.ts'
import { type PermitRequest, type TargetResult, isRenewalDue } from '#permits/permits.ts'
import type { Plan } from '#runtime/reconcile-with.ts'
import type { Problem } from '#placement/problem.ts'
import { type Fit, fitOf, problemOf } from './fit.ts'
import { type Picked, pickMachines } from './pick.ts'
import type { Seen, Status } from './seen.ts'
import { isHeldMachine, isSilent, isSound, standingOf } from './standing.ts'
import { statusOf } from './status.ts'
import { MARKING, REASON_OF, type Trial, type Wait, failedMachines } from './trial.ts'

export type CanaryAction =
  | { readonly kind: 'CreateConfig'; readonly reason: string; readonly config: ComponentConfigInput }
  | { readonly kind: 'Ask'; readonly reason: string; readonly permit: string; readonly request: PermitRequest }
  | { readonly kind: 'Renew'; readonly reason: string; readonly permit: OperationPermit }
  | {
      readonly kind: 'Report'
      readonly reason: string
      readonly permit: OperationPermit
      readonly wanted: DeclaredComponent
      readonly results: readonly MachineResult[]
    }

export interface MachineResult {
  readonly machine: string
  readonly uid: string
  readonly result: TargetResult
}

export interface CanaryPlan extends Plan<CanaryAction> {
  readonly status: Status
}

const LEASE_SECONDS = 120
const AT_WORK_MS = (LEASE_SECONDS * 1_000) / 4
const AFTER_MS = 50

export function plan(seen: Seen, now: number): CanaryPlan {
  const { canary, edit } = seen
  if (seen.isHeld === true) {
    const status = withEdit<Status>(canary.status ?? {}, canary.status, edit, now)
    return { actions: [], notices: [], status, ...(edit === undefined && { requeueAfter: BEHIND_LOOK_MS }) }
  }
  const before = canary.status?.phase ?? 'Pending'
  const things = [thing('ComponentCanary', canary)]
  const holds = [
    ...holdsOver(seen.holds, { effects: ['Pause', 'Freeze'], things, cluster: { name: undefined }, now }),
    ...holdsOver(seen.holds, { effects: ['Abort'], things, now }),
  ]
  const fit = fitOf(seen)
  const problem = problemOf(seen)
  const picked =
    before === 'Pending' ? pickMachines(seen, fit, now) : { machines: canary.status?.machines ?? [], lack: undefined }
  const trials = trialsOf(seen, picked.machines)
  const look = { picked, trials, holds, now, problem, fit }
  const move = nextPhase(seen, before, look)
  const isMarking = MARKING.has(move.phase)
  const actions = [
    ...(isMarking ? missingConfigs(seen) : []),
    ...results(seen, isMarking && !isHeld(holds)),
    ...(isMarking ? asks(seen, move.phase, look) : []),
    ...renewals(seen, now),
  ]
  const status = statusOf(seen, {
    phase: move.phase,
    machines: move.phase === 'Pending' ? [] : picked.machines,
    trials: move.phase === 'Pending' ? [] : trials,
    observeUntil: move.observeUntil,
    promotedBy: move.promotedBy,
    asked: actions.flatMap((a) => (a.kind === 'Ask' ? [a.permit] : [])),
    wait: waitOf(seen, move.phase, look),
    isPaused: isHeld(holds),
    now,
  })
  const notices = move.phase === before ? [] : [{ reason: REASON_OF[move.phase], message: readyMessage(status) }]
  const next = nextLook(status, canary.spec.promoteWithin, now)
  const isWaitingForSecrets = hasSecretRefs(canary.spec.components) && (move.phase === 'Pending' || isMarking)
  // A machine that is held now may be picked when the hold ends.
  const holdEnds = move.phase === 'Pending' ? firstEnd(seen.holds, now) : undefined
  const looks = [next, isWaitingForSecrets ? SECRET_LOOK_MS : undefined, holdEnds && holdEnds - now + AFTER_MS]
  const known = looks.filter((ms) => ms !== undefined)
  const requeueAfter = known.length === 0 ? undefined : Math.min(...known)
  return {
    actions,
    notices,
    status: withEdit(status, canary.status, edit, now),
    ...(requeueAfter !== undefined && { requeueAfter }),
  }
}

/** An event says what the status says. */
const readyMessage = ({ phase, conditions = [] }: Status): string =>
  conditions.find((c) => c.type === 'Ready')?.message ?? `the canary is ${phase ?? 'Pending'}`

const isHeld = (holds: readonly OperationalHold[]): boolean => holdOf(holds, 'Pause', 'Freeze') !== undefined

/** A machine that was deleted is no longer a trial; it is neither healthy nor failed. */
function trialsOf({ canary, machines }: Seen, picked: readonly string[]): readonly Trial[] {
  const names = new Set(picked)
  return machines
    .filter((m) => names.has(m.metadata.name ?? ''))
    .toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
    .flatMap((machine) =>
      canary.spec.components.map((wanted) => ({ machine, wanted, standing: standingOf(machine, wanted) })),
    )
}

interface Move {
  readonly phase: CanaryPhase
  readonly observeUntil: string | undefined
  readonly promotedBy: string | undefined
}

/** Tried in this order: what ends a canary goes before what leads it on. */
const EVENTS: readonly CanaryEvent[] = ['abort', 'fail', 'promote', 'lapse', 'unsettle', 'pass', 'observe', 'roll']

/** All inputs of one reconcile of a canary. */
interface Look {
  readonly picked: Picked
  readonly trials: readonly Trial[]
  readonly holds: readonly OperationalHold[]
  readonly now: number
  readonly problem: Problem | undefined
  readonly fit: Fit
}

function nextPhase(seen: Seen, before: CanaryPhase, { picked, trials, holds, now, problem }: Look): Move {
  const { spec, status } = seen.canary
  const allHealthy = trials.length > 0 && trials.every((t) => t.standing === 'Healthy')
  const until = Date.parse(status?.observeUntil ?? '')
  const promotedBy = declaringSet(seen, trials)
  const facts: CanaryFacts = {
    machinesPicked: picked.lack === undefined && picked.machines.length > 0,
    componentsExist: problem === undefined,
    notHeld: !isHeld(holds),
    allHealthy,
    someUnhealthy: !allHealthy,
    failuresAbove: failedMachines(trials).size > allowedFailures(seen, picked.machines.length),
    durationOver: now >= until,
    setDeclares: promotedBy !== undefined,
    promotionOverdue: now >= until + parseDuration(spec.promoteWithin),
    abortWanted: spec.abort || holdOf(holds, 'Abort') !== undefined,
  }
  for (const event of EVENTS) {
    const step = nextCanaryPhase(before, event, facts)
    if (!step.ok) continue
    // The soak starts again whenever a machine was not healthy in between.
    const watch =
      event === 'observe'
        ? timestamp(Math.ceil((now + parseDuration(spec.duration)) / 1_000) * 1_000)
        : status?.observeUntil
    return {
      phase: step.state,
      observeUntil: event === 'unsettle' ? undefined : watch,
      promotedBy: event === 'promote' ? promotedBy : status?.promotedBy,
    }
  }
  return { phase: before, observeUntil: status?.observeUntil, promotedBy: status?.promotedBy }
}

function allowedFailures({ canary }: Seen, picked: number): number {
  const { maxFailures } = canary.spec.strategy
  return typeof maxFailures === 'number' ? maxFailures : Math.floor((picked * Number(maxFailures.slice(0, -1))) / 100)
}

/** The configurations that the marked machines will use; created before any machine refers to them. */
function missingConfigs({ canary, configs }: Seen): readonly CanaryAction[] {
  return canary.spec.components.flatMap((wanted) => {
    const rendered = renderedConfig(wanted)
    if (rendered === undefined || !rendered.isWhole || configs.get(rendered.object) !== undefined) return []
    const config = configObject(wanted.name, rendered)
    return [{ kind: 'CreateConfig' as const, reason: `new values for ${wanted.name}`, config }]
  })
}

/** Promoted means that every picked machine would keep the versions without the canary. */
function declaringSet({ sets }: Seen, trials: readonly Trial[]): string | undefined {
  const declares = ({ machine, wanted }: Trial) =>
    sets
      .filter((s) => selects(s.spec.selector, machine.metadata.labels))
      .find((s) => s.spec.components.some((c) => isSameAs(c, wanted)))?.metadata.name
  const found = trials.map(declares)
  return found.includes(undefined) ? undefined : found[0]
}

/** A canary that says nothing of values tries the version alone. */
function isSameAs(declared: DeclaredComponent, { name, version, values, secretRefs }: DeclaredComponent): boolean {
  if (declared.name !== name || declared.version !== version) return false
  if (values === undefined && secretRefs === undefined) return true
  return jsonEqual([declared.values, declared.secretRefs], [values, secretRefs])
}

const isAlive = ({ status }: OperationPermit): boolean => {
  const phase = status?.phase ?? 'Requested'
  return phase === 'Requested' || phase === 'Granted'
}

/** Reports finished targets; once the canary is over, or held, those that have not begun are released. */
function results({ canary, permits, machines }: Seen, isGoingOn: boolean): readonly CanaryAction[] {
  return permits.filter(isAlive).flatMap((permit) => {
    const wanted = canary.spec.components.find((c) => c.name === permit.spec.component?.name)
    if (wanted === undefined) return []
    const ended = permit.spec.targets.flatMap(({ name, uid }): readonly MachineResult[] => {
      if (permit.spec.results?.[uid] !== undefined) return []
      const machine = machines.find((m) => m.metadata.name === name && m.metadata.uid === uid)
      const mayGoOn = isGoingOn && machine !== undefined && !isLetGo(machine, permit.metadata.uid ?? '')
      const result = machine === undefined ? 'Released' : resultOf(machine, wanted, mayGoOn)
      return result === undefined ? [] : [{ machine: name, uid, result }]
    })
    if (ended.length === 0) return []
    const reason = `${ended.length} of ${counted(permit.spec.targets.length, 'machine')} came to an end`
    return [{ kind: 'Report' as const, reason, permit, wanted, results: ended }]
  })
}

export function resultOf(machine: Machine, wanted: DeclaredComponent, isGoingOn: boolean): TargetResult | undefined {
  const standing = standingOf(machine, wanted)
  if (standing === 'Healthy') return 'Succeeded'
  if (standing === 'Failed') return 'Failed'
  return isGoingOn || standing === 'Switching' || isSilent(machine) ? undefined : 'Released'
}

/** The next batch, one component after the other: never more machines at once than maxBatchSize, none after a failure too many. */
function asks(seen: Seen, phase: CanaryPhase, { trials, holds, now, problem, fit }: Look): readonly CanaryAction[] {
  const { canary, permits, nodes, components } = seen
  if (phase !== 'Rolling' || isHeld(holds) || problem !== undefined || askAgainMs(refusedOf(permits), now) > 0)
    return []
  const open = new Set(
    permits
      .filter(isAlive)
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
  const { name = '', uid = '', annotations } = canary.metadata
  const commit = annotations?.[ANNOTATIONS.commit]
  const request: PermitRequest = {
    operations: [
      'SwitchComponent',
      ...(disruption === 'Drain' ? (['Drain'] as const) : []),
      ...(disruption === 'Reboot' ? (['Drain', 'Reboot'] as const) : []),
    ],
    component: { name: wanted.name, version: wanted.version },
    targets: batch.map((m) => ({ kind: 'Machine' as const, name: m.metadata.name ?? '', uid: m.metadata.uid ?? '' })),
    requester: { manager: FIELD_MANAGERS.canary, kind: canary.kind, name, uid },
    reason: `canary of ${wanted.name} ${wanted.version}`,
    ...(commit !== undefined && { commit }),
    leaseSeconds: LEASE_SECONDS,
  }
  const permit = permitName(canary.metadata, wanted, permits)
  return [{ kind: 'Ask', reason: `next ${counted(batch.length, 'machine')} of the canary`, permit, request }]
}

/** A refusal is not asked about again at once. */
const ASK_AGAIN_MS = 60_000

/** The permit that was decided last, when the Defender refused it. */
function refusedOf(permits: readonly OperationPermit[]): OperationPermit | undefined {
  const at = ({ status }: OperationPermit) => Date.parse(status?.decidedAt ?? '') || 0
  const [last] = permits.toSorted((a, b) => at(b) - at(a))
  return last?.status?.phase === 'Denied' ? last : undefined
}

function askAgainMs(refused: OperationPermit | undefined, now: number): number {
  const { decidedAt, verdicts = [] } = refused?.status ?? {}
  if (decidedAt === undefined) return 0
  const seconds = verdicts.flatMap((v) => v.retryAfter ?? [])
  const waitMs = seconds.length === 0 ? ASK_AGAIN_MS : Math.min(...seconds) * 1_000
  // A clock that went back must not make it wait for longer.
  return Math.min(waitMs, Math.max(0, Date.parse(decidedAt) + waitMs - now))
}

const MOST_NAME_CHARS = 100

/** Numbered: a batch requested before a crash is still open, and its machines are not requested again. Permits outlive their canary. */
function permitName(
  { name: canary = '', uid = '' }: Seen['canary']['metadata'],
  { name, version }: DeclaredComponent,
  permits: readonly OperationPermit[],
): string {
  const short = (text: string) => text.slice(0, MOST_NAME_CHARS).replace(/[-.]+$/, '')
  const base = `${short(canary)}.${short(componentObjectName(name, version))}-${uid.slice(0, 8)}`
  const known = new Set(permits.map((p) => p.metadata.name))
  for (let n = 0; ; n++) if (!known.has(`${base}-b${n}`)) return `${base}-b${n}`
}

const renewals = ({ permits }: Seen, now: number): readonly CanaryAction[] =>
  permits
    .filter((p) => isRenewalDue(p, now) && p.spec.targets.some((t) => p.spec.results?.[t.uid] === undefined))
    .map((permit) => ({ kind: 'Renew', reason: 'the batch is still running', permit }))

/** What the Defender says of the batch that waits for it, or refused last. */
function batchWait({ permits }: Seen, now: number): Wait | undefined {
  const waiting = permits.find((p) => isAlive(p) && p.status?.phase !== 'Granted')
  const refused = refusedOf(permits)
  const permit = waiting ?? (askAgainMs(refused, now) > 0 ? refused : undefined)
  if (permit === undefined) return undefined
  const wait = permitWait(permit)
  return waiting === undefined
    ? { ...wait, predicate: 'PermitDenied', unblock: `the permit is requested again later; ${wait.unblock}` }
    : wait
}

/** None of the canary's remaining components fits on its machines. */
function unmetWait(trials: readonly Trial[], fit: Fit): Wait | undefined {
  const waiting = trials.filter((t) => t.standing === 'Waiting')
  const why = waiting.map(({ machine, wanted }) => ({ machine, wanted, why: fit.now(machine, wanted) }))
  const [first] = why
  if (first === undefined || why.some((w) => w.why === undefined)) return undefined
  return {
    predicate: 'RequirementUnmet',
    seen: `${first.machine.metadata.name}: ${first.wanted.name} ${first.wanted.version}: ${first.why}`.slice(0, 200),
    unblock: 'its dependencies run on the machine, or the canary tries a compatible version',
  }
}

/** What a machine does not accept was never switched, so it has not failed either. */
function refusedWait(trials: readonly Trial[]): Wait | undefined {
  for (const { machine, wanted, standing } of trials) {
    const report = machine.status?.components?.find((c) => c.name === wanted.name)
    const refusal = standing === 'Waiting' && report?.desired === wanted.version ? stagingRefusal(report) : undefined
    if (refusal !== undefined)
      return {
        predicate: refusal.reason,
        seen: `${machine.metadata.name}: ${refusal.message}`.slice(0, 200),
        unblock: 'the cause is removed, or the canary tries another version',
      }
  }
  return undefined
}

function waitOf(seen: Seen, phase: CanaryPhase, { picked, trials, holds, now, problem, fit }: Look): Wait | undefined {
  const pause = holdOf(holds, 'Pause', 'Freeze')
  switch (phase) {
    case 'Pending':
    case 'Rolling':
      if (pause !== undefined)
        return {
          predicate: 'HoldPause',
          seen: `hold ${pause.metadata.name}`,
          unblock: `the hold is deleted or expires at ${pause.spec.until}`,
        }
      if (problem !== undefined)
        return {
          predicate: problem.reason,
          seen: problem.message.slice(0, 200),
          unblock: problem.unblock ?? 'the canary is corrected',
        }
      if (phase === 'Pending')
        return {
          predicate: picked.isMisfit === true ? 'RequirementUnmet' : 'NoMachines',
          seen: picked.lack ?? 'the selector matches no machine',
          unblock: 'enough machines are healthy, or spec.pick is changed',
        }
      return (
        batchWait(seen, now) ??
        unmetWait(trials, fit) ??
        refusedWait(trials) ?? {
          predicate: 'Progressing',
          seen: `${trials.filter((t) => t.standing === 'Healthy').length} of ${counted(trials.length, 'trial is', 'trials are')} healthy`,
          unblock: 'the Defender grants the permits and the machines switch',
        }
      )
    case 'Observing':
      return {
        predicate: 'Soaking',
        seen: `observing until ${seen.canary.status?.observeUntil ?? 'the duration is over'}`,
        unblock: 'the machines stay healthy until then',
      }
    case 'Passed':
      return {
        predicate: 'WaitingForOther',
        seen: 'passed; no set declares these versions yet',
        unblock: 'a commit sets these versions in the set',
      }
    case 'Promoted':
    case 'Lapsed':
    case 'Failed':
    case 'Aborted':
      return undefined
    default:
      return phase satisfies never
  }
}

function nextLook({ phase, observeUntil }: Status, promoteWithin: string, now: number): number | undefined {
  if (phase === 'Rolling') return AT_WORK_MS
  if (observeUntil === undefined || (phase !== 'Observing' && phase !== 'Passed')) return undefined
  const at = Date.parse(observeUntil) + (phase === 'Passed' ? parseDuration(promoteWithin) : 0)
  return Math.max(AFTER_MS, at - now + AFTER_MS)
}
