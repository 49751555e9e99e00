// Each possible gap of a cluster has its own number; an unread answer never passes, and a healthy cluster has no failure.
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { labelled, type Release } from '../release.ts'
import { failures, withIgnored } from './finding.ts'
import { CHECKS, judge } from './judge.ts'
import type { Wanted } from './judging.ts'
import { networkPluginsIn } from './network-plugins.ts'
import { remediatorsIn } from './remediators.ts'
import type { CheckSeen } from './seen.ts'
import type { UnendedRun } from './unended-run.ts'

const deployment = (name: string, namespace: string, more: object = {}): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace },
  spec: { replicas: 2, ...more },
})
const release: Release = {
  version: '1.2.0',
  definitions: [],
  objects: [deployment('kubenode-sync', 'kubenode-system')],
}
const wanted: Wanted = { release, claims: [] }
const installed = (version?: string) => ({
  value: { definitions: [], inventory: [], inventoryObject: undefined, workloads: [], installed: version },
})

const claim = (name: string, phase: string, storageClass?: string, modes: readonly string[] = ['ReadWriteMany']) => ({
  name,
  phase,
  storageClass,
  modes,
})
const healthy: CheckSeen = {
  server: { value: { text: 'v1.36.2', major: 1, minor: 36 } },
  missing: { value: [] },
  servesPolicies: { value: true },
  signer: { value: undefined },
  joinTokens: { value: undefined },
  installed: installed(),
  nodes: { value: { ready: 3, total: 3 } },
  skewMs: { value: 0 },
  agents: { value: [{ machine: 'm-1', version: '1.0.4' }] },
  remediators: { value: [] },
  networkPlugins: { value: { enforcing: [], others: [] } },
  foreignObjects: { value: [] },
  serverPorts: { value: [6443] },
  ending: { value: [] },
  elsewhere: { value: [] },
  hosted: { value: [] },
  storage: {
    value: { classes: ['fast'], hasDefault: false, volumeClasses: ['by-hand'], claims: [claim('data', 'Bound')] },
  },
  refusals: { value: [] },
}
const POLICY: KubeObject = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'p' } }
const codes = (seen: Partial<CheckSeen>, of: Wanted = wanted) =>
  failures(judge({ ...healthy, ...seen }, of)).map((f) => f.code)
type WantedClaim = Wanted['claims'][number]
const claims = (claim: Pick<WantedClaim, 'name' | 'isMade'> & Partial<WantedClaim>): Wanted => ({
  release,
  claims: [{ modes: [], pods: 2, ...claim }],
})

test('a healthy cluster passes every check', () => {
  expect(new Set(judge(healthy, wanted).map((f) => f.verdict))).toEqual(new Set(['Passed']))
})

test.each<[string, Partial<CheckSeen>, string]>([
  ['server 1.31', { server: { value: { text: 'v1.31.9', major: 1, minor: 31 } } }, 'KN1401'],
  [
    'no rights',
    { missing: { value: ['create clusterroles.rbac.authorization.k8s.io', 'patch namespaces'] } },
    'KN2403',
  ],
  ['policies not served', { servesPolicies: { value: false } }, 'KN1403'],
  ['no signer answers', { signer: { value: 'nothing within 15 s' } }, 'KN1404'],
  ['no bootstrap tokens', { joinTokens: { value: 'it is not accepted' } }, 'KN1437'],
  ['a skipped version', { installed: installed('0.9.0') }, 'KN1406'],
  ['clock skew', { skewMs: { value: 5_000 } }, 'KN1408'],
  ['old agents', { agents: { value: [{ machine: 'm-2', version: '0.9.0' }] } }, 'KN1409'],
  ['foreign remediators', { remediators: { value: ['draino (deployment ops/draino)'] } }, 'KN1410'],
  ['namespace on its way out', { ending: { value: [{ namespace: 'kubenode-join', why: 'x' }] } }, 'KN1442'],
  ['namespace taken', { foreignObjects: { value: ['deployment shop'] } }, 'KN1411'],
  ['a refusing policy', { refusals: { value: [{ workload: 'w', namespace: 'n', why: 'no' }] } }, 'KN1413'],
  ['a second installation', { elsewhere: { value: [deployment('kubenode-sync', 'ops')] } }, 'KN1415'],
])('%s', (_, seen, code) => expect(codes(seen)).toEqual([code]))

