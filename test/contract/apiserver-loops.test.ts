// What the embedded server does by itself, where no controller manager does it: seen from outside, over HTTPS.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Answer, type EmbeddedServer, MERGE, startEmbedded } from './embedded-server.ts'

let server: EmbeddedServer
beforeAll(async () => void (server = await startEmbedded(['garbage', 'namespaces', 'budgets', 'roles'])))
afterAll(() => server.close())

const call: EmbeddedServer['call'] = (...request) => server.call(...request)

const MAPS = '/api/v1/namespaces/default/configmaps'
const owned = (name: string, owner: Answer, more: object = {}) => ({
  metadata: {
    name,
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: owner.body.metadata?.['name'],
        uid: owner.body.metadata?.['uid'],
        ...more,
      },
    ],
  },
})
const codeOf = async (path: string) => (await call('GET', path)).code
const becomes = (path: string, code: number) => expect.poll(() => codeOf(path)).toBe(code)

describe('garbage collection', () => {
  test('what is owned goes with its owner', async () => {
    const owner = await call('POST', MAPS, { metadata: { name: 'owner' } })
    await call('POST', MAPS, owned('dependent', owner))
    await call('DELETE', `${MAPS}/owner`)
    await becomes(`${MAPS}/dependent`, 404)
  })

  test('a deletion in the foreground waits for what blocks it', async () => {
    const owner = await call('POST', MAPS, { metadata: { name: 'front' } })
    const held = owned('held', owner, { blockOwnerDeletion: true })
    await call('POST', MAPS, { metadata: { ...held.metadata, finalizers: ['x.io/hold'] } })
    await call('DELETE', `${MAPS}/front?propagationPolicy=Foreground`)
    await expect
      .poll(async () => (await call('GET', `${MAPS}/held`)).body.metadata?.['deletionTimestamp'])
      .toBeTypeOf('string')
    expect(await codeOf(`${MAPS}/front`)).toBe(200)
    await call('PATCH', `${MAPS}/held`, { metadata: { finalizers: ['foregroundDeletion'] } }, MERGE)
    await becomes(`${MAPS}/held`, 404)
    await becomes(`${MAPS}/front`, 404)
  })

  test('orphans lose their owner and stay', async () => {
    const owner = await call('POST', MAPS, { metadata: { name: 'parent' } })
    await call('POST', MAPS, owned('orphan', owner))
    await call('DELETE', `${MAPS}/parent?propagationPolicy=Orphan`)
    await becomes(`${MAPS}/parent`, 404)
    expect((await call('GET', `${MAPS}/orphan`)).body.metadata?.['ownerReferences']).toBeUndefined()
  })

  test('S26 what guards deletions is asked about the collector too, by its name, and again after a refusal', async () => {
    const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
    const collector = 'system:serviceaccount:kube-system:generic-garbage-collector'
    await call('POST', `${ADMISSION}/validatingadmissionpolicies`, {
      metadata: { name: 'guard' },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['nodes'] }],
        },
        validations: [
          {
            expression: `request.userInfo.username != '${collector}' || oldObject.metadata.name != 'guarded'`,
            message: 'guarded',
          },
        ],
      },
    })
    await call('POST', `${ADMISSION}/validatingadmissionpolicybindings`, {
      metadata: { name: 'guard' },
      spec: { policyName: 'guard', validationActions: ['Deny'] },
    })
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'never-was', uid: 'never-was' }]
    await call('POST', '/api/v1/nodes', { metadata: { name: 'guarded', ownerReferences } })
    await call('POST', '/api/v1/nodes', { metadata: { name: 'plain', ownerReferences } })
    await becomes('/api/v1/nodes/plain', 404)
    // By now the guarded one was judged in the same pass, and in another one.
    await call('POST', '/api/v1/nodes', { metadata: { name: 'plain', ownerReferences } })
    await becomes('/api/v1/nodes/plain', 404)
    expect(await codeOf('/api/v1/nodes/guarded')).toBe(200)
    expect((await call('GET', '/api/v1/nodes/guarded')).body.metadata?.['deletionTimestamp']).toBeUndefined()
    await call('DELETE', `${ADMISSION}/validatingadmissionpolicybindings/guard`)
    await expect.poll(() => codeOf('/api/v1/nodes/guarded')).toBe(404)
  })

  test('an owner of a kind that is not served is not judged', async () => {
    const ownerReferences = [{ apiVersion: 'x.test/v1', kind: 'Thing', name: 'a', uid: '1' }]
    await call('POST', MAPS, { metadata: { name: 'foreign', ownerReferences } })
    await call('POST', MAPS, { metadata: { name: 'other' } })
    await call('DELETE', `${MAPS}/other`)
    await becomes(`${MAPS}/other`, 404)
    expect(await codeOf(`${MAPS}/foreign`)).toBe(200)
  })
})

