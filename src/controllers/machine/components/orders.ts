// Gives and withdraws the order to switch, by the shared state table: only for a staged version, under a granted permit, on a node that is drained if
// the component requires it. Pure.
import type { ComponentOrder, ComponentStatus } from '#api/kinds/machine.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type ComponentTarget, isAttemptOver } from '#api/protocol/component-order.ts'
import { whyNotAllowed } from '#api/protocol/permit-allows.ts'
import { isActiveIn, partOfPermit, partRef } from '#api/protocol/part.ts'
import { type OrderFacts, START_REPORTED_WITHIN_MS, nextOrderState } from '#api/protocol/switch.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { parseVersion } from '#lib/semver.ts'
import { permitAnswer } from '#permits/permits.ts'
import {
  type Claim,
  type Mark,
  type Slice,
  isOrdered,
  isReportOf,
  isOpenForSwitch,
  openSlice,
  targetOfSlice,
  winner,
} from './desired.ts'

export interface OrderInput {
  readonly machine: string
  readonly machineUid: string
  /** The desired components, from desiredComponents. */
  readonly components: readonly ComponentOrder[]
  readonly reports: readonly ComponentStatus[]
  readonly claims: readonly Claim[]
  readonly marks: readonly Mark[]
  /** Permits that name the machine. */
  readonly permits: readonly OperationPermit[]
  readonly definitions: readonly MachineComponent[]
  /** Undefined: not read. */
  readonly isDrained: boolean | undefined
  /** UIDs of permits that the machine was released from. */
  readonly letGo?: readonly string[]
  /** A hold blocks new work. */
  readonly isHeld?: boolean
  /** Unmanaged files may be replaced. */
  readonly mayAdopt?: boolean
  /** Milliseconds since the permits of open orders ended, by name, as this process observed it. Default: long enough to withdraw. */
  readonly endedFor?: ReadonlyMap<string, number>
  /** Default: the agent sends heartbeats. */
  readonly agent?: 'Heard' | 'Silent' | 'Unknown'
}

/** One component on its way to a switch. */
export interface ComponentSwitch {
  readonly order: ComponentOrder
  /** The granted permit that covers it. */
  readonly permit: string
  readonly needsDrain: boolean
}

export interface Orders {
  /** Including the desired orders. */
  readonly components: readonly ComponentOrder[]
  /** New orders. Their permits must be read again right before the write. */
  readonly given: readonly ComponentSwitch[]
  /** Ready except for the drain. */
  readonly draining: readonly ComponentSwitch[]
  /** Until an order can be withdrawn. */
  readonly withdrawInMs?: number
}

export function planOrders(input: OrderInput): Orders {
  const decisions = input.components.map((order) => decideOrder(input, order))
  const waits = input.components.flatMap((order) => withdrawInMs(input, order, reportOn(input, order)) || [])
  return {
    ...(waits.length > 0 && { withdrawInMs: Math.min(...waits) }),
    components: decisions.flatMap((l) => (l.kind === 'Gone' ? [] : [l.order])),
    given: decisions.flatMap((l) => (l.kind === 'Given' || l.kind === 'Gone' ? [l.move] : [])),
    draining: decisions.flatMap((l) => (l.kind === 'Draining' ? [l.move] : [])),
  }
}

const reportOn = ({ reports }: OrderInput, { name }: ComponentOrder) => reports.find((r) => r.name === name)

type OrderDecision =
  | { readonly kind: 'As'; readonly order: ComponentOrder }
  | { readonly kind: 'Given' | 'Draining'; readonly order: ComponentOrder; readonly move: ComponentSwitch }
  /** The machine no longer names it, and the agent removes it. */
  | { readonly kind: 'Gone'; readonly move: ComponentSwitch }

