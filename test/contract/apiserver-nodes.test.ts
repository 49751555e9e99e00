// S1: the rights of a kubelet's key: its own Node, Lease and pods and the objects they refer to, whichever verb, path or selector is tried.
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests, type SendOptions } from '#test/support/servers/api-requests.ts'
import { defined } from '#lib/defined.ts'

const CORE = '/api/v1'
const NS = 'work'
const IN = `${CORE}/namespaces/${NS}`
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const CSI = '/apis/storage.k8s.io/v1/csinodes'
const IMAGE = 'registry.example/app:1'

const nodeUser = (node: string): SendOptions => ({
  as: `system:node:${node}`,
  groups: ['system:nodes', 'system:authenticated'],
})
const A = nodeUser('a')

/** A pod that refers to one object in each of the ways there are, all named after it. */
const podOn = (name: string, nodeName: string | undefined, account = `${name}-account`) => ({
  metadata: { name, labels: { app: name } },
  spec: {
    ...defined({ nodeName }),
    serviceAccountName: account,
    automountServiceAccountToken: false,
    imagePullSecrets: [{ name: `${name}-pull` }],
    initContainers: [{ name: 'i', image: IMAGE, envFrom: [{ secretRef: { name: `${name}-initial` } }] }],
    containers: [
      {
        name: 'c',
        image: IMAGE,
        env: [
          { name: 'S', valueFrom: { secretKeyRef: { name: `${name}-variable`, key: 'k' } } },
          { name: 'C', valueFrom: { configMapKeyRef: { name: `${name}-map`, key: 'k' } } },
        ],
      },
    ],
    volumes: [
      { name: 'secret', secret: { secretName: `${name}-volume` } },
      {
        name: 'projected',
        projected: {
          sources: [
            { secret: { name: `${name}-projected` } },
            { serviceAccountToken: { path: 'token' } },
            { serviceAccountToken: { path: 'vault', audience: 'vault' } },
          ],
        },
      },
    ],
  },
})
const SECRETS = ['pull', 'initial', 'variable', 'volume', 'projected']

