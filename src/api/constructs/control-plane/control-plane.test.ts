// A control plane's objects fit together: what a command reads is mounted, what a policy admits is served, and nothing is shared with another cluster.
import { describe, expect, test } from 'vitest'
import { planeSettings } from '#test/support/worlds/control-planes.ts'
import type { KubeObject } from '../../schema/object.ts'
import { refusedArgs } from './arguments.ts'
import { controlPlaneObjects } from './control-plane.ts'
import { restoreJob } from './etcd-jobs.ts'
import { quotaOf } from './etcd.ts'
import { PARTS, SECRETS, type ControlPlaneSettings, type Part } from './settings.ts'
import { defined } from '#lib/defined.ts'

interface Workload extends KubeObject {
  readonly spec: {
    readonly replicas: number
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>>; readonly annotations: object }
      readonly spec: {
        readonly containers: readonly [
          {
            readonly image: string
            readonly command: readonly string[]
            readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
          },
        ]
        readonly volumes: readonly { readonly name: string }[]
      }
    }
  }
}

const isWorkload = (o: KubeObject): o is Workload => o.kind === 'Deployment' || o.kind === 'StatefulSet'
const workloads = (settings: ControlPlaneSettings): readonly Workload[] =>
  controlPlaneObjects(settings).filter(isWorkload)
const workloadOf = (settings: ControlPlaneSettings, part: Part): Workload => {
  const found = workloads(settings).find((w) => w.spec.template.spec.containers[0].command[0]?.endsWith(part))
  if (found === undefined) throw new Error(part)
  return found
}
const commandOf = (settings: ControlPlaneSettings, part: Part) =>
  workloadOf(settings, part).spec.template.spec.containers[0].command

const SMALL = planeSettings({
  replicas: 1,
  etcd: {
    members: 1,
    storage: '1Gi',
    keepsVolumes: false,
    hasOwnNodes: true,
    isFounded: false,
    startsEmpty: true,
    token: '0b1c',
    snapshotStorage: '2Gi',
  },
  endpoint: { type: 'ClusterIP', host: '10.96.7.7', port: 6443 },
})
const LARGE = planeSettings()

describe.each([
  ['one of each', SMALL],
  ['three of each', LARGE],
])('a control plane with %s', (_, settings) => {
  test('has one workload for each part, and all lies in its own namespace', () => {
    const objects = controlPlaneObjects(settings)
    expect(workloads(settings)).toHaveLength(PARTS.length)
    const places = objects.map((o) => (o.kind === 'Namespace' ? o.metadata.name : o.metadata.namespace))
    expect(new Set(places)).toEqual(new Set([settings.namespace]))
    expect(JSON.stringify(objects)).not.toContain('undefined')
  })

  test.each(PARTS)('%s reads only files that are mounted', (part) => {
    const [container] = workloadOf(settings, part).spec.template.spec.containers
    const volumes = new Set(workloadOf(settings, part).spec.template.spec.volumes.map((v) => v.name))
    for (const mount of container.volumeMounts)
      if (mount.name !== 'data') expect(volumes, `volume of ${mount.mountPath}`).toContain(mount.name)
    const mounted = new Set(container.volumeMounts.map((m) => m.mountPath))
    let read = 0
    for (const word of container.command) {
      const [, folder, secret = '', file = ''] = /=(\/etc\/kubernetes\/([a-z-]+))\/([\w.-]+)$/.exec(word) ?? []
      if (folder === undefined) continue
      read++
      expect(mounted, word).toContain(folder)
      if (secret in SECRETS) expect(SECRETS[secret as keyof typeof SECRETS], word).toContain(file)
    }
    expect(read).toBeGreaterThan(0)
  })

  test('every Service and budget selects pods of exactly one part', () => {
    const objects = controlPlaneObjects(settings)
    const labels = workloads(settings).map((w) => w.spec.template.metadata.labels)
    const matches = (selector: Readonly<Record<string, string>>) =>
      labels.filter((l) => Object.entries(selector).every(([k, v]) => l[k] === v)).length
    for (const o of objects) {
      const spec = o['spec'] as { selector?: Record<string, never> } | undefined
      if (o.kind === 'Service') expect(matches(spec?.selector ?? {})).toBe(1)
      if (o.kind === 'PodDisruptionBudget') expect(matches(spec?.selector?.['matchLabels'] ?? {})).toBe(1)
    }
  })
})

test('nothing of one cluster selects pods of another', () => {
  const other = planeSettings({ cluster: 'fleet.prod-2', namespace: 'kc-fleet-prod-2' })
  const labels = workloads(other).map((w) => w.spec.template.metadata.labels)
  for (const { spec } of workloads(LARGE))
    expect(labels.filter((l) => Object.entries(spec.selector.matchLabels).every(([k, v]) => l[k] === v))).toEqual([])
})

test('new programs keep the behavior of the old minor when they are told to', () => {
  const emulating = { ...LARGE.parts.apiserver, version: '1.36.2', emulates: 35 }
  const settings = planeSettings({
    parts: { ...LARGE.parts, apiserver: emulating, 'controller-manager': emulating, scheduler: emulating },
  })
  for (const part of PARTS.filter((p) => p !== 'etcd')) {
    expect(commandOf(settings, part)).toContain('--emulated-version=1.35')
    expect(commandOf(LARGE, part).filter((word) => word.includes('emulated'))).toEqual([])
  }
})

