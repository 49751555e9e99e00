// The objects of an installation: each pod as bounded as it can be, and whatever the settings, objects that fit together.
import { basename, dirname } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Io } from '#lib/terminal/io.ts'
import { CLUSTER_PROGRAMS, CONTROL_PLANE_VERSIONS, IN_CLUSTER } from '#api/names.ts'
import { parseProgramObjects } from '#controllers/cluster/programs/objects.ts'
import { parseVersionFile } from '#controlplanes/kubernetes/version-file.ts'
import { buildProgram } from '#cli/program.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { anySettings, PLANE_ROW, settingsOf, wholeValues } from './any-settings.ts'
import { inClusterObjects } from './in-clusters.ts'
import { installObjects } from './install.ts'
import { WORKLOADS, workloadsOf, type InstallSettings } from './settings.ts'

interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly resources: Readonly<Record<'limits' | 'requests', Readonly<Record<string, string>>>>
  readonly securityContext: object
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[]
  readonly [field: string]: unknown
}
interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas: number
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> }
      readonly spec: {
        readonly containers: readonly [Container, ...Container[]]
        readonly volumes: readonly { readonly name: string; readonly [type: string]: unknown }[]
        readonly tolerations: readonly { readonly key: string }[]
        readonly [field: string]: unknown
      }
    }
  }
}
const isDeployment = (o: KubeObject): o is Deployment => o.kind === 'Deployment'
const page = { names: ['console.example.org'], tlsSecret: 'console-tls' }
const whole = settingsOf({
  ...wholeValues,
  controlPlanes: { claim: 'planes' },
  history: { claim: 'history' },
  console: page,
})
const deployments = installObjects(whole).filter(isDeployment)
const idOf = ({ apiVersion, kind, metadata: { namespace = '', name = '' } }: KubeObject) =>
  `${apiVersion} ${kind} ${namespace}/${name}`

test('a hub with nodes of its own runs every program', () => {
  expect(new Set(deployments.map((d) => d.metadata.name))).toEqual(new Set(WORKLOADS.map((w) => `kubenode-${w}`)))
})

describe.each(deployments.map((d) => [d.metadata.name ?? '', d] as const))('a pod of %s', (name, deployment) => {
  const { template, selector } = deployment.spec
  const { spec } = template
  const [container] = spec.containers

  test('has no power over its node', () => {
    expect(spec).toMatchObject({
      securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace'].filter((f) => f in spec)).toEqual([])
    expect(container.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      privileged: false,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    })
  })

  test('gets one token of an hour, and what belongs to it, where programs look for them', () => {
    const volume = spec.volumes.find((v) => v.name === 'token')
    expect(spec['automountServiceAccountToken']).toBe(false)
    expect(volume?.['projected']).toEqual({
      defaultMode: 0o440,
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 3_600 } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    })
    expect(container.volumeMounts).toContainEqual({
      name: 'token',
      mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
      readOnly: true,
    })
  })

  test('writes to bounded volumes only', () => {
    const empty = spec.volumes.flatMap((v) => (isObject(v['emptyDir']) ? [v['emptyDir']] : []))
    expect(empty).not.toEqual([])
    expect(empty.filter((e) => e['sizeLimit'] === undefined)).toEqual([])
    expect(spec.volumes).toContainEqual({ name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } })
  })

  test('may use its heap and a bounded rest of memory, and all the CPU there is', () => {
    const { heapMiB, otherMiB } = whole.resources[name.slice('kubenode-'.length) as keyof typeof whole.resources]
    const value = `--max-old-space-size=${heapMiB} --max-semi-space-size=8`
    expect(container.env).toContainEqual({ name: 'NODE_OPTIONS', value })
    expect(container.resources.limits).toEqual({ memory: `${heapMiB + otherMiB}Mi` })
    expect(Object.keys(container.resources.requests).toSorted()).toEqual(['cpu', 'memory'])
  })

  test('is probed on the port for that', () => {
    const health = container.ports.find((p) => p.name === 'health')?.containerPort
    for (const [field, path] of [
      ['startupProbe', '/healthz'],
      ['livenessProbe', '/healthz'],
      ['readinessProbe', '/readyz'],
    ] as const)
      expect(container[field]).toMatchObject({ httpGet: { path, port: health } })
  })

  test('stands apart from its replicas where it can, and leaves a node that we drain', () => {
    // One key alone: a scheduler ignores all preferences of a pod on a node that lacks the label of one of them.
    expect(spec['topologySpreadConstraints']).toMatchObject([
      { topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: selector },
    ])
    expect(spec['affinity']).toMatchObject({
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { podAffinityTerm: { topologyKey: 'topology.kubernetes.io/zone', labelSelector: selector } },
        ],
      },
    })
    expect(spec.tolerations.map((t) => t.key)).toEqual(['CriticalAddonsOnly'])
  })

  test('is selected by labels that never change', () => {
    expect(Object.keys(selector.matchLabels)).not.toContain('app.kubernetes.io/version')
    expect(template.metadata.labels).toMatchObject(selector.matchLabels)
    expect(Object.keys(template.metadata.labels)).not.toContain('cdk8s.io/metadata.addr')
  })
})