describe.each(apiServers)('a kubelet against $name', ({ start, hasLoops: isEmbedded }) => {
  let server: RunningServer
  let api: Requests
  let uids: Readonly<Record<string, string>> = {}
  let restricts = true

  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
    await api.made(`${CORE}/namespaces`, { metadata: { name: NS } })
    const made = async (path: string, body: object) => (await api.made(path, body)).metadata.uid ?? ''
    uids = {
      a: await made(`${CORE}/nodes`, { metadata: { name: 'a', labels: { tier: 'x' } } }),
      b: await made(`${CORE}/nodes`, { metadata: { name: 'b' } }),
    }
    for (const pod of ['mine', 'theirs', 'waiting']) {
      await made(`${IN}/serviceaccounts`, { metadata: { name: `${pod}-account` } })
      await made(`${IN}/configmaps`, { metadata: { name: `${pod}-map` }, data: { k: 'v' } })
      for (const s of SECRETS)
        await made(`${IN}/secrets`, { metadata: { name: `${pod}-${s}` }, stringData: { k: 'v' } })
    }
    await made(`${IN}/secrets`, { metadata: { name: 'loose' } })
    await made(`${CORE}/namespaces/default/secrets`, { metadata: { name: 'mine-volume' } })
    uids = {
      ...uids,
      mine: await made(`${IN}/pods`, podOn('mine', 'a')),
      theirs: await made(`${IN}/pods`, podOn('theirs', 'b')),
      waiting: await made(`${IN}/pods`, podOn('waiting', undefined)),
    }
    for (const node of ['a', 'b']) await made(LEASES, { metadata: { name: node, namespace: 'kube-node-lease' } })
    restricts = (await api.get(`${CORE}/nodes/a`, A)).code === 200
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })
  const needsNodes = (context: TestContext): void =>
    context.skip(!restricts, 'this server runs without the Node authorizer and NodeRestriction')

  const pods = (selector: string) => `${CORE}/pods?fieldSelector=${encodeURIComponent(selector)}`
  const one = (path: string, name: string) => `${path}?fieldSelector=metadata.name%3D${name}`

  const reads: readonly (readonly [string, number])[] = [
    ...SECRETS.map((s) => [`${IN}/secrets/mine-${s}`, 200] as const),
    ...SECRETS.map((s) => [`${IN}/secrets/theirs-${s}`, 403] as const),
    ...SECRETS.map((s) => [`${IN}/secrets/waiting-${s}`, 403] as const),
    [one(`${IN}/secrets`, 'mine-volume'), 200],
    [one(`${IN}/secrets`, 'theirs-volume'), 403],
    [`${CORE}/namespaces/default/secrets/mine-volume`, 403],
    [`${IN}/secrets/loose`, 403],
    [`${IN}/secrets/missing`, 403],
    [`${IN}/secrets`, 403],
    [`${IN}/secrets?fieldSelector=metadata.name%21%3Dmine-volume`, 403],
    [`${IN}/secrets?labelSelector=a%3Db`, 403],
    [`${CORE}/secrets`, 403],
    [`${CORE}/secrets?fieldSelector=metadata.name%3Dmine-volume`, 403],
    [`${CORE}/watch/namespaces/${NS}/secrets/theirs-volume`, 403],
    [`${CORE}/watch/secrets`, 403],
    [`${IN}/secrets/theirs-volume?watch=true&timeoutSeconds=1`, 403],
    [`${IN}/configmaps/mine-map`, 200],
    [`${IN}/configmaps/theirs-map`, 403],
    [`${IN}/configmaps`, 403],
    [`${IN}/serviceaccounts/theirs-account`, 403],
    [`${IN}/serviceaccounts`, 403],
    [`${IN}/pods/mine`, 200],
    [`${IN}/pods/theirs`, 403],
    [`${IN}/pods/waiting`, 403],
    [pods('spec.nodeName=a'), 200],
    [`${pods('spec.nodeName=a')}&watch=true&timeoutSeconds=1`, 200],
    [pods('spec.nodeName=b'), 403],
    [pods('spec.nodeName!=a'), 403],
    [pods('spec.nodeName='), 403],
    [`${CORE}/pods`, 403],
    [`${IN}/pods`, 403],
    [`${CORE}/pods?watch=true&timeoutSeconds=1`, 403],
    [`${CORE}/nodes/a`, 200],
    [one(`${CORE}/nodes`, 'a'), 200],
    [`${CORE}/nodes/b`, 403],
    [`${CORE}/nodes`, 403],
    [`${LEASES}/a`, 200],
    [`${LEASES}/b`, 403],
    [LEASES, 403],
    ['/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a', 403],
    [`${CSI}/b`, 403],
    [`${CORE}/services`, 200],
    ['/apis/node.k8s.io/v1/runtimeclasses', 200],
    ['/apis/storage.k8s.io/v1/csidrivers', 200],
    ['/apis/rbac.authorization.k8s.io/v1/clusterroles', 403],
    ['/apis/apps/v1/deployments', 403],
    ['/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', 403],
    [`${CORE}/namespaces`, 403],
  ]
  test.each(reads)('reads %s: %i', async (path, code, context?: TestContext) => {
    if (context !== undefined) needsNodes(context)
    expect((await api.get(path, A)).code).toBe(restricts ? code : expect.any(Number))
  })

  const lease = (name: string, namespace = 'kube-node-lease') => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace },
    spec: { holderIdentity: 'a' },
  })
  const owner = (uid: string | undefined, more: object = {}) => [
    { apiVersion: 'v1', kind: 'Node', name: 'a', uid, controller: true, ...more },
  ]
  const mirror = (more: { metadata?: object; spec?: object } = {}) => ({
    metadata: {
      name: 'mirror-a',
      annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'file' },
      ownerReferences: owner(uids['a']),
      ...more.metadata,
    },
    spec: { nodeName: 'a', containers: [{ name: 'c', image: IMAGE }], ...more.spec },
  })
  const token = (spec: object) => ({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec })
  const ref = (name: string, more: object = { uid: uids[name] }) => ({
    boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, ...more },
  })
  const tokens = (account: string) => `${IN}/serviceaccounts/${account}-account/token`
  const merge = (path: string, body: object, who = A) => api.patch('merge', path, body, who)
  const labels = (of: Record<string, string | null>) => ({ metadata: { labels: of } })

  const writes: readonly (readonly [string, () => Promise<{ readonly code: number }>, number])[] = [
    ['renews its Lease', () => merge(`${LEASES}/a`, { spec: { renewTime: '2030-01-01T00:00:00.000000Z' } }), 200],
    ['renews the Lease of another', () => merge(`${LEASES}/b`, { spec: { holderIdentity: 'a' } }), 403],
    ['makes a Lease of another name', () => api.post(LEASES, lease('c'), A), 403],
    ['makes a Lease of another name by PUT', () => api.put(`${LEASES}/c`, lease('c'), A), 403],
    ['makes a Lease by apply', () => api.patch('apply', `${LEASES}/c?fieldManager=x`, lease('c'), A), 403],
    [
      'makes a Lease in another namespace',
      () => api.post('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases', lease('a', 'kube-system'), A),
      403,
    ],
    ['deletes the Lease of another', () => api.delete(`${LEASES}/b`, undefined, A), 403],
    ['deletes all Leases', () => api.delete(LEASES, undefined, A), 403],
    ['labels its Node', () => merge(`${CORE}/nodes/a`, labels({ 'example.com/x': '1', tier: 'y' })), 200],
    ['says the zone of its Node', () => merge(`${CORE}/nodes/a`, labels({ 'topology.kubernetes.io/zone': 'z' })), 200],
    ['says a kubelet label', () => merge(`${CORE}/nodes/a`, labels({ 'a.kubelet.kubernetes.io/x': '1' })), 200],
    ...[
      'node-restriction.kubernetes.io/x',
      'x.node-restriction.kubernetes.io/y',
      'node-role.kubernetes.io/master',
      'foo.k8s.io/x',
      'kubernetes.io/x',
    ].map(
      (label) => [`gives its Node ${label}`, () => merge(`${CORE}/nodes/a`, labels({ [label]: '1' })), 403] as const,
    ),
    [
      'gives its Node a reserved label through its status',
      () => merge(`${CORE}/nodes/a/status`, labels({ 'node-role.kubernetes.io/master': '' })),
      403,
    ],
    ['writes its status', () => merge(`${CORE}/nodes/a/status`, { status: { capacity: { cpu: '2' } } }), 200],
    [
      'writes the status of another',
      () => merge(`${CORE}/nodes/b/status`, { status: { capacity: { cpu: '2' } } }),
      403,
    ],
    ['changes another Node', () => merge(`${CORE}/nodes/b`, labels({ x: '1' })), 403],
    [
      'taints its Node',
      () => merge(`${CORE}/nodes/a`, { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }),
      403,
    ],
    [
      'gives its Node an owner',
      () =>
        merge(`${CORE}/nodes/a`, {
          metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid: 'none' }] },
        }),
      403,
    ],
    [
      'gives its Node an owner through its status',
      () =>
        merge(`${CORE}/nodes/a/status`, {
          metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid: 'none' }] },
        }),
      403,
    ],
    ['deletes its Node', () => api.delete(`${CORE}/nodes/a`, undefined, A), 403],
    ['makes another Node', () => api.post(`${CORE}/nodes`, { metadata: { name: 'c' } }, A), 403],
    [
      'makes another Node by apply',
      () =>
        api.patch(
          'apply',
          `${CORE}/nodes/c?fieldManager=x`,
          { apiVersion: 'v1', kind: 'Node', metadata: { name: 'c' } },
          A,
        ),
      403,
    ],
    [
      'registers its Node',
      () =>
        api.post(
          `${CORE}/nodes`,
          { metadata: { name: 'd', labels: { 'kubernetes.io/hostname': 'd' } } },
          nodeUser('d'),
        ),
      201,
    ],
    [
      'registers as a control plane',
      () =>
        api.post(
          `${CORE}/nodes`,
          { metadata: { name: 'e', labels: { 'node-role.kubernetes.io/control-plane': '' } } },
          nodeUser('e'),
        ),
      // A real server only logs this at a registration, and refuses it in an update.
      isEmbedded ? 403 : 201,
    ],
    ['reports its pod', () => merge(`${IN}/pods/mine/status`, { status: { message: 'm' } }), 200],
    ['reports the pod of another', () => merge(`${IN}/pods/theirs/status`, { status: { message: 'm' } }), 403],
    ['reports a pod without a node', () => merge(`${IN}/pods/waiting/status`, { status: { message: 'm' } }), 403],
    ['labels its pod', () => merge(`${IN}/pods/mine/status`, labels({ app: 'other' })), 403],
    ['changes the spec of its pod', () => merge(`${IN}/pods/mine`, { spec: { activeDeadlineSeconds: 1 } }), 403],
    [
      'binds a pod to itself',
      () => api.post(`${IN}/pods/waiting/binding`, { target: { kind: 'Node', name: 'a' } }, A),
      403,
    ],
    ['adds a container to its pod', () => merge(`${IN}/pods/mine/ephemeralcontainers`, { spec: {} }), 403],
    ['deletes the pod of another', () => api.delete(`${IN}/pods/theirs`, undefined, A), 403],
    ['deletes all pods', () => api.delete(`${IN}/pods`, undefined, A), 403],
    [
      'evicts the pod of another',
      () => api.post(`${IN}/pods/theirs/eviction`, { metadata: { name: 'theirs' } }, A),
      403,
    ],
    ['makes a pod', () => api.post(`${IN}/pods`, { metadata: { name: 'x' }, spec: mirror().spec }, A), 403],
    ['makes a mirror pod', () => api.post(`${IN}/pods`, mirror(), A), 201],
    [
      'makes one elsewhere',
      () => api.post(`${IN}/pods`, mirror({ metadata: { name: 'm2' }, spec: { nodeName: 'b' } }), A),
      403,
    ],
    [
      'makes one without owner',
      () => api.post(`${IN}/pods`, mirror({ metadata: { name: 'm2', ownerReferences: [] } }), A),
      403,
    ],
    [
      'makes one with the uid of another Node',
      () => api.post(`${IN}/pods`, mirror({ metadata: { name: 'm2', ownerReferences: owner(uids['b']) } }), A),
      403,
    ],
    [
      'makes one with a Secret',
      () =>
        api.post(
          `${IN}/pods`,
          mirror({ metadata: { name: 'm2' }, spec: { volumes: [{ name: 'v', secret: { secretName: 'loose' } }] } }),
          A,
        ),
      403,
    ],
    [
      'makes one with a ConfigMap',
      () =>
        api.post(
          `${IN}/pods`,
          mirror({ metadata: { name: 'm2' }, spec: { volumes: [{ name: 'v', configMap: { name: 'theirs-map' } }] } }),
          A,
        ),
      403,
    ],
    ['takes a token of its pod', () => api.post(tokens('mine'), token(ref('mine')), A), 201],
    [
      'takes one for an audience of its pod',
      () => api.post(tokens('mine'), token({ ...ref('mine'), audiences: ['vault'] }), A),
      201,
    ],
    [
      'takes one for another audience',
      () => api.post(tokens('mine'), token({ ...ref('mine'), audiences: ['bank'] }), A),
      403,
    ],
    ['takes one bound to nothing', () => api.post(tokens('mine'), token({}), A), 403],
    ['takes one without the uid', () => api.post(tokens('mine'), token(ref('mine', {})), A), 403],
    [
      'takes one bound to a Secret',
      () =>
        api.post(
          tokens('mine'),
          token({ boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'mine-volume' } }),
          A,
        ),
      403,
    ],
    ['takes one of the account of another', () => api.post(tokens('theirs'), token(ref('theirs')), A), 403],
    ['takes one of a pod without a node', () => api.post(tokens('waiting'), token(ref('waiting')), A), 403],
    ['makes a Secret', () => api.post(`${IN}/secrets`, { metadata: { name: 'x' } }, A), 403],
    ['changes a Secret of its pod', () => merge(`${IN}/secrets/mine-volume`, { data: {} }), 403],
    [
      'makes a CSINode of another',
      () =>
        api.post(
          CSI,
          { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: 'b' }, spec: { drivers: [] } },
          A,
        ),
      403,
    ],
    [
      'makes its CSINode',
      () =>
        api.post(
          CSI,
          { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: 'a' }, spec: { drivers: [] } },
          A,
        ),
      201,
    ],
    [
      'makes a role',
      () => api.post('/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name: 'x' }, rules: [] }, A),
      403,
    ],
    ['acts as a person', () => api.get(`${CORE}/nodes/a`, { ...nodeUser('') }), 403],
    ['is in the group alone', () => api.get(`${CORE}/nodes/a`, { as: 'somebody', groups: ['system:nodes'] }), 403],
    [
      'has the name alone',
      () => api.get(`${CORE}/nodes/a`, { as: 'system:node:a', groups: ['system:authenticated'] }),
      403,
    ],
    ['evicts its pod', () => api.post(`${IN}/pods/mine/eviction`, { metadata: { name: 'mine' } }, A), 201],
  ]
  for (const [what, attempt, code] of writes)
    test(`${what}: ${code}`, async (context) => {
      needsNodes(context)
      expect((await attempt()).code).toBe(code)
    })

  test('a pod that is bound later opens its Secrets, and closes them when it is gone', async (context) => {
    needsNodes(context)
    const secret = `${IN}/secrets/waiting-volume`
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'waiting' },
      target: { kind: 'Node', name: 'a' },
    }
    // A real server learns of pods by a watch, so its answer follows a moment later.
    const answers = expect.poll(async () => (await api.get(secret, A)).code)
    await answers.toBe(403)
    await api.made(`${IN}/pods/waiting/binding`, binding)
    await answers.toBe(200)
    expect((await api.get(secret, nodeUser('b'))).code).toBe(403)
    await api.delete(`${IN}/pods/waiting?gracePeriodSeconds=0`)
    await answers.toBe(403)
  })
})
