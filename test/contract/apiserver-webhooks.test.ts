// Admission webhooks as clients and webhooks see them: who is asked, with what, and what comes of good, bad and missing answers.
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests } from '#test/support/servers/api-requests.ts'
import { jsonPatch, startWebhookEndpoint, type WebhookEndpoint } from '#test/support/servers/webhook-endpoint.ts'

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1'
const SEEN_WITHIN_MS = 120_000
type Fields = Readonly<Record<string, unknown>>
type Kind = 'Validating' | 'Mutating'

describe.each(apiServers)('on $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  let hooks: WebhookEndpoint
  let places = 0

  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
    hooks = await startWebhookEndpoint()
    hooks.on('/marker', () => ({ allowed: false, status: { message: 'marker' } }))
    hooks.on('/allow', () => ({ allowed: true }))
    hooks.on('/deny', () => ({ allowed: false, status: { code: 403, reason: 'Forbidden', message: 'not like this' } }))
  })
  afterAll(async () => {
    api.close()
    await hooks.stop()
    await server.stop()
  })

  /** A namespace of its own for each test: webhooks of one do not see the objects of another. */
  async function place(labels: Fields = {}): Promise<string> {
    const name = `place-${++places}`
    await api.made('/api/v1/namespaces', { metadata: { name, labels } })
    return name
  }

  const hook = (ns: string, path: string, more: Fields = {}): Fields => ({
    name: 'one.hooks.test',
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    timeoutSeconds: 5,
    clientConfig: { url: `${hooks.url}${path}`, caBundle: hooks.caBundle },
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': ns } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
    ...more,
  })

  /** Returns once the server asks the webhooks: a real one takes a moment. */
  async function configure(kind: Kind, ns: string, ...webhooks: readonly Fields[]): Promise<string> {
    const name = `${ns}-${kind.toLowerCase()}`
    const marker = hook(ns, '/marker', {
      name: 'marker.hooks.test',
      objectSelector: { matchLabels: { marker: name } },
      failurePolicy: 'Fail',
    })
    const path = `${REGISTRATION}/${kind.toLowerCase()}webhookconfigurations`
    await api.made(path, { metadata: { name }, webhooks: [marker, ...webhooks] })
    const probe = { metadata: { name: 'marker', labels: { marker: name } }, data: { guard: 'no' } }
    const until = performance.now() + SEEN_WITHIN_MS
    for (;;) {
      const { body } = await api.post(`${maps(ns)}?dryRun=All`, probe)
      if (body.message?.includes('marker.hooks.test') === true) break
      if (performance.now() > until) throw new Error(`the webhooks of ${name} are not asked`)
    }
    hooks.asked.length = 0
    return `${path}/${name}`
  }

  const maps = (ns: string) => `/api/v1/namespaces/${ns}/configmaps`
  const map = (name: string, more: Fields = {}) => ({ metadata: { name }, ...more })
  const create = (ns: string, name: string, more: Fields = {}) => api.post(maps(ns), map(name, more))
  const namesAsked = (path: string) => hooks.asked.filter((a) => a.path === path).map((a) => a.request.name)

  describe('a validating webhook', () => {
    test('is sent a review of the write, and lets it pass', async () => {
      const ns = await place()
      await configure('Validating', ns, hook(ns, '/allow'))
      const made = await api.post(`${maps(ns)}?fieldManager=me&fieldValidation=Strict`, map('a', { data: { k: 'v' } }))
      expect(made.code).toBe(201)
      expect((await api.patch('merge', `${maps(ns)}/a`, { data: { k: 'w' } })).code).toBe(200)
      expect((await api.delete(`${maps(ns)}/a`)).code).toBe(200)
      const [first, second, third, ...rest] = hooks.asked
      expect(rest).toEqual([])
      expect(first?.query).toBe('timeout=5s')
      expect(first?.request).toMatchObject({
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
        requestResource: { group: '', version: 'v1', resource: 'configmaps' },
        name: 'a',
        namespace: ns,
        operation: 'CREATE',
        dryRun: false,
        object: { kind: 'ConfigMap', apiVersion: 'v1', data: { k: 'v' }, metadata: { uid: made.body.metadata.uid } },
        oldObject: null,
        options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'me', fieldValidation: 'Strict' },
      })
      expect(first?.request['userInfo']).toMatchObject({
        groups: expect.arrayContaining(['system:masters']) as unknown,
      })
      expect(second?.request).toMatchObject({
        operation: 'UPDATE',
        object: { data: { k: 'w' } },
        oldObject: { kind: 'ConfigMap', data: { k: 'v' } },
        options: { kind: 'UpdateOptions' },
      })
      expect(third?.request).toMatchObject({
        operation: 'DELETE',
        object: null,
        oldObject: { data: { k: 'w' } },
        options: { kind: 'DeleteOptions' },
      })
    })

    test('that says no refuses creation, change, apply and deletion, with its own code and reason', async () => {
      const ns = await place()
      await create(ns, 'old')
      await configure('Validating', ns, hook(ns, '/deny'))
      const refused = [403, 'Forbidden', 'admission webhook "one.hooks.test" denied the request: not like this']
      const said = ({ code, body }: Awaited<ReturnType<typeof create>>) => [code, body.reason, body.message]
      expect(said(await create(ns, 'new'))).toEqual(refused)
      expect(said(await api.patch('merge', `${maps(ns)}/old`, { data: { a: 'b' } }))).toEqual(refused)
      expect(said(await api.put(`${maps(ns)}/old`, map('old', { data: { a: 'b' } })))).toEqual(refused)
      const applied = { apiVersion: 'v1', kind: 'ConfigMap', ...map('applied') }
      expect(said(await api.patch('apply', `${maps(ns)}/applied?fieldManager=me`, applied))).toEqual(refused)
      expect(said(await api.delete(`${maps(ns)}/old`))).toEqual(refused)
      expect(said(await api.delete(maps(ns)))).toEqual(refused)
      expect((await api.get(`${maps(ns)}/old`)).code).toBe(200)
      expect((await api.get(`${maps(ns)}/new`)).code).toBe(404)
    })

    test.each([
      ['no status', {}, 400, undefined, 'without explanation'],
      ['only a reason', { status: { reason: 'Nope' } }, 400, 'Nope', ': Nope'],
      ['a code that is no refusal', { status: { code: 200, message: 'm' } }, 400, undefined, ': m'],
      ['a code of its own', { status: { code: 422, reason: 'Invalid', message: 'm' } }, 422, 'Invalid', ': m'],
    ])('that denies with %s passes its words on', async (_, response, code, reason, text) => {
      const ns = await place()
      hooks.on('/no', () => ({ allowed: false, ...response }))
      await configure('Validating', ns, hook(ns, '/no'))
      const answer = await create(ns, 'a')
      const start = 'admission webhook "one.hooks.test" denied the request'
      expect([answer.code, answer.body.reason]).toEqual([code, reason])
      expect(answer.body.message).toBe(text.startsWith(':') ? `${start}${text}` : `${start} ${text}`)
    })

    test('may warn, whatever it decides', async () => {
      const ns = await place()
      hooks.on('/warn', ({ request }) => ({
        allowed: request.name !== 'bad',
        warnings: ['mind the "gap"', 'second'],
      }))
      await configure('Validating', ns, hook(ns, '/warn'))
      const good = await create(ns, 'good')
      expect([good.code, good.warnings]).toEqual([201, ['mind the "gap"', 'second']])
      const bad = await create(ns, 'bad')
      expect([bad.code, bad.warnings]).toEqual([400, ['mind the "gap"', 'second']])
    })

    test('is asked about a dry run too, with dryRun set', async () => {
      const ns = await place()
      await configure('Validating', ns, hook(ns, '/allow'))
      expect((await api.post(`${maps(ns)}?dryRun=All`, map('a'))).code).toBe(201)
      expect(hooks.asked.map((a) => [a.request['dryRun'], a.request['options']])).toEqual([
        [true, { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', dryRun: ['All'] }],
      ])
    })

    test('sees the name that was generated', async () => {
      const ns = await place()
      await configure('Validating', ns, hook(ns, '/allow'))
      const { body } = await api.post(maps(ns), { metadata: { generateName: 'made-' } })
      expect(namesAsked('/allow')).toEqual([body.metadata.name])
    })

    test('is asked no more once its configuration is gone', async () => {
      const ns = await place()
      const path = await configure('Validating', ns, hook(ns, '/deny'))
      expect((await create(ns, 'a')).code).toBe(403)
      await api.delete(path)
      const until = performance.now() + SEEN_WITHIN_MS
      while ((await create(ns, 'a')).code === 403 && performance.now() < until);
      expect((await api.get(`${maps(ns)}/a`)).code).toBe(200)
    })

    test('several are asked in one go, and one refusal is enough', async () => {
      const ns = await place()
      await configure('Validating', ns, hook(ns, '/allow'), hook(ns, '/deny', { name: 'two.hooks.test' }))
      expect((await create(ns, 'a')).body.message).toContain('admission webhook "two.hooks.test" denied')
      expect(hooks.asked.map((a) => a.path).sort()).toEqual(['/allow', '/deny'])
    })
  })

  describe('whom a webhook is asked about', () => {
    test('its rules name operations, groups, resources, subresources and scope', async () => {
      const ns = await place()
      const all = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'] }
      const rules = [
        { ...all, apiGroups: [''], operations: ['CREATE'], resources: ['secrets'] },
        { ...all, resources: ['pods/status'] },
        { ...all, apiGroups: ['apps'], resources: ['*/scale'] },
        { ...all, scope: 'Cluster', resources: ['configmaps'] },
      ]
      await configure('Validating', ns, hook(ns, '/deny', { rules }))
      const secrets = `/api/v1/namespaces/${ns}/secrets`
      expect((await api.post(secrets, map('s'))).code).toBe(403)
      expect((await create(ns, 'a')).code).toBe(201)
      const pods = `/api/v1/namespaces/${ns}/pods`
      const spec = { containers: [{ name: 'c', image: 'i' }], serviceAccountName: 'default' }
      await api.post(`/api/v1/namespaces/${ns}/serviceaccounts`, map('default'))
      expect((await api.post(pods, map('p', { spec }))).code).toBe(201)
      const status = { phase: 'Running' }
      expect((await api.patch('merge', `${pods}/p/status`, { status })).code).toBe(403)
      expect(hooks.asked.at(-1)?.request).toMatchObject({ subResource: 'status', requestSubResource: 'status' })
    })

    test('its selectors look at the labels of the namespace and of the object, old or new', async () => {
      const strict = await place({ guard: 'strict' })
      const loose = await place()
      await configure(
        'Validating',
        strict,
        hook(strict, '/deny', {
          namespaceSelector: { matchExpressions: [{ key: 'guard', operator: 'In', values: ['strict'] }] },
          objectSelector: { matchLabels: { checked: 'yes' } },
        }),
      )
      const labels = { checked: 'yes' }
      expect((await create(strict, 'plain')).code).toBe(201)
      expect((await api.post(maps(strict), { metadata: { name: 'marked', labels } })).code).toBe(403)
      expect((await api.patch('merge', `${maps(strict)}/plain`, { metadata: { labels } })).code).toBe(403)
      expect((await api.post(maps(loose), { metadata: { name: 'marked', labels } })).code).toBe(201)
    })

    test('its conditions are asked first; one that fails refuses, or leaves the webhook out where failures are ignored', async () => {
      const ns = await place()
      const matchConditions = [{ name: 'is-guarded', expression: "object.data.guard == 'yes'" }]
      await configure('Validating', ns, hook(ns, '/deny', { matchConditions }))
      expect((await create(ns, 'a', { data: { guard: 'no' } })).code).toBe(201)
      expect((await create(ns, 'b', { data: { guard: 'yes' } })).code).toBe(403)
      hooks.asked.length = 0
      const failed = await create(ns, 'c')
      expect([failed.code, failed.body.reason, hooks.asked.length]).toEqual([403, 'Forbidden', 0])
      expect(failed.body.message).toContain('configmaps "c" is forbidden: ')
      const other = await place()
      await configure('Validating', other, hook(other, '/deny', { matchConditions, failurePolicy: 'Ignore' }))
      expect((await create(other, 'c')).code).toBe(201)
    })

    test('configurations and policies are never held up by webhooks', async () => {
      const ns = await place()
      const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }]
      const name = 'all.hooks.test'
      const objectSelector = { matchLabels: { all: 'yes' } }
      await configure('Validating', ns, hook(ns, '/deny', { name, rules, namespaceSelector: {}, objectSelector }))
      const metadata = { name: `${ns}-free`, labels: { all: 'yes' } }
      const path = `${REGISTRATION}/mutatingwebhookconfigurations`
      expect((await api.post(path, { metadata, webhooks: [] })).code).toBe(201)
      expect((await api.post('/api/v1/namespaces', { metadata })).code).toBe(403)
      expect((await api.delete(`${path}/${ns}-free`)).code).toBe(200)
    })
  })

  describe('a webhook that fails', () => {
    const review = (uid: string, more: Fields = {}) =>
      JSON.stringify({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid, allowed: true },
        ...more,
      })
    const FAILURES = [
      ['is not there', '/allow', undefined, /dial tcp 127\.0\.0\.1:\d+: connect: connection refused$/],
      ['is signed by another authority', '/allow', undefined, /certificate signed by unknown authority/],
      ['is too slow', '/slow', () => undefined, /context deadline exceeded/],
      [
        'answers garbage',
        '/garbage',
        (_, r) => void r.end('<html>'),
        /couldn't get version\/kind; json parse error: json: cannot unmarshal string into Go value of type struct \{/,
      ],
      [
        'answers for another request',
        '/uid',
        (_, r) => void r.end(review('other')),
        /received invalid webhook response: expected response\.uid="[0-9a-f-]{36}", got "other"$/,
      ],
      [
        'answers without a response',
        '/empty',
        (_, r) => void r.end('{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}'),
        /received invalid webhook response: webhook response was absent$/,
      ],
      [
        'answers in another version',
        '/version',
        ({ request }, r) => void r.end(review(request.uid, { apiVersion: 'admission.k8s.io/v1beta1' })),
        /converting \(v1beta1\.AdmissionReview\) to \(v1\.AdmissionReview\): unknown conversion$/,
      ],
      [
        'patches though it may only validate',
        '/patching',
        () => jsonPatch({ op: 'remove', path: '/data' }),
        /validating webhook may not return response\.patch$/,
      ],
      [
        'has an error of its own',
        '/broken',
        (_, r) => void r.writeHead(500).end('ouch'),
        /failed to call webhook: an error on the server \("ouch"\) has prevented the request from succeeding$/,
      ],
      [
        'does not know the path',
        '/nowhere',
        (_, r) => void r.writeHead(404).end(),
        /failed to call webhook: the server could not find the requested resource$/,
      ],
      ['hangs up', '/hangup', (_, r) => void r.destroy(), /EOF|connection reset/],
    ] as const satisfies readonly (readonly [
      string,
      string,
      Parameters<WebhookEndpoint['on']>[1] | undefined,
      RegExp,
    ])[]

    test.each(FAILURES)(
      'because it %s stops the write under Fail, and not under Ignore',
      async (what, path, reply, text) => {
        if (reply !== undefined) hooks.on(path, reply)
        const clientConfig = {
          url: what === 'is not there' ? `https://127.0.0.1:${await closedPort()}${path}` : `${hooks.url}${path}`,
          caBundle: what === 'is signed by another authority' ? hooks.otherBundle : hooks.caBundle,
        }
        const more = { clientConfig, timeoutSeconds: 1 }
        const [strict, loose] = [await place(), await place()]
        await configure('Validating', strict, hook(strict, path, more))
        await configure('Validating', loose, hook(loose, path, { ...more, failurePolicy: 'Ignore' }))
        const { code, body } = await create(strict, 'a')
        expect([code, body.reason]).toEqual([500, 'InternalError'])
        expect(body.message).toMatch(text)
        expect(body.message).toMatch(/^Internal error occurred: failed calling webhook "one\.hooks\.test": /)
        expect((await create(loose, 'a')).code).toBe(201)
      },
    )

    test('as a service that is not there stops the write', async () => {
      const ns = await place()
      const service = { namespace: ns, name: 'nobody', path: '/admit' }
      await configure('Validating', ns, hook(ns, '', { clientConfig: { service, caBundle: hooks.caBundle } }))
      expect((await create(ns, 'a')).body.message).toBe(
        `Internal error occurred: failed calling webhook "one.hooks.test": failed to call webhook: Post "https://nobody.${ns}.svc:443/admit?timeout=5s": service "nobody" not found`,
      )
    })

    test.each([
      ['/aB/admit', 'segment[0]: a lowercase RFC 1123 subdomain must consist of'],
      ['/a_b', 'segment[0]: a lowercase RFC 1123 subdomain must consist of'],
      ['/a//b', 'segment[1] may not be empty'],
      ['//', 'segment[0] may not be empty'],
      ['a/b', "must start with a '/'"],
    ])('as a service with path %s is refused', async (path, why) => {
      const ns = await place()
      const webhook = hook(ns, '', { clientConfig: { service: { namespace: ns, name: 's', path } } })
      const configuration = { metadata: { name: ns }, webhooks: [webhook] }
      const { code, body } = await api.post(`${REGISTRATION}/validatingwebhookconfigurations`, configuration)
      expect(code).toBe(422)
      expect(body.message).toContain(`webhooks[0].clientConfig.service.path: Invalid value: "${path}": ${why}`)
    })

    test('is judged by policies when it is registered, though webhooks are not asked about it', async () => {
      const name = await place()
      const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'] }]
      await configure(
        'Validating',
        name,
        hook(name, '/deny', { rules, namespaceSelector: {}, objectSelector: { matchLabels: { of: name } } }),
      )
      const matchConditions = [{ name: 'of', expression: `object.metadata.?labels['of'].orValue('') == '${name}'` }]
      const policy = {
        matchConstraints: { resourceRules: rules },
        matchConditions,
        validations: [{ expression: 'false' }],
      }
      await api.made(`${REGISTRATION}/validatingadmissionpolicies`, { metadata: { name }, spec: policy })
      const binding = { policyName: name, validationActions: ['Deny'] }
      await api.made(`${REGISTRATION}/validatingadmissionpolicybindings`, { metadata: { name }, spec: binding })
      const labels = { of: name }
      const path = `${REGISTRATION}/validatingwebhookconfigurations?dryRun=All`
      await expect
        .poll(async () => (await api.post(path, { metadata: { name: `${name}-new`, labels } })).body.message, {
          timeout: SEEN_WITHIN_MS,
        })
        .toMatch(`ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request`)
      const own = { metadata: { name: `${name}-new`, labels }, spec: policy }
      expect((await api.post(`${REGISTRATION}/validatingadmissionpolicies?dryRun=All`, own)).code).toBe(201)
    })

    test('whose connection went away while it was idle is asked again on a new one', async () => {
      const ns = await place()
      await configure('Validating', ns, hook(ns, '/allow'))
      expect((await create(ns, 'a')).code).toBe(201)
      hooks.drop()
      expect((await create(ns, 'b')).code).toBe(201)
    })
  })

  describe('a mutating webhook', () => {
    test('changes what is stored; defaults and validation come after it', async () => {
      const ns = await place()
      hooks.on('/label', () =>
        jsonPatch(
          { op: 'add', path: '/metadata/labels', value: { touched: 'yes' } },
          { op: 'add', path: '/data', value: { added: 'x' } },
        ),
      )
      await configure('Mutating', ns, hook(ns, '/label'))
      const { code, body } = await create(ns, 'a')
      expect([code, body.metadata.labels, body['data']]).toEqual([201, { touched: 'yes' }, { added: 'x' }])
      hooks.on('/label', () => jsonPatch({ op: 'add', path: '/data', value: { 'not a key!': 'x' } }))
      const refused = await create(ns, 'b')
      expect([refused.code, refused.body.reason]).toEqual([422, 'Invalid'])
      hooks.on('/label', () => jsonPatch({ op: 'add', path: '/nonsense', value: 1 }))
      const pruned = await create(ns, 'c')
      expect([pruned.code, pruned.body['nonsense']]).toEqual([201, undefined])
    })

    test('sees a new object before it has a uid, and a validating one sees what it made of it', async () => {
      const ns = await place()
      hooks.on('/add', () => jsonPatch({ op: 'add', path: '/data', value: { added: 'x' } }))
      await configure('Mutating', ns, hook(ns, '/add'))
      await configure('Validating', ns, hook(ns, '/allow'))
      expect((await create(ns, 'a')).code).toBe(201)
      const [first, second] = hooks.asked
      expect(first?.request['object']).not.toHaveProperty('metadata.uid')
      expect(first?.request['object']).toMatchObject({ metadata: { name: 'a', namespace: ns } })
      expect(second?.request['object']).toMatchObject({ data: { added: 'x' } })
    })

    test('works on changes too, and may take them back', async () => {
      const ns = await place()
      await create(ns, 'a', { data: { k: 'v' } })
      hooks.on('/keep', () => jsonPatch({ op: 'replace', path: '/data', value: { k: 'v' } }))
      await configure('Mutating', ns, hook(ns, '/keep'))
      const changed = await api.patch('merge', `${maps(ns)}/a`, { data: { k: 'other', l: 'more' } })
      expect([changed.code, changed.body['data']]).toEqual([200, { k: 'v' }])
    })

    test('may refuse', async () => {
      const ns = await place()
      await configure('Mutating', ns, hook(ns, '/deny'))
      expect((await create(ns, 'a')).code).toBe(403)
    })

    test('is asked again once when a later one changed the object, if it wants to', async () => {
      const ns = await place()
      const count = (key: string) => () => jsonPatch({ op: 'add', path: `/data/${key}`, value: 'x' })
      hooks.on('/first', count('first'))
      hooks.on('/second', count('second'))
      await configure(
        'Mutating',
        ns,
        hook(ns, '/first', { reinvocationPolicy: 'IfNeeded' }),
        hook(ns, '/second', { name: 'two.hooks.test', reinvocationPolicy: 'IfNeeded' }),
      )
      const { body } = await create(ns, 'a', { data: { k: 'v' } })
      expect(body['data']).toEqual({ k: 'v', first: 'x', second: 'x' })
      expect(hooks.asked.map((a) => a.path)).toEqual(['/first', '/second', '/first'])
      expect(hooks.asked[2]?.request['object']).toMatchObject({ data: { second: 'x' } })
    })

    test('whose patch does not fit fails the write, also under Ignore', async () => {
      const ns = await place()
      hooks.on('/misfit', () => jsonPatch({ op: 'remove', path: '/not/there' }))
      await configure('Mutating', ns, hook(ns, '/misfit', { failurePolicy: 'Ignore' }))
      const { code, body } = await create(ns, 'a')
      expect([code, body.reason]).toEqual([500, 'InternalError'])
    })

    test.each([
      ['a patch without a type', { patch: 'W10=' }, 'webhook returned response.patch but not response.patchType'],
      [
        'a type without a patch',
        { patchType: 'JSONPatch' },
        'webhook returned response.patchType but not response.patch',
      ],
    ])('that answers %s has failed', async (_, answer, text) => {
      const ns = await place()
      hooks.on('/half', () => ({ allowed: true, ...answer }))
      await configure('Mutating', ns, hook(ns, '/half'))
      expect((await create(ns, 'a')).body.message).toContain(`received invalid webhook response: ${text}`)
    })

    test('is asked about deletions, which it cannot change', async () => {
      const ns = await place()
      await create(ns, 'a')
      hooks.on('/change', () => jsonPatch({ op: 'add', path: '/data', value: {} }))
      await configure('Mutating', ns, hook(ns, '/change'))
      const { code, body } = await api.delete(`${maps(ns)}/a`)
      expect([code, body.reason]).toEqual([500, 'InternalError'])
      expect(hooks.asked.map((a) => a.request['operation'])).toEqual(['DELETE'])
    })
  })

  test('a configuration whose condition does not compile is refused', async () => {
    const matchConditions = [{ name: 'bad', expression: 'object.metadata.name ==' }]
    const { code, body } = await api.post(`${REGISTRATION}/validatingwebhookconfigurations`, {
      metadata: { name: 'bad' },
      webhooks: [hook('x', '/allow', { matchConditions })],
    })
    expect(code).toBe(422)
    expect(body.message).toContain(
      'webhooks[0].matchConditions[0].expression: Invalid value: "object.metadata.name =="',
    )
  })

  test.each([
    [
      'timeoutSeconds',
      31,
      'webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
    ],
    [
      'failurePolicy',
      'Maybe',
      'webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"',
    ],
    [
      'matchPolicy',
      'Maybe',
      'webhooks[0].matchPolicy: Unsupported value: "Maybe": supported values: "Equivalent", "Exact"',
    ],
    [
      'rules',
      [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'] }],
      'webhooks[0].rules[0].resources: Required value',
    ],
  ])('a configuration with a wrong %s is refused', async (field, value, text) => {
    const { code, body } = await api.post(`${REGISTRATION}/validatingwebhookconfigurations`, {
      metadata: { name: 'bad' },
      webhooks: [hook('x', '/allow', { [field]: value })],
    })
    expect(code).toBe(422)
    expect(body.message).toContain(text)
  })

  test('connections to a webhook are kept', async () => {
    const ns = await place()
    await configure('Validating', ns, hook(ns, '/allow'))
    await create(ns, 'first')
    const before = hooks.connections()
    for (let i = 0; i < 10; i++) await create(ns, `a-${i}`)
    expect(hooks.connections()).toBe(before)
  })
})