test('every program knows the flags that it is started with', async () => {
  const io: Io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }
  const known = new Set((await buildProgram(io)).commands.find((c) => c.name() === 'run')?.options.map((o) => o.long))
  const flags = [anyOf({}), anyOf({ hub: false })].flatMap((settings) =>
    installObjects(settings)
      .filter(isDeployment)
      .flatMap((d) => d.spec.template.spec.containers[0].args.filter((a) => a.startsWith('--'))),
  )
  expect([...new Set(flags)].filter((flag) => !known.has(flag))).toEqual([])
})

describe('control planes of Clusters', () => {
  const settings = settingsOf({
    ...wholeValues,
    roles: ['hub'],
    controlPlanes: { claim: 'planes', most: 7, from: ['10.0.0.0/8'] },
  })
  const objects = installObjects(settings)
  const pod = objects.filter(isDeployment).find((d) => d.metadata.name === 'kubenode-cluster')
  const [role, planes] = pod?.spec.template.spec.containers ?? []
  const volumesOf = (container: Container | undefined) => container?.volumeMounts.map((m) => m.name).toSorted()

  test('run beside role cluster: keys and data without a token there, the token without the volume here', () => {
    expect(volumesOf(role)).toEqual(['control', 'tmp', 'token'])
    expect(volumesOf(planes)).toEqual(['control', 'control-planes', 'tmp'])
    expect(planes?.securityContext).toEqual(role?.securityContext)
  })

  test('are in one pod at a time, since they have one volume', () => {
    expect(pod?.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
    expect(pod?.spec.template.spec.volumes).toContainEqual({
      name: 'control-planes',
      persistentVolumeClaim: { claimName: 'planes' },
    })
  })

  test('are reached on their own ports, by the addresses of the settings and by sync', () => {
    const policy = (name: string) => objects.find((o) => o.kind === 'NetworkPolicy' && o.metadata.name === name)
    const ports = [{ protocol: 'TCP', port: 20_000, endPort: 20_006 }]
    expect(policy('kubenode-cluster')?.['spec']).toMatchObject({
      ingress: [{ ports, from: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }],
      egress: [{ ports }],
    })
    expect(JSON.stringify(policy('kubenode-sync')?.['spec'])).toContain('"endPort":20006')
    const service = objects.find((o) => o.kind === 'Service' && o.metadata.name === 'kubenode-control-planes')
    expect(service?.['spec']).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true })
  })

  test('have options that the program knows, and none without the setting', async () => {
    const io: Io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }
    const apiserver = (await buildProgram(io)).commands.find((c) => c.name() === 'apiserver')
    const known = new Set(apiserver?.options.map((o) => o.long))
    expect(planes?.args.filter((a) => a.startsWith('--') && !known.has(a))).toEqual([])
    const without = installObjects(settingsOf({ ...wholeValues, roles: ['hub'] }))
    expect(without.filter((o) => o.kind === 'Deployment').map((o) => o.metadata.name)).not.toContain('kubenode-cluster')
  })
})

