// How `kubenode cluster` shows one Cluster, in lines. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { hostedKubeconfigKey, KUBECONFIG_KEY, syncSecretsNamespace } from '#api/names.ts'
import { capsOf, isDeclared, lifetimeOf, ttlCap } from '#controllers/cluster/plan-lifetime.ts'
import { wayBackOf } from './cluster-story.ts'
import { timestamp } from '#lib/clock.ts'
import { formatDuration } from '#lib/duration.ts'
import { notReady, shownPhase } from './cluster-phase.ts'
import { inTime } from './cluster-columns.ts'
import { waitCell } from './wait.ts'

const flavorOf = ({ spec }: Cluster): string => spec.controlPlane?.flavor ?? 'registered'

export interface KubeconfigPlace {
  readonly namespace: string
  readonly secret: string
  readonly key: string | undefined
}

/** Where sync's kubeconfig for the cluster is; undefined while there is none. */
export function kubeconfigPlace({ metadata, spec, status }: Cluster): KubeconfigPlace | undefined {
  const { name: cluster = '', namespace = '' } = metadata
  const ref = spec.kubeconfigSecretRef
  if (ref !== undefined) return { namespace: syncSecretsNamespace(namespace), secret: ref.name, key: ref.key }
  // It is written after the control plane has an endpoint.
  if (status?.endpoint === undefined) return undefined
  const made = hostedKubeconfigKey(namespace, cluster)
  return { namespace: made.namespace, secret: made.name, key: KUBECONFIG_KEY }
}

interface Known {
  readonly cluster: Cluster
  readonly holds: readonly OperationalHold[]
  readonly policies: readonly DefenderPolicy[]
}

const LABEL_CHARS = 16
const line = (label: string, text: string): string => `  ${label.padEnd(LABEL_CHARS)}${text}`

export function clusterLines(known: Known, now: number): readonly string[] {
  const { metadata, spec, status = {} } = known.cluster
  const { addons = [], history = [], machines, rotations = [], snapshots = [], versions = [], waitingFor } = status
  const place = kubeconfigPlace(known.cluster)
  const reason = notReady(status)
  const version = versions[0]?.version
  const wanted = spec.version !== undefined && spec.version !== version ? `; declared ${spec.version}` : ''
  return [
    `cluster/${metadata.name ?? ''} in namespace ${metadata.namespace ?? ''}: ${shownPhase(status) ?? 'Unknown'}`,
    ...(reason === undefined
      ? []
      : [line(reason.status === 'Unknown' ? 'unknown' : 'not ready', `${reason.reason}: ${reason.message}`)]),
    line('version', `${version ?? 'unknown'}${wanted}`),
    line('control plane', ofControlPlane(known.cluster)),
    ...(status.endpoint === undefined ? [] : [line('endpoint', status.endpoint)]),
    line(
      'kubeconfig',
      place === undefined ? 'not made yet' : `Secret ${place.namespace}/${place.secret}, identity of sync`,
    ),
    ...(status.credentialsEnd === undefined ? [] : [line('', `expires ${ended(status.credentialsEnd, now)}`)]),
    ...(status.reachableSince === undefined ? [] : [line('reachable', `since ${status.reachableSince}`)]),
    ...(spec.stage === undefined ? [] : [line('stage', spec.stage)]),
    ...(machines === undefined
      ? []
      : [line('machines', `${machines.ready} of ${machines.total} ready, ${machines.agents} agents respond`)]),
    ...lifetimeLines(known, now),
    ...(spec.controlPlane === undefined
      ? []
      : [
          line(
            'if deleted',
            spec.deletionPolicy === 'Delete'
              ? `the control plane is deleted${spec.ttl === undefined ? ', after a final snapshot' : ''}`
              : 'the control plane stays',
          ),
        ]),
    ...addons.map((a) =>
      line('addon', `${a.name} ${a.version}, healthy: ${a.healthy}${a.message === undefined ? '' : `: ${a.message}`}`),
    ),
    ...history.map((h) =>
      line('history', `${h.startedAt} ${h.version}${h.message === undefined ? '' : `, ${h.message}`}`),
    ),
    ...(status.change === undefined
      ? []
      : [
          line('change', `from ${status.change.from} to ${status.change.to}: ${status.change.message}`),
          line('way back', wayBackOf(status.change)),
        ]),
    ...rotations.map(({ phase, message }) => line('rotation', `${phase}, ${message}`)),
    ...scheduleLines(status.snapshotSchedule, now),
    ...snapshots.map((s) => line('snapshot', `${s.name} of ${s.takenAt}, ${s.objects} objects, ${s.version}`)),
    ...(waitingFor === undefined
      ? []
      : [
          line('waits for', waitCell(waitingFor)),
          ...(waitingFor.unblock === undefined ? [] : [line('', `unblocks when ${waitingFor.unblock}`)]),
        ]),
  ]
}

function scheduleLines(schedule: NonNullable<Cluster['status']>['snapshotSchedule'], now: number): readonly string[] {
  if (schedule === undefined) return []
  const { last, lastAt, nextAt, message } = schedule
  return [
    line('last snapshot', lastAt === undefined ? 'none yet' : `${last ?? ''}, ${inTime(lastAt, now)}, opened`),
    line('', `the next one ${inTime(nextAt, now)}${message === undefined ? '' : `: ${message}`}`),
  ]
}

const ofControlPlane = (cluster: Cluster): string =>
  cluster.spec.controlPlane === undefined
    ? 'registered by its kubeconfig'
    : `${flavorOf(cluster)}, on the hub${AVAILABILITY[cluster.status?.highAvailability ?? 'Unknown']}`

/** Unknown until a host serves the cluster. */
const AVAILABILITY = { Yes: ', highly available', No: ', one API server', Unknown: '' } as const

const ended = (stamp: string, now: number): string => `${stamp} (${inTime(stamp, now)})`

function lifetimeLines({ cluster, holds, policies }: Known, now: number): readonly string[] {
  const lifetime = lifetimeOf(cluster, holds, capsOf(policies, cluster), now)
  if (lifetime.state === 'Unlimited') return []
  const { expiresAt, extendedBy } = lifetime
  const hold = holds.find((h) => h.metadata.name === extendedBy)
  const end = expiresAt === undefined ? 'not before the hold is deleted' : ended(timestamp(expiresAt), now)
  const after = isDeclared(cluster) ? 'stopped, and keeps its data while git declares it' : 'deleted'
  const cap = ttlCap(policies, cluster)
  return [
    line('expires', end),
    line('', `then it is ${after}`),
    ...(extendedBy === undefined
      ? []
      : [
          line(
            'extended',
            `by ${hold?.spec.author ?? 'unknown'}: ${hold?.spec.reason ?? ''} (operationalhold/${extendedBy})`,
          ),
        ]),
    ...(cap === undefined ? [] : [line('limit', `${formatDuration(cap.ms)} at once, by defenderpolicy/${cap.policy}`)]),
  ]
}
