// Decides whether a MachineSet can take over a machine of another set, and how many machines are lost when sets are deleted. Pure.
import type { Machine, MachineInput } from '#api/kinds/machine.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import type { LabelSelector } from '#api/schema/labels.ts'
import { selects } from './selecting.ts'

interface ListedHost {
  readonly name: string
  readonly host: string
  readonly zone?: string
  readonly rack?: string
  readonly class?: string
}

/** What a machine, or its template, requires of its host. */
export interface HostSpec extends Partial<
  Pick<MachineInput['spec'], 'provider' | 'channel' | 'zone' | 'rack' | 'class'>
> {
  /** `host` of a machine; `hosts` of a template. */
  readonly ssh?: Partial<NonNullable<MachineInput['spec']['ssh']>> & { readonly hosts?: readonly ListedHost[] }
}

export type HostField = 'provider.name' | 'provider.params' | 'channel' | 'ssh.host' | 'zone' | 'rack' | 'class'

/**
 * The first field in which a machine's host does not fit. Provider, location, hardware and management mode can only change with another host. Pool,
 * labels, annotations, taints and the rest of `ssh` can change on an existing one. Components belong to other sets.
 */
export function needsOtherHost(made: HostSpec, wanted: HostSpec): HostField | undefined {
  if (made.provider?.name !== wanted.provider?.name) return 'provider.name'
  if (!jsonEqual(made.provider?.params ?? {}, wanted.provider?.params ?? {})) return 'provider.params'
  if ((made.channel ?? 'Agent') !== (wanted.channel ?? 'Agent')) return 'channel'
  if (wanted.ssh?.hosts === undefined && made.ssh?.host !== wanted.ssh?.host) return 'ssh.host'
  // If the machine has no location, or the set does not care, there is no conflict.
  return (['zone', 'rack', 'class'] as const).find(
    (f) => made[f] !== undefined && wanted[f] !== undefined && made[f] !== wanted[f],
  )
}

/** A machine, or a set's template for the machines that it would create. */
export interface Made {
  /** Of a machine. */
  readonly name?: string
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly spec: HostSpec
}

export const madeAs = ({ metadata, spec }: Machine): Made => ({
  name: metadata.name ?? '',
  labels: metadata.labels,
  spec,
})
export const madeFrom = ({ spec: { template } }: Pick<Taker, 'spec'>): Made => ({
  labels: template.metadata?.labels,
  spec: template.spec ?? {},
})

/** A MachineSet as stored, or as rendered, without defaults. */
export interface Taker {
  readonly metadata: { readonly deletionTimestamp?: string }
  readonly spec: {
    readonly selector: LabelSelector
    readonly template: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
      readonly spec?: HostSpec
    }
  }
}

/** An empty selector matches everything. Its set creates and takes nothing. */
const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  Object.keys(matchLabels).length === 0 && matchExpressions.length === 0

/** The set is not being deleted, and selects the machine. */
export const isSelectedBy = ({ labels }: Made, { metadata, spec }: Taker): boolean =>
  metadata.deletionTimestamp === undefined && !isEmpty(spec.selector) && selects(spec.selector, labels)

export const canTakeOver = (taker: Taker, made: Made): boolean =>
  made.spec.channel !== 'Observe' &&
  isSelectedBy(made, taker) &&
  needsOtherHost(made.spec, wantedOf(taker, made)) === undefined &&
  hostsShared(made, madeFrom(taker).spec) > 0

/** A listed host has a place of its own. */
function wantedOf(taker: Taker, { name }: Made): HostSpec {
  const { spec } = madeFrom(taker)
  const { zone, rack, class: hardware } = spec.ssh?.hosts?.find((h) => h.name === name) ?? {}
  return { ...spec, ...defined({ zone, rack, class: hardware }) }
}

/** How many of the hosts both list. Where neither lists any, a provider gives them. */
function hostsShared({ name = '', spec: { ssh } }: Made, wanted: HostSpec): number {
  const ours = ssh?.hosts ?? (ssh?.host === undefined ? undefined : [{ name, host: ssh.host }])
  const theirs = wanted.ssh?.hosts
  if (ours === undefined || theirs === undefined) return ours === theirs ? Infinity : 0
  const listed = new Map(theirs.map((h) => [h.name, h.host]))
  return ours.filter((h) => listed.get(h.name) === h.host).length
}

export interface LeavingMachines {
  /** The set to delete. */
  readonly set: string
  readonly count: number
  readonly made: Made
}

export interface TakingSet {
  readonly set: Taker
  /** How many machines it lacks. */
  readonly room: number
}

/** How many machines of each set are deleted because no other set has room for them. */
export function machinesLost(
  leaving: readonly LeavingMachines[],
  takers: readonly TakingSet[],
): ReadonlyMap<string, number> {
  const rooms = takers.map(({ set, room }) => ({ set, room: Math.max(0, room) }))
  const lost = new Map<string, number>()
  for (const { set, count, made } of leaving) {
    let left = count
    for (const taker of rooms) {
      if (left === 0 || taker.room === 0 || !canTakeOver(taker.set, made)) continue
      const taken = Math.min(left, taker.room, hostsShared(made, madeFrom(taker.set).spec))
      taker.room -= taken
      left -= taken
    }
    lost.set(set, (lost.get(set) ?? 0) + left)
  }
  return lost
}
