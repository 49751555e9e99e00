// Providers in pods of their own: the pod has the keys of its cloud and no token of the cluster, and only the controllers reach it.
import { expect, test } from 'vitest'
import type { Io } from '#lib/terminal/io.ts'
import { buildProgram } from '#cli/program.ts'
import { isObject } from '#lib/json.ts'
import { parseProviders } from '#providers/providers-file.ts'
import { PROVIDERS } from '#providers/registry.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { settingsOf, wholeValues } from './any-settings.ts'
import { installObjects } from './install.ts'
import { readSettings, type InstallValues } from './settings.ts'

const keys = { ca: '-----BEGIN A', cert: '-----BEGIN B', key: '-----BEGIN C', token: 't'.repeat(43) }
const options = { region: 'eu-central-1', cluster: 'prod-1', credentials: 'File', keyFile: 'secrets/cloud/key.json' }
const aws = { name: 'aws', options, secrets: ['cloud'] }
const values: InstallValues = { ...wholeValues, providerPods: [aws], providerKeys: { aws: keys } }

const objectsOf = (more: Partial<InstallValues> = {}): readonly KubeObject[] =>
  installObjects(settingsOf({ ...values, ...more }))
const named = (objects: readonly KubeObject[], kind: string, name: string): KubeObject => {
  const found = objects.find((o) => o.kind === kind && o.metadata.name === name)
  if (found === undefined) throw new Error(`no ${kind} ${name}`)
  return found
}

interface Pod {
  readonly containers: readonly [
    {
      readonly args: readonly string[]
      readonly env: readonly { readonly name: string; readonly value?: string }[]
      readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
    },
  ]
  readonly volumes: readonly {
    readonly name: string
    readonly secret?: { readonly secretName: string; readonly items?: readonly { readonly key: string }[] }
    readonly projected?: { readonly sources: readonly unknown[] }
  }[]
  readonly [field: string]: unknown
}
const podOf = ({ spec }: KubeObject & { readonly spec?: unknown }): Pod =>
  (spec as { readonly template: { readonly spec: Pod } }).template.spec
const provider = (more: Partial<InstallValues> = {}) =>
  named(objectsOf(more), 'Deployment', 'kubenode-provider-aws') as KubeObject & { readonly spec?: unknown }
const controllers = named(objectsOf(), 'Deployment', 'kubenode-controllers')

/** The files of a Secret below a folder of the pod. */
const filesAt = (pod: Pod, folder: string): readonly string[] => {
  const mount = pod.containers[0].volumeMounts.find((m) => m.mountPath === folder)
  const volume = pod.volumes.find((v) => v.name === mount?.name)
  return (volume?.secret?.items ?? []).map((i) => i.key)
}
const textIn = (objects: readonly KubeObject[], secret: string, file: string): string => {
  const { data } = named(objects, 'Secret', secret) as KubeObject & { readonly data?: Readonly<Record<string, string>> }
  return Buffer.from(data?.[file] ?? '', 'base64').toString()
}

test('there is one pod at a time, with an account of its own and no token of the cluster', () => {
  const { spec } = provider()
  expect(spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
  const pod = podOf(provider())
  expect(pod).toMatchObject({ serviceAccountName: 'kubenode-provider-aws', automountServiceAccountToken: false })
  expect(pod.volumes.filter((v) => v.projected !== undefined)).toEqual([])
  const rights = objectsOf().filter((o) => /Role(Binding)?$/.test(o.kind))
  expect(JSON.stringify(rights)).not.toContain('kubenode-provider')
})

test('the pod is as bounded as Pod Security "restricted" demands', () => {
  const pod = podOf(provider())
  expect(pod).toMatchObject({ securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } } })
  expect(pod.containers[0]).toMatchObject({
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    },
  })
})

test('the private key is in the pod of the provider only, and the keys of the cloud too', () => {
  const folder = '/etc/kubenode/served/aws'
  expect(filesAt(podOf(provider()), folder)).toEqual(['tls.crt', 'tls.key', 'token'])
  expect(filesAt(podOf(controllers), folder)).toEqual(['ca.crt', 'token'])
  const mentions = objectsOf()
    .filter((o) => o.kind === 'Deployment' && JSON.stringify(o).includes('"secretName":"cloud"'))
    .map((o) => o.metadata.name)
  expect(mentions).toEqual(['kubenode-provider-aws'])
})

test('controllers and provider read files that our programs take', () => {
  const objects = objectsOf({ providers: { providers: [{ name: 'static' }] } })
  const read = (secret: string) =>
    parseProviders('/etc/kubenode/providers.json', textIn(objects, secret, 'providers.json'), PROVIDERS)
  expect(read('kubenode-config').map((p) => [p.name, p.paths])).toEqual([
    ['static', []],
    ['aws', ['/etc/kubenode/served/aws/ca.crt', '/etc/kubenode/served/aws/token']],
  ])
  expect(read('kubenode-provider-aws').find((p) => p.name === 'aws')?.paths).toEqual([
    '/etc/kubenode/secrets/cloud/key.json',
  ])
})