describe('programs of Clusters', () => {
  const values = { ...wholeValues, roles: ['hub'], controlPlanes: { claim: 'planes' } } as const
  const objects = installObjects(
    settingsOf({
      ...values,
      clusterPrograms: { perProcess: 4, artifacts: { base: 'https://artifacts.example.org/' } },
    }),
  )
  const podsOf = (name: string) => objects.filter(isDeployment).find((d) => d.metadata.name === name)
  const names = ['controllers', 'approver', 'defender'].map((p) => `kubenode-hosted-${p}`)

  test('are a Deployment each, with an account of its own, beside a role cluster that makes their kubeconfigs', () => {
    for (const name of names) {
      const pod = podsOf(name)
      expect(pod?.spec.template.spec).toMatchObject({ serviceAccountName: name, automountServiceAccountToken: false })
      expect(pod?.spec).toMatchObject({ replicas: 2, strategy: { type: 'RollingUpdate' } })
      expect(objects.some((o) => o.kind === 'ServiceAccount' && o.metadata.name === name)).toBe(true)
    }
    const args = (name: string) => podsOf(name)?.spec.template.spec.containers[0]?.args ?? []
    expect(args('kubenode-cluster')).toContain('--host-programs')
    expect(args('kubenode-hosted-controllers')).toEqual(
      expect.arrayContaining(['--hosted-per-process', '4', '--artifact-base']),
    )
    expect(args('kubenode-hosted-defender')).not.toContain('--artifact-base')
  })

  test('leave the controllers of the hub only hosts of its own Machines: the others belong to Clusters', () => {
    const argsOf = (more: object) =>
      installObjects(settingsOf({ ...values, roles: ['hub', 'business'], ...more }))
        .filter(isDeployment)
        .find((d) => d.metadata.name === 'kubenode-controllers')?.spec.template.spec.containers[0]?.args
    const providers = { providers: [{ name: 'remote', options: { name: 'cloud', socket: '/run/cloud.sock' } }] }
    expect(argsOf({ providers, clusterPrograms: {} })).toContain('--providers-shared')
    expect(argsOf({ providers })).not.toContain('--providers-shared')
  })

  test.for([
    ['those of the hub are left out: its servers, whose authority pods mount', undefined, 'Own'],
    ['the address of its servers', { base: 'https://artifacts.prod-1.example.org:30844' }, 'Own'],
    ['another address', { base: 'https://artifacts.example.org/' }, 'Host'],
    [
      'another address with its authority',
      { base: 'https://artifacts.example.org/', ca: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n' },
      'Named',
    ],
  ] as const)('get artifacts from: %s', ([, artifacts, authority]) => {
    const own = installObjects(
      settingsOf({
        ...wholeValues,
        controlPlanes: { claim: 'planes' },
        clusterPrograms: artifacts === undefined ? {} : { artifacts },
      }),
    ).filter(isDeployment)
    const [hosted, cluster] = ['kubenode-hosted-controllers', 'kubenode-cluster'].map(
      (name) => own.find((o) => o.metadata.name === name)?.spec.template.spec,
    )
    const base = authority === 'Own' ? `https://${wholeValues.artifacts?.address}/` : (artifacts?.base ?? '')
    const words =
      authority === 'Host' ? ['--artifact-trust', 'host'] : ['--artifact-ca', '/etc/kubenode/hosted-artifacts-ca.pem']
    expect(hosted?.containers[0]?.args).toEqual(expect.arrayContaining(['--artifact-base', base, ...words]))
    for (const pod of [hosted, cluster])
      expect(JSON.stringify(pod).includes('kubenode-artifacts-tls')).toBe(authority === 'Own')
    expect(cluster?.containers[0]?.args.includes('--artifact-ca')).toBe(authority === 'Own')
  })

  test('select different pods, though all are scraped as one program', () => {
    const selectors = names.map((name) => JSON.stringify(podsOf(name)?.spec['selector' as never]))
    expect(new Set(selectors).size).toBe(names.length)
    for (const selector of selectors) expect(selector).toContain('"app.kubernetes.io/component":"hosted"')
  })

  test('have options that the program knows, and there are none without the setting', async () => {
    const io: Io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }
    const run = (await buildProgram(io)).commands.find((c) => c.name() === 'run')
    const known = new Set(run?.options.map((o) => o.long))
    const flags = names.flatMap((name) => podsOf(name)?.spec.template.spec.containers[0]?.args ?? [])
    expect(flags.filter((a) => a.startsWith('--') && !known.has(a))).toEqual([])
    const without = installObjects(settingsOf(values))
    expect(without.filter((o) => o.kind === 'Deployment').map((o) => o.metadata.name)).not.toContain(names[0])
    expect(JSON.stringify(without)).not.toContain('--host-programs')
  })
})

