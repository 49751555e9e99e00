// The etcd of one control plane: members with a volume each, found by name, reached only with certificates.
import { k8s } from 'cdk8s-plus-27'
import { extraArgs } from './arguments.ts'
import { commonLabels, selectorOf } from './labels.ts'
import { podTemplate, probe } from './pods.ts'
import { ETCD, folderOf, type ControlPlaneSettings } from './settings.ts'
import { defined } from '#lib/defined.ts'

export const DATA = '/var/lib/etcd'
/** A subfolder of the volume: its top may contain lost+found, and etcd wants nothing next to its data. */
export const DATA_FOLDER = `${DATA}/data`
/** Raises the alarm before the volume is full. */
const QUOTA_OF_STORAGE = 0.75
const GRACE_SECONDS = 60

/** Read whenever a member starts: writing it restarts no pod, and needs no change of the workload. */
const FOUNDING = 'etcd-founding'
const [STATE, MEMBERS] = ['initial-cluster-state', 'initial-cluster'] as const
const [CLUSTER_STATE, CLUSTER_MEMBERS] = ['CLUSTER_STATE', 'CLUSTER_MEMBERS'] as const
/**
 * Belongs to no etcd, and nothing listens there. A member without data compares the list with the other members, and exits if they differ; one with data does
 * not read it.
 */
const NO_MEMBER = 'empty-volumes-do-not-start=https://127.0.0.1:1'

const ETCD_SERVICE = 'etcd'
export const memberName = (n: number): string => `etcd-${n}`
/** Peers find each other before they are ready, so by the name that the headless Service gives each pod. */
const memberHost = (n: number, { namespace }: Pick<ControlPlaneSettings, 'namespace'>): string =>
  `${memberName(n)}.${ETCD_SERVICE}.${namespace}.svc`

export interface EtcdPlace {
  readonly namespace: string
  readonly etcd: { readonly members: number }
}

const members = ({ etcd }: EtcdPlace): readonly number[] => Array.from({ length: etcd.members }, (_, n) => n)

export const memberHosts = (place: EtcdPlace): readonly string[] => members(place).map((n) => memberHost(n, place))

export const clientUrl = (n: number, settings: ControlPlaneSettings): string =>
  `https://${memberHost(n, settings)}:${ETCD.client}`

export const clientUrls = (settings: ControlPlaneSettings): readonly string[] =>
  members(settings).map((n) => clientUrl(n, settings))

export const peerUrl = (n: number, settings: ControlPlaneSettings): string =>
  `https://${memberHost(n, settings)}:${ETCD.peer}`

export const initialCluster = (settings: ControlPlaneSettings): string =>
  members(settings)
    .map((n) => `${memberName(n)}=${peerUrl(n, settings)}`)
    .join(',')

export const dataClaim = (n: number): string => `data-${memberName(n)}`

const dataClaimSpec = ({ etcd }: ControlPlaneSettings): k8s.PersistentVolumeClaimSpec => claimSpec(etcd, etcd.storage)

export const claimSpec = (
  { storageClass }: Pick<ControlPlaneSettings['etcd'], 'storageClass'>,
  storage: string,
): k8s.PersistentVolumeClaimSpec => ({
  accessModes: ['ReadWriteOnce'],
  ...defined({ storageClassName: storageClass }),
  resources: { requests: { storage: k8s.Quantity.fromString(storage) } },
})

export function etcdObjects(settings: ControlPlaneSettings): readonly object[] {
  const { namespace, etcd } = settings
  const labels = { ...commonLabels(settings), ...selectorOf(settings, 'etcd') }
  const metadata = { name: 'etcd', namespace, labels }
  const metrics = { port: ETCD.metrics, scheme: 'HTTP' } as const
  return [
    k8s.KubeService.manifest({
      metadata: { ...metadata, name: ETCD_SERVICE },
      spec: {
        clusterIp: 'None',
        publishNotReadyAddresses: true,
        selector: selectorOf(settings, 'etcd'),
        ports: [
          { name: 'client', port: ETCD.client },
          { name: 'peer', port: ETCD.peer },
        ],
      },
    }),
    foundingObject(settings),
    k8s.KubePodDisruptionBudget.manifest({
      metadata,
      spec: {
        maxUnavailable: k8s.IntOrString.fromNumber(1),
        // A broken member does not block its node's drain.
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: selectorOf(settings, 'etcd') },
      },
    }),
    k8s.KubeStatefulSet.manifest({
      metadata,
      spec: {
        serviceName: ETCD_SERVICE,
        replicas: settings.running === 'Nothing' ? 0 : etcd.members,
        // A quorum needs several at once to start; replacements go one by one anyway.
        podManagementPolicy: 'Parallel',
        selector: { matchLabels: selectorOf(settings, 'etcd') },
        persistentVolumeClaimRetentionPolicy: {
          whenDeleted: etcd.keepsVolumes ? 'Retain' : 'Delete',
          whenScaled: 'Retain',
        },
        template: podTemplate(settings, {
          part: 'etcd',
          command: command(settings),
          ports: ETCD,
          env: [
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: CLUSTER_STATE, valueFrom: { configMapKeyRef: { name: FOUNDING, key: STATE } } },
            { name: CLUSTER_MEMBERS, valueFrom: { configMapKeyRef: { name: FOUNDING, key: MEMBERS } } },
          ],
          mounts: [{ name: 'data', mountPath: DATA }],
          probes: {
            // A member without a leader does not serve, and a restart would not find one.
            ready: probe({ path: '/readyz', ...metrics }, { period: 5, failures: 3 }),
            live: probe({ path: '/livez', ...metrics }, { period: 10, failures: 8 }),
            start: probe({ path: '/readyz', ...metrics }, { period: 5, failures: 60 }),
          },
          graceSeconds: GRACE_SECONDS,
        }),
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: dataClaimSpec(settings),
          },
        ],
      },
    }),
  ]
}

