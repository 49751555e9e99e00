// Authorization, and writes that are well formed but refused: tested from outside, over HTTPS.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EmbeddedServer, MERGE, startEmbedded } from './embedded-server.ts'

let server: EmbeddedServer
beforeAll(async () => void (server = await startEmbedded('none')))
afterAll(() => server.close())

const call: EmbeddedServer['call'] = (...request) => server.call(...request)
const said = ({ code, body }: Awaited<ReturnType<typeof call>>) => [code, body['reason'], body['message']]

const MAPS = '/api/v1/namespaces/default/configmaps'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
const binding = (name: string, validationActions: readonly string[], more: object = {}) =>
  call('POST', `${ADMISSION}/validatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, validationActions, ...more },
  })
const policy = (name: string, spec: object) =>
  call('POST', `${ADMISSION}/validatingadmissionpolicies`, {
    metadata: { name },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
        ],
      },
      ...spec,
    },
  })

describe('a policy in CEL', () => {
  test('may ask what the sender, or an account, may do besides', async () => {
    await policy('asks', {
      matchConditions: [{ name: 'only', expression: "object.metadata.name.startsWith('asks')" }],
      validations: [
        {
          expression: "authorizer.requestResource.check('frobnicate').allowed()",
          message: 'you may not frobnicate',
        },
        {
          expression:
            "!authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').namespace('default').check('get').allowed()",
        },
      ],
    })
    await binding('asks', ['Deny'])
    expect((await call('POST', MAPS, { metadata: { name: 'asks-admin' } })).code).toBe(201)
    await call('POST', `${RBAC}/roles`, {
      metadata: { name: 'makes-maps' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create'] }],
    })
    await call('POST', `${RBAC}/rolebindings`, {
      metadata: { name: 'makes-maps' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'makes-maps' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'maker' }],
    })
    const refused = await call('POST', MAPS, { metadata: { name: 'asks-maker' } }, { as: 'maker' })
    expect([refused.code, String(refused.body['message']).endsWith('you may not frobnicate')]).toEqual([422, true])
  })

  test('with audit annotations that do not compile is refused, and one that fails refuses the write', async () => {
    const wrong = await policy('annotates-wrong', { auditAnnotations: [{ key: 'k', valueExpression: '1' }] })
    expect([wrong.code, String(wrong.body['message'])]).toEqual([
      422,
      expect.stringContaining('must evaluate to one of [string null_type] but got int'),
    ])
    await policy('annotates', {
      matchConditions: [{ name: 'only', expression: "object.metadata.name.startsWith('annotated')" }],
      auditAnnotations: [{ key: 'data', valueExpression: "'it holds ' + object.data.key" }],
    })
    await binding('annotates', ['Deny', 'Audit'])
    expect((await call('POST', MAPS, { metadata: { name: 'annotated-a' }, data: { key: 'x' } })).code).toBe(201)
    expect((await call('POST', MAPS, { metadata: { name: 'annotated-b' } })).code).toBe(422)
  })

  test('refuses creations and changes in the words of the policy, and what matches no rule passes', async () => {
    await policy('short', {
      variables: [{ name: 'length', expression: 'size(object.metadata.name)' }],
      validations: [
        {
          expression: "!has(object.data) || !('bad' in object.data)",
          messageExpression: "'bad key in ' + object.metadata.name",
        },
        { expression: "variables.length < 10 || !object.metadata.name.startsWith('short')", reason: 'Forbidden' },
      ],
    })
    await binding('short', ['Deny'])
    const denied = "is forbidden: ValidatingAdmissionPolicy 'short' with binding 'short' denied request: "
    expect(said(await call('POST', MAPS, { metadata: { name: 'a' }, data: { bad: '1' } }))).toEqual([
      422,
      'Invalid',
      `configmaps "a" ${denied}bad key in a`,
    ])
    expect(said(await call('POST', MAPS, { metadata: { name: 'short-or-not' } }))).toEqual([
      403,
      'Forbidden',
      `configmaps "short-or-not" ${denied}failed expression: variables.length < 10 || !object.metadata.name.startsWith('short')`,
    ])
    expect((await call('POST', MAPS, { metadata: { name: 'fine' } })).code).toBe(201)
    expect((await call('PATCH', `${MAPS}/fine`, { data: { bad: '1' } }, MERGE)).code).toBe(422)
    expect(
      (await call('POST', '/api/v1/namespaces/default/secrets', { metadata: { name: 'a' }, data: { bad: 'eA==' } }))
        .code,
    ).toBe(201)
    await call('DELETE', `${ADMISSION}/validatingadmissionpolicybindings/short`)
    expect((await call('PATCH', `${MAPS}/fine`, { data: { bad: '1' } }, MERGE)).code).toBe(200)
  })

  test('only warns where its binding says so', async () => {
    await policy('gentle', { validations: [{ expression: "object.metadata.name != 'w'", message: 'not w' }] })
    await binding('gentle', ['Warn', 'Audit'])
    const { code, warnings } = await call('POST', MAPS, { metadata: { name: 'w' } })
    expect([code, warnings]).toEqual([
      201,
      [`299 - "Validation failed for ValidatingAdmissionPolicy 'gentle' with binding 'gentle': not w"`],
    ])
  })

  test('an expression that fails refuses, unless the policy ignores failures', async () => {
    const validations = [{ expression: "object.data.missing == 'x'" }]
    const matchConditions = [{ name: 'mine', expression: "object.metadata.name.startsWith('fail')" }]
    await policy('strict', { validations, matchConditions })
    await binding('strict', ['Deny'])
    expect((await call('POST', MAPS, { metadata: { name: 'fail1' }, data: { a: 'b' } })).body['message']).toContain(
      'resulted in error: no such key: missing',
    )
    await call('PATCH', `${ADMISSION}/validatingadmissionpolicies/strict`, { spec: { failurePolicy: 'Ignore' } }, MERGE)
    expect((await call('POST', MAPS, { metadata: { name: 'fail2' }, data: { a: 'b' } })).code).toBe(201)
  })

  test('reads its parameters from the object that its binding names', async () => {
    await call('POST', MAPS, { metadata: { name: 'limits' }, data: { longest: '4' } })
    await policy('bounded', {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConditions: [{ name: 'mine', expression: "object.metadata.name.startsWith('p')" }],
      validations: [{ expression: 'size(object.metadata.name) <= int(params.data.longest)' }],
    })
    await binding('bounded', ['Deny'], {
      paramRef: { name: 'limits', namespace: 'default', parameterNotFoundAction: 'Deny' },
    })
    expect((await call('POST', MAPS, { metadata: { name: 'p123' } })).code).toBe(201)
    expect((await call('POST', MAPS, { metadata: { name: 'p1234' } })).code).toBe(422)
  })

  test('does not come into being when an expression does not compile', async () => {
    const answer = await policy('broken', { validations: [{ expression: 'object.metadata.name ==' }] })
    expect(answer.code).toBe(422)
    expect(answer.body['message']).toContain(
      'spec.validations[0].expression: Invalid value: "object.metadata.name ==": compilation failed:',
    )
  })
})

describe('rights', () => {
  const grant = (name: string, rules: readonly object[]) =>
    Promise.all([
      call('POST', `${RBAC}/roles`, { metadata: { name }, rules }),
      call('POST', `${RBAC}/rolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
        subjects: [{ kind: 'User', name }],
      }),
    ])

  test('no user grants what they do not hold', async () => {
    await grant('amy', [
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: ['create'] },
    ])
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]
    expect(said(await call('POST', `${RBAC}/roles`, { metadata: { name: 'big' }, rules }, { as: 'amy' }))).toEqual([
      403,
      'Forbidden',
      'roles.rbac.authorization.k8s.io "big" is forbidden: user "amy" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    ])
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
    const bound = { metadata: { name: 'all' }, roleRef, subjects: [{ kind: 'User', name: 'amy' }] }
    expect((await call('POST', `${RBAC}/rolebindings`, bound, { as: 'amy' })).code).toBe(403)
  })

  test('what is granted is allowed at once, and what is taken back is refused at once', async () => {
    await grant('bob', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }])
    expect((await call('GET', MAPS, undefined, { as: 'bob' })).code).toBe(200)
    await call('DELETE', `${RBAC}/rolebindings/bob`)
    expect(said(await call('GET', MAPS, undefined, { as: 'bob' }))).toEqual([
      403,
      'Forbidden',
      'configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "default"',
    ])
  })
})