test('a namespace that only the webhook of the lost Defender holds names what ends that', () => {
  const why =
    'Failed to delete all resource types, 1 remaining: Internal error occurred: failed calling webhook "fleetsources.deletions.kubenode.io": service "kubenode-webhook" not found'
  const ending = { value: [{ namespace: 'kubenode-system', why }] }
  const [only] = failures(judge({ ...healthy, ending }, wanted))
  expect(only?.text).toContain('kubectl delete validatingwebhookconfigurations kubenode.io')
})

describe('control planes of Clusters', () => {
  const hosted = (flavor: 'embedded' | 'kubernetes', version: string, isMade = true) => ({
    name: `fleet/${flavor}`,
    flavor,
    version,
    isMade,
    wantsPrograms: true,
  })
  const program = (args: readonly string[]) =>
    deployment('kubenode-cluster', 'kubenode-system', { template: { spec: { containers: [{ args }] } } })
  const list = (...versions: readonly string[]): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'kubenode-control-plane-versions', namespace: 'kubenode-system' },
    data: { 'versions.json': JSON.stringify({ versions: versions.map((version) => ({ version })) }) },
  })
  const both = [program(['--control-planes', 's', '--control-plane-versions', 'f']), list('1.35.2', '1.36.2')]
  const embedded = [program(['--control-planes', 's'])]
  const found = (objects: readonly KubeObject[], clusters: readonly ReturnType<typeof hosted>[]) =>
    judge(
      { ...healthy, hosted: { value: clusters } },
      { ...wanted, release: { ...release, objects: [...release.objects, ...objects] } },
    ).filter((f) => f.check === 'flavors')

  test('get no programs, with the setting that runs them, until the hub does', () => {
    const programs = (objects: readonly KubeObject[], wantsPrograms = true) =>
      judge(
        { ...healthy, hosted: { value: [{ ...hosted('embedded', '1.36.2'), wantsPrograms }] } },
        { ...wanted, release: { ...release, objects: [...release.objects, ...objects] } },
      ).filter((f) => f.check === 'cluster-programs')
    expect(programs(embedded)).toMatchObject([
      { verdict: 'Warning', text: expect.stringMatching(/setting clusterPrograms: fleet\/embedded$/) as string },
    ])
    expect(programs([program(['--control-planes', 's', '--host-programs'])])).toMatchObject([{ verdict: 'Passed' }])
    expect(programs(embedded, false)).toEqual([])
  })

  test('that are not Ready are warned of once, also on a hub without settings', () => {
    const unready = {
      status: 'False',
      reason: 'ProgramsNotServed',
      message: 'this hub runs no programs for its Clusters',
    } as const
    const warnings = (objects: readonly KubeObject[]) =>
      judge(
        { ...healthy, hosted: { value: [{ ...hosted('embedded', '1.36.2'), unready }] } },
        { ...wanted, release: { ...release, objects } },
      ).filter((f) => f.verdict === 'Warning' && /Clusters/.test(f.text))
    expect(warnings([]).map((f) => f.text)).toEqual([`NotReady: fleet/embedded: ${unready.message}`])
    expect(warnings([...release.objects, ...embedded])).toHaveLength(1)
  })

  test('whose state is unknown are warned of, and where only the flavor is not served, once', () => {
    const told = (reason: string, message: string, objects: readonly KubeObject[] = []) => {
      const unready = { status: 'Unknown', reason, message } as const
      const value = [{ ...hosted('kubernetes', '1.36.2'), unready }]
      return judge({ ...healthy, hosted: { value } }, { ...wanted, release: { ...release, objects } })
        .filter((f) => f.verdict !== 'Passed' && /fleet\/kubernetes/.test(f.text))
        .map((f) => f.text)
    }
    expect(told('HostUnreachable', 'no answer')).toEqual(['Unknown: fleet/kubernetes: no answer'])
    expect(told('FlavorNotServed', 'flavor kubernetes')).toEqual(['Unknown: fleet/kubernetes: flavor kubernetes'])
    const served = [...release.objects, program(['--control-planes', 's', '--host-programs'])]
    expect(told('FlavorNotServed', 'flavor kubernetes', served)).toEqual([
      expect.stringContaining('1 Cluster of flavor kubernetes would run on with no host'),
    ])
  })

  test('pass where every flavor and version is served', () => {
    expect(found(both, [hosted('kubernetes', '1.36.2'), hosted('embedded', '1.30.0')])).toEqual([
      { check: 'flavors', verdict: 'Passed', text: 'embedded, kubernetes; Kubernetes 1.35.2, 1.36.2; 2 Clusters' },
    ])
  })

  test('that run are not left without their host by an upgrade', () => {
    const [only, ...others] = found(embedded, [hosted('kubernetes', '1.36.2'), hosted('embedded', '1.36.2')])
    expect(others).toEqual([])
    expect(only).toMatchObject({ verdict: 'Failed', code: 'KN1453' })
    expect(only?.text).toContain('1 Cluster of flavor kubernetes would run on with no host for them: fleet/kubernetes')
  })

  test('keep the row of the version that they run', () => {
    expect(found(both, [hosted('kubernetes', '1.34.1')])).toMatchObject([{ verdict: 'Failed', code: 'KN1454' }])
  })

  test('that wait for a flavor are named with the setting that serves it', () => {
    expect(found(embedded, [hosted('kubernetes', '1.36.2', false)])).toEqual([
      {
        check: 'flavors',
        verdict: 'Warning',
        text: 'Clusters wait for flavor kubernetes, setting controlPlanes.kubernetes: fleet/kubernetes (1.36.2)',
      },
    ])
  })

  test('are judged only with settings', () => {
    const clusters = { value: [hosted('kubernetes', '1.36.2')] }
    const all = judge({ ...healthy, hosted: clusters }, { ...wanted, release: { ...release, objects: [] } })
    expect(all.filter((f) => f.check === 'flavors')).toEqual([])
  })
})