describe('programs in Clusters', () => {
  const SECRET = 'hunter2-of-the-hub'
  const settings = settingsOf({
    ...wholeValues,
    roles: ['hub'],
    controlPlanes: { claim: 'planes' },
    registry: 'mirror.example.org/k',
    trust: { keys: 'public' },
    providers: { providers: [{ name: 'cloud', options: { token: SECRET } }] },
    providerSecrets: ['cloud-credentials'],
    prometheus: `https://${SECRET}.example.org/`,
    callAllow: [`https://${SECRET}.example.org/`],
    clusterPrograms: {
      inClusters: { replicas: 3 },
      artifacts: {
        base: 'https://artifacts.example.org/',
        ca: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
      },
    },
  })
  const objects = installObjects(settings)
  const map = objects.find((o) => o.kind === 'ConfigMap' && o.metadata.name === CLUSTER_PROGRAMS)
  const text = (map as { readonly data?: Readonly<Record<string, string>> } | undefined)?.data?.['objects.json'] ?? '[]'
  const inside = JSON.parse(text) as readonly KubeObject[]
  const podsOf = (name: string) => inside.filter(isDeployment).find((d) => d.metadata.name === name)

  test('are controllers, approver and Defender as an installation has them, with the image of the hub', () => {
    expect(inside.filter(isDeployment).map((o) => o.metadata.name)).toEqual([
      'kubenode-defender',
      'kubenode-approver',
      'kubenode-controllers',
    ])
    for (const { spec } of inside.filter(isDeployment)) {
      expect(spec.replicas).toBe(3)
      const [container] = spec.template.spec.containers
      expect(container.image).toMatch(/^mirror\.example\.org\/k\/kubenode@sha256:/)
      expect(container.args).toEqual(expect.arrayContaining(['--cluster', IN_CLUSTER.name]))
    }
    expect(podsOf('kubenode-controllers')?.spec.template.spec.containers[0].args).toEqual(
      expect.arrayContaining(['--host-server', IN_CLUSTER.server, '--artifact-base', '--artifact-ca', '--trust']),
    )
    expect(podsOf('kubenode-defender')?.spec.template.spec.containers[0].args).not.toContain('--webhook-service')
  })

  test('have a place for the authority of the artifact servers of the hub, where hosts get artifacts from these', () => {
    const own = settingsOf({ ...wholeValues, controlPlanes: { claim: 'planes' }, clusterPrograms: {} })
    const objectsThere = inClusterObjects(own)
    const secret = objectsThere.find((o) => o.kind === 'Secret')
    const place = Buffer.from(IN_CLUSTER.artifactsAuthority).toString('base64')
    expect(secret?.['data']).toMatchObject({ 'hosted-artifacts-ca.pem': place })
    const controllers = objectsThere.filter(isDeployment).find((d) => d.metadata.name === 'kubenode-controllers')
    expect(controllers?.spec.template.spec.containers[0].args).toEqual(
      expect.arrayContaining(['--artifact-base', `https://${wholeValues.artifacts?.address}/`, '--artifact-ca']),
    )
    expect(JSON.stringify(objectsThere)).not.toContain('kubenode-artifacts-tls')
  })

  test('are what the hub accepts, with all settings', () => {
    expect(parseProgramObjects(text)).toEqual(inside)
    expect(new Set(inside.map((o) => o.kind))).toEqual(
      new Set(['ResourceQuota', 'Secret', 'PodDisruptionBudget', 'Deployment']),
    )
  })

  test('have nothing of the hub that an administrator of the Cluster must not read', () => {
    const decoded = inside
      .filter((o) => o.kind === 'Secret')
      .flatMap((o) => Object.values((o as { readonly data?: Readonly<Record<string, string>> }).data ?? {}))
      .map((data) => Buffer.from(data, 'base64').toString('utf8'))
    expect(decoded.join('')).toContain('MIIB')
    expect([text, ...decoded].join('')).not.toContain(SECRET)
    expect(text).not.toContain('cloud-credentials')
    expect(text).not.toContain('providers.json')
  })

  test('are read by role cluster from a folder, and have options that the program knows', async () => {
    const pod = objects.filter(isDeployment).find((d) => d.metadata.name === 'kubenode-cluster')?.spec.template.spec
    const args = pod?.containers[0].args ?? []
    const folder = dirname(args[args.indexOf('--programs-in-clusters') + 1] ?? '')
    const mount = pod?.containers[0].volumeMounts.find((m) => m.mountPath === folder)
    expect(pod?.volumes.find((v) => v.name === mount?.name)).toMatchObject({ configMap: { name: CLUSTER_PROGRAMS } })
    const io: Io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }
    const run = (await buildProgram(io)).commands.find((c) => c.name() === 'run')
    const known = new Set(run?.options.map((o) => o.long))
    const flags = inside.filter(isDeployment).flatMap((d) => d.spec.template.spec.containers[0].args)
    expect(flags.filter((a) => a.startsWith('--') && !known.has(a))).toEqual([])
  })

  test('are none without the setting, and none of a cluster that is no hub', () => {
    expect(installObjects(settingsOf(wholeValues)).some((o) => o.metadata.name === CLUSTER_PROGRAMS)).toBe(false)
  })
})

