// Decides which objects an OperationalHold applies to: those that it names or selects, and for a hold on the cluster everything in it.
import { HOLD_TARGETS, type HoldEffect, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { type Selector, matchesSelector, selectorOf } from '#kube/selector.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type Answer, binds, isInForce, leading, readable } from './in-force.ts'

type Labels = Readonly<Record<string, string>>

/** One object that a hold may apply to. It has a kind field because list items do not have one on every server. */
export interface HoldTarget {
  readonly kind: string
  readonly name: string
  /** Undefined for kinds without namespaces. In that case the hold's namespace does not matter. */
  readonly namespace?: string
  readonly labels: Labels | 'Unknown'
  /** The object in question is inside this one: only a Pause or a Freeze of it counts, not its other effects. */
  readonly isAround?: true
}

export const holdTarget = (kind: string, { metadata }: Pick<KubeObject, 'metadata'>): HoldTarget => ({
  kind,
  name: metadata.name ?? '',
  ...defined({ namespace: metadata.namespace }),
  labels: metadata.labels ?? {},
})

/** An object of which only the name is known. */
export const named = (kind: string, name: string): HoldTarget => ({ kind, name, labels: 'Unknown' })

export interface HoldQuestion {
  readonly effects: readonly HoldEffect[]
  readonly targets: readonly HoldTarget[]
  /** The cluster of the targets, with its name if known. Absent for targets outside any cluster. */
  readonly cluster?: { readonly name: string | undefined }
  readonly now: number
}

/** All holds in force that apply to one of the targets. */
export function holdsOver(
  holds: readonly OperationalHold[],
  { effects, targets, cluster, now }: HoldQuestion,
): readonly OperationalHold[] {
  return holds
    .map(readable)
    .filter(
      (hold) =>
        effects.includes(hold.spec.effect) &&
        isInForce(hold, now) &&
        (targets.some((t) => binds(reaches(hold, t), hold)) ||
          (cluster !== undefined && binds(reachesCluster(hold, cluster.name), hold))),
    )
}

/** The hold that gives the reason: a Freeze first, then the newest. */
export const holdOver = (holds: readonly OperationalHold[], question: HoldQuestion): OperationalHold | undefined =>
  leading(holdsOver(holds, question))

const KINDS: ReadonlySet<unknown> = new Set(HOLD_TARGETS)

function reaches(
  { spec: { target, effect } }: OperationalHold,
  { kind, name, namespace, labels, isAround }: HoldTarget,
): Answer {
  if (isAround && effect !== 'Pause' && effect !== 'Freeze') return 'No'
  if (!KINDS.has(target.kind)) return 'Unknown'
  if (target.kind !== kind) return 'No'
  if (target.namespace !== undefined && namespace !== undefined && target.namespace !== namespace) return 'No'
  if (target.name !== undefined) return target.name === name ? 'Yes' : 'No'
  const selector = selectorIn(target.selector)
  if (selector === undefined) return 'Unknown'
  if (selector.length === 0) return 'Yes'
  if (labels === 'Unknown') return 'Unknown'
  return matchesSelector(selector, labels) ? 'Yes' : 'No'
}

/** An Abort of the cluster concerns only the cluster's own operation, not the targets in it. */
function reachesCluster({ spec: { target, effect } }: OperationalHold, own: string | undefined): Answer {
  if (target.kind !== 'Cluster' || effect === 'Abort') return 'No'
  if (target.name !== undefined) return own === undefined ? 'Unknown' : target.name === own ? 'Yes' : 'No'
  return selectorIn(target.selector)?.length === 0 ? 'Yes' : 'Unknown'
}

const SELECTOR_KEYS: ReadonlySet<string> = new Set(['matchLabels', 'matchExpressions'])

/** Undefined: unreadable. */
function selectorIn(selector: unknown): Selector | undefined {
  if (!isObject(selector) || !Object.keys(selector).every((key) => SELECTOR_KEYS.has(key))) return undefined
  if (selector['matchLabels'] !== undefined && !isObject(selector['matchLabels'])) return undefined
  try {
    return selectorOf(selector)
  } catch {
    return undefined
  }
}

const setTarget = (name: string, set: Pick<KubeObject, 'metadata'> | undefined): HoldTarget =>
  set === undefined ? named('MachineSet', name) : holdTarget('MachineSet', set)

interface MachineLike extends Pick<KubeObject, 'metadata'> {
  readonly status?: { readonly nodeRef?: { readonly name: string } }
}

export interface AroundMachine {
  /** Undefined if it was deleted or is unknown. */
  readonly node: Pick<KubeObject, 'metadata'> | undefined
  /** The MachineSet with this name, if the caller knows it. */
  readonly machineSet?: (name: string) => Pick<KubeObject, 'metadata'> | undefined
}

/** The machine, its Node and its MachineSet: a hold on any of them holds the machine. */
export function holdTargetsOfMachine(machine: MachineLike, { node, machineSet }: AroundMachine): readonly HoldTarget[] {
  const nodeName = machine.status?.nodeRef?.name
  const owner = machine.metadata.ownerReferences?.find((o) => o.controller === true && o.kind === 'MachineSet')
  const set = owner && machineSet?.(owner.name)
  return [
    holdTarget('Machine', machine),
    ...(node !== undefined ? [holdTarget('Node', node)] : nodeName === undefined ? [] : [named('Node', nodeName)]),
    ...(owner === undefined ? [] : [{ ...setTarget(owner.name, set), isAround: true as const }]),
  ]
}
