// Settings for tests: a small whole one, and arbitrary ones.
import fc from 'fast-check'
import { PARTS } from '#api/constructs/control-plane/settings.ts'
import { readSettings, ROLES_OF_CLUSTER, type InstallSettings, type InstallValues } from './settings.ts'

export const ANY_IMAGE = `registry.example.org/team/kubenode@sha256:${'a'.repeat(64)}`

const planeImage = (part: string): string => `registry.example.org/${part}@sha256:${'c'.repeat(64)}`
/** One row of the versions that a hub runs as control planes. */
export const PLANE_ROW = {
  version: '1.36.2',
  etcd: '3.6.6',
  emulatesFrom: 33,
  images: Object.fromEntries(PARTS.map((part) => [part, planeImage(part)])),
}

export const wholeValues: InstallValues = {
  cluster: 'prod-1',
  version: '0.1.0',
  image: ANY_IMAGE,
  apiServer: { url: 'https://api.prod-1.example.org:6443' },
  artifacts: { source: { claim: 'artifacts' }, address: 'artifacts.prod-1.example.org:30844' },
}

export function settingsOf(values: InstallValues): InstallSettings {
  const read = readSettings(structuredClone(values))
  if (read.kind === 'Value') return read.value
  throw new Error(read.problems.map((p) => `${p.pointer} ${p.message}`).join('\n'))
}

const perhaps = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined })
const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'
const reach = fc.array(
  fc.record({
    cidr: fc.constantFrom('10.0.0.0/8', 'fd00::/8'),
    ports: fc.uniqueArray(fc.integer({ min: 1, max: 65_535 }), { minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 3 },
)
const artifacts = fc.oneof(
  ...(['NodePort', 'LoadBalancer'] as const).map((exposure) =>
    fc.record({
      source: fc.constantFrom(
        { claim: 'artifacts' },
        { oci: `oci.example.org:5000/artifacts@sha256:${'b'.repeat(64)}` },
      ),
      exposure: fc.constant(exposure),
      port: perhaps(exposure === 'NodePort' ? fc.integer({ min: 30_000, max: 32_767 }) : fc.constant(8443)),
      address: fc.constant('artifacts.example.org:30844'),
      from: fc.constantFrom([], ['192.0.2.0/24']),
    }),
  ),
)

const keys = { ca: '-----BEGIN A', cert: '-----BEGIN B', key: '-----BEGIN C', token: 't'.repeat(43) }
const OPTIONS = { region: 'eu-central-1', cluster: 'prod-1' }

/** Of all that a provider in a pod of its own may have. */
const providerPods = fc.constantFrom<Pick<InstallValues, 'providerPods' | 'providerKeys'>>(
  {},
  { providerPods: [{ name: 'aws', options: OPTIONS }], providerKeys: { aws: keys } },
  {
    providerPods: [
      { name: 'aws', options: OPTIONS, role: { arn: 'arn:aws:iam::1:role/kubenode' }, servingSecret: 'mine' },
      { name: 'alicloud', options: OPTIONS, secrets: ['ram-key', 'more'], orphans: 'Delete' },
    ],
    providerKeys: { alicloud: keys },
  },
)

/** What is left out is undefined here, and dropped. */
export const anySettings: fc.Arbitrary<InstallSettings> = fc
  .record({
    roles: fc.uniqueArray(fc.constantFrom(...ROLES_OF_CLUSTER), { minLength: 1 }),
    registry: perhaps(fc.constant('mirror.example.org:5000/x')),
    imagePullSecrets: fc.constantFrom([], ['pull']),
    replicas: fc.integer({ min: 1, max: 5 }),
    apiServer: fc.record({ url: fc.constant('https://api.example.org:6443'), ca: perhaps(fc.constant(pem)) }),
    artifacts,
    providers: perhaps(fc.constant({ providers: [{ name: 'static' }] })),
    providerSecrets: fc.constantFrom([], ['cloud-a', 'cloud-b']),
    trust: perhaps(fc.constant({ document: {} })),
    prometheus: perhaps(fc.constantFrom('http://prometheus.monitoring:9090', 'https://prometheus.example.org')),
    callAllow: fc.constantFrom([], ['https://hooks.example.org/repairs']),
    acceptancePods: fc.constantFrom('baseline', 'privileged'),
    cacheClaim: perhaps(fc.constant('cache')),
    priority: fc.constantFrom(
      {},
      { guards: 'high' },
      { guards: 'system-node-critical', others: 'system-cluster-critical' },
    ),
    nodeSelector: fc.constantFrom({}, { 'node-role.kubernetes.io/control-plane': '' }),
    tolerations: fc.constantFrom(
      [],
      [
        { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' as const },
        { key: 'a', value: 'b' },
      ],
    ),
    metrics: fc.record({ insecure: fc.boolean() }),
    networkPolicies: fc.record({ enabled: fc.boolean(), apiServers: reach, git: reach, more: reach }),
    webhook: fc.record({ enabled: fc.boolean() }),
    pods: providerPods,
    controlPlanes: perhaps(
      fc.constantFrom(
        { claim: 'planes' },
        { kubernetes: { versions: [PLANE_ROW] } },
        {
          claim: 'planes',
          kubernetes: {
            versions: [PLANE_ROW],
            hubNetworks: ['10.244.0.0/16'],
            storageClass: 'fast',
            resources: { cpu: '500m' },
            snapshots: { every: '6h', keep: 2 },
          },
        },
        {
          claim: 'planes',
          most: 7,
          perProcess: 1,
          tenantsApart: true,
          address: 'planes.example.org',
          from: ['10.0.0.0/8'],
        },
      ),
    ),
    history: fc.constantFrom(
      undefined,
      { claim: 'history' },
      {
        claim: 'history',
        days: 30,
        maxGiB: 1,
        console: true,
        clusters: { secret: 'history-clusters', names: ['prod-1', 'prod-2'] },
      },
    ),
    console: fc.constantFrom(
      undefined,
      { names: ['console.example.org'], tlsSecret: 'console-tls' },
      {
        names: ['console.example.org'],
        tlsSecret: 'console-tls',
        clientSecret: 'console-client',
        clusters: 'console-clusters',
        oidc: { issuer: 'https://login.example.org', clientId: 'kubenode' },
        from: ['10.0.0.0/8'],
      },
      {
        names: ['console.example.org'],
        tlsSecret: 'console-tls',
        proxy: { clientCa: pem, names: ['front'], users: ['ada'], groups: [] },
      },
    ),
    gitWebhooks: fc.constantFrom({}, { enabled: true }, { enabled: true, from: ['10.0.0.0/8'] }),
  })
  .map(({ pods, ...values }) => JSON.parse(JSON.stringify({ ...wholeValues, ...values, ...pods })) as InstallValues)
  .map(settingsOf)
