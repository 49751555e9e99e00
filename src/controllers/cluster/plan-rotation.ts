// Decides when the host is asked to continue a rotation of credentials, and says what a rotation waits for. Pure. The phases are those of the graph: the host
// makes each step once all clients that must follow it have reported so.
import type { Reason } from '#api/catalogue.ts'
import type { Cluster, ClusterStatus } from '#api/kinds/cluster.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { CLUSTER_AUTHORITY, TOKEN_KEYS } from '#controlplanes/credentials/recipe.ts'
import type { AgentTrust, Count, Rotation } from '#controlplanes/credentials/rotation.ts'
import type { ControlPlane, RotationRequest } from '#controlplanes/port.ts'
import { timestamp } from '#lib/clock.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { KubeconfigSeen, Seen } from './seen.ts'

/** A look reads every machine of the cluster: five seconds for a small one, fifty for 10,000. */
const LOOK_MS = 5_000
const LOOK_MS_EACH = 5
/** After a step: what it changed is seen at once. */
const SOON_MS = 1_000

const NAMES: Readonly<Record<string, 'CertificateAuthority' | 'ServiceAccountKeys'>> = {
  [CLUSTER_AUTHORITY]: 'CertificateAuthority',
  [TOKEN_KEYS]: 'ServiceAccountKeys',
}
const CALLED = { CertificateAuthority: 'certificate authority', ServiceAccountKeys: 'service account keys' } as const

/** By authority or key set, as the graph calls them. */
function declaredOf({ spec }: Cluster): Readonly<Record<string, number>> {
  const { certificateAuthority, serviceAccountKeys } = spec.controlPlane?.rotation ?? {}
  return {
    ...(certificateAuthority !== undefined && { [CLUSTER_AUTHORITY]: certificateAuthority }),
    ...(serviceAccountKeys !== undefined && { [TOKEN_KEYS]: serviceAccountKeys }),
  }
}

/** One that is under way ends first. */
const isAskedFor = (cluster: Cluster, { own }: ControlPlane): boolean =>
  own !== undefined &&
  Object.entries(declaredOf(cluster)).some(
    ([name, number]) => number > (own.declared[name] ?? 1) && own.rotations.every((r) => r.name !== name),
  )

/** Whether clients of the control plane must be heard: it takes a read of every machine. */
export const mustHearAgents = (cluster: Cluster, plane: ControlPlane | undefined): boolean =>
  plane?.own !== undefined &&
  (isAskedFor(cluster, plane) || plane.own.rotations.some(({ name }) => name === CLUSTER_AUTHORITY))

/** Why the host is asked to continue; undefined while there is nothing that it could do. */
export function rotationDue({ cluster, plane }: Seen, now: number): string | undefined {
  if (plane?.own === undefined) return undefined
  const { rotations, renewAt } = plane.own
  if (isAskedFor(cluster, plane)) return 'a rotation was asked for'
  if (rotations.some(({ waitsFor }) => waitsFor !== undefined)) return 'a rotation is under way'
  if (rotations.some(({ until }) => until === undefined || now >= until)) return 'a phase of a rotation is over'
  return renewAt !== undefined && now >= renewAt ? 'a certificate is due' : undefined
}

/** Sync reaches the cluster with a kubeconfig of its own: it follows like an agent. */
export function rotationRequest({ cluster, agents, kubeconfig }: Seen): RotationRequest {
  const declared = declaredOf(cluster)
  if (agents === undefined) return { declared }
  const sync = kubeconfig === undefined || kubeconfig.owner !== cluster.metadata.uid ? [] : [trustOfSync(kubeconfig)]
  return { declared, agents: [...agents, ...sync] }
}

const trustOfSync = ({ authorities, signedBy }: KubeconfigSeen): AgentTrust => ({
  machine: 'the kubeconfig of sync',
  authorities,
  ...(signedBy !== undefined && { signedBy }),
})

/** A machine whose agent never came has nothing that could be stale. */
export function trustOf({ metadata, status }: Machine): readonly AgentTrust[] {
  const agent = status?.agent
  if (agent === undefined) return []
  const signedBy = agent.certificate === undefined ? 'None' : agent.certificate.authority
  return [
    {
      machine: metadata.name ?? '',
      ...(agent.authorities !== undefined && { authorities: agent.authorities }),
      ...(signedBy !== undefined && { signedBy }),
    },
  ]
}

