// The same version with other settings: nothing of the ones before stays, going back gives what was there first, and a second run changes nothing.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { API_GROUP } from '#api/kind.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Finding } from '#install/checks/finding.ts'
import { releaseOf, type Values } from '#install/load.ts'
import { webhookConfiguration, webhookConfigurationType } from '#defender/webhook/registration.ts'
import { newCertificate } from '#defender/webhook/certificate.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { inFullAll } from '#test/support/tools/full.ts'
import {
  comparable,
  installServers,
  type InstallWorld,
  startInstallWorld,
  unchanging,
} from '#test/support/worlds/install-world.ts'
import { PLANE_ROW, wholeValues } from '../../deploy/charts/any-settings.ts'

const { version: _, ...FIRST }: Values = { ...wholeValues, providerSecrets: [] }
const artifacts = wholeValues.artifacts as object
const OCI = `oci.example.org/artifacts@sha256:${'b'.repeat(64)}`
const claims: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
}

interface Change {
  readonly name: string
  readonly values: Values
  /** Objects by `Kind namespace/name` that these settings no longer have. */
  readonly gone?: readonly string[]
  /** By object: what must be found in it as JSON. */
  readonly says?: Readonly<Record<string, RegExp>>
}

const inSystem = (kind: string, name: string) => `${kind} ${SYSTEM_NAMESPACE}/${name}`
const deployment = (role: string) => inSystem('Deployment', `kubenode-${role}`)

