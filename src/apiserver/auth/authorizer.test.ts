import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../storage/memory.ts'
import { encodedAt } from '../storage/internal-write.ts'
import { Store } from '../storage/store.ts'
import { Authorizer, covers, coversRule, RBAC, type Attributes, type PolicyRule } from './authorizer.ts'

const asked: Attributes = { verb: 'get', group: '', resource: 'pods', subresource: '', namespace: 'x', name: 'p' }
const rule = (more: Partial<PolicyRule>): PolicyRule => ({
  verbs: ['get'],
  apiGroups: [''],
  resources: ['pods'],
  ...more,
})

describe('a rule', () => {
  test.each<[string, PolicyRule, Partial<Attributes>, boolean]>([
    ['covers what it names', rule({}), {}, true],
    ['does not cover another verb', rule({}), { verb: 'list' }, false],
    ['does not cover another group', rule({}), { group: 'apps' }, false],
    ['does not cover a subresource by its parent', rule({}), { subresource: 'log' }, false],
    ['covers a subresource by name', rule({ resources: ['pods/log'] }), { subresource: 'log' }, true],
    ['covers a subresource of any parent', rule({ resources: ['*/log'] }), { subresource: 'log' }, true],
    [
      'covers everything by a star',
      rule({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }),
      { subresource: 'log' },
      true,
    ],
    ['covers only names that it lists', rule({ resourceNames: ['q'] }), {}, false],
    [
      'does not cover a list when it lists names',
      rule({ verbs: ['list'], resourceNames: ['p'] }),
      { verb: 'list', name: '' },
      false,
    ],
    [
      'covers a path by its beginning',
      { verbs: ['get'], nonResourceURLs: ['/healthz/*'] },
      { path: '/healthz/x' },
      true,
    ],
    ['does not cover a resource by a path', { verbs: ['get'], nonResourceURLs: ['*'] }, {}, false],
  ])('%s', (_, r, more, want) => expect(covers(r, { ...asked, ...more })).toBe(want))
})

describe('held rules', () => {
  const held = [rule({ verbs: ['get', 'list'] }), rule({ resources: ['secrets'], resourceNames: ['a'] })]
  test.each<[string, PolicyRule, boolean]>([
    ['a part of what is held', rule({}), true],
    ['a verb that is not held', rule({ verbs: ['get', 'delete'] }), false],
    ['one name of those held', rule({ resources: ['secrets'], resourceNames: ['a'] }), true],
    ['all names where one is held', rule({ resources: ['secrets'] }), false],
    ['a star', rule({ resources: ['*'] }), false],
  ])('grant %s: %#', (_, wanted, want) => expect(coversRule(held, wanted)).toBe(want))
})

test('bindings count at once, in their namespace alone, for users, groups and service accounts', async () => {
  const store = new Store(memoryStorage())
  const authorizer = new Authorizer(store)
  const write = (kind: string, plural: string, namespace: string, rest: object) =>
    store.put(
      { resource: `${RBAC}/${plural}`, namespace, name: 'r' },
      undefined,
      encodedAt({ apiVersion: `${RBAC}/v1`, kind, metadata: { name: 'r' }, ...rest }),
    )
  const amy = { name: 'amy', groups: [] }
  expect(authorizer.allows(amy, asked)).toBe(false)
  await write('Role', 'roles', 'x', { rules: [rule({})] })
  await write('RoleBinding', 'rolebindings', 'x', {
    roleRef: { kind: 'Role', name: 'r' },
    subjects: [
      { kind: 'User', name: 'amy' },
      { kind: 'Group', name: 'ops' },
      { kind: 'ServiceAccount', name: 'bot' },
    ],
  })
  expect(authorizer.reasonFor(amy, asked)).toBe('RBAC: allowed by RoleBinding "r/x" of Role "r" to User "amy"')
  expect(authorizer.allows(amy, { ...asked, namespace: 'y' })).toBe(false)
  expect(authorizer.allows({ name: 'bob', groups: ['ops'] }, asked)).toBe(true)
  expect(authorizer.allows({ name: 'system:serviceaccount:x:bot', groups: [] }, asked)).toBe(true)
  expect(authorizer.allows({ name: 'x', groups: ['system:masters'] }, { ...asked, verb: 'delete' })).toBe(true)
})
