// Common to all control plane pods: no host access, no hub token, nothing writable except their volumes, spread across nodes and zones.
import { k8s } from 'cdk8s-plus-27'
import { commonLabels, CREDENTIALS_ANNOTATION, selectorOf } from './labels.ts'
import { folderOf, READ_BY, type ControlPlaneSettings, type Part } from './settings.ts'
import { defined } from '#lib/defined.ts'

/** User and group of every part; owns the volumes. */
const NONROOT = 65_532
const READ_BY_GROUP = 0o440

/** Requests if the Cluster sets none. */
export const DEFAULTS: Readonly<Record<Part, { readonly cpu: string; readonly memory: string }>> = {
  etcd: { cpu: '100m', memory: '256Mi' },
  apiserver: { cpu: '200m', memory: '512Mi' },
  'controller-manager': { cpu: '50m', memory: '96Mi' },
  scheduler: { cpu: '50m', memory: '64Mi' },
}

export interface Program {
  readonly part: Part
  readonly command: readonly string[]
  readonly ports: Readonly<Record<string, number>>
  /** ConfigMaps, each mounted as a folder. */
  readonly configMaps?: Readonly<Record<string, string>>
  readonly env?: readonly k8s.EnvVar[]
  readonly mounts?: readonly k8s.VolumeMount[]
  readonly volumes?: readonly k8s.Volume[]
  readonly probes: { readonly ready: k8s.Probe; readonly live: k8s.Probe; readonly start: k8s.Probe }
  readonly graceSeconds: number
}

export interface ProbeAt {
  readonly path: string
  readonly port: number
  readonly scheme: 'HTTP' | 'HTTPS'
}

export const probe = (
  { path, port, scheme }: ProbeAt,
  { period, failures }: { readonly period: number; readonly failures: number },
): k8s.Probe => ({
  httpGet: { path, port: k8s.IntOrString.fromNumber(port), scheme },
  periodSeconds: period,
  timeoutSeconds: 5,
  failureThreshold: failures,
})

/** No host access, no hub token. */
export const podOf = (
  settings: ControlPlaneSettings,
): Pick<
  k8s.PodSpec,
  'automountServiceAccountToken' | 'enableServiceLinks' | 'securityContext' | 'imagePullSecrets'
> => ({
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: NONROOT,
    runAsGroup: NONROOT,
    fsGroup: NONROOT,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  ...(settings.imagePullSecrets.length > 0 && {
    imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })),
  }),
})

interface ContainerOf {
  readonly name: string
  readonly command: readonly string[]
  readonly env?: readonly k8s.EnvVar[]
  readonly mounts: readonly k8s.VolumeMount[]
}

/** With a part's image and requests. */
export function container(
  settings: ControlPlaneSettings,
  part: Part,
  { name, command, env, mounts }: ContainerOf,
): k8s.Container {
  const { cpu, memory } = { ...DEFAULTS[part], ...settings.resources }
  return {
    name,
    image: settings.parts[part].image,
    imagePullPolicy: 'IfNotPresent',
    command: [...command],
    ...(env !== undefined && { env: [...env] }),
    resources: { requests: { cpu: k8s.Quantity.fromString(cpu), memory: k8s.Quantity.fromString(memory) } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [...mounts],
  }
}

export function podTemplate(settings: ControlPlaneSettings, program: Program): k8s.PodTemplateSpec {
  const { part } = program
  return {
    metadata: {
      labels: { ...commonLabels(settings), ...selectorOf(settings, part) },
      // Pods are replaced when what they read changes.
      annotations: { [CREDENTIALS_ANNOTATION]: settings.credentials[part] },
    },
    spec: {
      ...podOf(settings),
      terminationGracePeriodSeconds: program.graceSeconds,
      topologySpreadConstraints: spread(settings, part),
      containers: [
        {
          ...container(settings, part, {
            name: part,
            command: program.command,
            ...defined({ env: program.env }),
            mounts: [
              ...READ_BY[part].map((secret) => ({ name: secret, mountPath: folderOf(secret), readOnly: true })),
              ...Object.entries(program.configMaps ?? {}).map(([name, mountPath]) => ({
                name,
                mountPath,
                readOnly: true,
              })),
              ...(program.mounts ?? []),
            ],
          }),
          ports: Object.entries(program.ports).map(([name, containerPort]) => ({ name, containerPort })),
          startupProbe: program.probes.start,
          livenessProbe: program.probes.live,
          readinessProbe: program.probes.ready,
        },
      ],
      volumes: [
        ...READ_BY[part].map((secret) => ({
          name: secret,
          secret: { secretName: secret, defaultMode: READ_BY_GROUP },
        })),
        ...Object.keys(program.configMaps ?? {}).map((name) => ({
          name,
          configMap: { name, defaultMode: READ_BY_GROUP },
        })),
        ...(program.volumes ?? []),
      ],
    },
  }
}

/**
 * Members of a quorum never share a node, so that losing one does not lose two. Other pods only prefer it. Without the number of nodes a scheduler puts all members on
 * a single node if the hub has no other.
 */
function spread(settings: ControlPlaneSettings, part: Part): k8s.TopologySpreadConstraint[] {
  const matchLabels = selectorOf(settings, part)
  const over = (topologyKey: string, whenUnsatisfiable: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable,
    labelSelector: { matchLabels },
  })
  const { members, hasOwnNodes } = settings.etcd
  const isQuorum = part === 'etcd' && members > 1
  return [
    {
      ...over('kubernetes.io/hostname', isQuorum ? 'DoNotSchedule' : 'ScheduleAnyway'),
      ...(isQuorum && hasOwnNodes && { minDomains: members }),
    },
    over('topology.kubernetes.io/zone', 'ScheduleAnyway'),
  ]
}
