// What can be in the way of an installation: each has its number, nothing is written before it is corrected, and where the cluster refuses something in the
// middle, the next run finishes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { definitionType, deploymentType } from '#install/observe.ts'
import type { Finding } from '#install/checks/finding.ts'
import type { InstallOptions } from '#install/install.ts'
import { labelled, type Release } from '#install/release.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import { changedClient } from '#test/doubles/kube/changed-client.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import {
  connectionTo,
  everything,
  imageOf,
  installServers,
  type InstallWorld,
  releaseOf,
  startInstallWorld,
} from '#test/support/worlds/install-world.ts'

const cluster = (group: string, version: string, kind: string, plural: string): ResourceType => ({
  group,
  version,
  kind,
  plural,
  namespaced: false,
})
const namespaced = (...of: Parameters<typeof cluster>): ResourceType => ({ ...cluster(...of), namespaced: true })

const RBAC = 'rbac.authorization.k8s.io'
const ADMISSION = 'admissionregistration.k8s.io'
const TYPES: Readonly<Record<string, ResourceType>> = {
  Namespace: coreKind('Namespace'),
  Deployment: deploymentType,
  DaemonSet: coreKind('DaemonSet'),
  CustomResourceDefinition: definitionType,
  ClusterRole: cluster(RBAC, 'v1', 'ClusterRole', 'clusterroles'),
  ClusterRoleBinding: cluster(RBAC, 'v1', 'ClusterRoleBinding', 'clusterrolebindings'),
  ValidatingAdmissionPolicy: cluster(ADMISSION, 'v1', 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies'),
  ValidatingAdmissionPolicyBinding: cluster(
    ADMISSION,
    'v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
  ),
  PersistentVolumeClaim: namespaced('', 'v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  MachineHealthCheck: namespaced('cluster.x-k8s.io', 'v1beta1', 'MachineHealthCheck', 'machinehealthchecks'),
}
const typeOf = ({ kind }: KubeObject): ResourceType => TYPES[kind] ?? coreKind('ConfigMap')

const workload = (kind: 'Deployment' | 'DaemonSet', namespace: string, name: string, container: object): KubeObject => {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name, ...container }] } },
    },
  }
}

