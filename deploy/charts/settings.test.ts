// Settings: defaults are careful, and what cannot be meant is refused by the name of its field.
import { expect, test } from 'vitest'
import { PLANE_ROW, settingsOf, wholeValues } from './any-settings.ts'
import { argsOf } from './programs.ts'
import { imageOf, readSettings, workloadsOf, type InstallValues } from './settings.ts'

const DIGEST = `sha256:${'a'.repeat(64)}`
const hub: InstallValues = {
  cluster: 'hub',
  roles: ['hub'],
  version: '0.1.0',
  image: `registry.example.org/team/kubenode@${DIGEST}`,
}
const business: InstallValues = {
  ...hub,
  roles: ['business'],
  apiServer: { url: 'https://api.example.org:6443' },
  artifacts: { source: { claim: 'artifacts' }, address: 'artifacts.example.org:30844' },
}

const problemsOf = (value: unknown): readonly string[] => {
  const read = readSettings(value)
  return read.kind === 'Value' ? [] : read.problems.map((p) => `${p.pointer} ${p.message}`)
}

test('four lines install a hub: all else has a default', () => {
  const read = readSettings(hub)
  expect(read).toMatchObject({
    kind: 'Value',
    value: { replicas: 2, networkPolicies: { enabled: true }, metrics: { insecure: false } },
  })
})

test.each<[string, unknown, string]>([
  ['an image by a tag', { ...hub, image: 'registry.example.org/kubenode:latest' }, '/image has the wrong format'],
  ['a misspelled field', { ...hub, replica: 3 }, '/replica '],
  ['nodes without the address of the API server', { ...business, apiServer: undefined }, '/apiServer is required'],
  ['nodes without artifacts', { ...business, artifacts: undefined }, '/artifacts is required'],
  [
    'two sources of artifacts',
    { ...business, artifacts: { source: { claim: 'a', oci: hub.image }, address: 'a:1' } },
    '/artifacts/source exactly one',
  ],
  [
    'a node port that none is',
    { ...business, artifacts: { source: { claim: 'a' }, address: 'a:1', port: 80 } },
    '/artifacts/port a node port',
  ],
  [
    'a digest of join.sh that is none',
    { ...business, artifacts: { source: { claim: 'a' }, address: 'a:1', joinScript: 'abc' } },
    '/artifacts/joinScript ',
  ],
  [
    'an API server without TLS',
    { ...business, apiServer: { url: 'http://api.example.org' } },
    '/apiServer/url must start',
  ],
  [
    'a toleration of our own cordon',
    { ...hub, tolerations: [{ key: 'kubenode.io/cordon' }] },
    '/tolerations/0/key taints of KubeNode',
  ],
  ['control planes of no flavor', { ...hub, controlPlanes: { most: 5 } }, '/controlPlanes needs claim (flavor embedd'],
  [
    'a version of Kubernetes whose images have tags',
    {
      ...hub,
      controlPlanes: { kubernetes: { versions: [{ ...PLANE_ROW, images: { etcd: 'registry.example.org/etcd:3' } }] } },
    },
    '/controlPlanes/kubernetes versions[0]: images.etcd is no image with its digest',
  ],
  [
    'snapshots that follow each other too closely',
    { ...hub, controlPlanes: { kubernetes: { versions: [PLANE_ROW], snapshots: { every: '1m' } } } },
    '/controlPlanes/kubernetes defaults.snapshots.every is no duration of at least 5m',
  ],
])('%s is refused', (_, value, expected) => {
  const [first = ''] = problemsOf(structuredClone(value))
  expect(first).toContain(expected)
})

test('the registry of a mirror keeps the name and the digest', () => {
  expect(imageOf({ image: hub.image })).toBe(hub.image)
  expect(imageOf({ image: hub.image, registry: 'mirror:5000/x' })).toBe(`mirror:5000/x/kubenode@${DIGEST}`)
})

test('controllers are told where hosts download the agent, and the digest of its join.sh', () => {
  const joinScript = 'b'.repeat(64)
  const read = readSettings({ ...business, artifacts: { ...business.artifacts, joinScript } })
  if (read.kind !== 'Value') throw new Error(JSON.stringify(read))
  const args = argsOf('controllers', read.value)
  const valueOf = (flag: string) => args[args.indexOf(flag) + 1]
  expect([valueOf('--artifact-base'), valueOf('--join-script')]).toEqual([
    'https://artifacts.example.org:30844/',
    joinScript,
  ])
})

test('a hub runs no controllers, a cluster with nodes no sync', () => {
  expect(workloadsOf({ roles: ['hub'] })).toEqual(['defender', 'sync'])
  const controlPlanes = { claim: 'planes', most: 50, perProcess: 50, tenantsApart: false, from: [] }
  expect(workloadsOf({ roles: ['hub'], controlPlanes })).toEqual(['defender', 'cluster', 'sync'])
  expect(workloadsOf({ roles: ['business'], controlPlanes })).not.toContain('cluster')
  const all = ['defender', 'artifacts', 'approver', 'controllers']
  expect(workloadsOf(settingsOf({ ...wholeValues, roles: ['business'] }))).toEqual(all)
  // As in a Cluster whose programs the hub deploys.
  expect(workloadsOf({ roles: ['business'] })).toEqual(all.filter((w) => w !== 'artifacts'))
})