test('few nodes are a warning with a number: one replica works on one node', () => {
  const found = judge({ ...healthy, nodes: { value: { ready: 1, total: 4 } } }, wanted)
  expect(found.find((f) => f.check === 'nodes')).toMatchObject({ verdict: 'Warning', code: 'KN1407' })
})

test.each([
  ['no nodes and no settings yet', 0, [], /0 of 0 nodes take ordinary pods; the programs need one; add a node, or unc/],
  ['no nodes', 0, release.objects, /two replicas of a role need 2; add a node, or unc/],
  ['one replica and no node', 0, [deployment('kubenode-sync', 'n', { replicas: 1 })], /the programs need one; add/],
])('%s is a warning whose remedy helps', (_, total, objects, text) => {
  const found = judge(
    { ...healthy, nodes: { value: { ready: 0, total } } },
    { ...wanted, release: { ...release, objects } },
  )
  expect(found.find((f) => f.check === 'nodes')).toMatchObject({ verdict: 'Warning', code: 'KN1407' })
  expect(found.find((f) => f.check === 'nodes')?.text).toMatch(text)
})

test('a check of an installation fails once where there is none', () => {
  const running = {
    unready: { value: [] },
    altered: { value: [] },
    leaderless: { value: [] },
    clocks: { value: [] },
    webhook: 'NotAsked',
    isWebhookLeft: 'NotAsked',
  } as const
  const found = judge({ ...healthy, running }, wanted)
  expect(failures(found).map((f) => f.code)).toEqual(['KN1422'])
  expect(found.filter((f) => f.check === 'leaders' || f.check === 'workloads')).toEqual([])
})

test('one that is running is a warning, and one that was broken off a failure with its remedy', () => {
  const seen = { unready: { value: [] }, altered: { value: [] }, leaderless: { value: [] }, clocks: { value: [] } }
  const findingOf = (run: UnendedRun | undefined) =>
    judge(
      {
        ...healthy,
        installed: installed('1.2.0'),
        running: { ...seen, run: { value: run }, webhook: 'NotAsked', isWebhookLeft: 'NotAsked' },
      },
      wanted,
    ).find((f) => f.check === 'run')
  expect(findingOf({ kind: 'Running', by: 'upgrade on host-1' })).toMatchObject({ verdict: 'Warning' })
  expect(findingOf({ kind: 'BrokenOff', verb: 'install' })?.text).toMatch(
    /^KN1449: an installation .* run kubenode install/,
  )
  expect(findingOf({ kind: 'BrokenOff', verb: 'uninstall' })?.text).toMatch(/run kubenode uninstall again/)
  expect(findingOf(undefined)).toBeUndefined()
})

