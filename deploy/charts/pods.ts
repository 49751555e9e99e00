// What all our pods have in common: no power over their node, nothing writable but what a volume gives, one short-lived token, spread over the cluster.
import { createHash } from 'node:crypto'
import { Duration, Size } from 'cdk8s'
import {
  EmptyDirMedium,
  Node,
  NodeTaintQuery,
  Probe,
  Secret,
  TaintEffect,
  Volume,
  type Deployment,
} from 'cdk8s-plus-27'
import type { Construct } from 'constructs'
import { API_GROUP } from '#api/kind.ts'
import { amend, type Path } from './amend.ts'
import { PORTS } from './programs.ts'
import type { InstallSettings, Workload } from './settings.ts'

/** User and group of the image. */
const NONROOT = 65_532
const SECCOMP = { type: 'RuntimeDefault' } as const
export const containerSecurity = {
  user: NONROOT,
  group: NONROOT,
  ensureNonRoot: true,
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
} as const
export const podSecurity = { user: NONROOT, group: NONROOT, fsGroup: NONROOT, ensureNonRoot: true } as const

/** Part of the memory that a program may have: what is written there counts as its own. */
const TMP_MIB = 16
export const temporary = (deployment: Deployment): Volume =>
  Volume.fromEmptyDir(deployment, 'tmp', 'tmp', { medium: EmptyDirMedium.MEMORY, sizeLimit: Size.mebibytes(TMP_MIB) })

const TOKEN_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'
/** Read again by the program when the kubelet renews it. */
const TOKEN_SECONDS = 3_600
const TOKEN_VOLUME = {
  name: 'token',
  projected: {
    defaultMode: 0o440,
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: TOKEN_SECONDS } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardApi: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
  },
} as const

const GUARDS: ReadonlySet<Workload> = new Set(['defender', 'controllers'])
export const priorityOf = (workload: Workload, { priority }: InstallSettings): string | undefined =>
  GUARDS.has(workload) ? priority.guards : priority.others

const EFFECTS = {
  NoSchedule: TaintEffect.NO_SCHEDULE,
  PreferNoSchedule: TaintEffect.PREFER_NO_SCHEDULE,
  NoExecute: TaintEffect.NO_EXECUTE,
} as const

/** As addons are. Our own cordon is not tolerated: a node that is drained is left. */
const ADDONS = 'CriticalAddonsOnly'

export function tolerate(deployment: Deployment, { tolerations }: InstallSettings): void {
  for (const { key, value, effect } of [{ key: ADDONS, value: undefined, effect: undefined }, ...tolerations]) {
    const options = effect === undefined ? {} : { effect: EFFECTS[effect] }
    deployment.scheduling.tolerate(
      Node.tainted(value === undefined ? NodeTaintQuery.exists(key, options) : NodeTaintQuery.is(key, value, options)),
    )
  }
}

// Pods of the version that is being replaced do not count.
const OF_ONE_VERSION = { matchLabelKeys: ['pod-template-hash'] } as const

/** Over nodes. Preferred, never demanded: two pods on one node are better than one that waits. */
const spread = (matchLabels: Readonly<Record<string, string>>) => [
  {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels },
    ...OF_ONE_VERSION,
  },
]

/** Over zones, where there are any: as a second constraint above, nodes without a zone would not be spread over at all. */
const inOtherZones = (matchLabels: Readonly<Record<string, string>>) => ({
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      {
        weight: 100,
        podAffinityTerm: {
          topologyKey: 'topology.kubernetes.io/zone',
          labelSelector: { matchLabels },
          ...OF_ONE_VERSION,
        },
      },
    ],
  },
})

const onTheNodeOf = (matchLabels: Readonly<Record<string, string>>) => ({
  podAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels } },
    ],
  },
})

const SPEC: Path = ['spec', 'template', 'spec']
const CONTAINER: Path = [...SPEC, 'containers', 0]

