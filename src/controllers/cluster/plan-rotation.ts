// Decides when the host should continue a credential rotation, and reports what the rotation waits for. Pure. The phases are those of the graph: the
// host takes each step once all clients that must follow report that they have.
import type { Reason } from '#api/catalogue.ts'
import type { Cluster, ClusterStatus } from '#api/kinds/cluster.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ROTATED_KEYS, type RotationField } from '#api/rotated-keys.ts'
import {
  CLUSTER_AUTHORITY,
  ENCRYPTION_KEY,
  ETCD_AUTHORITY,
  PROXY_AUTHORITY,
  TOKEN_KEYS,
} from '#controlplanes/credentials/recipe.ts'
import type { AgentTrust, Count, Rotation } from '#controlplanes/credentials/rotation.ts'
import type { ControlPlane, RotationRequest } from '#controlplanes/port.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { KubeconfigSeen, Seen } from './seen.ts'
import { defined } from '#lib/defined.ts'

/** Each pass reads every machine of the cluster: five seconds for a small cluster, fifty for 10,000 machines. */
const REQUEUE_MS = 5_000
const REQUEUE_MS_EACH = 5
/** After a step, its changes are visible at once. */
const SOON_MS = 1_000

/** By authority or key set, with the names of the graph. */
const FIELDS: Readonly<Record<string, RotationField>> = {
  [CLUSTER_AUTHORITY]: 'certificateAuthority',
  [TOKEN_KEYS]: 'serviceAccountKeys',
  [ETCD_AUTHORITY]: 'etcdAuthority',
  [ENCRYPTION_KEY]: 'encryptionKey',
  [PROXY_AUTHORITY]: 'frontProxyAuthority',
}

/** By authority or key set. */
function declaredOf({ spec }: Cluster): Readonly<Record<string, number>> {
  const rotation = spec.controlPlane?.rotation ?? {}
  return Object.fromEntries(
    Object.entries(FIELDS).flatMap(([item, field]) => {
      const number = rotation[field]
      return number === undefined ? [] : [[item, number] as const]
    }),
  )
}

/** A rotation in progress finishes first. Ignores authorities that the control plane does not have. */
const askedFor = (cluster: Cluster, { own }: ControlPlane): readonly string[] =>
  Object.entries(declaredOf(cluster)).flatMap(([item, number]) =>
    own !== undefined && number > (own.declared[item] ?? Infinity) && own.rotations.every((r) => r.name !== item)
      ? [item]
      : [],
  )

/** Whether agents' reports are needed. This reads every machine. */
export const needsAgentReports = (cluster: Cluster, plane: ControlPlane | undefined): boolean =>
  plane?.own !== undefined &&
  (askedFor(cluster, plane).includes(CLUSTER_AUTHORITY) ||
    plane.own.rotations.some(({ name }) => name === CLUSTER_AUTHORITY))

/** The schedule drops snapshots days later. The rotation finishes on the next call for another reason. */
const isUnderWay = ({ waitsFor }: Rotation): boolean => waitsFor !== undefined && waitsFor.what !== 'snapshots'

/** Why the host should continue. Undefined while it has nothing to do. */
export function rotationDue({ cluster, plane }: Seen, now: number): string | undefined {
  if (plane?.own === undefined) return undefined
  const { rotations, renewAt } = plane.own
  if (askedFor(cluster, plane).length > 0) return 'a rotation was asked for'
  if (rotations.some(isUnderWay)) return 'a rotation is under way'
  if (rotations.some(({ waitsFor, until = now }) => waitsFor === undefined && now >= until))
    return 'a phase of a rotation is over'
  return renewAt !== undefined && now >= renewAt ? 'a certificate is due' : undefined
}

/** Sync connects to the cluster with its own kubeconfig, so it has to follow like an agent. */
export function rotationRequest({ cluster, agents, kubeconfig }: Seen): RotationRequest {
  const declared = declaredOf(cluster)
  if (agents === undefined) return { declared }
  const sync = kubeconfig === undefined || kubeconfig.owner !== cluster.metadata.uid ? [] : [trustOfSync(kubeconfig)]
  return { declared, agents: [...agents, ...sync] }
}

/** The first keys of a new control plane count for the numbers declared at that time: there is nothing older to replace. */
export const firstNumbers = (cluster: Cluster): { readonly rotation?: RotationRequest } =>
  cluster.spec.controlPlane?.rotation === undefined ? {} : { rotation: { declared: declaredOf(cluster) } }

const trustOfSync = ({ authorities, signedBy }: KubeconfigSeen): AgentTrust => ({
  machine: 'the kubeconfig of sync',
  authorities,
  ...defined({ signedBy }),
})

/** A machine whose agent never joined has nothing stale. */
export function trustOf({ metadata, status }: Machine): readonly AgentTrust[] {
  const agent = status?.agent
  if (agent === undefined) return []
  const { kubelet } = agent
  return [
    {
      machine: metadata.name ?? '',
      ...reported(agent),
      ...(kubelet !== undefined && { kubelet: reported(kubelet) }),
    },
  ]
}

interface Reported {
  readonly authorities?: readonly string[] | undefined
  readonly certificate?: { readonly authority?: string | undefined } | undefined
}

function reported({ authorities, certificate }: Reported): Pick<AgentTrust, 'authorities' | 'signedBy'> {
  const signedBy = certificate === undefined ? 'None' : certificate.authority
  return defined({ authorities, signedBy })
}