const definition = (group: string, version: string, kind: string, plural: string, scope = 'Cluster'): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${plural}.${group}`,
    // Kubernetes keeps groups below k8s.io for itself.
    ...(group.endsWith('k8s.io') && { annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } }),
  },
  spec: {
    group,
    scope,
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
})

/** A platform that wants a label `owner` on objects of a resource. */
function ownersWanted(resource: string, group: string, onlyThere = false): readonly KubeObject[] {
  const name = `platform-${resource}`
  return [
    {
      apiVersion: `${ADMISSION}/v1`,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            { apiGroups: [group], apiVersions: ['*'], operations: ['CREATE'], resources: [resource], scope: '*' },
          ],
          ...(onlyThere && { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': SYSTEM_NAMESPACE } } }),
        },
        validations: [
          { expression: `has(object.metadata.labels) && 'owner' in object.metadata.labels`, message: 'needs an owner' },
        ],
      },
    },
    {
      apiVersion: `${ADMISSION}/v1`,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ]
}

const withClaim = (release: Release): Release => ({
  ...release,
  objects: release.objects.map((o): KubeObject => {
    if (o.metadata.name !== 'kubenode-artifacts' || o.kind !== 'Deployment') return o
    const spec = o['spec'] as { readonly template: { readonly spec: object } }
    const volumes = [{ name: 'served', persistentVolumeClaim: { claimName: 'served' } }]
    return {
      ...o,
      spec: { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, volumes } } },
    }
  }),
})

const HALF: readonly KubeObject[] = [
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'half' },
    rules: [
      { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] },
      { apiGroups: [''], resources: ['*'], verbs: ['*'] },
    ],
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'half' },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'half' },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: 'halfway' }],
  },
]

interface Obstacle {
  readonly name: string
  readonly objects?: readonly KubeObject[]
  readonly release?: (release: Release) => Release
  readonly user?: string
  /** What the server says of itself. */
  readonly version?: string
  readonly aheadMs?: number
  /** Of the error that ends the run, or of what the checks show before that. */
  readonly says: RegExp
}

const repaired = workload('Deployment', 'kube-system', 'karpenter', {
  image: 'public.ecr.aws/karpenter/controller:1.6.0',
  env: [{ name: 'FEATURE_GATES', value: 'NodeRepair=true' }],
})
const healthCheck: KubeObject = {
  apiVersion: 'cluster.x-k8s.io/v1beta1',
  kind: 'MachineHealthCheck',
  metadata: { name: 'workers', namespace: 'default' },
}
const taken: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } }

const OBSTACLES: readonly Obstacle[] = [
  { name: 'no rights', user: 'guest', says: /KN1429: cannot read/ },
  { name: 'half the rights', objects: HALF, user: 'halfway', says: /KN2403: you may not / },
  { name: 'a server of version 1.31', version: 'v1.31.9', says: /KN1401: the API server is v1\.31\.9/ },
  {
    name: 'a definition of somebody else in our group',
    objects: [definition('kubenode.io', 'v1', 'Gadget', 'gadgets')],
    says: /KN1405: customresourcedefinition gadgets\.kubenode\.io is not of KubeNode: it is in our group/,
  },
  {
    name: 'a definition of somebody else with the name of ours',
    objects: [definition('kubenode.io', 'v1alpha1', 'Machine', 'machines', 'Namespaced')],
    says: /KN1405: customresourcedefinition machines\.kubenode\.io .*its scope is Namespaced, ours is Cluster/,
  },
  {
    name: 'objects in a version that this release lacks',
    objects: [labelled(definition('kubenode.io', 'v1alpha0', 'Machine', 'machines'), '0.0.9')],
    says: /KN1406: objects of machines\.kubenode\.io are stored in version v1alpha0/,
  },
  {
    name: 'a namespace that is taken',
    objects: [taken, workload('Deployment', SYSTEM_NAMESPACE, 'shop', { image: 'shop' })],
    says: /KN1411: namespace kubenode-system is in use by others: deployment shop/,
  },
  {
    name: 'no volume',
    release: withClaim,
    says: /KN1412: persistentvolumeclaim served gets no volume: it is not in namespace kubenode-system; create it/,
  },
  {
    name: 'a policy of the platform that refuses our pods',
    objects: ownersWanted('pods', ''),
    says: /KN1413: the cluster refuses the pods of deployment kubenode-\w+: .*needs an owner/,
  },
  {
    name: 'a second installation in another namespace',
    objects: [labelled(workload('Deployment', 'default', 'kubenode-sync', { image: 'x' }), '0.1.0')],
    says: /KN1415: KubeNode runs in namespace default of this cluster as well \(deployment kubenode-sync\)/,
  },
  { name: 'a clock that is ahead', aheadMs: 60_000, says: /KN1408: the clock of this machine .* (59|60) s apart/ },
  { name: 'a clock that is behind', aheadMs: -60_000, says: /KN1408: the clock of this machine .* (59|60) s apart/ },
  {
    name: 'draino',
    objects: [workload('Deployment', 'kube-system', 'draino', { image: 'planetlabs/draino:e0d5277' })],
    says: /KN1410: other programs repair nodes of this cluster: draino \(deployment kube-system\/draino\)/,
  },
  {
    name: 'kured',
    objects: [workload('DaemonSet', 'kube-system', 'kured', { image: 'ghcr.io/kubereboot/kured:1.16.0' })],
    says: /KN1410: .*kured \(daemonset kube-system\/kured\)/,
  },
  {
    name: 'node repair of Karpenter',
    objects: [repaired],
    says: /KN1410: .*Karpenter node repair \(deployment kube-system\/karpenter\)/,
  },
  {
    name: 'a MachineHealthCheck of Cluster API',
    objects: [
      definition('cluster.x-k8s.io', 'v1beta1', 'MachineHealthCheck', 'machinehealthchecks', 'Namespaced'),
      healthCheck,
    ],
    says: /KN1410: .*MachineHealthCheck of cluster\.x-k8s\.io/,
  },
]

const FIRST: ReadonlySet<string> = new Set(['CustomResourceDefinition', 'ClusterRole', 'Namespace', 'Deployment'])

describe.each(installServers)('in the way of an installation on $name', ({ start }) => {
  let world: InstallWorld
  beforeAll(async () => void (world = await startInstallWorld(start)), 300_000)
  afterAll(() => world?.stop())

  const release = releaseOf('0.1.0')
  /** Answers as another server would say of itself. */
  const clientOf = ({ user, version }: Obstacle): KubeClient => {
    const real =
      user === undefined ? world.admin : new HttpKubeClient({ ...connectionTo(world.server), impersonate: { user } })
    if (version === undefined) return real
    const [major, minor] = version.slice(1).split('.')
    const text = JSON.stringify({ gitVersion: version, major, minor })
    const raw: KubeClient['raw'] = async (request) => {
      const answer = await real.raw(request)
      return request.path === '/version' ? { ...answer, text } : answer
    }
    return changedClient(real, { raw })
  }
  async function tried(obstacle: Obstacle, options: Partial<InstallOptions> = {}): Promise<string> {
    const shown: string[] = []
    const show = (all: readonly Finding[]) =>
      void shown.push(...all.filter((f) => f.verdict === 'Failed').map((f) => f.text))
    world.patience.aheadMs = obstacle.aheadMs ?? 0
    try {
      const { release: changed = (r) => r } = obstacle
      await world.install(changed(release), { show, ...options }, clientOf(obstacle))
      return 'installed'
    } catch (error) {
      return [...shown, String(error)].join('\n')
    } finally {
      world.patience.aheadMs = 0
    }
  }
  const remove = async (object: KubeObject): Promise<void> => {
    const options = { gracePeriodSeconds: 0 }
    await world.admin.delete(typeOf(object), objectKey(object), options)
    await eventually(
      () => world.admin.get(typeOf(object), objectKey(object)),
      (found) => found === undefined,
    )
  }
  const make = async (object: KubeObject): Promise<void> => {
    // A definition is served a moment after it was made.
    await eventually(
      () => world.admin.create(typeOf(object), object).then(() => 'made', String),
      (answer) => answer === 'made' || /already exists/.test(answer),
    )
  }
  /** What an installation writes first, and what it writes most. */
  const written = async () =>
    [...(await everything(world.admin, (kind) => !FIRST.has(kind)))].filter(([name]) => name.includes('kubenode'))

  test.each(OBSTACLES)('$name: nothing is written', async (obstacle) => {
    const { objects = [], says } = obstacle
    for (const o of objects) await make(o)
    const before = await written()
    // Policies, roles and definitions are in force a moment after they are written: until then only checks would run here.
    const confirm = async () => false
    expect(
      await eventually(
        () => tried(obstacle, { confirm }),
        (text) => says.test(text),
      ),
    ).toMatch(says)
    expect(await written()).toEqual(before)
    for (const o of objects.toReversed()) await remove(o)
  })

  test('a policy that refuses pods there alone, one that refuses Deployments, an image that is not there: each run continues where the last one ended', async () => {
    const run = (says: RegExp) =>
      eventually(
        () => tried({ name: '', says }),
        (text) => says.test(text) || text === 'installed',
      )
    const platforms = [
      {
        objects: ownersWanted('pods', '', true),
        says: /KN1413: the cluster refuses the pods of deployment kubenode-defender: .*needs an owner.*; exempt namespace kubenode-system/,
      },
      {
        objects: ownersWanted('deployments', 'apps'),
        says: /KN1420: the API server refused Deployment\.apps\/kubenode-system\/kubenode-defender: .*needs an owner/,
      },
    ]
    for (const { objects, says } of platforms) {
      for (const o of objects) await make(o)
      expect(await run(says)).toMatch(says)
      for (const o of objects.toReversed()) await remove(o)
    }
    world.double.missing.add(imageOf('0.1.0'))
    const missing = /KN1414: the image of pod kubenode-defender-.* cannot be pulled/
    expect(await run(missing)).toMatch(missing)
    world.double.missing.clear()
    expect(await tried({ name: '', says: /./ })).toBe('installed')
    expect(world.said.at(-1)).toMatch(/^leaders: /)
  })

  test('an installation of another version stays as it is', async () => {
    const before = await written()
    await expect(world.install(releaseOf('0.2.0'))).rejects.toThrow(
      /^KN1428: version 0\.1\.0 is installed; this program is 0\.2\.0/,
    )
    const shown: string[] = []
    const show = (all: readonly Finding[]) => void shown.push(...all.map((f) => f.text))
    await expect(world.install(releaseOf('0.3.0'), { isUpgrade: true, show })).rejects.toThrow(/^KN1417: .*versions/)
    expect(shown.join('\n')).toMatch(/KN1406: cannot go from version 0\.1\.0 to 0\.3\.0/)
    expect(await written()).toEqual(before)
  })
})
