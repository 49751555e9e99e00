// The background work of the server: owners and dependents, namespaces, budgets, silent nodes, short-lived objects.
// The embedded server alone: a real kube-apiserver leaves all this to a controller manager.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { newCredentials } from '#lib/x509/server-keys.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests } from '#test/support/servers/api-requests.ts'
import { DEFAULT_LIMITS } from '#apiserver/flow/limits.ts'
import { fastClock } from '#test/support/clocks/fast-clock.ts'

const SOON = { timeout: 240_000, interval: 20 }
const readyPod = (name: string, labels: Readonly<Record<string, string>>, ready = 'True') => ({
  metadata: { name, labels },
  spec: { containers: [{ name: 'main', image: 'i' }], terminationGracePeriodSeconds: 0, nodeName: 'somewhere' },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] },
})

let server: RunningServer
let api: Requests
async function space(): Promise<string> {
  return `/api/v1/namespaces/${await api.namespace('loops')}`
}
const gone = (path: string) => vi.waitFor(async () => expect((await api.get(path)).code).toBe(404), SOON)
const soon = (path: string, expected: object) =>
  vi.waitFor(async () => expect((await api.get(path)).body).toMatchObject(expected), SOON)

beforeAll(async () => {
  server = await startEmbedded()
  api = new Requests(server)
})
afterAll(async () => {
  api.close()
  await server.stop()
})

describe('owners', () => {
  const reference = (o: KubeObject, more = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: o.metadata.name,
    uid: o.metadata.uid,
    ...more,
  })
  async function family(more: object = { blockOwnerDeletion: true }, meta: object = {}) {
    const path = `${await space()}/configmaps`
    const owner = await api.made(path, { metadata: { name: 'owner' } })
    await api.made(path, { metadata: { name: 'child', ownerReferences: [reference(owner, more)], ...meta } })
    return { path, owner }
  }

  test.concurrent('in the background: the owner goes at once, what it owns soon after', async () => {
    const { path } = await family()
    await api.delete(`${path}/owner`, { propagationPolicy: 'Background' })
    expect((await api.get(`${path}/owner`)).code).toBe(404)
    await gone(`${path}/child`)
  })

  test.concurrent('in the foreground: the owner waits for what it owns', async () => {
    const { path } = await family({ blockOwnerDeletion: true }, { finalizers: ['example.org/hold'] })
    await api.delete(`${path}/owner`, { propagationPolicy: 'Foreground' })
    await vi.waitFor(
      async () => expect((await api.get(`${path}/child`)).body.metadata.deletionTimestamp).toBeDefined(),
      SOON,
    )
    expect((await api.get(`${path}/owner`)).body.metadata.finalizers).toEqual(['foregroundDeletion'])
    await api.patch('merge', `${path}/child`, { metadata: { finalizers: null } })
    await gone(`${path}/owner`)
  })

  test.concurrent('in the foreground, what does not block is not waited for', async () => {
    const { path } = await family({ blockOwnerDeletion: false }, { finalizers: ['example.org/hold'] })
    await api.delete(`${path}/owner`, { propagationPolicy: 'Foreground' })
    await gone(`${path}/owner`)
    await api.patch('merge', `${path}/child`, { metadata: { finalizers: null } })
  })

  test.concurrent('orphaned: what was owned stays and knows no owner', async () => {
    const { path } = await family()
    await api.delete(`${path}/owner`, { propagationPolicy: 'Orphan' })
    await gone(`${path}/owner`)
    expect((await api.get(`${path}/child`)).body.metadata.ownerReferences).toBeUndefined()
  })

  test.concurrent('with another owner that lives it stays, and loses the one that went', async () => {
    const path = `${await space()}/configmaps`
    const [one, two] = [
      await api.made(path, { metadata: { name: 'one' } }),
      await api.made(path, { metadata: { name: 'two' } }),
    ]
    await api.made(path, { metadata: { name: 'child', ownerReferences: [reference(one), reference(two)] } })
    await api.delete(`${path}/one`)
    await vi.waitFor(
      async () => expect((await api.get(`${path}/child`)).body.metadata.ownerReferences).toEqual([reference(two)]),
      SOON,
    )
  })

  test.concurrent('generations go one after the other', async () => {
    const { path } = await family()
    const { body: child } = await api.get(`${path}/child`)
    await api.made(path, { metadata: { name: 'grandchild', ownerReferences: [reference(child)] } })
    await api.delete(`${path}/owner`)
    await gone(`${path}/grandchild`)
  })

  test.concurrent('an owner of that name but another uid is none', async () => {
    const path = `${await space()}/configmaps`
    const owner = await api.made(path, { metadata: { name: 'owner' } })
    await api.made(path, {
      metadata: { name: 'child', ownerReferences: [{ ...reference(owner), uid: 'somebody-else' }] },
    })
    await gone(`${path}/child`)
  })

  test.concurrent('an owner of a kind that is not served is not judged', async () => {
    const path = `${await space()}/configmaps`
    const ownerReferences = [{ apiVersion: 'example.org/v1', kind: 'Unknown', name: 'x', uid: 'u' }]
    await api.made(path, { metadata: { name: 'child', ownerReferences } })
    const other = await api.made(path, { metadata: { name: 'other' } })
    await api.made(path, { metadata: { name: 'judged', ownerReferences: [{ ...reference(other), uid: 'gone' }] } })
    await gone(`${path}/judged`)
    expect((await api.get(`${path}/child`)).code).toBe(200)
  })
})