interface OwnPods {
  readonly selector: Readonly<Record<string, string>>
  readonly priority: string | undefined
  /** Whether they speak to the API server. */
  readonly hasToken: boolean
  /** Of their files. */
  readonly digest?: string | undefined
  /** Selects a pod whose volume it shares: a claim that one node has at a time. */
  readonly beside?: Readonly<Record<string, string>>
}

/** What cdk8s-plus can't say of our pods. */
export function amendPods(
  deployment: Deployment,
  { selector, priority, hasToken, digest, beside }: OwnPods,
  { imagePullSecrets, nodeSelector }: InstallSettings,
): void {
  amend(deployment, [
    // Zero values, which a server drops and kubectl would send again each time.
    [['spec', 'minReadySeconds'], undefined],
    [[...SPEC, 'hostNetwork'], undefined],
    // Its value depends on the path of the construct; ours select by name.
    [['spec', 'template', 'metadata', 'labels', 'cdk8s.io/metadata.addr'], undefined],
    ...(digest === undefined
      ? []
      : ([[['spec', 'template', 'metadata', 'annotations'], { [`${API_GROUP}/config-digest`]: digest }]] as const)),
    [[...SPEC, 'securityContext', 'seccompProfile'], SECCOMP],
    [[...CONTAINER, 'securityContext', 'capabilities'], { drop: ['ALL'] }],
    ...(hasToken
      ? ([
          [[...SPEC, 'volumes', '-'], TOKEN_VOLUME],
          [[...CONTAINER, 'volumeMounts', '-'], { name: TOKEN_VOLUME.name, mountPath: TOKEN_FOLDER, readOnly: true }],
        ] as const)
      : []),
    [[...SPEC, 'topologySpreadConstraints'], spread(selector)],
    [[...SPEC, 'affinity'], { ...inOtherZones(selector), ...(beside !== undefined && onTheNodeOf(beside)) }],
    [[...SPEC, 'enableServiceLinks'], false],
    ...(priority === undefined ? [] : ([[[...SPEC, 'priorityClassName'], priority]] as const)),
    ...(imagePullSecrets.length === 0
      ? []
      : ([[[...SPEC, 'imagePullSecrets'], imagePullSecrets.map((name) => ({ name }))]] as const)),
    ...(Object.keys(nodeSelector).length === 0 ? [] : ([[[...SPEC, 'nodeSelector'], nodeSelector]] as const)),
  ])
}

/** SIGTERM releases the lease and ends what runs; a program needs a second or two. */
export const GRACE = Duration.seconds(30)
/** A rollout that makes no progress for so long has failed, and `kubenode install` says so. */
export const PROGRESS = Duration.minutes(10)

/** The heap is asked for as far as it is used at first. */
export const memoryOf = ({ heapMiB, otherMiB }: { readonly heapMiB: number; readonly otherMiB: number }) => ({
  request: Size.mebibytes(Math.ceil(heapMiB / 4) + otherMiB),
  limit: Size.mebibytes(heapMiB + otherMiB),
})

export const probe = (
  path: string,
  { period, failures }: { readonly period: number; readonly failures: number },
  port: number = PORTS.health,
): Probe =>
  Probe.fromHttpGet(path, {
    port,
    periodSeconds: Duration.seconds(period),
    timeoutSeconds: Duration.seconds(3),
    failureThreshold: failures,
  })

/** The pods of a Deployment are replaced when a file changes. */
export const digestOf = (files: ReadonlyMap<string, string>): string =>
  createHash('sha256')
    .update(JSON.stringify([...files]))
    .digest('hex')

const CONFIG_MODE = 0o444
/** All of a Secret, or the named files of it. */
export const secretVolume = (scope: Construct, id: string, secret: string, only?: readonly string[]): Volume =>
  Volume.fromSecret(scope, `${id}-volume`, Secret.fromSecretName(scope, `${id}-secret`, secret), {
    name: id,
    defaultMode: CONFIG_MODE,
    ...(only !== undefined && { items: Object.fromEntries(only.map((file) => [file, { path: file }])) }),
  })
