// The settings of an installation: what people may choose, with the careful choice as the default. Everything that installObjects reads is in here.
import {
  bool,
  choice,
  fallback,
  freeform,
  int,
  list,
  map,
  obj,
  optional,
  refine,
  setOf,
  str,
  type In,
  type Out,
} from '#api/build.ts'
import type { Finding } from '#api/extras.ts'
import { dnsLabel, duration, objectName, url } from '#api/fields.ts'
import { signInFields } from '#console/server/sign-in/sign-in-settings.ts'
import { AGENT_IDENTITIES } from '#identity/token-life.ts'
import { createFieldReader, type FieldValue } from '#api/field-problems.ts'
import { controlPlaneProblems, controlPlanes } from './control-plane-settings.ts'
import { clusterPrograms } from './hosted-settings.ts'
import { providerKeys, providerPods, providerProblems } from './provider-settings.ts'
import { cidr, egress, MAX_LIST, MAX_PEM, resources } from './setting-fields.ts'

export const WORKLOADS = [
  'sync',
  'controllers',
  'approver',
  'defender',
  'cluster',
  'artifacts',
  'history',
  'console',
] as const
export type Workload = (typeof WORKLOADS)[number]

export const ROLES_OF_CLUSTER = ['hub', 'business'] as const
export type ClusterRole = (typeof ROLES_OF_CLUSTER)[number]

/** What runs where: a hub that is a member of its own fleet runs all of them. */
export const WORKLOADS_OF: Readonly<Record<ClusterRole, readonly Workload[]>> = {
  hub: ['sync', 'defender', 'cluster', 'history'],
  business: ['controllers', 'approver', 'defender', 'artifacts'],
}

/** By digest only: a tag can mean another image tomorrow, and on each node another one. */
const IMAGE = '^[a-z0-9]([a-z0-9._/:-]*[a-z0-9])?@sha256:[0-9a-f]{64}$'

const TOLERATION_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const