describe('namespaces', () => {
  test.concurrent('all that is in them goes first, then they do', async () => {
    const path = await space()
    await api.made(`${path}/configmaps`, { metadata: { name: 'a' } })
    await api.made(`${path}/secrets`, { metadata: { name: 'b' } })
    const { code, body } = await api.delete(path)
    expect([code, body['status']]).toEqual([200, { phase: 'Terminating' }])
    await gone(path)
    expect((await api.get(`${path}/configmaps`)).body.items).toEqual([])
  })

  test.concurrent('what holds on to its finalizer holds the namespace; nothing new comes in', async () => {
    const path = await space()
    await api.made(`${path}/configmaps`, { metadata: { name: 'held', finalizers: ['example.org/hold'] } })
    await api.delete(path)
    await vi.waitFor(
      async () => expect((await api.get(`${path}/configmaps/held`)).body.metadata.deletionTimestamp).toBeDefined(),
      SOON,
    )
    const { code, body } = await api.post(`${path}/configmaps`, { metadata: { name: 'late' } })
    expect([code, body.message]).toEqual([403, expect.stringContaining('because it is being terminated')])
    expect((await api.get(path)).code).toBe(200)
    await api.patch('merge', `${path}/configmaps/held`, { metadata: { finalizers: null } })
    await gone(path)
  })

  test.concurrent.each(['default', 'kube-system', 'kube-public'])('%s cannot be deleted', async (name) => {
    expect((await api.delete(`/api/v1/namespaces/${name}`)).code).toBe(403)
  })
})