describe('a cluster whose programs run as processes, without Deployments', () => {
  const processes = ['defender', 'controllers', 'approver']
  const as = (now: object) =>
    judge(
      {
        ...healthy,
        nodes: { value: { ready: 0, total: 0 } },
        running: {
          processes,
          unready: { value: [] },
          altered: { value: [] },
          leaderless: { value: [] },
          clocks: { value: [] },
          webhook: { value: undefined },
          isWebhookLeft: 'NotAsked',
          ...now,
        },
      },
      wanted,
    )

  test('passes where each role has a leader, and needs no node, volume or network of pods', () => {
    const found = as({})
    expect(found.filter((f) => f.verdict !== 'Passed')).toEqual([])
    expect(found.find((f) => f.check === 'versions')?.text).toBe(
      'KubeNode 1.2.0; its programs run as processes, without Deployments',
    )
    expect(found.map((f) => f.check)).toEqual(expect.arrayContaining(['leaders', 'webhook']))
    for (const check of ['nodes', 'storage', 'pods', 'network', 'workloads'])
      expect(found.map((f) => f.check)).not.toContain(check)
  })

  test('fails where a role has no leader, with what to start again', () => {
    const [found] = failures(as({ leaderless: { value: ['defender', 'controllers'] } }))
    expect(found?.code).toBe('KN1430')
    expect(found?.text).toMatch(
      /^KN1430: no program leads for defender, controllers; .* --roles defender,controllers again$/,
    )
  })

  test('fails where the clock of a program is apart, and says whose', () => {
    const clocks = {
      value: [
        { role: 'defender', apartMs: 900 },
        { role: 'controllers', apartMs: 3_600_000 },
      ],
    }
    const found = failures(as({ clocks }))
    expect(found.map((f) => [f.check, f.code])).toEqual([['clock', 'KN1408']])
    expect(found[0]?.text).toMatch(/leads for controllers and that of the API server are 3600 s apart/)
  })

  test('fails where the webhook does not answer', () => {
    expect(failures(as({ webhook: { value: 'no answer' } })).map((f) => f.code)).toEqual(['KN1431'])
  })
})

test.each([
  [true, ['KN1439']],
  [false, []],
])('a webhook that settings switched off, still registered: %s', (isLeft, expected) => {
  const seen = {
    unready: { value: [] },
    altered: { value: [] },
    leaderless: { value: [] },
    clocks: { value: [] },
    webhook: 'NotAsked',
  } as const
  const running = { ...seen, isWebhookLeft: { value: isLeft } }
  expect(codes({ running, installed: installed('1.2.0') })).toEqual(expected)
})

test('a release that would remove most of an installation stops, unless the user says so', () => {
  const refs = (kind: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({ group: '', kind, namespace: 'kubenode-system', name: `old-${i}` }))
  const judged = (inventory: ReturnType<typeof refs>) => {
    const { value } = installed('1.2.0')
    return judge({ ...healthy, installed: { value: { ...value, inventory } } }, wanted).filter(
      (f) => f.check === 'removals',
    )
  }
  expect(judged([...refs('ConfigMap', 5), ...refs('PersistentVolumeClaim', 5)])).toEqual([])
  const found = judged([...refs('ConfigMap', 6), ...refs('PersistentVolumeClaim', 4)])
  expect(found.map((f) => f.text)).toEqual([expect.stringContaining('would remove 6 of the 10 objects')])
  expect(failures(withIgnored(found, new Set(['removals'])))).toEqual([])
})

test('every check has a name that --ignore knows', () => {
  for (const { check } of judge(healthy, wanted)) expect(CHECKS).toContain(check)
})

test('a volume needs a claim that is there, or a class that can make it', () => {
  expect(codes({}, claims({ name: 'data', isMade: false }))).toEqual([])
  expect(codes({}, claims({ name: 'other', isMade: false }))).toEqual(['KN1412'])
  expect(codes({}, claims({ name: 'other', isMade: true }))).toEqual(['KN1412'])
  expect(codes({}, claims({ name: 'other', isMade: true, storageClass: 'fast' }))).toEqual([])
  expect(codes({}, claims({ name: 'other', isMade: true, storageClass: 'slow' }))).toEqual(['KN1412'])
})