describe('the embedded server alone', () => {
  let server: RunningServer
  let api: Requests
  let hooks: WebhookEndpoint
  let inService: { readonly name: string } | undefined
  beforeAll(async () => {
    hooks = await startWebhookEndpoint()
    const { startEmbedded } = await import('#test/support/servers/api-servers.ts')
    server = await startEmbedded({
      loops: 'none',
      resolveService: ({ name }) => {
        inService = { name }
        return { host: '127.0.0.1', port: Number(new URL(hooks.url).port) }
      },
    })
    api = new Requests(server)
  })
  afterAll(async () => {
    api.close()
    await hooks.stop()
    await server.stop()
  })
  const register = (clientConfig: Fields, more: Fields = {}) =>
    api.made(`${REGISTRATION}/validatingwebhookconfigurations`, {
      metadata: { generateName: 'w-' },
      webhooks: [
        {
          name: 'one.hooks.test',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          clientConfig: { caBundle: hooks.caBundle, ...clientConfig },
          rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['configmaps'] }],
          ...more,
        },
      ],
    })
  const gone = (o: { readonly metadata: { readonly name?: string } }) =>
    api.delete(`${REGISTRATION}/validatingwebhookconfigurations/${o.metadata.name ?? ''}`)

  test('an answer of any size is cut off', async () => {
    hooks.on('/huge', (_, response) => {
      response.writeHead(200)
      const part = Buffer.alloc(1024 * 1024, 0x20)
      const more = () => {
        while (!response.destroyed && response.write(part));
      }
      response.on('drain', more)
      more()
    })
    const made = await register({ url: `${hooks.url}/huge` })
    const { code, body } = await api.post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } })
    expect(code).toBe(500)
    expect(body.message).toContain('the answer is larger than 8388608 bytes')
    await gone(made)
  })

  test('a redirect is not followed', async () => {
    hooks.on('/away', (_, response) => void response.writeHead(307, { location: `${hooks.url}/allow` }).end())
    hooks.on('/allow', () => ({ allowed: true }))
    const made = await register({ url: `${hooks.url}/away` })
    const { body } = await api.post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } })
    expect(body.message).toContain('the server responded with the status code 307')
    expect(hooks.asked.map((a) => a.path)).not.toContain('/allow')
    await gone(made)
  })

  test('a service is where the resolver says, and its certificate must be for the name of the service', async () => {
    const service = { namespace: 'kube-system', name: 'guard' }
    const made = await register({ service })
    const { body } = await api.post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } })
    expect(inService).toEqual({ name: 'guard' })
    expect(body.message).toContain('x509: certificate is not valid for guard.kube-system.svc')
    await gone(made)
  })

  test('a rule for one version of a custom resource sees writes in all, in the version that it names', async () => {
    const version = (name: string, storage: boolean) => ({
      name,
      served: true,
      storage,
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    })
    await api.made('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'things.example.org' },
      spec: {
        group: 'example.org',
        scope: 'Cluster',
        names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
        versions: [version('v1', false), version('v2', true)],
      },
    })
    const rules = [{ apiGroups: ['example.org'], apiVersions: ['v2'], operations: ['CREATE'], resources: ['things'] }]
    hooks.on('/deny', () => ({ allowed: false }))
    const made = await register({ url: `${hooks.url}/deny` }, { rules })
    const thing = { apiVersion: 'example.org/v1', kind: 'Thing', metadata: { name: 'a' }, spec: { a: 1 } }
    const until = performance.now() + SEEN_WITHIN_MS
    let answer = await api.post('/apis/example.org/v1/things', thing)
    while (answer.code === 404 && performance.now() < until)
      answer = await api.post('/apis/example.org/v1/things', thing)
    expect(answer.code).toBe(400)
    expect(hooks.asked.at(-1)?.request).toMatchObject({
      kind: { group: 'example.org', version: 'v2', kind: 'Thing' },
      requestKind: { group: 'example.org', version: 'v1', kind: 'Thing' },
      object: { apiVersion: 'example.org/v2', spec: { a: 1 } },
    })
    await gone(made)
    await register({ url: `${hooks.url}/deny` }, { rules, matchPolicy: 'Exact' })
    expect((await api.post('/apis/example.org/v1/things', thing)).code).toBe(201)
  })
})

/** A port without a listener. */
async function closedPort(): Promise<number> {
  const listening = createServer()
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const { port } = listening.address() as AddressInfo
  await new Promise<void>((resolve) => listening.close(() => resolve()))
  return port
}
