// S23: no user grants more than they hold, by any verb or path: rules, aggregation rules, bindings, impersonation.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rulesInForce } from '#test/support/servers/rules-in-force.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests, type Reply, type SendOptions } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

const GROUP = 'rbac.authorization.k8s.io'
const API = `/apis/${GROUP}/v1`
const ROLES = `${API}/clusterroles`
const BINDINGS = `${API}/clusterrolebindings`

interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly verbs: readonly string[]
}
const WRITES = ['create', 'update', 'patch', 'get']
const kinds = ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings']
const writesRoles: Rule = { apiGroups: [GROUP], resources: kinds, verbs: WRITES }
const readsPods: Rule = { apiGroups: [''], resources: ['pods'], verbs: ['get'] }
const readsSecrets: Rule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }
const everything: Rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }
const everyPath: Rule = { nonResourceURLs: ['*'], verbs: ['*'] }
const may = (verb: string, resource: string, ...resourceNames: readonly string[]): Rule => ({
  apiGroups: [GROUP],
  resources: [resource],
  verbs: [verb],
  ...(resourceNames.length > 0 && { resourceNames }),
})

interface Write {
  readonly api: Requests
  readonly path: string
  readonly name: string
  readonly fields: object
  readonly as: string
}
type How = readonly [name: string, isNew: boolean, write: (w: Write) => Promise<Reply>]

const typed = (path: string): string =>
  path.endsWith('clusterroles')
    ? 'ClusterRole'
    : path.endsWith('clusterrolebindings')
      ? 'ClusterRoleBinding'
      : path.endsWith('rolebindings')
        ? 'RoleBinding'
        : 'Role'
const whole = ({ path, name, fields }: Write) => ({
  apiVersion: `${GROUP}/v1`,
  kind: typed(path),
  metadata: { name },
  ...fields,
})
const applied = (w: Write): Promise<Reply> =>
  w.api.patch('apply', `${w.path}/${w.name}?fieldManager=thief&force=true`, whole(w), { as: w.as })

/** Every way to write an object. */
const HOW: readonly How[] = [
  ['POST', true, (w) => w.api.post(w.path, whole(w), { as: w.as })],
  ['POST as a dry run', true, (w) => w.api.post(`${w.path}?dryRun=All`, whole(w), { as: w.as })],
  ['PUT that creates', true, (w) => w.api.put(`${w.path}/${w.name}`, whole(w), { as: w.as })],
  ['apply that creates', true, applied],
  ['PUT', false, (w) => w.api.put(`${w.path}/${w.name}`, whole(w), { as: w.as })],
  ['apply', false, applied],
  ['merge patch', false, (w) => w.api.patch('merge', `${w.path}/${w.name}`, w.fields, { as: w.as })],
  ['strategic patch', false, (w) => w.api.patch('strategic', `${w.path}/${w.name}`, w.fields, { as: w.as })],
  [
    'JSON patch',
    false,
    (w) =>
      w.api.patch(
        'json',
        `${w.path}/${w.name}`,
        Object.entries(w.fields).map(([field, value]) => ({ op: 'add', path: `/${field}`, value: value as unknown })),
        { as: w.as },
      ),
  ],
]