/** How soon the next look is worth its cost; undefined while there is no rotation. */
export function nextRotationLook({ cluster, plane, agents = [] }: Seen, now: number): number | undefined {
  const rotations = plane?.own?.rotations ?? []
  if (plane !== undefined && isAskedFor(cluster, plane)) return SOON_MS
  if (rotations.some(({ waitsFor }) => waitsFor !== undefined)) return Math.max(LOOK_MS, agents.length * LOOK_MS_EACH)
  const untils = rotations.flatMap(({ until }) => (until !== undefined && until > now ? [until - now] : []))
  return untils.length === 0 ? undefined : Math.min(...untils)
}

type Shown = NonNullable<NonNullable<ClusterStatus>['rotations']>[number]

export const rotationsOf = (plane: ControlPlane | undefined): readonly Shown[] =>
  (plane?.own?.rotations ?? []).flatMap((rotation) => {
    const of = NAMES[rotation.name]
    if (of === undefined) return []
    const { phase, since, waitsFor, until } = rotation
    return [
      {
        name: of,
        phase,
        since: timestamp(since),
        ...(waitsFor !== undefined && {
          waitsFor: {
            what: waitsFor.what === 'agents' ? ('Agents' as const) : ('Servers' as const),
            ...(waitsFor.isUnknown !== true && { seen: waitsFor.seen, of: waitsFor.of }),
            missing: [...waitsFor.missing],
          },
        }),
        ...(until !== undefined && { until: timestamp(until) }),
        message: `${titleOf(rotation)}: ${stateOf(rotation)}`,
      },
    ]
  })

/** One that no Cluster can ask for is rotated by its age alone, and has no name of its own. */
const titleOf = ({ name }: Rotation): string => {
  const of = NAMES[name]
  return of === undefined ? `the authority ${name}` : `the ${CALLED[of]}`
}

/** What a person who is called at night wants to know. */
function stateOf({ name, phase, waitsFor, until }: Rotation): string {
  const isAuthority = name === CLUSTER_AUTHORITY
  const done =
    phase === 'Distributing'
      ? 'the new one is trusted beside the old one and signs nothing yet'
      : 'the new one signs, and the old one is still trusted'
  const end = until === undefined ? '' : ` until ${timestamp(until)}`
  if (waitsFor !== undefined) return `${done}; ${countOf(waitsFor, phase)}`
  if (phase === 'Distributing') return `${done}${end}`
  return isAuthority ? `${done}${end}` : `${done}${end}, when the last token of the old one has ended`
}

function countOf({ what, seen, of, missing, isUnknown }: Count, phase: Rotation['phase']): string {
  if (isUnknown === true) return 'the machines of the cluster cannot be read'
  if (what === 'servers') return `${seen} of ${of} programs of the control plane run with it`
  const did = phase === 'Distributing' ? 'report that they trust it' : 'have a certificate of it'
  const others = of - seen - missing.length
  return `${seen} of ${of} clients (agents and sync) ${did}, not ${missing.join(', ')}${others > 0 ? ` and ${others} more` : ''}`
}

/** Of one that clients must follow. Keys of service accounts wait for a date alone, for up to a year: nothing is to be done about it. */
export function waitOfRotation(plane: ControlPlane | undefined): Wait<Reason> | undefined {
  const rotations = plane?.own?.rotations ?? []
  const found =
    rotations.find(({ waitsFor }) => waitsFor !== undefined) ?? rotations.find(({ name }) => name === CLUSTER_AUTHORITY)
  if (found === undefined) return undefined
  return { predicate: 'RotationUnderWay', seen: `${titleOf(found)}: ${stateOf(found)}`, unblock: unblockOf(found) }
}

function unblockOf({ waitsFor, phase }: Rotation): string {
  if (waitsFor === undefined) return 'time passes; it continues by itself'
  if (waitsFor.isUnknown === true) return 'the API server of the cluster answers the hub'
  if (waitsFor.what === 'servers') return 'the host gives it to them'
  return phase === 'Distributing'
    ? 'those agents take the new list, within 45 minutes of an agent that runs; start them, or delete their Machines'
    : 'those agents renew their certificates; start them, or delete their Machines'
}
