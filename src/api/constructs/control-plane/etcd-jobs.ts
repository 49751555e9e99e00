// Jobs that take a snapshot of the etcd of a control plane and open it, and that put one back. The image has no shell: each step is a container of its own.
import { k8s } from 'cdk8s-plus-27'
import { claimSpec, clientUrl, DATA, DATA_FOLDER, dataClaim, initialCluster, memberName, peerUrl } from './etcd.ts'
import { careLabels } from './labels.ts'
import { container, podOf } from './pods.ts'
import { folderOf, type ControlPlaneSettings } from './settings.ts'

const SNAPSHOTS = '/snapshots'
const SCRATCH = '/scratch'
const REHEARSED = `${SCRATCH}/data`
export const SNAPSHOT_CLAIM = 'snapshots'
/** The container whose log has what was found in a snapshot. */
export const OPENED = 'open'

/** A pod that cannot be placed, or a store that is too slow. */
const DEADLINE_SECONDS = 1_800
const RETRIES = 2

const fileOf = (slot: number): string => `${SNAPSHOTS}/slot-${slot}.db`

export const snapshotClaim = (settings: ControlPlaneSettings): object =>
  k8s.KubePersistentVolumeClaim.manifest({
    metadata: { name: SNAPSHOT_CLAIM, namespace: settings.namespace, labels: careLabels(settings) },
    spec: claimSpec(settings.etcd, settings.etcd.snapshotStorage),
  })

/** Made before the Job of its member, and found by the StatefulSet afterwards. */
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

/** One member is asked: a snapshot is of one, and one that is away must not fail it. Taken over the network, put back into an empty folder as a restore would, then read: what cannot be restored is no snapshot. */
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
      // The restore checks the digest of the file; only what it wrote is what a member would start from.
      { name: OPENED, command: ['etcdutl', 'snapshot', 'status', `${REHEARSED}/member/snap/db`, '--write-out=json'] },
    ],
    claims: { [SNAPSHOT_CLAIM]: SNAPSHOTS },
  })

export interface RestoreOf {
  readonly slot: number
  readonly member: number
  /** How many were made, this one too: new revisions start far above those that clients have read. etcd can do so from 3.5.10. */
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

/** More writes than any cluster makes between two snapshots, or two restores. */
const REVISIONS_AHEAD = 1_000_000_000

interface Steps {
  readonly steps: readonly { readonly name: string; readonly command: readonly string[] }[]
  /** Volumes by their claim, and where they are mounted. */
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