test('what is done with orphans is decided by the controllers', () => {
  const objects = objectsOf({ providerPods: [{ ...aws, orphans: 'Delete' }] })
  expect(textIn(objects, 'kubenode-config', 'providers.json')).toContain('"orphans": "Delete"')
  expect(textIn(objects, 'kubenode-provider-aws', 'providers.json')).not.toContain('orphans')
})

test('only the controllers reach it, and it reaches names and its cloud', () => {
  const selector = (o: KubeObject) => (isObject(o['spec']) ? o['spec'] : {})
  const own = selector(named(objectsOf(), 'NetworkPolicy', 'kubenode-provider-aws'))
  expect(own).toMatchObject({
    podSelector: { matchLabels: { 'app.kubernetes.io/component': 'provider-aws' } },
    ingress: [
      {
        ports: [{ port: 8446 }],
        from: [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': 'controllers' } } }],
      },
    ],
  })
  const ports = (own['egress'] as readonly { readonly ports: readonly { readonly port: number }[] }[]).flatMap((r) =>
    r.ports.map((p) => p.port),
  )
  expect(ports).toEqual([53, 5353, 53, 5353, 443])
  // The policy for all programs would let it reach API servers.
  const all = selector(named(objectsOf(), 'NetworkPolicy', 'kubenode-all'))
  const { template } = provider().spec as { readonly template: { readonly metadata: { readonly labels: object } } }
  const wanted = (all['podSelector'] as { readonly matchLabels: object }).matchLabels
  expect(template.metadata.labels).not.toMatchObject(wanted)
  const reached = selector(named(objectsOf(), 'NetworkPolicy', 'kubenode-controllers'))
  expect(JSON.stringify(reached['egress'])).toContain('"app.kubernetes.io/component":"provider-aws"')
})

test('a role of the cloud comes with a token that only the cloud takes', () => {
  const role = { arn: 'arn:aws:iam::1:role/kubenode' }
  const pod = podOf(provider({ providerPods: [{ name: 'aws', options, role }] }))
  expect(pod.volumes.flatMap((v) => v.projected?.sources ?? [])).toEqual([
    { serviceAccountToken: { path: 'token', audience: 'sts.amazonaws.com', expirationSeconds: 3_600 } },
  ])
  expect(pod.containers[0].env).toEqual(
    expect.arrayContaining([
      { name: 'AWS_ROLE_ARN', value: role.arn },
      { name: 'AWS_WEB_IDENTITY_TOKEN_FILE', value: '/var/run/kubenode/cloud/token' },
    ]),
  )
})

test('a Secret of your own replaces the one that install makes', () => {
  const objects = objectsOf({ providerPods: [{ ...aws, servingSecret: 'mine' }] })
  expect(objects.filter((o) => o.kind === 'Secret').map((o) => o.metadata.name)).not.toContain(
    'kubenode-provider-aws-keys',
  )
  for (const name of ['kubenode-provider-aws', 'kubenode-controllers'])
    expect(JSON.stringify(named(objects, 'Deployment', name))).toContain('"secretName":"mine"')
})

test('a cluster without nodes has none', () => {
  expect(JSON.stringify(objectsOf({ roles: ['hub'] }))).not.toContain('kubenode-provider')
})

test('changed options replace the pod', () => {
  const digestOf = (region: string) =>
    JSON.stringify(provider({ providerPods: [{ ...aws, options: { ...options, region } }] }).spec).match(
      /config-digest":"(\w+)/,
    )?.[1]
  expect(digestOf('eu-central-1')).not.toBe(digestOf('eu-west-1'))
})

test('kubenode provider serve knows the flags that it is started with', async () => {
  const io: Io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }
  const commands = (await buildProgram(io)).commands.find((c) => c.name() === 'provider')?.commands ?? []
  const known = commands.find((c) => c.name() === 'serve')?.options.map((o) => o.long) ?? []
  const flags = podOf(provider()).containers[0].args.filter((a) => a.startsWith('--'))
  expect(flags.filter((flag) => !known.includes(flag))).toEqual([])
  expect(new Set(flags).size).toBe(flags.length)
})

test.each<[string, object, string]>([
  ['without keys', { providerKeys: {} }, '/providerPods/0/servingSecret is required where no cluster'],
  ['twice', { providerPods: [aws, aws] }, '/providerPods/1/name is served already'],
  [
    'of the controllers too',
    { providers: { providers: [{ name: 'remote', options: { name: 'aws' } }] } },
    '/providerPods/0/name is served already',
  ],
  [
    'with a role that it cannot have',
    { providerPods: [{ name: 'own', options: {}, servingSecret: 'a', role: { arn: 'arn:aws:x' } }] },
    '/providerPods/0/role is for aws and alicloud only',
  ],
  [
    'with half of a role',
    { providerPods: [{ name: 'alicloud', options, servingSecret: 'a', role: { arn: 'acs:ram::1' } }] },
    '/providerPods/0/role/oidcProvider is required',
  ],
])('a provider %s is refused', (_, more, expected) => {
  const read = readSettings(structuredClone({ ...values, ...more }))
  const problems = read.kind === 'Value' ? [] : read.problems.map((p) => `${p.pointer} ${p.message}`)
  expect(problems.join('\n')).toContain(expected)
})
