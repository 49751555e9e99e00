// Evidence that a host without its own Machine is still in use: a Node on it, an agent that ran on it, or a Machine that names it. Pure.
import { ANNOTATIONS, agentLeaseName } from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { instancesIn, internalAddresses, schemeIn, spellingsOf } from '#nodes/host-ids.ts'
import type { Node } from '#nodes/objects.ts'
import type { Host } from '#providers/port.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { Lease } from '#runtime/lease.ts'

const BY_HOST = 'machine/host'
export const HOST_INDEX = {
  [BY_HOST]: ({ spec }: Machine): readonly string[] => (spec.providerID === undefined ? [] : [spec.providerID]),
}

export interface OtherMachine {
  readonly name: string
  readonly isDeleting: boolean
}

/**
 * Another Machine with exactly this host. A host serves one Machine, so its provider or a person made a mistake. Or the other Machine is being
 * deleted, its host has already ended, and the provider reused the id, as rack providers do.
 */
export function otherOnHost(
  machines: Pick<SharedInformer<Machine>, 'byIndex'>,
  providerID: string,
  uid: string,
): OtherMachine | undefined {
  const other = machines.byIndex(BY_HOST, providerID).find((m) => m.metadata.uid !== uid)
  if (other === undefined) return undefined
  const { name = '', deletionTimestamp } = other.metadata
  return { name, isDeleting: deletionTimestamp !== undefined }
}

export const twoOnHost = (providerID: string, { name, isDeleting }: OtherMachine): string =>
  isDeleting
    ? `machine ${name}, which is being deleted, still has host ${providerID}`
    : `machine ${name} has host ${providerID} too; delete the Machine that it does not belong to`

type HostOf = Pick<Host, 'providerID' | 'machine' | 'machineUid' | 'address'>

/** An address that means this host from anywhere. */
const isOwn = (address: string | undefined): address is string =>
  address !== undefined && address !== '' && address !== '::1' && !address.startsWith('127.')

/** The Machine that claims this host, whatever the provider reports: by its id in any spelling, or by its address. */
export function machinesByHost(
  machines: readonly Pick<Machine, 'metadata' | 'spec'>[],
): (host: HostOf) => string | undefined {
  const byInstance = new Map<string, string>()
  const byAddress = new Map<string, string>()
  for (const { metadata, spec } of machines) {
    const { name = '' } = metadata
    if (spec.providerID !== undefined) for (const id of atProvider(spec.providerID)) byInstance.set(id, name)
    if (isOwn(spec.address)) byAddress.set(spec.address, name)
  }
  return ({ providerID, address }) => {
    const scheme = schemeIn(providerID) ?? ''
    for (const instance of spellingsOf(providerID)) {
      const named = byInstance.get(`${scheme} ${instance}`) ?? byInstance.get(` ${instance}`)
      if (named !== undefined) return `machine ${named} names it`
    }
    const there = isOwn(address) ? byAddress.get(address) : undefined
    return there === undefined ? undefined : `machine ${there} has its address`
  }
}

/** An id without a provider matches any provider. */
const atProvider = (providerID: string): readonly string[] =>
  instancesIn(providerID).map((instance) => `${schemeIn(providerID) ?? ''} ${instance}`)

export interface Observed {
  readonly nodes: readonly Node[]
  readonly leaseNamed: (name: string) => Lease | undefined
  readonly machineNames: ReadonlySet<string>
}

/** A Node or a Lease with the host's name counts unless it is known to belong to another machine. */
export function observedOn({ nodes, leaseNamed, machineNames }: Observed): (host: HostOf) => string | undefined {
  const byName = new Map(nodes.map((n) => [n.metadata.name, n]))
  const byInstance = new Map(nodes.flatMap((n) => instancesIn(n.spec?.providerID ?? '').map((i) => [i, n] as const)))
  const byAddress = new Map(nodes.flatMap((n) => internalAddresses(n).map((a) => [a, n] as const)))
  return ({ providerID, machine, machineUid, address }) => {
    const isOf = (uid: string | undefined) => (uid === undefined ? !machineNames.has(machine) : uid === machineUid)
    const named = byName.get(machine)
    const node =
      spellingsOf(providerID)
        .map((i) => byInstance.get(i))
        .find((n) => n !== undefined) ??
      (isOwn(address) ? byAddress.get(address) : undefined) ??
      (named !== undefined && isOf(named.metadata.annotations?.[ANNOTATIONS.machineUid]) ? named : undefined)
    if (node !== undefined) return `node ${node.metadata.name ?? ''} is on it`
    const lease = leaseNamed(agentLeaseName(machine))
    return lease !== undefined && isOf(lease.metadata.annotations?.[ANNOTATIONS.machineUid])
      ? `agent ${machine} ran on it`
      : undefined
  }
}