describe('control planes of Kubernetes', () => {
  const kubernetes = { versions: [PLANE_ROW], storageClass: 'fast', snapshots: { every: '6h' } }
  const objectsOf = (controlPlanes: object) =>
    installObjects(settingsOf({ ...wholeValues, roles: ['hub'], controlPlanes }))
  const podIn = (objects: readonly KubeObject[]) =>
    objects.filter(isDeployment).find((d) => d.metadata.name === 'kubenode-cluster')
  const mapIn = (objects: readonly KubeObject[]) =>
    objects.find((o) => o.kind === 'ConfigMap' && o.metadata.name === CONTROL_PLANE_VERSIONS)
  const own = objectsOf({ kubernetes })

  test('need no volume and no process beside the role, and their replicas wait for each other', () => {
    const pod = podIn(own)
    expect(pod?.spec.template.spec.containers.map((c) => c.name)).toEqual(['cluster'])
    expect(pod?.spec).toMatchObject({ replicas: 2, strategy: { type: 'RollingUpdate' } })
    expect(own.some((o) => o.metadata.name === 'kubenode-control-planes' && o.kind === 'Service')).toBe(false)
  })

  test('have one list of versions: that of the policy for images is the file of the role', () => {
    const [role] = podIn(own)?.spec.template.spec.containers ?? []
    const file = role?.args[role.args.indexOf('--control-plane-versions') + 1]
    expect(role?.volumeMounts).toContainEqual({
      name: 'versions',
      mountPath: dirname(file ?? ''),
      readOnly: true,
    })
    expect(podIn(own)?.spec.template.spec.volumes).toContainEqual({
      name: 'versions',
      configMap: { name: CONTROL_PLANE_VERSIONS },
    })
    const data = (mapIn(own)?.['data'] ?? {}) as Readonly<Record<string, string>>
    const text = data[basename(file ?? '')] ?? ''
    expect(parseVersionFile(text)).toEqual({
      rows: [PLANE_ROW],
      network: { open: [] },
      defaults: { storageClass: 'fast', snapshots: { every: '6h', keep: 4 } },
    })
  })

  test('are reached by the role and by sync, in the namespaces of control planes', () => {
    for (const name of ['kubenode-cluster', 'kubenode-sync']) {
      const policy = own.find((o) => o.kind === 'NetworkPolicy' && o.metadata.name === name)
      expect(policy?.['spec']).toMatchObject({
        egress: expect.arrayContaining([
          {
            ports: [{ protocol: 'TCP', port: 6443 }],
            to: [{ namespaceSelector: { matchLabels: { 'kubenode.io/control-plane': 'true' } } }],
          },
        ]),
      })
    }
  })

  test('are beside embedded ones where both are set', () => {
    const pod = podIn(objectsOf({ claim: 'planes', kubernetes }))
    expect(pod?.spec.template.spec.containers.map((c) => c.name)).toEqual(['cluster', 'control-planes'])
    expect(pod?.spec.template.spec.containers[0].args).toEqual(
      expect.arrayContaining(['--control-planes', '--control-plane-versions']),
    )
  })

  test('whose list is that of people stay theirs without the setting', () => {
    expect(mapIn(objectsOf({ claim: 'planes' }))).not.toHaveProperty('data')
  })
})

/** All that can be set is. */
const anyOf = ({ hub = true }: { readonly hub?: boolean }): InstallSettings =>
  settingsOf({
    ...wholeValues,
    roles: hub ? ['hub', 'business'] : ['business'],
    apiServer: { url: 'https://api.example.org', ca: '-----BEGIN CERTIFICATE-----\nx' },
    providers: { providers: [] },
    trust: {},
    certificateLife: '7d',
    agents: { identity: 'serviceAccount' },
    prometheus: 'http://prometheus:9090',
    inspectionAllow: ['http://a'],
    callAllow: ['https://b/c'],
    metrics: { insecure: true },
  })