describe('budgets', () => {
  const budget = (spec: object) => ({
    metadata: { name: 'budget' },
    spec: { selector: { matchLabels: { app: 'db' } }, ...spec },
  })
  const policyPath = (path: string) => `${path.replace('/api/v1', '/apis/policy/v1')}/poddisruptionbudgets`
  const evict = (path: string, name: string, options: object = {}) =>
    api.post(`${path}/pods/${name}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name },
      ...options,
    })

  async function podsWith(spec: object, states: readonly string[]): Promise<string> {
    const path = await space()
    for (const [i, ready] of states.entries()) {
      const pod = readyPod(`p${i}`, { app: 'db' }, ready)
      await api.made(`${path}/pods`, pod)
      await api.patch('merge', `${path}/pods/p${i}/status`, { status: pod.status })
    }
    await api.made(policyPath(path), budget(spec))
    return path
  }

  type Count = readonly [name: string, spec: object, ready: readonly string[], status: object]
  test.concurrent.each<Count>([
    [
      'at least two of three',
      { minAvailable: 2 },
      ['True', 'True', 'True'],
      { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 },
    ],
    [
      'one of them is not ready',
      { minAvailable: 2 },
      ['True', 'True', 'False'],
      { disruptionsAllowed: 0, currentHealthy: 2 },
    ],
    [
      'a share is rounded towards keeping',
      { minAvailable: '50%' },
      ['True', 'True', 'True'],
      { disruptionsAllowed: 1, desiredHealthy: 2 },
    ],
    ['at most one away', { maxUnavailable: 1 }, ['True', 'True', 'True'], { disruptionsAllowed: 1, desiredHealthy: 2 }],
    ['no pod at all', { maxUnavailable: 0 }, ['True'], { disruptionsAllowed: 0 }],
    ['nothing to guard', { minAvailable: 1 }, [], { disruptionsAllowed: 0, expectedPods: 0 }],
  ])('counted: %s', async (_, spec, ready, status) => {
    const path = await podsWith(spec, ready)
    await soon(`${policyPath(path)}/budget`, { status })
  })

  test.concurrent('an eviction takes its place, the next one is refused with 429', async () => {
    const path = await podsWith({ minAvailable: 1 }, ['True', 'True'])
    await soon(`${policyPath(path)}/budget`, { status: { disruptionsAllowed: 1 } })
    expect((await evict(path, 'p0')).code).toBe(201)
    await gone(`${path}/pods/p0`)
    const { code, body } = await evict(path, 'p1')
    expect([code, body.reason, body.message]).toEqual([
      429,
      'TooManyRequests',
      expect.stringContaining('disruption budget'),
    ])
  })

  test.concurrent('two evictions at once do not both get the last place', async () => {
    const path = await podsWith({ minAvailable: 2 }, ['True', 'True', 'True'])
    await soon(`${policyPath(path)}/budget`, { status: { disruptionsAllowed: 1 } })
    const codes = await Promise.all(['p0', 'p1', 'p2'].map(async (p) => (await evict(path, p)).code))
    expect(codes.toSorted((a, b) => a - b)).toEqual([201, 429, 429])
  })

  test.concurrent('a dry run of an eviction takes nothing', async () => {
    const path = await podsWith({ minAvailable: 1 }, ['True', 'True'])
    await soon(`${policyPath(path)}/budget`, { status: { disruptionsAllowed: 1 } })
    expect((await evict(path, 'p0', { deleteOptions: { dryRun: ['All'] } })).code).toBe(201)
    expect((await api.get(`${path}/pods/p0`)).code).toBe(200)
    expect((await api.get(`${policyPath(path)}/budget`)).body['status']).toMatchObject({ disruptionsAllowed: 1 })
  })

  test.concurrent('a pod that waits to be started is let go without a budget', async () => {
    const path = await podsWith({ minAvailable: 1 }, ['True'])
    await api.made(`${path}/pods`, { ...readyPod('waiting', { app: 'db' }), status: undefined })
    expect((await evict(path, 'waiting')).code).toBe(201)
  })

  test.concurrent('an eviction of another pod by that name is a conflict', async () => {
    const path = await podsWith({ minAvailable: 0 }, ['True'])
    await soon(`${policyPath(path)}/budget`, { status: { disruptionsAllowed: 1 } })
    expect((await evict(path, 'p0', { deleteOptions: { preconditions: { uid: 'another' } } })).code).toBe(409)
  })
})

describe('roles that are added up', () => {
  test('have the rules of those that they select', async () => {
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
    await api.made(path, {
      metadata: { name: 'part', labels: { whole: 'yes' } },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    })
    await api.made(path, {
      metadata: { name: 'whole' },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { whole: 'yes' } }] },
      rules: [],
    })
    await soon(`${path}/whole`, { rules: [{ resources: ['pods'], verbs: ['get'] }] })
  })
})

/** An hour in a second. */
const FAST = 3_600

describe('as time goes by', () => {
  let later: Requests
  let aged: RunningServer
  const clock = fastClock(FAST)
  beforeAll(async () => {
    // certificates are judged by the reader's clock
    const credentials = newCredentials(systemClock.now(), [])
    // a request may wait as long as on any other server: 30 seconds of this clock are 8 milliseconds
    const limits = { longestWaitMs: DEFAULT_LIMITS.longestWaitMs * FAST }
    aged = await startEmbedded({ clock, credentials, limits })
    later = new Requests(aged)
  })
  afterAll(async () => {
    later.close()
    await aged.stop()
  })

  test.concurrent('events are forgotten', async () => {
    const path = '/api/v1/namespaces/default/events'
    const event = {
      metadata: { name: 'old' },
      involvedObject: { kind: 'Node', name: 'n', namespace: 'default' },
      reason: 'Seen',
      lastTimestamp: timestamp(clock.now()),
    }
    await later.made(path, event)
    await vi.waitFor(async () => expect((await later.get(`${path}/old`)).code).toBe(404), SOON)
  })

  test.concurrent('finished requests for certificates are forgotten', async () => {
    const { newPrivateKey, signingRequest } = await import('#lib/x509/signing-request.ts')
    const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
    const request = Buffer.from(await signingRequest(await newPrivateKey(), { commonName: 'ada' })).toString('base64')
    const made = await later.made(path, {
      metadata: { name: 'done' },
      spec: { signerName: 'example.org/other', usages: ['client auth'], request },
    })
    const conditions = [{ type: 'Denied', status: 'True', reason: 'Test', message: '' }]
    await later.put(`${path}/done/approval`, { ...made, status: { conditions } })
    await vi.waitFor(async () => expect((await later.get(`${path}/done`)).code).toBe(404), SOON)
  })

  test.concurrent('S24 events that claim to be of the future are forgotten', async () => {
    const path = '/apis/events.k8s.io/v1/namespaces/default/events'
    const eventTime = '2999-01-01T00:00:00.000000Z'
    await later.made(path, {
      metadata: { name: 'ever' },
      regarding: { kind: 'Node', name: 'n', namespace: 'default' },
      reason: 'Seen',
      action: 'See',
      type: 'Normal',
      reportingController: 'x.io/y',
      reportingInstance: 'y',
      eventTime,
      series: { count: 2, lastObservedTime: eventTime },
    })
    await vi.waitFor(async () => expect((await later.get(`${path}/ever`)).code).toBe(404), SOON)
  })

  test.concurrent('leases of applications are kept', async () => {
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
    await later.made(path, {
      metadata: { name: 'leader' },
      spec: { holderIdentity: 'me', renewTime: microTimestamp(systemClock.now() - 7 * 86_400_000) },
    })
    await later.made('/api/v1/namespaces/default/events', {
      metadata: { name: 'mark' },
      involvedObject: { kind: 'Node', name: 'n', namespace: 'default' },
    })
    await vi.waitFor(
      async () => expect((await later.get('/api/v1/namespaces/default/events/mark')).code).toBe(404),
      SOON,
    )
    expect((await later.get(`${path}/leader`)).code).toBe(200)
  })

  describe('nodes', () => {
    const taintsOf = async (name: string): Promise<readonly string[]> => {
      const { body } = await later.get(`/api/v1/nodes/${name}`)
      const { taints = [] } = (body['spec'] ?? {}) as {
        readonly taints?: readonly { readonly key: string; readonly effect: string }[]
      }
      return taints.map((t) => `${t.key}:${t.effect}`)
    }
    const beat = (name: string, status = 'True') =>
      later.patch('merge', `/api/v1/nodes/${name}/status`, {
        status: {
          conditions: [{ type: 'Ready', status, lastHeartbeatTime: timestamp(clock.now() + 365 * 86_400_000) }],
        },
      })

    test.concurrent('a new node is kept from pods until it says that it is ready', async () => {
      await later.made('/api/v1/nodes', { metadata: { name: 'new' } })
      await vi.waitFor(
        async () => expect(await taintsOf('new')).toEqual(['node.kubernetes.io/not-ready:NoSchedule']),
        SOON,
      )
      await vi.waitFor(async () => {
        await beat('new')
        expect(await taintsOf('new')).toEqual([])
      }, SOON)
    })

    test.concurrent('one that says it is not ready is tainted for eviction too', async () => {
      await later.made('/api/v1/nodes', { metadata: { name: 'ill' } })
      await later.made('/api/v1/nodes', { metadata: { name: 'healthy' } })
      await vi.waitFor(async () => {
        // On a loaded machine this clock runs past one heartbeat; then all nodes are silent, and none is tainted for eviction.
        await beat('healthy')
        await beat('ill', 'False')
        expect((await taintsOf('ill')).toSorted()).toEqual([
          'node.kubernetes.io/not-ready:NoExecute',
          'node.kubernetes.io/not-ready:NoSchedule',
        ])
      }, SOON)
    })

    // No heartbeat over HTTP is as fast as this clock, so soon all are silent, and that is the network: nothing is tainted for eviction.
    // A node that is silent among others that are heard is below, on a slower clock.
    test.concurrent('one that falls silent becomes Unknown and unreachable, and well again when it is heard', async () => {
      await later.made('/api/v1/nodes', { metadata: { name: 'silent' } })
      await later.patch('merge', '/api/v1/nodes/silent/status', {
        status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: timestamp(clock.now()) }] },
      })
      await vi.waitFor(async () => {
        const { body } = await later.get('/api/v1/nodes/silent')
        expect(body['status']).toMatchObject({
          conditions: [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }],
        })
      }, SOON)
      await vi.waitFor(
        async () => expect(await taintsOf('silent')).toContain('node.kubernetes.io/unreachable:NoSchedule'),
        SOON,
      )
      await vi.waitFor(async () => {
        await beat('silent')
        const { body } = await later.get('/api/v1/nodes/silent')
        expect(body['status']).toMatchObject({ conditions: [{ type: 'Ready', status: 'True' }] })
      }, SOON)
    })

    test.concurrent('taints of others stay', async () => {
      await later.made('/api/v1/nodes', {
        metadata: { name: 'mine' },
        spec: { taints: [{ key: 'example.org/mine', effect: 'NoSchedule' }] },
      })
      // On this clock it is silent again a moment after each beat.
      await vi.waitFor(async () => {
        await beat('mine')
        expect(await taintsOf('mine')).toEqual(['example.org/mine:NoSchedule'])
      }, SOON)
    })
  })
})

describe('a node that falls silent among nodes that are heard', () => {
  /** 50 seconds of silence pass in less than one, and a heartbeat takes some of it. */
  const clock = fastClock(60)
  let slower: RunningServer
  let nodes: Requests
  beforeAll(async () => {
    const credentials = newCredentials(systemClock.now(), [])
    slower = await startEmbedded({
      clock,
      credentials,
      limits: { longestWaitMs: DEFAULT_LIMITS.longestWaitMs * 60 },
    })
    nodes = new Requests(slower)
  })
  afterAll(async () => {
    nodes.close()
    await slower.stop()
  })

  const beat = (name: string) =>
    nodes.patch('merge', `/api/v1/nodes/${name}/status`, {
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: microTimestamp(clock.now()) }] },
    })
  async function taintsOf(name: string): Promise<readonly string[]> {
    const { body } = await nodes.get(`/api/v1/nodes/${name}`)
    const { taints = [] } = (body['spec'] ?? {}) as {
      readonly taints?: readonly { readonly key: string; readonly effect: string }[]
    }
    return taints.map((t) => `${t.key}:${t.effect}`).toSorted()
  }

  test('is tainted for eviction, the others are not, and the taints go when it is heard', async () => {
    const heard = ['heard-1', 'heard-2', 'heard-3']
    for (const name of [...heard, 'silent']) {
      await nodes.made('/api/v1/nodes', { metadata: { name } })
      await beat(name)
    }
    const whileHeard = (names: readonly string[], expected: readonly string[]) =>
      vi.waitFor(async () => {
        await Promise.all(names.map(beat))
        expect(await taintsOf('silent')).toEqual(expected)
      }, SOON)
    await whileHeard(heard, ['node.kubernetes.io/unreachable:NoExecute', 'node.kubernetes.io/unreachable:NoSchedule'])
    for (const name of heard) expect(await taintsOf(name)).toEqual([])
    await whileHeard([...heard, 'silent'], [])
  })
})

describe('loops that are switched off', () => {
  test('do nothing', async () => {
    const bare = await startEmbedded({ loops: 'none' })
    const requests = new Requests(bare)
    const owner = await requests.made('/api/v1/namespaces/default/configmaps', { metadata: { name: 'owner' } })
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid }]
    await requests.made('/api/v1/namespaces/default/configmaps', { metadata: { name: 'child', ownerReferences } })
    await requests.made('/api/v1/namespaces', { metadata: { name: 'left' } })
    await requests.delete('/api/v1/namespaces/default/configmaps/owner', { propagationPolicy: 'Foreground' })
    await requests.delete('/api/v1/namespaces/left')
    // longer than any of the loops would wait
    await systemClock.sleep(600)
    expect((await requests.get('/api/v1/namespaces/default/configmaps/owner')).body.metadata.finalizers).toEqual([
      'foregroundDeletion',
    ])
    expect((await requests.get('/api/v1/namespaces/left')).body['status']).toEqual({ phase: 'Terminating' })
    requests.close()
    await bare.stop()
  })
})