test('a namespace goes once all that was in it has gone', async () => {
  await call('POST', '/api/v1/namespaces', { metadata: { name: 'full' } })
  await call('POST', '/api/v1/namespaces/full/configmaps', { metadata: { name: 'a', finalizers: ['x.io/hold'] } })
  await call('POST', '/api/v1/namespaces/full/secrets', { metadata: { name: 'b' } })
  await call('DELETE', '/api/v1/namespaces/full')
  await becomes('/api/v1/namespaces/full/secrets/b', 404)
  expect(await codeOf('/api/v1/namespaces/full')).toBe(200)
  expect((await call('POST', '/api/v1/namespaces/full/secrets', { metadata: { name: 'c' } })).body['message']).toBe(
    'secrets "c" is forbidden: unable to create new content in namespace full because it is being terminated',
  )
  await call('PATCH', '/api/v1/namespaces/full/configmaps/a', { metadata: { finalizers: null } }, MERGE)
  await becomes('/api/v1/namespaces/full', 404)
})

test('an eviction that a budget does not allow is refused with 429, and passes once it does', async () => {
  const pods = '/api/v1/namespaces/default/pods'
  const spec = { nodeName: 'n', containers: [{ name: 'a', image: 'i' }] }
  const ready = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } }
  for (const name of ['p1', 'p2']) {
    await call('POST', pods, { metadata: { name, labels: { app: 'b' } }, spec })
    await call('PATCH', `${pods}/${name}/status`, ready, MERGE)
  }
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
  await call('POST', budgets, {
    metadata: { name: 'b' },
    spec: { minAvailable: 2, selector: { matchLabels: { app: 'b' } } },
  })
  const allowed = async () =>
    (await call('GET', `${budgets}/b`)).body['status'] as {
      readonly disruptionsAllowed: number
      readonly expectedPods: number
    }
  await expect.poll(async () => (await allowed()).expectedPods).toBe(2)
  const evict = () =>
    call('POST', `${pods}/p1/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p1' } })
  const refused = await evict()
  expect([refused.code, refused.body['message']]).toEqual([
    429,
    "Cannot evict pod as it would violate the pod's disruption budget.",
  ])
  await call('PATCH', `${budgets}/b`, { spec: { minAvailable: 1 } }, MERGE)
  await expect.poll(async () => (await allowed()).disruptionsAllowed).toBe(1)
  expect((await evict()).code).toBe(201)
})

test('a cluster role with an aggregation rule gathers the rules of those it selects', async () => {
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  const rules = [{ apiGroups: ['x.io'], resources: ['things'], verbs: ['get'] }]
  await call('POST', roles, {
    metadata: { name: 'sum' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'sum' } }] },
    rules: [],
  })
  await call('POST', roles, { metadata: { name: 'part', labels: { part: 'sum' } }, rules })
  await expect.poll(async () => (await call('GET', `${roles}/sum`)).body['rules']).toEqual(rules)
})

test('a role that is labelled for those who may look widens what they may look at, and those above them', async () => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  await server.call('POST', `${rbac}/clusterroles`, {
    metadata: { name: 'looks-at-toys', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    rules: [{ apiGroups: ['toys.example.org'], resources: ['toys'], verbs: ['get'] }],
  })
  const groupsOf = async (role: string): Promise<readonly string[]> => {
    const { body } = await server.call('GET', `${rbac}/clusterroles/${role}`)
    return (body['rules'] as readonly { readonly apiGroups?: readonly string[] }[]).flatMap((r) => r.apiGroups ?? [])
  }
  await vi.waitFor(async () => {
    for (const role of ['view', 'edit', 'admin']) expect(await groupsOf(role)).toContain('toys.example.org')
  }, 60_000)
})