/** When the next pass is worth its cost. Undefined while there is no rotation. */
export function rotationRequeueMs({ cluster, plane, agents = [] }: Seen, now: number): number | undefined {
  const rotations = plane?.own?.rotations ?? []
  if (plane !== undefined && askedFor(cluster, plane).length > 0) return SOON_MS
  if (rotations.some(isUnderWay)) return Math.max(REQUEUE_MS, agents.length * REQUEUE_MS_EACH)
  const untils = rotations.flatMap(({ until }) => (until !== undefined && until > now ? [until - now] : []))
  return untils.length === 0 ? undefined : Math.min(...untils)
}

type Shown = NonNullable<NonNullable<ClusterStatus>['rotations']>[number]

export const rotationsOf = (plane: ControlPlane | undefined): readonly Shown[] =>
  (plane?.own?.rotations ?? []).flatMap((rotation) => {
    const field = FIELDS[rotation.name]
    if (field === undefined) return []
    const { phase, since, waitsFor, until } = rotation
    return [
      {
        name: ROTATED_KEYS[field].name,
        phase,
        since: timestamp(since),
        ...(waitsFor !== undefined && {
          waitsFor: {
            what: SHOWN_AS[waitsFor.what],
            ...(waitsFor.isUnknown !== true && { seen: waitsFor.seen, of: waitsFor.of }),
            missing: [...waitsFor.missing],
          },
        }),
        ...(until !== undefined && { until: timestamp(until) }),
        message: `${titleOf(rotation)}: ${stateOf(rotation)}`,
      },
    ]
  })

const SHOWN_AS = {
  agents: 'Agents',
  servers: 'Servers',
  'sealed objects': 'Secrets',
  snapshots: 'Snapshots',
} as const satisfies Record<Count['what'], string>

function titleOf({ name }: Rotation): string {
  const field = FIELDS[name]
  return field === undefined ? `the ${name}` : ROTATED_KEYS[field].called
}

const DONE: Readonly<Record<Rotation['phase'], string>> = {
  Distributing: 'the new one is trusted and signs nothing yet',
  Reissuing: 'the new one signs, and the old one is still trusted',
}
const DONE_OF_ENCRYPTION: Readonly<Record<Rotation['phase'], string>> = {
  Distributing: 'the new one is known to the API servers and encrypts nothing yet',
  Reissuing: 'the new one encrypts, and the old one is kept',
}

/** What an on-call engineer needs to know. */
function stateOf({ name, phase, waitsFor, until }: Rotation): string {
  const done = (name === ENCRYPTION_KEY ? DONE_OF_ENCRYPTION : DONE)[phase]
  const end = until === undefined ? '' : ` until ${timestamp(until)}`
  if (waitsFor !== undefined) return `${done}; ${countOf(waitsFor, phase)}`
  if (phase === 'Distributing') return `${done}${end}`
  return name === TOKEN_KEYS ? `${done}${end}, when the last token of the old one has ended` : `${done}${end}`
}

function countOf({ what, seen, of, missing, kubelets, isUnknown, why }: Count, phase: Rotation['phase']): string {
  if (isUnknown === true)
    return what === 'servers'
      ? 'the programs of the control plane change for another reason, and are not counted'
      : 'the machines of the cluster cannot be read'
  if (what === 'servers') return `${seen} of ${of} programs of the control plane run with it`
  if (what === 'sealed objects')
    return why === undefined
      ? 'the Secrets are being encrypted with it'
      : `Secrets could not be encrypted with it${missing.length > 0 ? `, such as ${missing.join(', ')}` : ''}: ${why}`
  if (what === 'snapshots') return `snapshots need it: ${missing.join(', ')}${moreThan(of - seen - missing.length)}`
  const did = phase === 'Distributing' ? 'trust it' : 'have a certificate of it'
  const more = moreThan(of - seen - missing.length)
  const byHand = kubelets === undefined ? '' : `; ${counted(kubelets, 'kubelet')} of those`
  return `${seen} of ${of} clients (agents with their kubelets, and sync) ${did}, not ${missing.join(', ')}${more}${byHand}`
}

const moreThan = (others: number): string => (others > 0 ? ` and ${others} more` : '')

/**
 * Waits that clients must resolve. Service account keys only wait for a date, up to a year, and an encryption key only for snapshots: there is
 * nothing to do about these.
 */
export function waitOfRotation(plane: ControlPlane | undefined): Wait<Reason> | undefined {
  const rotations = plane?.own?.rotations ?? []
  const found = rotations.find(isUnderWay) ?? rotations.find(({ name }) => name === CLUSTER_AUTHORITY)
  if (found === undefined) return undefined
  return { predicate: 'RotationUnderWay', seen: `${titleOf(found)}: ${stateOf(found)}`, unblock: unblockOf(found) }
}

function unblockOf({ waitsFor, phase }: Rotation): string {
  if (waitsFor === undefined) return 'time passes; it continues by itself'
  if (waitsFor.what === 'servers')
    return waitsFor.isUnknown === true
      ? 'the upgrade, the restore or the stop that is under way ends'
      : 'the host gives it to them'
  if (waitsFor.what === 'sealed objects')
    return waitsFor.why === undefined
      ? 'the host does it'
      : 'the API server takes a patch of those Secrets; tried again every two minutes'
  if (waitsFor.isUnknown === true) return 'the API server of the cluster answers the hub'
  if (waitsFor.kubelets !== undefined)
    return phase === 'Distributing'
      ? 'agents take the new list by themselves; write it into the kubeconfig of those kubelets too, and restart them (runbook clusters)'
      : 'agents renew by themselves; have those kubelets ask for new certificates (runbook clusters)'
  return phase === 'Distributing'
    ? 'those agents take the new list, within 45 minutes of an agent that runs; start them, or delete their Machines'
    : 'those agents renew their certificates, within 45 minutes of an agent that runs; start them, or delete their Machines'
}