const ALL_PODS: KubeObject = {
  ...POLICY,
  metadata: { name: 'kubenode-all' },
  spec: { egress: [{ ports: [{ protocol: 'UDP', port: 53 }] }, { ports: [{ port: 443 }, { port: 6443 }] }] },
}
const withPolicy: Wanted = { release: { ...release, objects: [...release.objects, ALL_PODS] }, claims: [] }

test('a port of the API server that NetworkPolicies close is an error where they are known to be enforced, else a warning', () => {
  const calico = { value: { enforcing: ['Calico'], others: [] } }
  const microk8s = { serverPorts: { value: [16_443] } }
  expect(codes({ ...microk8s, networkPlugins: calico }, withPolicy)).toEqual(['KN1443'])
  expect(codes({ networkPlugins: calico }, withPolicy)).toEqual([])
  const doubtful = judge({ ...healthy, ...microk8s }, withPolicy).filter((f) => f.check === 'network')
  expect(doubtful.map((f) => [f.verdict, f.code])).toEqual([
    ['Warning', undefined],
    ['Warning', 'KN1443'],
  ])
  const flannel = { value: { enforcing: [], others: ['flannel'] } }
  const open = judge({ ...healthy, ...microk8s, networkPlugins: flannel }, withPolicy)
  expect(open.flatMap((f) => f.code ?? [])).toEqual(['KN1436'])
})

test.each([
  ['waits for its first pod', claim('data', 'Pending', 'fast'), []],
  ['names a class that only a volume has', claim('data', 'Pending', 'by-hand'), []],
  ['names a class that is not there', claim('data', 'Pending', 'shared'), ['KN1412']],
  ['names none, and there is no default', claim('data', 'Pending'), ['KN1412']],
  ['lost its volume', claim('data', 'Lost', 'fast'), ['KN1412']],
])('a claim of a person that %s', (_, one, expected) => {
  const storage = { value: { classes: ['fast'], hasDefault: false, volumeClasses: ['by-hand'], claims: [one] } }
  expect(codes({ storage }, claims({ name: 'data', isMade: false }))).toEqual(expected)
})

test.each<[string, readonly string[], number, 'Failed' | 'Warning' | 'Passed']>([
  ['of two replicas that one node mounts', ['ReadWriteOnce'], 2, 'Warning'],
  ['of two replicas that one pod mounts', ['ReadWriteOncePod'], 2, 'Failed'],
  ['of two replicas that many may read', ['ReadWriteOnce', 'ReadOnlyMany'], 2, 'Passed'],
  ['of one replica', ['ReadWriteOncePod'], 1, 'Passed'],
])('a claim %s', (_, modes, pods, verdict) => {
  const storage = (of: readonly string[]) => ({
    value: { classes: ['fast'], hasDefault: true, volumeClasses: [], claims: [claim('data', 'Bound', 'fast', of)] },
  })
  const code = verdict === 'Passed' ? undefined : 'KN1445'
  const own = judge({ ...healthy, storage: storage(modes) }, claims({ name: 'data', isMade: false, pods }))
  expect(own.filter((f) => f.check === 'storage').map((f) => [f.verdict, f.code])).toEqual([[verdict, code]])
  const made = judge({ ...healthy, storage: storage([]) }, claims({ name: 'other', isMade: true, modes, pods }))
  expect(made.filter((f) => f.check === 'storage').map((f) => [f.verdict, f.code])).toEqual([[verdict, code]])
})

test('a claim that is not there is to be created, not a StorageClass', () => {
  const [found] = failures(judge(healthy, claims({ name: 'artifacts', isMade: false })))
  expect(found?.text).toMatch(
    /artifacts gets no volume: it is not in namespace kubenode-system; create it there; before/,
  )
  expect(found?.text).not.toContain('StorageClass')
})

test('definitions of others are named', () => {
  const gadgets: KubeObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gadgets.kubenode.io' },
    spec: { group: 'kubenode.io', scope: 'Cluster', names: { kind: 'Gadget', plural: 'gadgets' }, versions: [] },
  }
  const seen = { installed: { value: { ...installed().value, definitions: [gadgets] } } }
  expect(codes(seen)).toEqual(['KN1405'])
  expect(codes({ installed: { value: { ...installed().value, definitions: [labelled(gadgets, '1.1.0')] } } })).toEqual(
    [],
  )
})

