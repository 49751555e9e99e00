import { expect, test } from 'vitest'
import { RBAC } from '../auth/authorizer.ts'
import { encodedAt } from '../storage/internal-write.ts'
import { memoryStorage } from '../storage/memory.ts'
import { Store } from '../storage/store.ts'
import { bootstrap } from './objects.ts'

const AT = { resource: `${RBAC}/clusterrolebindings`, namespace: '', name: 'system:node' }
const facts = { now: 0, uid: () => 'u', authority: '' }
const group = (name: string) => ({ kind: 'Group', apiGroup: RBAC, name })

test.each([
  ['alone', [group('system:nodes')], undefined],
  ['beside others', [group('system:nodes'), group('ops')], [group('ops')]],
  ['not at all', [group('ops')], [group('ops')]],
])(
  'S1 data of an earlier version that bound all nodes to their whole role, %s, is mended',
  async (_, before, after) => {
    const store = new Store(memoryStorage())
    const binding = { apiVersion: `${RBAC}/v1`, kind: 'ClusterRoleBinding', metadata: { name: 'system:node' } }
    const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'system:node' }
    await store.put(AT, undefined, encodedAt({ ...binding, subjects: before, roleRef }))
    await bootstrap(store, facts)
    expect(store.get(AT)?.value['subjects']).toEqual(after)
  },
)

test('a new server binds no user to the role of nodes', async () => {
  const store = new Store(memoryStorage())
  await bootstrap(store, facts)
  expect(store.get(AT)?.value).toMatchObject({ roleRef: { name: 'system:node' } })
  expect(store.get(AT)?.value['subjects']).toBeUndefined()
})