describe.each(apiServers)('S23 escalation on $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })

  /** A user who holds these rules everywhere. */
  async function userWith(...rules: readonly Rule[]): Promise<string> {
    const user = fresh('thief')
    await api.made(ROLES, { metadata: { name: user }, rules })
    await api.made(BINDINGS, { metadata: { name: user }, roleRef: ref(user), subjects: [ofUser(user)] })
    await rulesInForce(api, user, rules)
    return user
  }
  const ref = (name: string, kind = 'ClusterRole') => ({ apiGroup: GROUP, kind, name })
  const ofUser = (name: string) => ({ apiGroup: GROUP, kind: 'User', name })
  const refusal = (r: Reply) => (r.code === 403 ? (r.body.message ?? '') : `answered ${r.code}`)
  const stored = async (path: string): Promise<object> => {
    const { code, body } = await api.get(path)
    return code === 404 ? {} : body
  }

  const selects = (label: string) => ({ clusterRoleSelectors: [{ matchLabels: { part: label } }] })

  test.concurrent.each(HOW)('an aggregation rule needs full authority: %s', async (_, isNew, write) => {
    const [as, name] = [await userWith(writesRoles, readsPods), fresh('sum')]
    if (!isNew) await api.made(ROLES, { metadata: { name }, rules: [readsPods] })
    const fields = { rules: isNew ? [] : [readsPods], aggregationRule: selects(name) }
    const reply = await write({ api, path: ROLES, name, fields, as })
    expect(refusal(reply)).toContain('must have cluster-admin privileges to use the aggregationRule')
    expect(await stored(`${ROLES}/${name}`)).not.toHaveProperty('aggregationRule')
  })

  test.concurrent.each(HOW.filter(([, isNew]) => !isNew))(
    'a role that aggregates is changed with full authority only, what it aggregates included: %s',
    async (how, _isNew, write) => {
      const [as, name] = [await userWith(writesRoles), fresh('sum')]
      await api.made(ROLES, { metadata: { name }, rules: [], aggregationRule: selects('nothing') })
      const wanted = { rules: [], aggregationRule: selects('everything') }
      expect(refusal(await write({ api, path: ROLES, name, fields: wanted, as }))).toContain('cluster-admin privileges')
      // an apply drops nothing that its manager does not own
      const dropped = await write({ api, path: ROLES, name, fields: { rules: [], aggregationRule: null }, as })
      if (how !== 'apply') expect(refusal(dropped)).toContain('cluster-admin privileges')
      expect(await stored(`${ROLES}/${name}`)).toMatchObject({ aggregationRule: selects('nothing') })
    },
  )

  test.concurrent.each<readonly [string, readonly Rule[], number]>([
    ['all verbs on all resources and all paths', [everything, everyPath], 201],
    ['escalate on clusterroles', [writesRoles, may('escalate', 'clusterroles')], 201],
    ['all resources and no paths', [everything], 201],
    ['all paths and few resources', [writesRoles, everyPath], 403],
    ['escalate on roles', [writesRoles, may('escalate', 'roles')], 403],
    ['escalate on another cluster role', [writesRoles, may('escalate', 'clusterroles', 'other')], 403],
  ])('who holds %s sets an aggregation rule or not', async (what, rules, code) => {
    const [as, name] = [await userWith(...rules), fresh('sum')]
    const reply = await api.post(ROLES, { metadata: { name }, rules: [], aggregationRule: selects(name) }, { as })
    // all verbs on all resources hold escalate as well
    expect([what, reply.code]).toEqual([what, code])
  })

  test.concurrent('an aggregation rule that selects nothing is no rule', async () => {
    const as = await userWith(writesRoles)
    const role = { metadata: { name: fresh('empty') }, rules: [], aggregationRule: { clusterRoleSelectors: [] } }
    expect((await api.post(ROLES, role, { as })).code).toBe(422)
  })

  test.concurrent('labels that feed the aggregate of another owner require the rules of the role, no more', async () => {
    const [as, weak, strong, label] = [
      await userWith(writesRoles, readsPods),
      fresh('weak'),
      fresh('strong'),
      fresh('label'),
    ]
    await api.made(ROLES, { metadata: { name: fresh('sum') }, rules: [], aggregationRule: selects(label) })
    await api.made(ROLES, { metadata: { name: weak }, rules: [readsPods] })
    await api.made(ROLES, { metadata: { name: strong }, rules: [readsSecrets] })
    const labeled = (name: string) =>
      api.patch('merge', `${ROLES}/${name}`, { metadata: { labels: { part: label } } }, { as })
    expect((await labeled(weak)).code).toBe(200)
    expect(refusal(await labeled(strong))).toContain('attempting to grant RBAC permissions not currently held')
  })

  test.concurrent('finalizers and owners of a stronger role may change: that is how garbage is collected', async () => {
    const [as, name] = [await userWith(writesRoles), fresh('strong')]
    await api.made(ROLES, { metadata: { name }, rules: [readsSecrets] })
    const change = (metadata: object) => api.patch('merge', `${ROLES}/${name}`, { metadata }, { as })
    expect((await change({ finalizers: ['example.org/f'] })).code).toBe(200)
    expect((await change({ finalizers: [] })).code).toBe(200)
    expect((await change({ annotations: { a: 'b' } })).code).toBe(403)
  })

  test.concurrent.each(HOW)('rules that are not held are not given: %s', async (_, isNew, write) => {
    const [as, name] = [await userWith(writesRoles, readsPods), fresh('more')]
    for (const path of [ROLES, `${API}/namespaces/default/roles`]) {
      if (!isNew) await api.made(path, { metadata: { name }, rules: [readsPods] })
      const reply = await write({ api, path, name, fields: { rules: [readsSecrets] }, as })
      expect(refusal(reply)).toContain('attempting to grant RBAC permissions not currently held')
      expect(JSON.stringify(await stored(`${path}/${name}`))).not.toContain('secrets')
    }
  })

  test.concurrent.each(HOW)('a stronger role is not bound: %s', async (_, isNew, write) => {
    const [as, name] = [await userWith(writesRoles, readsPods), fresh('bind')]
    const roleRef = ref('cluster-admin')
    for (const path of [BINDINGS, `${API}/namespaces/default/rolebindings`]) {
      if (!isNew) await api.made(path, { metadata: { name }, roleRef, subjects: [] })
      const reply = await write({ api, path, name, fields: { roleRef, subjects: [ofUser(as)] }, as })
      expect(refusal(reply)).toContain('attempting to grant RBAC permissions not currently held')
      expect(JSON.stringify(await stored(`${path}/${name}`))).not.toContain(as)
    }
  })

  test.concurrent('escalate by name counts where the name is in the path', async () => {
    const name = fresh('named')
    const as = await userWith(writesRoles, may('escalate', 'clusterroles', name))
    const role = { apiVersion: `${GROUP}/v1`, kind: 'ClusterRole', metadata: { name }, rules: [readsSecrets] }
    expect((await api.post(ROLES, role, { as })).code).toBe(403)
    await api.made(ROLES, { ...role, rules: [] })
    expect((await api.put(`${ROLES}/${name}`, role, { as })).code).toBe(200)
  })

  test.concurrent.each<readonly [string, Rule, Rule, number]>([
    ['bind on the role', may('bind', 'clusterroles', 'cluster-admin'), everything, 201],
    ['bind on another', may('bind', 'clusterroles', 'view'), everything, 403],
    ['escalate, which is not bind', may('escalate', 'clusterroles'), everything, 403],
  ])('who holds %s binds cluster-admin or not', async (what, more, _, code) => {
    const [as, name] = [await userWith(writesRoles, more), fresh('bind')]
    const reply = await api.post(
      BINDINGS,
      { metadata: { name }, roleRef: ref('cluster-admin'), subjects: [ofUser(as)] },
      { as },
    )
    expect([what, reply.code]).toEqual([what, code])
  })

  describe('impersonation', () => {
    /** Requests that are really the account's own: those of an impersonated user would be the administrator's. */
    async function tokenWith(...rules: readonly Rule[]): Promise<string> {
      const name = fresh('robot')
      const path = '/api/v1/namespaces/default/serviceaccounts'
      await api.made(path, { metadata: { name } })
      await api.made(ROLES, { metadata: { name }, rules: [readsPods, ...rules] })
      await api.made(BINDINGS, {
        metadata: { name },
        roleRef: ref(name),
        subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
      })
      const { body } = await api.post(`${path}/${name}/token`, { spec: {} })
      return (body['status'] as { readonly token: string }).token
    }
    const impersonate = (resource: string, ...resourceNames: readonly string[]): Rule => ({
      apiGroups: [resource.startsWith('userextras') || resource === 'uids' ? 'authentication.k8s.io' : ''],
      resources: [resource],
      verbs: ['impersonate'],
      ...(resourceNames.length > 0 && { resourceNames }),
    })
    const ada = impersonate('users', 'ada')
    const asAda = (more: SendOptions = {}): SendOptions => ({ as: 'ada', ...more })

    const PATHS = [
      '/api/v1/pods',
      '/api/v1/pods?watch=true',
      '/api/v1/nodes/x',
      '/version',
      '/healthz',
      '/nonsense',
      ROLES,
    ]
    test.concurrent.each(PATHS)('no user becomes another without the right, on %s', async (path) => {
      const token = await tokenWith(impersonate('users', 'bob'))
      const headers: readonly SendOptions[] = [
        asAda(),
        { as: 'bob', groups: ['system:masters'] },
        { as: 'bob', headers: { 'impersonate-uid': 'u-1' } },
        { as: 'bob', headers: { 'impersonate-extra-scopes': 'all' } },
        { as: 'system:serviceaccount:kube-system:default' },
      ]
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
        for (const options of headers) {
          const body = method === 'GET' || method === 'DELETE' ? undefined : {}
          const reply = await api.send(method, path, body, { ...options, token })
          expect([method, reply.code, reply.body.message]).toEqual([
            method,
            403,
            expect.stringContaining('cannot impersonate'),
          ])
        }
    })

    test.concurrent.each<readonly [string, Rule, SendOptions, number]>([
      ['a user by name', ada, asAda(), 200],
      ['a group by name', impersonate('groups', 'ops'), asAda({ groups: ['ops'] }), 200],
      ['another group', impersonate('groups', 'ops'), asAda({ groups: ['ops', 'system:masters'] }), 403],
      ['a uid', impersonate('uids'), asAda({ headers: { 'impersonate-uid': 'u-1' } }), 200],
      ['an extra', impersonate('userextras/scopes'), asAda({ headers: { 'impersonate-extra-scopes': 'x' } }), 200],
      ['another extra', impersonate('userextras/scopes'), asAda({ headers: { 'impersonate-extra-more': 'x' } }), 403],
    ])('who may, becomes %s and no more', async (_, rule, options, code) => {
      const token = await tokenWith(ada, rule)
      // discovery is open to all who are known
      expect((await api.get('/api', { ...options, token })).code).toBe(code)
    })
  })
})