test('a change of a credential replaces the pods of the parts that read it, and no others', () => {
  const changed = planeSettings({ credentials: { ...LARGE.credentials, scheduler: 'new' } })
  const templates = (settings: ControlPlaneSettings) =>
    PARTS.map((part) => JSON.stringify(workloadOf(settings, part).spec.template))
  const before = templates(LARGE)
  expect(templates(changed).map((t, i) => t === before[i])).toEqual([true, true, true, false])
})

test('hosts can join with bootstrap tokens, and those that have expired are removed', () => {
  expect(commandOf(LARGE, 'apiserver')).toContain('--enable-bootstrap-token-auth=true')
  expect(commandOf(LARGE, 'controller-manager')).toContain('--controllers=*,tokencleaner')
})

test('API servers reach their etcd, names, and what lies outside of the network of the hub', () => {
  const found = controlPlaneObjects(LARGE).filter((o) => o.kind === 'NetworkPolicy')
  const egressOf = (name: string) =>
    (found.find((o) => o.metadata.name === name)?.['spec'] as { egress: object[] } | undefined)?.egress ?? []
  const [etcd, ...others] = egressOf('apiserver')
  expect(etcd).toEqual({
    to: [{ podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'etcd' }) } }],
    ports: [{ protocol: 'TCP', port: 2379 }],
  })
  const [{ cidr, except } = { cidr: '', except: [] }] = LARGE.reachable
  expect(others).toEqual([{ to: [{ ipBlock: { cidr, except } }] }])
  // A cluster's Service has an address that only its own nodes know, and that may belong to the hub.
  expect(commandOf(LARGE, 'apiserver')).toContain('--enable-aggregator-routing=true')
})

test('images are named by digest', () => {
  for (const { spec } of workloads(LARGE))
    expect(spec.template.spec.containers[0].image).toMatch(/@sha256:[0-9a-f]{64}$/)
})

test('a cluster has the last word on arguments, but not on those that keys and rights hang on', () => {
  const settings = planeSettings({ extraArgs: { 'apiserver.goaway-chance': '0.01', 'etcd.snapshot-count': '5000' } })
  expect(commandOf(settings, 'apiserver').at(-1)).toBe('--goaway-chance=0.01')
  expect(commandOf(settings, 'etcd').at(-1)).toBe('--snapshot-count=5000')
  expect(
    refusedArgs(
      {
        'apiserver.authorization-mode': 'AlwaysAllow',
        'kubelet.x': '1',
        verbosity: '4',
        'apiserver.v': '4',
        'etcd.a b': '1',
      },
      PARTS,
    ),
  ).toEqual([
    'apiserver.authorization-mode: KubeNode sets it itself',
    'kubelet.x: begins with none of etcd, apiserver, controller-manager, scheduler',
    'verbosity: begins with none of etcd, apiserver, controller-manager, scheduler',
    'etcd.a b: is no argument',
  ])
})

test.each([
  // etcd would answer every client that reaches it.
  'etcd.client-cert-auth',
  'etcd.auto-tls',
  // All other arguments would be ignored.
  'etcd.config-file',
  // The store would start over, or lose writes.
  'etcd.force-new-cluster',
  'etcd.wal-dir',
  'etcd.unsafe-no-fsync',
  'etcd.discovery-srv',
  // Other users, and other rights.
  'apiserver.token-auth-file',
  'apiserver.disable-admission-plugins',
  'apiserver.kubelet-client-key',
  'apiserver.cert-dir',
  'controller-manager.use-service-account-credentials',
  'controller-manager.master',
  'scheduler.config',
  // The network of a cluster never changes.
  'apiserver.service-cluster-ip-range',
  'controller-manager.cluster-cidr',
])('%s is no argument of a Cluster', (name) => {
  expect(refusedArgs({ [name]: 'x' }, PARTS)).toEqual([`${name}: KubeNode sets it itself`])
})

test('etcd raises its alarm before its volume is full', () => {
  expect(quotaOf('8Gi')).toBe(6 * 2 ** 30)
  expect(quotaOf('100Gi')).toBe(8 * 2 ** 30)
  expect(quotaOf('500M')).toBe(375_000_000)
})

test('old keys of service accounts are trusted as long as they are there', () => {
  const keys = commandOf(planeSettings({ oldTokenKeys: 2 }), 'apiserver').filter((w) =>
    w.startsWith('--service-account-key-file'),
  )
  expect(keys.map((k) => k.split('/').at(-1))).toEqual(['sa.pub', 'sa-old-0.pub', 'sa-old-1.pub'])
})

test('each restore begins at revisions above those of the one before, the same for every member', () => {
  const flagOf = (restores: number | undefined, member: number) => {
    const job = restoreJob(planeSettings(), 'job', { slot: 0, member, ...defined({ restores }) })
    return /--bump-revision=(\d+)/.exec(JSON.stringify(job))?.[1]
  }
  const [first, second] = [Number(flagOf(1, 0)), Number(flagOf(2, 0))]
  expect(second - first).toBeGreaterThanOrEqual(1_000_000_000)
  expect(flagOf(2, 1)).toBe(flagOf(2, 0))
  // etcd before 3.5.10 has no such flag.
  expect(flagOf(undefined, 0)).toBeUndefined()
})
