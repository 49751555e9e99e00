// Jobs that take and open a snapshot of a control plane's etcd, and that restore one. The image has no shell, so each step is a separate container.
import { k8s } from 'cdk8s-plus-27'
import { claimSpec, clientUrl, DATA, DATA_FOLDER, dataClaim, initialCluster, memberName, peerUrl } from './etcd.ts'
import { careLabels } from './labels.ts'
import { container, podOf } from './pods.ts'
import { folderOf, type ControlPlaneSettings } from './settings.ts'

const SNAPSHOTS = '/snapshots'
const SCRATCH = '/scratch'
const REHEARSED = `${SCRATCH}/data`
export const SNAPSHOT_CLAIM = 'snapshots'
/** The container whose log describes a snapshot's content. */
export const OPENED = 'open'

/** For a pod that cannot be placed, or a store that is too slow. */
const DEADLINE_SECONDS = 1_800
const RETRIES = 2

const fileOf = (slot: number): string => `${SNAPSHOTS}/slot-${slot}.db`

export const snapshotClaim = (settings: ControlPlaneSettings): object =>
  k8s.KubePersistentVolumeClaim.manifest({
    metadata: { name: SNAPSHOT_CLAIM, namespace: settings.namespace, labels: careLabels(settings) },
    spec: claimSpec(settings.etcd, settings.etcd.snapshotStorage),
  })

/** Created before its member's Job; the StatefulSet finds it afterwards. */
export const emptyDataClaim = (settings: ControlPlaneSettings, member: number): object =>
  k8s.KubePersistentVolumeClaim.manifest({
    metadata: { name: dataClaim(member), namespace: settings.namespace, labels: careLabels(settings) },
    spec: claimSpec(settings.etcd, settings.etcd.storage),
  })

export const clientFlags = (urls: readonly string[]): readonly string[] => {
  const folder = folderOf('apiserver-etcd')
  return [
    `--endpoints=${urls.join(',')}`,
    `--cacert=${folder}/ca.crt`,
    `--cert=${folder}/tls.crt`,
    `--key=${folder}/tls.key`,
  ]
}

/**
 * Asks one member: a snapshot comes from one, and an unavailable one must not fail it. Downloads it, restores it into an empty folder, then reads it: what
 * cannot be restored is not a snapshot.
 */
export const snapshotJob = (
  settings: ControlPlaneSettings,
  name: string,
  { slot, member }: { readonly slot: number; readonly member: number },
): object =>
  careJob(settings, name, {
    steps: [
      {
        name: 'save',
        command: ['etcdctl', ...clientFlags([clientUrl(member, settings)]), 'snapshot', 'save', fileOf(slot)],
      },
      { name: 'rehearse', command: ['etcdutl', 'snapshot', 'restore', fileOf(slot), `--data-dir=${REHEARSED}`] },
      // The restore checks the file's digest. A member would start from exactly what the restore wrote.
      { name: OPENED, command: ['etcdutl', 'snapshot', 'status', `${REHEARSED}/member/snap/db`, '--write-out=json'] },
    ],
    claims: { [SNAPSHOT_CLAIM]: SNAPSHOTS },
  })

export interface RestoreOf {
  readonly slot: number
  readonly member: number
  /** The number of restores including this one: new revisions start far above any that clients have read. Requires etcd 3.5.10. */
  readonly restores?: number
}

export const restoreJob = (settings: ControlPlaneSettings, name: string, { slot, member, restores }: RestoreOf) =>
  careJob(settings, name, {
    steps: [
      {
        name: 'restore',
        command: [
          'etcdutl',
          'snapshot',
          'restore',
          fileOf(slot),
          `--data-dir=${DATA_FOLDER}`,
          `--name=${memberName(member)}`,
          `--initial-cluster=${initialCluster(settings)}`,
          `--initial-cluster-token=${settings.etcd.token}`,
          `--initial-advertise-peer-urls=${peerUrl(member, settings)}`,
          ...(restores === undefined ? [] : [`--bump-revision=${restores * REVISIONS_AHEAD}`, '--mark-compacted']),
        ],
      },
    ],
    claims: { [SNAPSHOT_CLAIM]: SNAPSHOTS, [dataClaim(member)]: DATA },
  })

/** More writes than any cluster makes between two snapshots or restores. */
const REVISIONS_AHEAD = 1_000_000_000

interface Steps {
  readonly steps: readonly { readonly name: string; readonly command: readonly string[] }[]
  /** Volumes by claim, with their mount paths. */
  readonly claims?: Readonly<Record<string, string>>
}

export function careJob(settings: ControlPlaneSettings, name: string, { steps, claims = {} }: Steps): object {
  const labels = careLabels(settings)
  const mounts = [
    { name: 'apiserver-etcd', mountPath: folderOf('apiserver-etcd'), readOnly: true },
    { name: 'scratch', mountPath: SCRATCH },
    ...Object.entries(claims).map(([claim, mountPath]) => ({ name: claim, mountPath })),
  ]
  const containers = steps.map((step) => ({
    ...container(settings, 'etcd', {
      ...step,
      env: [{ name: 'ETCDCTL_API', value: '3' }],
      mounts,
    }),
    // The pod reports why it failed: nothing else knows that a volume is full.
    terminationMessagePolicy: 'FallbackToLogsOnError',
  }))
  return k8s.KubeJob.manifest({
    metadata: { name, namespace: settings.namespace, labels },
    spec: {
      backoffLimit: RETRIES,
      activeDeadlineSeconds: DEADLINE_SECONDS,
      template: {
        metadata: { labels },
        spec: {
          ...podOf(settings),
          restartPolicy: 'Never',
          initContainers: containers.slice(0, -1),
          containers: containers.slice(-1),
          volumes: [
            { name: 'apiserver-etcd', secret: { secretName: 'apiserver-etcd', defaultMode: 0o440 } },
            { name: 'scratch', emptyDir: {} },
            ...Object.keys(claims).map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: claim } })),
          ],
        },
      },
    },
  })
}