const settingsFields = obj('Settings of an installation of KubeNode.', {
  cluster: dnsLabel(
    'Name of the cluster in the fleet: the one of its Cluster object, and the label of all its series.',
  ),
  roles: fallback(
    setOf(
      'What the cluster is: the hub of a fleet, a cluster with nodes, or both.',
      choice('A role.', ROLES_OF_CLUSTER),
      {
        min: 1,
        max: 2,
      },
    ),
    ['hub', 'business'],
  ),
  version: str('Version of KubeNode, as the image has it.', {
    min: 1,
    max: 63,
    pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$',
    expects: 'letters, digits and ". _ -", starting and ending with a letter or digit',
  }),
  image: str('Image of all programs, by digest.', {
    min: 1,
    max: 512,
    pattern: IMAGE,
    expects: 'a reference with a digest, such as registry.example.org/kubenode@sha256:…',
  }),
  registry: optional(
    str('Registry and path that replace those of the image, for a mirror.', {
      min: 1,
      max: 253,
      pattern: '^[a-z0-9]([a-z0-9._/:-]*[a-z0-9])?$',
      expects: 'a registry such as mirror.example.org/third-party, without a slash at its end',
    }),
  ),
  imagePullSecrets: fallback(
    setOf('Secrets in kubenode-system with which the image is pulled.', objectName('A Secret.'), { max: 8 }),
    [],
  ),
  replicas: fallback(
    int('Pods of each program; one leads, the others wait and serve admission.', { min: 1, max: 5 }),
    2,
  ),
  apiServer: optional(
    obj('How hosts reach the API server; needed where there are nodes.', {
      url: refine(url('Address, such as https://api.cluster.example.org:6443.'), {}, { checks: [onlyHttps()] }),
      ca: optional(
        str('PEM of its certificate authority; that of the cluster when left out.', {
          min: 1,
          max: MAX_PEM,
          pattern: '^-----BEGIN CERTIFICATE-----\\n',
          expects: 'one or more certificates in PEM',
        }),
      ),
    }),
  ),
  artifacts: optional(
    obj('Where hosts get artifacts, the trust document, and the agent from; needed where there are nodes.', {
      source: obj('Where the artifacts are; exactly one.', {
        claim: optional(objectName('PersistentVolumeClaim in kubenode-system, mounted read-only.')),
        oci: optional(
          str('Repository of an OCI registry, by digest.', {
            min: 1,
            max: 512,
            pattern: IMAGE,
            expects: 'a reference with a digest, such as registry.example.org/artifacts@sha256:…',
          }),
        ),
      }),
      exposure: fallback(
        choice('How hosts outside of the pod network reach the Service.', ['NodePort', 'LoadBalancer']),
        'NodePort',
      ),
      port: optional(int('Node port, or port of the load balancer.', { min: 1, max: 65_535 })),
      address: str('Host and port under which hosts reach it, such as artifacts.example.org:30844.', {
        min: 1,
        max: 261,
        pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?|\\[[0-9a-fA-F:]+\\])(:[0-9]{1,5})?$',
        expects: 'a host name or address, with a port when it is not 443',
      }),
      joinScript: optional(
        str('SHA-256 of join.sh, as kubenode agent bundle prints it: the script with which hosts join.', {
          min: 64,
          max: 64,
          pattern: '^[0-9a-f]{64}$',
          expects: '64 hexadecimal digits',
        }),
      ),
      from: fallback(
        setOf('Addresses of hosts; everybody when empty.', cidr('A range of addresses.'), { max: MAX_LIST }),
        [],
      ),
    }),
  ),
  controlPlanes,
  clusterPrograms,
  providers: optional(
    freeform('The providers file of role controllers (docs/reference/providers.md); only static when left out.', {
      maxBytes: 262_144,
    }),
  ),
  providerSecrets: fallback(
    setOf(
      'Secrets in kubenode-system that are mounted for the providers, each at /etc/kubenode/secrets/NAME.',
      objectName('A Secret.'),
      { max: 8 },
    ),
    [],
  ),
  providerPods,
  providerKeys,
  trust: optional(freeform('The signed trust document that hosts start from.', { maxBytes: 262_144 })),
  agents: fallback(
    obj('Identities of agents.', {
      identity: fallback(
        choice(
          'What agents become that join from now on; serviceAccount where the cluster signs no certificates for them, such as EKS. Agents that have joined keep what they have.',
          AGENT_IDENTITIES,
        ),
        'certificate',
      ),
    }),
    {},
  ),
  certificateLife: optional(duration('How long certificates of agents are valid.')),
  prometheus: optional(url('Prometheus for inspections of rollouts.')),
  inspectionAllow: fallback(
    list('Origins that inspections may query although they resolve to link-local addresses.', url('An origin.'), {
      max: MAX_LIST,
    }),
    [],
  ),
  callAllow: fallback(
    list('Prefixes of URLs that webhooks of repairs may call.', url('A prefix.'), { max: MAX_LIST }),
    [],
  ),
  cacheClaim: optional(
    objectName('PersistentVolumeClaim (ReadWriteMany) for copies of repositories; an emptyDir when left out.'),
  ),
  cacheMiB: fallback(int('Bound of the emptyDir with copies of repositories.', { min: 64, max: 1_048_576 }), 4_096),
  acceptancePods: fallback(
    choice('Pod Security level of namespace kubenode-acceptance, for pods that accept nodes.', [
      'baseline',
      'privileged',
    ]),
    'baseline',
  ),
  priority: fallback(
    obj('Priority classes of the pods.', {
      guards: fallback(objectName('Of defender and controllers, which repair nodes.'), 'system-cluster-critical'),
      others: optional(objectName('Of the other programs; the default of the cluster when left out.')),
    }),
    {},
  ),
  resources: fallback(
    obj('What each program needs; docs/operations/install/settings.md has a table of sizes.', {
      sync: resources('Of sync.', 200, 1_024),
      // Fifty joins and twenty-five visits over SSH at once, each with a process of ssh.
      controllers: resources('Of controllers.', 200, 1_024, 192),
      approver: resources('Of approver.', 20, 192),
      defender: resources('Of defender.', 100, 512),
      cluster: resources('Of cluster.', 50, 256),
      controlPlanes: resources('Of the process beside cluster that runs control planes.', 200, 1_536),
      artifacts: resources('Of artifacts.', 50, 128),
      history: resources('Of history.', 50, 128),
      console: resources('Of console.', 50, 256),
    }),
    {},
  ),
  nodeSelector: fallback(
    map('Labels of the nodes on which the pods may run.', str('A value.', { max: 63 }), { max: 16 }),
    {},
  ),
  tolerations: fallback(
    list(
      'Taints that the pods tolerate beside CriticalAddonsOnly.',
      obj('A toleration.', {
        key: str('Key of the taint.', { min: 1, max: 317 }),
        value: optional(str('Its value; any when left out.', { max: 63 })),
        effect: optional(choice('Its effect; all when left out.', TOLERATION_EFFECTS)),
      }),
      { max: 16 },
    ),
    [],
  ),
  metrics: fallback(
    obj('How metrics are served.', {
      insecure: fallback(
        bool('Plain HTTP for everybody who reaches the pods; HTTPS for those with the right otherwise.'),
        false,
      ),
    }),
    {},
  ),
  networkPolicies: fallback(
    obj('NetworkPolicies; without them every pod of the cluster reaches ours.', {
      enabled: fallback(bool('Whether there are any.'), true),
      apiServers: fallback(
        egress(
          'Where the API server is reached, its endpoints behind the Service kubernetes; every address on 443 and 6443 when empty.',
        ),
        [],
      ),
      git: fallback(
        egress('Where sync reaches git and the API servers of members; every address on 22, 443 and 6443 when empty.'),
        [],
      ),
      more: fallback(
        egress('What controllers reach beside it: Prometheus, webhooks of repairs, interfaces of providers.'),
        [],
      ),
    }),
    {},
  ),
  webhook: fallback(
    obj('Admission webhooks of the Defender.', {
      enabled: fallback(bool('Whether they are served. Without them the deletion guard does not work.'), true),
    }),
    {},
  ),
  gitWebhooks: fallback(
    obj('Webhooks of git servers, which make sync read a repository at once: Service kubenode-hooks for an ingress.', {
      enabled: fallback(bool('Whether they are received.'), false),
      from: fallback(
        setOf('Addresses of the ingress; everybody when empty.', cidr('A range of addresses.'), { max: MAX_LIST }),
        [],
      ),
    }),
    {},
  ),
  history: optional(
    obj('What happens in the clusters of the fleet is recorded on the hub; not recorded when left out.', {
      claim: objectName('PersistentVolumeClaim (ReadWriteOnce) in kubenode-system for it.'),
      days: fallback(int('Days that are kept in full.', { min: 1, max: 3_650 }), 400),
      maxGiB: fallback(int('Size of the history of one cluster.', { min: 1, max: 1_024 }), 4),
      console: fallback(
        bool(
          'Whether the console shows the past from it; its pod then runs on the node of the recorder, which has the volume.',
        ),
        false,
      ),
      clusters: optional(
        obj('Further clusters that are recorded; only the hub itself when left out.', {
          secret: objectName(
            'Secret in kubenode-system whose key kubeconfig has a context for each of them. Their users need no more than role kubenode:history there.',
          ),
          names: setOf('The contexts: names of Clusters.', dnsLabel('A context.'), { min: 1, max: MAX_LIST }),
        }),
      ),
    }),
  ),
  console: optional(
    obj('The page for people, with Service kubenode-console; not served when left out.', {
      ...signInFields,
      tlsSecret: objectName('Secret of type kubernetes.io/tls in kubenode-system: the certificate of the page.'),
      clientSecret: optional(
        objectName('Secret in kubenode-system whose key client-secret is that of the client at the issuer.'),
      ),
      clusters: optional(
        objectName('Secret in kubenode-system whose key kubeconfig has a context for each further cluster.'),
      ),
      from: fallback(
        setOf('Addresses of browsers, the ingress or the proxy; everybody when empty.', cidr('A range of addresses.'), {
          max: MAX_LIST,
        }),
        [],
      ),
    }),
  ),
  logLevel: fallback(choice('Lowest level that is logged.', ['debug', 'info', 'warn', 'error']), 'info'),
})