function decideOrder(input: OrderInput, order: ComponentOrder): OrderDecision {
  const report = reportOn(input, order)
  if (isOrdered(order, report))
    return { kind: 'As', order: isWithdrawn(input, order, report) ? withoutOrder(order) : order }
  const plain = withoutOrder(order)
  const leaving = leavingSlice(input, order)
  if (leaving !== undefined) return decideRemoval(input, plain, report, leaving)
  const permit = input.isHeld === true ? undefined : grantFor(input, order)
  if (permit === undefined) return { kind: 'As', order: plain }
  // An adoption that restarts nothing needs no drain.
  const restartsNothing =
    report?.version === undefined &&
    report?.adoption?.restarts === false &&
    definitionOf(input.definitions, order)?.spec.disruption !== 'Reboot'
  const needsDrain = !restartsNothing && isDrainNeeded(input.definitions, order, report)
  // A silent agent would carry out the order at some later time, and the drain would be for nothing.
  const { agent = 'Heard' } = input
  const mayAct = order.workload === true || agent === 'Heard' || (agent === 'Unknown' && !needsDrain)
  if (!mayAct || awaitedMate(input, order) !== undefined) return { kind: 'As', order: plain }
  const move: ComponentSwitch = { order: plain, permit, needsDrain }
  const facts: OrderFacts = {
    staged:
      report !== undefined &&
      isReportOf(report, order) &&
      report.state === 'Staged' &&
      !isInTheWay(report, input.mayAdopt === true),
    permitGrantedNow: true,
    notLetGo: true,
    drained: needsDrain ? input.isDrained : true,
  }
  const step = nextOrderState('Absent', 'order', facts)
  if (step.ok)
    return {
      kind: 'Given',
      order: { ...ofItsPart(input, plain, permit), switch: { attempt: order.attempt, permit } },
      move,
    }
  return 'predicate' in step.refusal && step.refusal.predicate === 'drained'
    ? { kind: 'Draining', order: plain, move }
    : { kind: 'As', order: plain }
}

/** Another component that the same set switches here with a reboot, and that is not ready for its order: the agent reboots once for all that it gets. */
function awaitedMate(input: OrderInput, order: ComponentOrder): string | undefined {
  if (!isForReboot(input, order)) return undefined
  const set = winner(input.claims, order.name, order)?.set
  const mate = input.components.find((other) => {
    if (other.name === order.name || !isForReboot(input, other)) return false
    const claim = winner(input.claims, other.name, other)
    const slice = claim?.set === set && claim !== undefined ? openSlice(input, claim, other.name) : undefined
    return slice !== undefined && isOpenForSwitch(slice.phase) && !isReadyOrOver(input, other)
  })
  return mate?.name
}

/** Nothing reboots for a fresh copy. */
const isForReboot = ({ definitions }: OrderInput, order: ComponentOrder): boolean =>
  order.canaryRef === undefined &&
  order.fresh === undefined &&
  definitionOf(definitions, order)?.spec.disruption === 'Reboot'

function isReadyOrOver(input: OrderInput, order: ComponentOrder): boolean {
  const report = reportOn(input, order)
  if (isOrdered(order, report)) return true
  if (report === undefined || !isReportOf(report, order) || report.state === 'Fetching') return false
  return report.state !== 'Staged' || grantFor(input, order) !== undefined
}

/**
 * Takes slice or batch from the permit: a batch is known only by its permit, and a slice may switch what an earlier one prepared. It is then the attempt of the
 * later one: as the attempt of a slice that is over, its failure would be forgotten, and the version tried once more.
 * Permits of older releases name neither.
 */
function ofItsPart({ permits, claims }: OrderInput, order: ComponentOrder, name: string): ComponentOrder {
  const permit = permits.find((p) => p.metadata.name === name)
  const part = permit && partOfPermit(permit.spec)
  const slice = claims.flatMap((c) => c.slices).find((w) => w.permit === name)
  return { ...order, ...defined({ slice: slice?.startedAt }), ...(part !== undefined && { part: partRef(part) }) }
}

/** Its agent would refuse the order after a useless drain. */
const isInTheWay = ({ adoption }: ComponentStatus, mayAdopt: boolean): boolean =>
  (adoption?.blocked ?? []).length > 0 || (!mayAdopt && (adoption?.differs ?? []).length > 0)

/** If a set drops a component, or returns to a revision without it, a slice with this machine removes it. No other set claims it here. */
function leavingSlice({ claims, machine }: OrderInput, order: ComponentOrder): Slice | undefined {
  if (order.canaryRef !== undefined) return undefined
  const speaker = winner(claims, order.name, order)
  const mine = claims.filter((c) => c.isCurrent && (speaker === undefined || speaker === c))
  return mine.flatMap((claim) =>
    claim.slices.filter(
      (w) =>
        w.component === order.name &&
        isOpenForSwitch(w.phase) &&
        isRemoval(targetOfSlice(claim, w)) &&
        isActiveIn(w, machine),
    ),
  )[0]
}

const isRemoval = (target: ComponentTarget | undefined): boolean => target !== undefined && target.version === undefined