test('an unread answer is a warning, and never passes', () => {
  for (const key of Object.keys(healthy) as readonly (keyof CheckSeen)[]) {
    const { release: plain, ...rest } = claims({ name: 'data', isMade: false })
    const found = judge(
      { ...healthy, [key]: { unread: 'timed out' } },
      { ...rest, release: { ...plain, objects: [...plain.objects, POLICY] } },
    )
    expect(found.filter((f) => f.verdict === 'Warning' && f.text === 'unknown: timed out')).not.toEqual([])
  }
})

test('--ignore turns a failure into a warning, but not where things of others would be lost', () => {
  const found = judge(
    { ...healthy, remediators: { value: ['draino'] }, elsewhere: { value: [deployment('kubenode-sync', 'ops')] } },
    wanted,
  )
  const left = failures(withIgnored(found, new Set(['remediators', 'elsewhere'])))
  expect(left.map((f) => f.check)).toEqual(['elsewhere'])
})

const workload = (image: string, args: readonly string[] = []): KubeObject =>
  deployment('x', 'ops', { template: { spec: { containers: [{ name: 'c', image, args }] } } })

test.each([
  ['planetlabs/draino:e0d5277', [], true],
  ['ghcr.io/kubereboot/kured:1.16.0', [], true],
  ['public.ecr.aws/karpenter/controller:1.6.0', ['--feature-gates=NodeRepair=true'], true],
  ['public.ecr.aws/karpenter/controller:1.6.0', ['--feature-gates=NodeRepair=false'], false],
  ['registry.k8s.io/node-problem-detector/node-problem-detector:v0.8.19', [], false],
  ['example.org/drainopolis:1', [], false],
])('%s %j is a remediator: %s', (image, args, expected) => {
  expect(remediatorsIn([workload(image, args)]).length > 0).toBe(expected)
})

const plugin = (name: string, ...images: readonly string[]): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name, namespace: 'kube-system' },
  spec: { template: { spec: { containers: images.map((image) => ({ image })) } } },
})
test.each([
  ['flannel alone', [plugin('kube-flannel-ds', 'ghcr.io/flannel-io/flannel:v0.26.1')], 'Warning', 'KN1436'],
  [
    'flannel with policies of Calico (canal)',
    [plugin('canal', 'docker.io/calico/node:v3.29.1', 'docker.io/flannel/flannel:v0.24.4')],
    'Passed',
    undefined,
  ],
  ['Calico from a mirror', [plugin('calico-node', 'mirror.example.org/third/node@sha256:00')], 'Passed', undefined],
  ['Cilium', [plugin('cilium', 'quay.io/cilium/cilium:v1.17.0@sha256:00')], 'Passed', undefined],
  ['a program that is called node', [plugin('agent', 'example.org/node:1')], 'Warning', undefined],
  ['nothing that is known', [], 'Warning', undefined],
])('whether the network enforces policies is said as far as it is known: %s', (_, all, verdict, code) => {
  const found = judge(
    { ...healthy, networkPlugins: { value: networkPluginsIn(all) } },
    { ...wanted, release: { ...release, objects: [POLICY] } },
  ).find((f) => f.check === 'network')
  expect([found?.verdict, found?.code]).toEqual([verdict, code])
})

test('sets that name a provider which the controllers do not serve are named with what they serve', () => {
  const seen = {
    unready: { value: [] },
    altered: { value: [] },
    leaderless: { value: [] },
    clocks: { value: [] },
    webhook: 'NotAsked',
    isWebhookLeft: 'NotAsked',
  } as const
  const found = (others: readonly string[] | undefined) =>
    judge(
      {
        ...healthy,
        installed: installed('1.2.0'),
        running: { ...seen, providers: { value: others && { served: ['process', 'static'], others } } },
      },
      wanted,
    ).find((f) => f.check === 'providers')
  expect(found(undefined)).toBeUndefined()
  expect(found([])).toMatchObject({ verdict: 'Passed', text: 'the controllers serve process, static' })
  expect(found(['machineset workers: proces'])).toMatchObject({ verdict: 'Failed', code: 'KN1451' })
})