function onlyHttps() {
  const message = 'must start with https://'
  return {
    name: 'https',
    findings: (value: unknown) =>
      typeof value === 'string' && !value.startsWith('https://') ? [{ pointer: '', message }] : [],
  }
}

type Whole = Out<typeof settingsFields>

const RESERVED_TAINT_PREFIX = 'kubenode.io/'

/** Rules between fields. */
function findingsOf(value: unknown): readonly Finding[] {
  const s = value as Whole
  const found: Finding[] = []
  const add = (pointer: string, message: string): void => void found.push({ pointer, message })
  if (s.roles.includes('business')) {
    if (s.apiServer === undefined) add('/apiServer', 'is required where there are nodes (roles: business)')
    if (s.artifacts === undefined) add('/artifacts', 'is required where there are nodes (roles: business)')
  }
  const { source, exposure, port: at } = s.artifacts ?? {}
  if (source !== undefined && (source.claim === undefined) === (source.oci === undefined))
    add('/artifacts/source', 'exactly one of claim, oci must be set')
  if (exposure === 'NodePort' && at !== undefined && (at < 30_000 || at > 32_767))
    add('/artifacts/port', 'a node port is between 30000 and 32767')
  for (const { pointer, message } of [...providerProblems(s), ...controlPlaneProblems(s.controlPlanes)])
    add(pointer, message)
  s.tolerations.forEach((t, i) => {
    if (t.key.startsWith(RESERVED_TAINT_PREFIX))
      add(`/tolerations/${i}/key`, 'taints of KubeNode are not tolerated: its pods must leave the nodes that it drains')
  })
  return found
}