function decideRemoval(
  input: OrderInput,
  order: ComponentOrder,
  report: ComponentStatus | undefined,
  { permit }: Slice,
): OrderDecision {
  const { isHeld = false, agent = 'Heard' } = input
  const isBusy = report?.state === 'Switching' || report?.state === 'Probing'
  const mayGo = permit !== undefined && !isHeld && !isBusy && isGranted(input, { name: order.name }, permit)
  if (!mayGo || (agent !== 'Heard' && order.workload !== true)) return { kind: 'As', order }
  const definition = input.definitions.find((d) => d.spec.component === order.name && d.spec.version === order.version)
  // Unknown definitions need a drain.
  const { disruption = 'Drain' } = definition?.spec ?? {}
  const isDisturbing = report?.removal?.restarts !== false
  const needsDrain = isDisturbing && (disruption === 'Drain' || disruption === 'Reboot')
  const move: ComponentSwitch = { order, permit, needsDrain }
  return needsDrain && input.isDrained !== true ? { kind: 'Draining', order, move } : { kind: 'Gone', move }
}

function withoutOrder(order: ComponentOrder): ComponentOrder {
  if (order.switch === undefined) return order
  const { switch: _, ...rest } = order
  return rest
}

/** The permit is no longer in force, and the report shows whether the agent had started under it. */
function isWithdrawn(input: OrderInput, order: ComponentOrder, report: ComponentStatus | undefined): boolean {
  const permitEnded = withdrawInMs(input, order, report) === 0
  return nextOrderState('Present', 'withdraw', { permitEnded }).ok
}

/** Undefined: the order is over, or its permit is in force. */
function withdrawInMs(
  { permits, machineUid, endedFor }: OrderInput,
  order: ComponentOrder,
  report: ComponentStatus | undefined,
): number | undefined {
  const { permit: name } = order.switch ?? {}
  if (name === undefined || !isOrdered(order, report)) return undefined
  const permit = permits.find((p) => p.metadata.name === name)
  if (permitAnswer(permit, machineUid).kind === 'Granted') return undefined
  const mayHaveStarted = report !== undefined && isReportOf(report, order) && report.state === 'Staged'
  if (!mayHaveStarted || endedFor === undefined) return 0
  return Math.max(0, START_REPORTED_WITHIN_MS - (endedFor.get(name) ?? 0))
}

/** The components to write. Undefined: nothing changes, except that an order is over, which the next write takes away. */
export function changedComponents(
  current: readonly ComponentOrder[],
  planned: readonly ComponentOrder[],
  reports: readonly ComponentStatus[],
): readonly ComponentOrder[] | undefined {
  // The report of a workload follows its pods, so it may leave the ended state again within its attempt.
  const isKept = (order: ComponentOrder) =>
    order.workload !== true &&
    order.switch?.attempt === order.attempt &&
    isAttemptOver(
      order,
      reports.find((r) => r.name === order.name),
    )
  return jsonEqual(
    current.map((order) => (isKept(order) ? withoutOrder(order) : order)),
    planned,
  )
    ? undefined
    : planned
}

/**
 * The permit of the slice or canary that wants this version, if it is granted for this machine and component, and the machine was not released from
 * it.
 */
function grantFor(input: OrderInput, order: ComponentOrder): string | undefined {
  return permitNames(input, order).find((name) => isGranted(input, order, name))
}

function isGranted({ permits, machineUid, letGo }: OrderInput, target: ComponentTarget, name: string): boolean {
  const permit = permits.find((p) => p.metadata.name === name)
  if (letGo?.includes(permit?.metadata.uid ?? '') === true) return false
  const act = { operations: ['SwitchComponent'], targets: [machineUid], component: target } as const
  return whyNotAllowed(permit, act) === undefined
}

function permitNames(input: OrderInput, order: ComponentOrder): readonly string[] {
  if (order.canaryRef !== undefined) return input.marks.find((m) => m.canary === order.canaryRef)?.permits ?? []
  const claim = winner(input.claims, order.name, order)
  const slice = claim && openSlice(input, claim, order.name)
  return slice?.permit !== undefined && isOpenForSwitch(slice.phase) ? [slice.permit] : []
}

/** Unknown definitions need a drain. */
function isDrainNeeded(
  definitions: readonly MachineComponent[],
  order: ComponentOrder,
  report: ComponentStatus | undefined,
): boolean {
  const definition = definitionOf(definitions, order)
  if (definition === undefined) return true
  const { disruption, drainOn } = definition.spec
  // The agent reboots the machine whatever changed.
  if (disruption === 'Reboot') return true
  if (disruption !== 'Drain') return false
  return drainOn === 'Always' || !isPatchOnly(report?.version, order.version)
}

const definitionOf = (definitions: readonly MachineComponent[], { name, version }: ComponentOrder) =>
  definitions.find(({ spec }) => spec.component === name && spec.version === version)

function isPatchOnly(from: string | undefined, to: string): boolean {
  const [a, b] = [parseVersion(from ?? ''), parseVersion(to)]
  return a !== undefined && b !== undefined && a.numbers[0] === b.numbers[0] && a.numbers[1] === b.numbers[1]
}
