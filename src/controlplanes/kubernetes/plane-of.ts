// Builds a control plane's report from its record and its workloads. Pure.
import { memberName, quotaOf } from '#api/constructs/control-plane/etcd.ts'
import { PARTS, type Part } from '#api/constructs/control-plane/settings.ts'
import { timestamp } from '#lib/clock.ts'
import type { ControlPlane, OwnCredentials, Snapshot } from '../port.ts'
import type { Trouble } from './part-trouble.ts'
import type { PartState } from './plane-objects.ts'
import type { KeptSnapshot, PlaneRecord } from './plane-record.ts'
import { isWorthDefragmenting, NO_CARE } from './store-state.ts'
import { defined } from '#lib/defined.ts'

interface More {
  readonly ca?: string
  readonly own?: OwnCredentials
  /** Why it cannot continue. */
  readonly why?: Trouble | string
  /** The step of a change, and what it waits for. */
  readonly change?: string
}

export const urlOf = ({ host, port }: NonNullable<PlaneRecord['address']>): string =>
  `https://${host.includes(':') ? `[${host}]` : host}:${port}`

export const portSnapshot = (kept: KeptSnapshot): Snapshot => {
  const { slot: _, sealedWith: _with, ...snapshot } = kept
  return snapshot
}

/** Without states, the workloads were not read. One API server and one etcd member that answer are enough for Running; the message lists what is not ready. */
export function planeOf(
  record: PlaneRecord,
  states: Readonly<Record<Part, PartState>> | undefined,
  { ca = '', own, why, change }: More = {},
): ControlPlane {
  const { id, owner, address, isStopped, restoring, restored, upgrade, snapshots, taking } = record
  const trouble = typeof why === 'string' ? { text: why } : (why ?? (states && troubleOf(states)))
  const doesServe = states !== undefined && states.apiserver.serving > 0 && states.etcd.serving > 0
  const isRunning = doesServe && !isStopped && restoring === undefined
  const message =
    restoring === undefined ? trouble?.text : `${restoring.snapshot} is being restored; ${trouble?.text ?? ''}`
  return {
    id,
    owner,
    version: versionOf(record),
    state: isRunning ? 'Running' : isStopped && restoring === undefined ? 'Stopped' : 'Starting',
    ...(message !== undefined && !isStopped && { message }),
    ...(trouble?.cause !== undefined && !isStopped && { cause: trouble.cause }),
    port: address?.port ?? 0,
    endpoint: address === undefined ? '' : urlOf(address),
    ca,
    ...defined({ own }),
    snapshots: snapshots.map(portSnapshot),
    ...(!isStopped && restoring === undefined && states !== undefined && quorumLost(record, states)),
    ...storeState(record),
    ...membersState(record),
    ...(taking !== undefined && { taking: taking.name }),
    ...defined({ restored }),
    ...(restoring !== undefined && upgrade === undefined && { restoring: restoring.snapshot }),
    ...(upgrade !== undefined && {
      change: {
        from: upgrade.from,
        to: upgrade.to,
        message: change ?? upgrade.goingBack?.why ?? `to ${upgrade.to}`,
        wayBack:
          upgrade.edge === undefined
            ? 'Programs'
            : { snapshot: upgrade.edge.snapshot, since: timestamp(upgrade.edge.at) },
      },
    }),
  }
}

/** A single member is its own majority. */
export const hasQuorum = (
  { shape }: Pick<PlaneRecord, 'shape'>,
  { etcd }: Readonly<Record<Part, PartState>>,
): boolean => etcd.serving > shape.etcd.members / 2

function quorumLost(record: PlaneRecord, states: Readonly<Record<Part, PartState>>): Pick<ControlPlane, 'quorumLost'> {
  const { noQuorumSince, shape } = record
  if (noQuorumSince === undefined || hasQuorum(record, states)) return {}
  const { members } = shape.etcd
  return { quorumLost: { since: timestamp(noQuorumSince), serving: states.etcd.serving, members } }
}

function storeState({ store, shape }: PlaneRecord): Pick<ControlPlane, 'store'> {
  const { report, failed, defragmented } = store ?? NO_CARE
  if (report === undefined) return {}
  const quotaBytes = quotaOf(shape.etcd.storage, shape.extraArgs)
  return {
    store: {
      bytes: Math.max(...report.members.map(({ bytes }) => bytes)),
      inUseBytes: Math.max(...report.members.map(({ inUse }) => inUse)),
      quotaBytes,
      ...(report.fullSince !== undefined && { fullSince: timestamp(report.fullSince) }),
      isWorthDefragmenting: isWorthDefragmenting(report, quotaBytes),
      defragmented,
      ...(failed !== undefined && { problem: failed.why }),
    },
  }
}

function membersState({ members }: PlaneRecord): Pick<ControlPlane, 'members'> {
  if (members === undefined) return {}
  const { lost, replaced } = members
  if (lost === undefined) return { members: { replaced } }
  return { members: { replaced, lost: { name: memberName(lost.member), since: timestamp(lost.since), why: lost.why } } }
}

/** Until the one-way step it behaves like the previous version. */
export const versionOf = ({ upgrade, forms }: PlaneRecord): string =>
  upgrade !== undefined && upgrade.edge === undefined ? upgrade.from : forms.apiserver.version

/** Problems of the hub come first: the parts after it wait for it. */
function troubleOf(states: Readonly<Record<Part, PartState>>): Trouble | undefined {
  const unready = PARTS.filter((name) => !states[name].isReady)
  const part = unready.find((name) => states[name].trouble?.cause !== undefined) ?? unready[0]
  if (part === undefined) return undefined
  const { text, cause } = states[part].trouble ?? { text: 'its pods start' }
  return { text: `${part} is not ready: ${text}`, ...defined({ cause }) }
}

export const defragmentingOf = ({ store, shape }: PlaneRecord): string => {
  const done = store?.defragmenting?.length ?? 0
  const problem = store?.failed === undefined ? '' : `; ${store.failed.why}`
  return `${done} of ${shape.etcd.members} members of etcd are defragmented, one at a time${problem}`
}