const CHANGES: readonly Change[] = [
  {
    name: 'another source, exposure and port of the artifacts, one replica, another priority, and plain metrics',
    values: {
      artifacts: { ...artifacts, source: { oci: OCI }, exposure: 'LoadBalancer', port: 8_443 },
      replicas: 1,
      priority: { guards: 'system-node-critical' },
      metrics: { insecure: true },
    },
    says: {
      [deployment('artifacts')]: /^(?=.*--artifacts-oci)(?=.*"emptyDir":)/s,
      [deployment('sync')]: /--metrics-insecure.*"replicas":1\b|"replicas":1\b.*--metrics-insecure/s,
      [inSystem('Service', 'kubenode-artifacts')]: /"type":"LoadBalancer"/,
    },
  },
  {
    name: 'no webhook',
    values: { webhook: { enabled: false } },
    gone: [inSystem('Service', 'kubenode-webhook'), `ValidatingWebhookConfiguration /${API_GROUP}`],
  },
  {
    name: 'a hub without nodes',
    values: { roles: ['hub'] },
    gone: [deployment('controllers'), deployment('approver'), deployment('artifacts')],
  },
  { name: 'a cluster without the hub', values: { roles: ['business'] }, gone: [deployment('sync')] },
  {
    name: 'other nodes for the pods',
    values: {
      nodeSelector: { 'node-role.kubernetes.io/control-plane': '' },
      tolerations: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
    },
    says: {
      [deployment('sync')]: /--render-placement.*"nodeSelector":\{"node-role/s,
      [deployment('approver')]: /"tolerations":\[.*"NoSchedule"/s,
    },
  },
  {
    name: 'control planes of Clusters',
    values: { controlPlanes: { claim: 'planes', most: 7 } },
    says: {
      [deployment('cluster')]: /(?=.*--no-server)(?=.*"claimName":"planes")(?=.*"Recreate")/s,
      [inSystem('NetworkPolicy', 'kubenode-cluster')]: /"endPort":20006/,
      [inSystem('Service', 'kubenode-control-planes')]: /"None"/,
    },
  },
  {
    name: 'control planes of Kubernetes',
    values: { controlPlanes: { kubernetes: { versions: [PLANE_ROW], storageClass: 'shared' } } },
    says: {
      [deployment('cluster')]: /(?=.*--control-plane-versions)(?=.*"name":"kubenode-control-plane-versions")/s,
      [inSystem('ConfigMap', 'kubenode-control-plane-versions')]: /1\.36\.2.*storageClass/s,
    },
  },
  { name: 'five replicas', values: { replicas: 5 }, says: { [deployment('sync')]: /"replicas":5\b/ } },
  {
    name: 'no network policies',
    values: { networkPolicies: { enabled: false } },
    gone: [inSystem('NetworkPolicy', 'kubenode-deny-all')],
  },
  {
    name: 'providers, a trust document and another log level',
    values: { providers: { providers: [{ name: 'static' }] }, trust: { document: {} }, logLevel: 'debug' },
    says: { [deployment('controllers')]: /--trust.*config-digest|config-digest.*--trust/s },
  },
  {
    name: 'a provider in a pod of its own',
    values: {
      providerPods: [{ name: 'aws', options: { region: 'eu-central-1', cluster: 'prod-1' }, servingSecret: 'mine' }],
    },
    says: {
      [deployment('provider-aws')]: /"secretName":"mine"/,
      [deployment('controllers')]: /served\/aws/,
      [inSystem('NetworkPolicy', 'kubenode-provider-aws')]: /8446/,
    },
  },
  {
    name: 'copies of repositories on a claim, and another size of a program',
    values: { cacheClaim: 'cache', resources: { sync: { heapMiB: 2_048, otherMiB: 1_024 } } },
    says: { [deployment('sync')]: /"memory":"3Gi".*"claimName":"cache"|"claimName":"cache".*"memory":"3Gi"/s },
  },
]

describe.each(installServers)('other settings on $name', ({ start }) => {
  let world: InstallWorld
  let original: unknown
  const install = async (values: Values) =>
    // No Defender answers here, and pods are those of a double.
    world.install(await releaseOf({ ...FIRST, ...values }, '0.1.0'), { wait: false, show })
  const show = (all: readonly Finding[]) => {
    const wrong = all.filter((f) => f.verdict === 'Failed').map((f) => f.text)
    expect(wrong).toEqual([])
  }
  /** A Service that was made again has another address, and another port of nodes where settings name none. */
  const addressed = (o: unknown): unknown =>
    JSON.parse(JSON.stringify(o, (key, value: unknown) => (/^(clusterIPs?|nodePort)$/.test(key) ? undefined : value)))
  const state = async () =>
    new Map(
      [...(await unchanging(world.admin))]
        .filter(([name]) => !name.startsWith('Pod '))
        .map(([name, o]) => [name, name.startsWith('Service ') ? addressed(o) : o]),
    )

  beforeAll(async () => {
    world = await startInstallWorld(start)
    const { admin } = world
    await admin.create(coreKind('Namespace'), {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: SYSTEM_NAMESPACE },
    })
    await admin.create(coreKind('StorageClass'), {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'shared' },
      provisioner: 'example.org/shared',
    })
    for (const name of ['artifacts', 'cache', 'planes'])
      await admin.create(claims, {
        apiVersion: 'v1',
        kind: claims.kind,
        metadata: { name, namespace: SYSTEM_NAMESPACE },
        spec: {
          storageClassName: 'shared',
          accessModes: ['ReadWriteMany'],
          resources: { requests: { storage: '1Gi' } },
        },
      })
    await install({})
    original = comparable(await state())
  }, 300_000)
  afterAll(() => world?.stop())

  /** As the leader of the Defender does. No test calls this webhook. */
  async function register(): Promise<void> {
    const { ca } = newCertificate('kubenode-webhook.kubenode-system.svc', Date.now())
    const at = { namespace: SYSTEM_NAMESPACE, name: 'kubenode-webhook' }
    const configuration = webhookConfiguration(at, ca, '0'.repeat(64))
    const webhooks = (configuration.webhooks ?? []).slice(0, 1)
    await world.admin.create(webhookConfigurationType, { ...configuration, webhooks })
    onTestFinished(async () => void (await world.admin.delete(webhookConfigurationType, { name: API_GROUP })))
  }

  test.each(inFullAll(CHANGES, 3))('$name', async ({ values, gone = [], says = {} }) => {
    if (gone.some((name) => name.startsWith('Validating'))) await register()
    const first = await state()
    expect(gone.filter((name) => !first.has(name))).toEqual([])
    await install(values)
    const now = await state()
    expect(gone.filter((name) => now.has(name))).toEqual([])
    for (const [name, text] of Object.entries(says)) expect(JSON.stringify(now.get(name)), name).toMatch(text)
    await install(values)
    expect(comparable(await state())).toEqual(comparable(now))
    await install({})
    expect(comparable(await state())).toEqual(original)
  })
})