/** What members with empty volumes may do. */
export const foundingObject = (settings: ControlPlaneSettings): object =>
  k8s.KubeConfigMap.manifest({
    metadata: {
      name: FOUNDING,
      namespace: settings.namespace,
      labels: { ...commonLabels(settings), ...selectorOf(settings, 'etcd') },
    },
    data: {
      // They would create a second store under the first one's name, and all data would seem lost.
      [STATE]: settings.etcd.isFounded ? 'existing' : 'new',
      // A member that restarts empty under its old id has forgotten what it acknowledged.
      [MEMBERS]: [initialCluster(settings), ...(settings.etcd.startsEmpty ? [] : [NO_MEMBER])].join(','),
    },
  })

function command(settings: ControlPlaneSettings): readonly string[] {
  const { etcd, namespace } = settings
  const [server, peer] = [folderOf('etcd-server'), folderOf('etcd-peer')]
  const host = `$(POD_NAME).${ETCD_SERVICE}.${namespace}.svc`
  return [
    'etcd',
    '--name=$(POD_NAME)',
    `--data-dir=${DATA_FOLDER}`,
    `--listen-client-urls=https://0.0.0.0:${ETCD.client}`,
    `--advertise-client-urls=https://${host}:${ETCD.client}`,
    `--listen-peer-urls=https://0.0.0.0:${ETCD.peer}`,
    `--initial-advertise-peer-urls=https://${host}:${ETCD.peer}`,
    `--listen-metrics-urls=http://0.0.0.0:${ETCD.metrics}`,
    `--initial-cluster=$(${CLUSTER_MEMBERS})`,
    `--initial-cluster-state=$(${CLUSTER_STATE})`,
    `--initial-cluster-token=${etcd.token}`,
    `--cert-file=${server}/tls.crt`,
    `--key-file=${server}/tls.key`,
    `--trusted-ca-file=${server}/ca.crt`,
    '--client-cert-auth=true',
    `--peer-cert-file=${peer}/tls.crt`,
    `--peer-key-file=${peer}/tls.key`,
    `--peer-trusted-ca-file=${peer}/ca.crt`,
    '--peer-client-cert-auth=true',
    '--tls-min-version=TLS1.2',
    `--${QUOTA_FLAG}=${quotaBytes(etcd.storage)}`,
    '--snapshot-count=10000',
    ...extraArgs(settings, 'etcd'),
  ]
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
}
/** etcd's recommended maximum, whatever the volume size. */
const MAX_QUOTA_BYTES = 8 * 2 ** 30

const QUOTA_FLAG = 'quota-backend-bytes'

/** The size at which members refuse writes. A Cluster can override it, like every argument. */
export function quotaOf(
  storage: string,
  { [`etcd.${QUOTA_FLAG}`]: given }: ControlPlaneSettings['extraArgs'] = {},
): number {
  const bytes = Number(given)
  // etcd ignores 0 and negative values.
  return given !== undefined && Number.isSafeInteger(bytes) && bytes > 0 ? bytes : quotaBytes(storage)
}

function quotaBytes(storage: string): number {
  const [, count = '0', unit = ''] = /^([0-9.]+)([a-zA-Z]*)$/.exec(storage) ?? []
  return Math.min(Math.floor(Number(count) * (UNITS[unit] ?? 1) * QUOTA_OF_STORAGE), MAX_QUOTA_BYTES)
}
