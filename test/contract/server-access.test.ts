// Authorization: impersonation, roles and their escalation, reviews, tokens, certificates, admission policies.
import { Agent, request } from 'node:https'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { defined } from '#lib/defined.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { rulesInForce } from '#test/support/servers/rules-in-force.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests, type SendOptions } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const POLICY = '/apis/admissionregistration.k8s.io/v1'
const roleRef = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })
const ofUser = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name })
const rule = (
  verbs: readonly string[],
  resources: readonly string[],
  apiGroups: readonly string[] = [''],
  more = {},
) => ({ apiGroups, resources, verbs, ...more })

describe.each(apiServers)('access to $name', ({ start, hasLoops }) => {
  let server: RunningServer
  let api: Requests
  const space = async (labels = {}): Promise<string> => {
    const name = fresh('access')
    await api.made('/api/v1/namespaces', { metadata: { name, labels } })
    return name
  }
  /** A user with a role in a namespace. */
  async function userWith(namespace: string, ...rules: readonly object[]): Promise<string> {
    const user = fresh('user')
    const path = `${RBAC}/namespaces/${namespace}`
    await api.made(`${path}/roles`, { metadata: { name: user }, rules })
    await api.made(`${path}/rolebindings`, {
      metadata: { name: user },
      roleRef: roleRef('Role', user),
      subjects: [ofUser(user)],
    })
    await rulesInForce(api, user, rules, namespace)
    return user
  }
  async function clusterUserWith(...rules: readonly object[]): Promise<string> {
    const user = fresh('user')
    await api.made(`${RBAC}/clusterroles`, { metadata: { name: user }, rules })
    await api.made(`${RBAC}/clusterrolebindings`, {
      metadata: { name: user },
      roleRef: roleRef('ClusterRole', user),
      subjects: [ofUser(user)],
    })
    await rulesInForce(api, user, rules)
    return user
  }
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })

  describe('roles', () => {
    type Right = readonly [name: string, rules: readonly object[], method: string, path: string, code: number]
    const body = (method: string) => (method === 'POST' ? { metadata: { name: fresh('made') } } : undefined)
    test.concurrent.each<Right>([
      ['a verb on a resource', [rule(['list'], ['configmaps'])], 'GET', 'configmaps', 200],
      ['another verb', [rule(['list'], ['configmaps'])], 'POST', 'configmaps', 403],
      ['another resource', [rule(['list'], ['configmaps'])], 'GET', 'secrets', 403],
      ['all verbs', [rule(['*'], ['configmaps'])], 'POST', 'configmaps', 201],
      ['all resources of a group', [rule(['list'], ['*'])], 'GET', 'secrets', 200],
      [
        'a name that is in the list',
        [rule(['get'], ['configmaps'], [''], { resourceNames: ['kube-root-ca.crt'] })],
        'GET',
        'configmaps/kube-root-ca.crt',
        404,
      ],
      [
        'a name that is not',
        [rule(['get'], ['configmaps'], [''], { resourceNames: ['one'] })],
        'GET',
        'configmaps/two',
        403,
      ],
      [
        'a list by names alone is refused',
        [rule(['list'], ['configmaps'], [''], { resourceNames: ['one'] })],
        'GET',
        'configmaps',
        403,
      ],
      [
        'a list of the one name that is allowed',
        [rule(['list'], ['configmaps'], [''], { resourceNames: ['one'] })],
        'GET',
        'configmaps?fieldSelector=metadata.name%3Done',
        200,
      ],
      ['a subresource is not its resource', [rule(['get'], ['pods'])], 'GET', 'pods/x/log', 403],
      ['a subresource by name', [rule(['get'], ['pods/log'])], 'GET', 'pods/x/log', 404],
      ['the subresource of all', [rule(['get'], ['*/log'])], 'GET', 'pods/x/log', 404],
      ['delete does not mean delete all', [rule(['delete'], ['configmaps'])], 'DELETE', 'configmaps', 403],
      ['delete all by its verb', [rule(['deletecollection'], ['configmaps'])], 'DELETE', 'configmaps', 200],
    ])('%s', async (_, rules, method, path, code) => {
      const namespace = await space()
      const as = await userWith(namespace, ...rules)
      const reply = await api.send(method, `/api/v1/namespaces/${namespace}/${path}`, body(method), { as })
      expect([reply.code, reply.body.message ?? '']).toEqual([
        code,
        code === 403 ? expect.stringContaining(`User "${as}" cannot`) : (reply.body.message ?? ''),
      ])
    })

    test.concurrent('a role in one namespace gives nothing in another', async () => {
      const [one, two] = [await space(), await space()]
      const as = await userWith(one, rule(['list'], ['configmaps']))
      expect((await api.get(`/api/v1/namespaces/${two}/configmaps`, { as })).code).toBe(403)
      expect((await api.get('/api/v1/configmaps', { as })).code).toBe(403)
    })

    test.concurrent('a cluster role bound in a namespace counts there alone', async () => {
      const [namespace, as, role, reads] = [
        await space(),
        fresh('user'),
        fresh('reader'),
        rule(['list'], ['configmaps']),
      ]
      await api.made(`${RBAC}/clusterroles`, { metadata: { name: role }, rules: [reads] })
      await api.made(`${RBAC}/namespaces/${namespace}/rolebindings`, {
        metadata: { name: 'b' },
        roleRef: roleRef('ClusterRole', role),
        subjects: [ofUser(as)],
      })
      await rulesInForce(api, as, [reads], namespace)
      expect((await api.get(`/api/v1/namespaces/${namespace}/configmaps`, { as })).code).toBe(200)
      expect((await api.get('/api/v1/namespaces/default/configmaps', { as })).code).toBe(403)
    })

    test.concurrent('view shows no secrets', async () => {
      const [namespace, as] = [await space(), fresh('user')]
      await api.made(`${RBAC}/clusterrolebindings`, {
        metadata: { name: as },
        roleRef: roleRef('ClusterRole', 'view'),
        subjects: [ofUser(as)],
      })
      expect((await api.get(`/api/v1/namespaces/${namespace}/secrets`, { as })).code).toBe(403)
    })

    test.concurrent('rights taken away count at once', async () => {
      const namespace = await space()
      const as = await userWith(namespace, rule(['list'], ['configmaps']))
      const path = `/api/v1/namespaces/${namespace}/configmaps`
      expect((await api.get(path, { as })).code).toBe(200)
      await api.delete(`${RBAC}/namespaces/${namespace}/rolebindings/${as}`)
      await vi.waitFor(async () => expect((await api.get(path, { as })).code).toBe(403), 60_000)
    })

    test.concurrent('paths that are no resource have rules of their own', async () => {
      const as = await clusterUserWith({ nonResourceURLs: ['/secret-path/*'], verbs: ['get'] })
      expect([(await api.get('/secret-path/x', { as })).code, (await api.get('/other', { as })).code]).toEqual([
        404, 403,
      ])
    })
  })

  describe('no user grants more than they have', () => {
    const roles = rule(['create', 'update', 'patch', 'get'], ['roles', 'rolebindings'], ['rbac.authorization.k8s.io'])
    type Attempt = readonly [name: string, has: readonly object[], gives: unknown, code: number]
    test.concurrent.each<Attempt>([
      ['rights that he has', [roles, rule(['get', 'list'], ['pods'])], rule(['get'], ['pods']), 201],
      ['rights that he has not', [roles, rule(['get'], ['pods'])], rule(['get'], ['secrets']), 403],
      ['all verbs', [roles, rule(['get'], ['pods'])], rule(['*'], ['pods']), 403],
      [
        'a name out of all that he may',
        [roles, rule(['get'], ['pods'])],
        rule(['get'], ['pods'], [''], { resourceNames: ['x'] }),
        201,
      ],
      [
        'with the right to escalate',
        [roles, rule(['escalate'], ['roles'], ['rbac.authorization.k8s.io'])],
        rule(['*'], ['*']),
        201,
      ],
    ])('a role with %s', async (_, has, gives, code) => {
      const namespace = await space()
      const as = await userWith(namespace, ...has)
      const reply = await api.post(
        `${RBAC}/namespaces/${namespace}/roles`,
        { metadata: { name: 'given' }, rules: [gives] },
        { as },
      )
      expect([reply.code, reply.body.message]).toEqual([
        code,
        code === 403 ? expect.stringContaining('attempting to grant RBAC permissions not currently held') : undefined,
      ])
    })

    test.concurrent.each([
      ['without', false, 403],
      ['with the right to bind', true, 201],
    ] as const)('a binding to a stronger role, %s', async (_, mayBind, code) => {
      const namespace = await space()
      const user = fresh('user')
      // Not the built-in admin: its rules come from a controller manager, and a role without rules is not stronger.
      const strong = fresh('strong')
      await api.made(`${RBAC}/clusterroles`, { metadata: { name: strong }, rules: [rule(['get'], ['secrets'])] })
      await api.made(`${RBAC}/namespaces/${namespace}/roles`, { metadata: { name: user }, rules: [roles] })
      await api.made(`${RBAC}/namespaces/${namespace}/rolebindings`, {
        metadata: { name: user },
        roleRef: roleRef('Role', user),
        subjects: [ofUser(user)],
      })
      if (mayBind) {
        const bind = rule(['bind'], ['clusterroles'], ['rbac.authorization.k8s.io'], { resourceNames: [strong] })
        await api.made(`${RBAC}/clusterroles`, { metadata: { name: user }, rules: [bind] })
        await api.made(`${RBAC}/clusterrolebindings`, {
          metadata: { name: user },
          roleRef: roleRef('ClusterRole', user),
          subjects: [ofUser(user)],
        })
        await rulesInForce(api, user, [bind])
      }
      await rulesInForce(api, user, [roles], namespace)
      const binding = { metadata: { name: 'up' }, roleRef: roleRef('ClusterRole', strong), subjects: [ofUser(user)] }
      expect((await api.post(`${RBAC}/namespaces/${namespace}/rolebindings`, binding, { as: user })).code).toBe(code)
    })

    test.concurrent('the role of a binding is fixed', async () => {
      const namespace = await space()
      const user = await userWith(namespace, rule(['get'], ['pods']))
      const path = `${RBAC}/namespaces/${namespace}/rolebindings/${user}`
      expect((await api.patch('merge', path, { roleRef: { kind: 'ClusterRole', name: 'admin' } })).code).toBe(422)
    })
  })

  describe('impersonation', () => {
    const who = async (options: SendOptions) => {
      const { body, code } = await api.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, options)
      return { code, ...(body['status'] as { readonly userInfo: object } | undefined)?.userInfo }
    }
    test.concurrent('user and groups', async () => {
      expect(await who({ as: 'ada', groups: ['one', 'two'] })).toMatchObject({
        username: 'ada',
        groups: ['one', 'two', 'system:authenticated'],
      })
    })
    test.concurrent('a service account brings its groups', async () => {
      expect(await who({ as: 'system:serviceaccount:default:robot' })).toMatchObject({
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      })
    })
    test.concurrent('extra and uid', async () => {
      const headers = { 'impersonate-uid': 'u-1', 'impersonate-extra-scopes': 'read' }
      expect(await who({ as: 'ada', headers })).toMatchObject({ uid: 'u-1', extra: { scopes: ['read'] } })
    })
    test.concurrent('an anonymous user is not counted as authenticated', async () => {
      const { code, body } = await api.get('/api/v1/nodes', { as: 'system:anonymous' })
      expect([code, body.message]).toEqual([403, expect.stringContaining('User "system:anonymous" cannot list')])
      expect((await who({ as: 'system:anonymous' })).code).toBe(403)
    })
    test.concurrent('a group without a user is no request', async () => {
      expect((await api.get('/api/v1/namespaces', { groups: ['one'] })).code).toBe(400)
    })
    test.concurrent('who may not impersonate is refused', async () => {
      const as = await clusterUserWith(rule(['list'], ['nodes']))
      const { token } = await tokenFor(as)
      expect((await api.get('/api/v1/nodes', { token, as: 'ada' })).code).toBe(403)
    })
  })

  /** A service account with the rights of a user, for requests that are really its own. */
  async function tokenFor(
    role: string,
  ): Promise<{ readonly token: string; readonly namespace: string; readonly name: string }> {
    const namespace = await space()
    const name = fresh('robot')
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`
    await api.made(path, { metadata: { name } })
    if (role !== '')
      await api.made(`${RBAC}/clusterrolebindings`, {
        metadata: { name },
        roleRef: roleRef('ClusterRole', role),
        subjects: [{ kind: 'ServiceAccount', name, namespace }],
      })
    const { status } = (await api.made(`${path}/${name}/token`, { spec: {} })) as KubeObject & {
      status: { token: string }
    }
    return { token: status.token, namespace, name }
  }

  describe('tokens', () => {
    const review = async (token: string, audiences?: readonly string[]) =>
      (
        await api.made('/apis/authentication.k8s.io/v1/tokenreviews', {
          spec: { token, ...defined({ audiences }) },
        })
      )['status'] as { readonly authenticated?: boolean; readonly user?: object; readonly error?: string }

    test.concurrent('a token is who it was made for', async () => {
      const { token, namespace, name } = await tokenFor('')
      expect(await review(token)).toMatchObject({
        authenticated: true,
        user: { username: `system:serviceaccount:${namespace}:${name}` },
      })
    })
    test.concurrent('a changed token is anonymous', async () => {
      const { token } = await tokenFor('')
      const { authenticated } = await review(`${token.slice(0, -4)}AAAA`)
      expect(authenticated ?? false).toBe(false)
    })
    test.concurrent('for another audience it is anonymous', async () => {
      const { token } = await tokenFor('')
      expect((await review(token, ['https://elsewhere.example'])).authenticated ?? false).toBe(false)
    })
    test.concurrent('a token ends with its account', async () => {
      // Not the built-in view: its rules come from a controller manager.
      const { token, namespace, name } = await tokenFor(await clusterUserWith(rule(['list'], ['configmaps'])))
      await vi.waitFor(
        async () => expect((await api.get('/api/v1/namespaces/default/configmaps', { token })).code).toBe(200),
        20_000,
      )
      await api.delete(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}`)
      await vi.waitFor(
        async () => expect((await api.get('/api/v1/namespaces/default/configmaps', { token })).code).toBe(401),
        20_000,
      )
    })
    test.concurrent('an account of the same name later does not revive it', async () => {
      const { token, namespace, name } = await tokenFor('view')
      await api.delete(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}`)
      await api.made(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })
      await vi.waitFor(
        async () => expect((await api.get('/api/v1/namespaces/default/configmaps', { token })).code).toBe(401),
        20_000,
      )
    })
    test.concurrent('nonsense is refused, not taken for an anonymous request', async () => {
      expect((await api.get('/api/v1/namespaces', { token: 'nonsense' })).code).toBe(401)
    })
    test.concurrent('a request without credentials is anonymous and may do nothing', async () => {
      const { code, body } = await api.get('/api/v1/namespaces', { token: '' })
      expect([code === 403 || code === 401, body.kind]).toEqual([true, 'Status'])
    })
  })

  describe('reviews of access', () => {
    type Ask = readonly [name: string, attributes: Readonly<Record<string, string>>, allowed: boolean]
    test.concurrent.each<Ask>([
      ['what is allowed', { verb: 'list', resource: 'configmaps' }, true],
      ['another verb', { verb: 'delete', resource: 'configmaps' }, false],
      ['a subresource', { verb: 'list', resource: 'configmaps', subresource: 'status' }, false],
      ['another group', { verb: 'list', resource: 'configmaps', group: 'apps' }, false],
    ])('of a user: %s', async (_, attributes, allowed) => {
      const namespace = await space()
      const user = await userWith(namespace, rule(['list'], ['configmaps']))
      const review = await api.made('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        spec: { user, resourceAttributes: { ...attributes, namespace } },
      })
      expect((review['status'] as { readonly allowed: boolean }).allowed).toBe(allowed)
    })
    test.concurrent('of oneself', async () => {
      const namespace = await space()
      const as = await userWith(namespace, rule(['list'], ['configmaps']))
      const review = await api.made(
        '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        { spec: { resourceAttributes: { verb: 'list', resource: 'configmaps', namespace } } },
        { as },
      )
      expect(review['status']).toMatchObject({ allowed: true })
    })
    test.concurrent('the rules of oneself', async () => {
      const namespace = await space()
      const as = await userWith(namespace, rule(['list'], ['configmaps']))
      const review = await api.made(
        '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
        { spec: { namespace } },
        { as },
      )
      const { resourceRules } = review['status'] as { readonly resourceRules: readonly unknown[] }
      expect(resourceRules).toContainEqual({ verbs: ['list'], apiGroups: [''], resources: ['configmaps'] })
    })
    test.concurrent('neither a resource nor a path is no question', async () => {
      expect(
        (await api.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec: { user: 'ada' } })).code,
      ).toBe(422)
    })
  })

  describe('certificates', () => {
    const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
    async function ask(commonName: string, organizations: readonly string[]) {
      const name = fresh('csr')
      const key = await newPrivateKey()
      const pem = await signingRequest(key, { commonName, organizations })
      await api.made(path, {
        metadata: { name },
        spec: {
          signerName: 'kubernetes.io/kube-apiserver-client',
          usages: ['client auth'],
          request: Buffer.from(pem).toString('base64'),
        },
      })
      return { name, key }
    }
    async function approve(name: string) {
      const { body } = await api.get(`${path}/${name}`)
      const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'by a test' }]
      return api.put(`${path}/${name}/approval`, { ...body, status: { conditions } })
    }
    const statusOf = async (name: string) =>
      (await api.get(`${path}/${name}`)).body['status'] as {
        readonly certificate?: string
        readonly conditions?: readonly { readonly type: string }[]
      }

    test.concurrent('status is not for approving', async () => {
      const { name } = await ask('ada', [])
      const { body } = await api.get(`${path}/${name}`)
      const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: '' }]
      await api.put(`${path}/${name}/status`, { ...body, status: { conditions } })
      expect((await statusOf(name)).conditions ?? []).toEqual([])
    })
    test.concurrent('who may not approve for the signer is refused', async () => {
      const { name } = await ask('ada', [])
      const as = await clusterUserWith(
        rule(
          ['get', 'update'],
          ['certificatesigningrequests', 'certificatesigningrequests/approval'],
          ['certificates.k8s.io'],
        ),
      )
      const { body } = await api.get(`${path}/${name}`)
      const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: '' }]
      expect((await api.put(`${path}/${name}/approval`, { ...body, status: { conditions } }, { as })).code).toBe(403)
    })
    test.concurrent('a request that is none is refused', async () => {
      const spec = {
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth'],
        request: Buffer.from('nothing').toString('base64'),
      }
      expect((await api.post(path, { metadata: { name: fresh('csr') }, spec })).code).toBe(422)
    })
    if (hasLoops) {
      test.concurrent('approved, it is signed, and its holder is who he asked to be', async () => {
        const { name, key } = await ask('grace', ['fleet-admins', 'ops'])
        expect((await approve(name)).code).toBe(200)
        await vi.waitFor(async () => expect((await statusOf(name)).certificate).toBeDefined(), 60_000)
        const cert = Buffer.from((await statusOf(name)).certificate ?? '', 'base64').toString()
        const holder = new Requests({ ...server, cert, key })
        const { body } = await holder.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {})
        holder.close()
        // A name has its organizations in one set, in the order of their bytes.
        expect(body['status']).toMatchObject({
          userInfo: { username: 'grace', groups: ['ops', 'fleet-admins', 'system:authenticated'] },
        })
      })
      test.concurrent('a certificate for the masters is never signed', async () => {
        const name = fresh('csr')
        const pem = await signingRequest(await newPrivateKey(), {
          commonName: 'eve',
          organizations: ['system:masters'],
        })
        const spec = {
          signerName: 'kubernetes.io/kube-apiserver-client',
          usages: ['client auth'],
          request: Buffer.from(pem).toString('base64'),
        }
        const { code } = await api.post(path, { metadata: { name }, spec })
        // a server may refuse it at the door, or fail it at the signer
        if (code === 201) {
          await approve(name)
          await vi.waitFor(
            async () => expect((await statusOf(name)).conditions?.map((c) => c.type)).toContain('Failed'),
            20_000,
          )
          expect((await statusOf(name)).certificate).toBeUndefined()
        } else expect(code).toBe(403)
      })
    }
    test.concurrent('a certificate of an unknown authority is anonymous', async () => {
      const { newAuthority } = await import('#test/support/servers/tls.ts')
      const stranger = await (await newAuthority('kubenode-ca')).client('kubernetes-admin', ['system:masters'])
      const { hostname, port } = new URL(server.url)
      const agent = new Agent({ ca: server.ca, cert: stranger.cert, key: stranger.key })
      const code = await new Promise<number>((resolve, reject) => {
        request({ hostname, port, path: '/api/v1/namespaces', agent }, (r) => {
          r.resume()
          resolve(r.statusCode ?? 0)
        })
          .on('error', reject)
          .end()
      })
      agent.destroy()
      expect([401, 403]).toContain(code)
    })
  })

  describe('admission policies', () => {
    interface PolicyCase {
      readonly validations: readonly unknown[]
      readonly actions?: readonly string[]
      readonly more?: Readonly<Record<string, unknown>>
      readonly binding?: Readonly<Record<string, unknown>>
    }
    /** A policy for config maps of one namespace of its own. */
    async function policy({ validations, actions = ['Deny'], more = {}, binding = {} }: PolicyCase): Promise<string> {
      const name = fresh('policy')
      const namespace = await space({ policy: name })
      await api.made(`${POLICY}/validatingadmissionpolicies`, {
        metadata: { name },
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
            ],
          },
          validations,
          ...more,
        },
      })
      await api.made(`${POLICY}/validatingadmissionpolicybindings`, {
        metadata: { name },
        spec: {
          policyName: name,
          validationActions: actions,
          matchResources: { namespaceSelector: { matchLabels: { policy: name } } },
          ...binding,
        },
      })
      return `/api/v1/namespaces/${namespace}/configmaps`
    }
    const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({ metadata: { name }, data })
    /** A real server takes a policy into account a moment after it was written. */
    const refusedSoon = (path: string, body: unknown, code = 422) =>
      vi.waitFor(
        async () => {
          const reply = await api.post(`${path}?dryRun=All`, body)
          expect(reply.code).toBe(code)
          return reply
        },
        { timeout: 240_000 },
      )

    const SMALL = { expression: 'size(object.data) < 2', message: 'at most one entry' }

    test.concurrent('deny refuses with the message, and lets the rest through', async () => {
      const path = await policy({ validations: [SMALL] })
      const { body } = await refusedSoon(path, configMap('x', { a: '1', b: '2' }))
      expect(body.message).toContain('denied request: at most one entry')
      expect((await api.post(path, configMap('y', { a: '1' }))).code).toBe(201)
    })
    test.concurrent('an update is judged with what was before', async () => {
      const path = await policy({
        validations: [
          {
            expression: 'oldObject == null || !has(oldObject.data) || object.data == oldObject.data',
            message: 'data is immutable',
          },
        ],
      })
      await api.made(path, configMap('x', { a: '1' }))
      await vi.waitFor(
        async () => expect((await api.patch('merge', `${path}/x?dryRun=All`, { data: { a: '2' } })).code).toBe(422),
        20_000,
      )
      expect((await api.patch('merge', `${path}/x`, { metadata: { labels: { l: '1' } } })).code).toBe(200)
    })
    test.concurrent('other namespaces are left alone', async () => {
      const path = await policy({ validations: [SMALL] })
      await refusedSoon(path, configMap('x', { a: '1', b: '2' }))
      expect(
        (await api.post('/api/v1/namespaces/default/configmaps', configMap(fresh('free'), { a: '1', b: '2' }))).code,
      ).toBe(201)
    })
    test.concurrent('warn says it and stores', async () => {
      const path = await policy({ validations: [SMALL], actions: ['Warn'] })
      await vi.waitFor(async () => {
        const { code, warnings } = await api.post(`${path}?dryRun=All`, configMap('x', { a: '1', b: '2' }))
        expect([code, warnings]).toEqual([201, [expect.stringContaining('at most one entry')]])
      }, 60_000)
    })
    test.concurrent('audit stores without a word', async () => {
      const path = await policy({ validations: [SMALL], actions: ['Audit'] })
      const { code, warnings } = await api.post(path, configMap('x', { a: '1', b: '2' }))
      expect([code, warnings]).toEqual([201, []])
    })
    test.concurrent('the reason decides the code', async () => {
      const path = await policy({ validations: [{ ...SMALL, reason: 'Forbidden' }] })
      expect((await refusedSoon(path, configMap('x', { a: '1', b: '2' }), 403)).body.reason).toBe('Forbidden')
    })
    test.concurrent('a message made by an expression', async () => {
      const path = await policy({
        validations: [{ expression: 'size(object.data) < 2', messageExpression: '"has " + string(size(object.data))' }],
      })
      expect((await refusedSoon(path, configMap('x', { a: '1', b: '2' }))).body.message).toContain('has 2')
    })
    test.concurrent('variables, the user and the namespace', async () => {
      const path = await policy({
        more: {
          variables: [
            {
              name: 'owner',
              expression:
                "has(object.metadata.labels) && 'owner' in object.metadata.labels ? object.metadata.labels['owner'] : ''",
            },
          ],
        },
        validations: [
          {
            expression:
              'variables.owner == request.userInfo.username && namespaceObject.metadata.name == request.namespace',
            message: 'mark it as yours',
          },
        ],
      })
      await refusedSoon(path, configMap('x'))
      expect(
        (
          await api.post(
            path,
            { metadata: { name: 'y', labels: { owner: 'ada' } } },
            { as: 'ada', groups: ['system:masters'] },
          )
        ).code,
      ).toBe(201)
    })
    test.concurrent('conditions choose what is judged', async () => {
      const path = await policy({
        validations: [SMALL],
        more: { matchConditions: [{ name: 'not-exempt', expression: "!object.metadata.name.startsWith('free-')" }] },
      })
      await refusedSoon(path, configMap('x', { a: '1', b: '2' }))
      expect((await api.post(path, configMap('free-x', { a: '1', b: '2' }))).code).toBe(201)
    })
    test.concurrent('parameters come from an object that the binding names', async () => {
      const holder = await space()
      await api.made(`/api/v1/namespaces/${holder}/configmaps`, configMap('limits', { most: '2' }))
      const path = await policy({
        more: { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } },
        validations: [{ expression: 'size(object.data) <= int(params.data.most)', message: 'too many' }],
        binding: { paramRef: { name: 'limits', namespace: holder, parameterNotFoundAction: 'Deny' } },
      })
      await refusedSoon(path, configMap('x', { a: '1', b: '2', c: '3' }))
      await api.patch('merge', `/api/v1/namespaces/${holder}/configmaps/limits`, { data: { most: '3' } })
      await vi.waitFor(
        async () =>
          expect((await api.post(`${path}?dryRun=All`, configMap('x', { a: '1', b: '2', c: '3' }))).code).toBe(201),
        20_000,
      )
    })
    test.concurrent.each([
      ['Deny', 422],
      ['Allow', 201],
    ])('parameters that are not there: %s', async (parameterNotFoundAction, code) => {
      const path = await policy({
        more: { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } },
        validations: [{ expression: 'false' }],
        binding: { paramRef: { name: 'nothing', namespace: 'default', parameterNotFoundAction } },
      })
      await refusedSoon(path, configMap('x'), code)
    })
    test.concurrent.each([
      ['Fail', 422],
      ['Ignore', 201],
    ])('an expression that fails, with failurePolicy %s', async (failurePolicy, code) => {
      const path = await policy({
        validations: [{ expression: "object.data['nothing'] == ''" }],
        more: { failurePolicy },
      })
      await refusedSoon(path, configMap('x', { a: '1' }), code)
    })
    test.concurrent('an expression that cannot be compiled is refused when it is written', async () => {
      const spec = {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        },
        validations: [{ expression: 'object.metadata.' }],
      }
      const { code, body } = await api.post(`${POLICY}/validatingadmissionpolicies`, {
        metadata: { name: fresh('broken') },
        spec,
      })
      expect([code, body.message]).toEqual([422, expect.stringContaining('spec.validations[0].expression')])
    })
    test.concurrent('a policy that is deleted counts no more', async () => {
      const path = await policy({ validations: [{ expression: 'false' }] })
      await refusedSoon(path, configMap('x'))
      const [, , , , namespace = ''] = path.split('/')
      const { body } = await api.get(`/api/v1/namespaces/${namespace}`)
      await api.delete(`${POLICY}/validatingadmissionpolicybindings/${body.metadata.labels?.['policy']}`)
      await refusedSoon(path, configMap('x'), 201)
    })
  })
})