test('only those that repair nodes go before other pods, and a quota permits it', () => {
  const classes = deployments.map((d) => [d.metadata.name, d.spec.template.spec['priorityClassName']])
  expect(Object.fromEntries(classes)).toMatchObject({
    'kubenode-controllers': 'system-cluster-critical',
    'kubenode-defender': 'system-cluster-critical',
    'kubenode-sync': undefined,
  })
  const quota = installObjects(whole).find((o) => o.metadata.name === 'kubenode-critical-pods')
  expect(quota?.['spec']).toMatchObject({
    scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', values: ['system-cluster-critical'] }] },
  })
})

/** What does not fit together, in words. */
function misfits(settings: InstallSettings, objects: readonly KubeObject[]): readonly string[] {
  const found: string[] = []
  const ids = new Set<string>()
  for (const o of objects) {
    const { namespace } = o.metadata
    if (ids.has(idOf(o))) found.push(`twice: ${idOf(o)}`)
    if (namespace !== undefined && !namespace.startsWith('kube-') && !ids.has(`v1 Namespace /${namespace}`))
      found.push(`before its namespace: ${idOf(o)}`)
    ids.add(idOf(o))
  }
  const pods = objects.filter(isDeployment)
  for (const d of pods) {
    const { spec, metadata } = d.spec.template
    const [container] = spec.containers
    const volumes = new Set(spec.volumes.map((v) => v.name))
    const mounts = spec.containers.flatMap((c) => c.volumeMounts)
    found.push(...mounts.filter((m) => !volumes.has(m.name)).map((m) => `no volume ${m.name}`))
    if (volumes.size !== spec.volumes.length) found.push(`${idOf(d)}: two volumes of one name`)
    if (!ids.has(`v1 ServiceAccount kubenode-system/${String(spec['serviceAccountName'])}`)) found.push('no account')
    const files = spec.volumes.some((v) => isObject(v['secret']) && v['secret']['secretName'] === 'kubenode-config')
    if (files && !ids.has('v1 Secret kubenode-system/kubenode-config')) found.push(`${idOf(d)}: no files`)
    if (!container.image.includes('@sha256:')) found.push('an image by tag')
    // After `--` come the options of another cluster.
    const end = container.args.indexOf('--')
    const own = end < 0 ? container.args : container.args.slice(0, end)
    const flags = own.filter((a) => a.startsWith('--'))
    if (new Set(flags).size !== flags.length) found.push('a flag twice')
    const budgets = objects.filter((o) => o.kind === 'PodDisruptionBudget' && o.metadata.name === d.metadata.name)
    if (budgets.length !== 1) found.push(`${idOf(d)}: ${budgets.length} budgets`)
    if (metadata.labels['app.kubernetes.io/version'] !== settings.version) found.push('no version')
  }
  const portsOf = (selector: unknown): readonly number[] =>
    pods
      .filter((d) =>
        Object.entries(isObject(selector) ? selector : { none: '' }).every(
          ([k, v]) => d.spec.template.metadata.labels[k] === v,
        ),
      )
      .flatMap((d) => d.spec.template.spec.containers.flatMap((c) => c.ports.map((p) => p.containerPort)))
  for (const o of objects) {
    const spec = isObject(o['spec']) ? o['spec'] : {}
    const targets =
      o.kind === 'Service'
        ? { ports: (spec['ports'] as { targetPort: number }[]).map((p) => p.targetPort), selector: spec['selector'] }
        : o.kind === 'NetworkPolicy'
          ? {
              ports: ((spec['ingress'] ?? []) as { ports: { port: number }[] }[]).flatMap((r) =>
                r.ports.map((p) => p.port),
              ),
              selector: (spec['podSelector'] as { matchLabels?: object }).matchLabels,
            }
          : undefined
    const missing = (targets?.ports ?? []).filter((p) => !portsOf(targets?.selector).includes(p))
    if (missing.length > 0) found.push(`${idOf(o)}: nothing listens on ${missing.join(', ')}`)
  }
  return found
}

test('whatever the settings, the objects fit together, and are the same each time', () => {
  fc.assert(
    fc.property(anySettings, (settings) => {
      const objects = installObjects(settings)
      expect(misfits(settings, objects)).toEqual([])
      expect(installObjects(settings)).toEqual(objects)
      const pods = settings.roles.includes('business') ? settings.providerPods.length : 0
      expect(objects.filter(isDeployment)).toHaveLength(workloadsOf(settings).length + pods)
    }),
    { numRuns: 12 },
  )
})