export const settingsSchema = refine(settingsFields, {}, { checks: [{ name: 'settings', findings: findingsOf }] })

export type InstallSettings = Out<typeof settingsSchema>
/** As people write them: what has a default may be left out. */
export type InstallValues = In<typeof settingsSchema>

/** Problems name the field by a JSON pointer; the caller says which file. */
export const readSettings = (value: unknown): FieldValue<InstallSettings> => createFieldReader()(settingsSchema, value)

/** The image that pods name: with the prefix of a mirror, when there is one. */
export function imageOf({ image, registry }: Pick<InstallSettings, 'image' | 'registry'>): string {
  return registry === undefined ? image : `${registry}/${image.slice(image.lastIndexOf('/') + 1)}`
}

/** What runs in the cluster, in the order of an upgrade: who guards is replaced first. */
const ORDER: readonly Workload[] = [
  'defender',
  'artifacts',
  'approver',
  'controllers',
  'cluster',
  'sync',
  'history',
  'console',
]

export const workloadsOf = ({
  roles,
  artifacts,
  controlPlanes,
  history,
  console: page,
}: Pick<InstallSettings, 'roles' | 'artifacts' | 'controlPlanes' | 'history' | 'console'>): readonly Workload[] =>
  ORDER.filter((w) => {
    if (w === 'console') return page !== undefined
    // Only a Cluster of the hub has nodes without them.
    if (w === 'artifacts' && artifacts === undefined) return false
    if (w === 'history' && history === undefined) return false
    return roles.some((r) => WORKLOADS_OF[r].includes(w)) && (w !== 'cluster' || controlPlanes !== undefined)
  })