test('what a server would write in other words is written in its words: kubectl sends it again each time', () => {
  const claimed = { ...wholeValues, cacheMiB: 4_096, resources: { sync: { heapMiB: 768, otherMiB: 256 } } }
  const text = JSON.stringify(installObjects(settingsOf(claimed as typeof wholeValues)).filter(isDeployment))
  expect(text).toMatch(/"memory":"1Gi"/)
  expect([...text.matchAll(/"\d*(?:1024|2048|3072|4096)Mi"|"readOnly":false/g)].map(String)).toEqual([])
})

test('without network policies there is none of ours but the one of renders', () => {
  const objects = installObjects(settingsOf({ ...wholeValues, networkPolicies: { enabled: false } }))
  const policies = objects.filter((o) => o.kind === 'NetworkPolicy')
  expect(policies.map((o) => o.metadata.namespace)).toEqual(['kubenode-render'])
})

test('webhooks of git servers have a port, a Service and a way in only where they are asked for', () => {
  const traces = (gitWebhooks: object) =>
    installObjects(settingsOf({ ...wholeValues, gitWebhooks }))
      .filter((o) => /kubenode-hooks|--hooks-listen|8445/.test(JSON.stringify(o)))
      .map((o) => `${o.kind} ${o.metadata.name ?? ''}`)
      .toSorted()
  expect(traces({})).toEqual([])
  expect(traces({ enabled: true, from: ['10.1.0.0/16'] })).toEqual([
    'Deployment kubenode-sync',
    'NetworkPolicy kubenode-sync',
    'Service kubenode-hooks',
  ])
})

test('a change of the providers replaces the pods that read them', () => {
  const digest = (providers: object) =>
    installObjects(settingsOf({ ...wholeValues, providers } as typeof wholeValues))
      .filter(isDeployment)
      .map((d) => JSON.stringify(d.spec.template.metadata))
  const [before, after] = [digest({ providers: [] }), digest({ providers: [{ name: 'nspawn' }] })]
  expect(before.filter((text) => !after.includes(text))).toHaveLength(1)
})

describe('the console', () => {
  const of = (values: object) => installObjects(settingsOf({ ...wholeValues, ...values }))
  const named = (objects: readonly KubeObject[], kind: string, name: string) =>
    objects.find((o) => o.kind === kind && o.metadata.name === name)
  const proxied = {
    ...page,
    proxy: { clientCa: '-----BEGIN CERTIFICATE-----\nMIIB\n', names: ['front'], users: ['ada'], groups: ['readers'] },
    from: ['10.0.0.0/8'],
  }

  test('is served only where the settings have it, by one pod, at an address for browsers', () => {
    expect(named(of({}), 'Deployment', 'kubenode-console')).toBeUndefined()
    const objects = of({ console: page })
    expect(named(objects, 'Deployment', 'kubenode-console')).toMatchObject({ spec: { replicas: 1 } })
    for (const kind of ['Service', 'PodDisruptionBudget', 'NetworkPolicy'])
      expect(named(objects, kind, 'kubenode-console'), kind).toBeDefined()
    expect(JSON.stringify(objects)).not.toContain('impersonates')
  })

  test('impersonates the listed people and groups behind a proxy, and no others', () => {
    const objects = of({ console: proxied })
    expect(named(objects, 'ClusterRole', 'kubenode:console-impersonates')).toMatchObject({
      rules: [
        { apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['ada'] },
        { apiGroups: [''], resources: ['groups'], verbs: ['impersonate'], resourceNames: ['readers'] },
      ],
    })
    expect(named(objects, 'NetworkPolicy', 'kubenode-console')).toMatchObject({
      spec: { ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }] },
    })
    const alone = of({ console: { ...proxied, proxy: { ...proxied.proxy, groups: [] } } })
    // A rule without names would be for all groups.
    expect(named(alone, 'ClusterRole', 'kubenode:console-impersonates')).toMatchObject({
      rules: [{ resources: ['users'] }],
    })
    for (const user of ['system:masters', 'system:kube-scheduler', ''])
      expect(() => of({ console: { ...proxied, proxy: { ...proxied.proxy, users: [user] } } })).toThrow(/users/)
  })
})
