// What an engineer notices who knows a kube-apiserver by heart: one small thing a case, most of them refusals and their words, held
// against 1.36.2 side by side.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests, type Reply } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'main', image: 'i' }] },
})
const podSpec = { automountServiceAccountToken: false, containers: [{ name: 'main', image: 'i' }] }
const said = ({ code, body }: Reply): readonly [number, string] => [code, body.message ?? '']
const has = (text: string): unknown => expect.stringContaining(text)

describe.each(apiServers)('details of $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  let space = ''
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
    space = await api.namespace('details')
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })
  const core = (plural: string) => `/api/v1/namespaces/${space}/${plural}`
  const inGroup = (group: string, plural: string) => `/apis/${group}/namespaces/${space}/${plural}`
  const deployments = () => inGroup('apps/v1', 'deployments')
  const managed = (o: Reply['body'] | Awaited<ReturnType<Requests['made']>>) => JSON.stringify(o.metadata.managedFields)

  describe('who manages what', () => {
    test.concurrent('the label that a namespace gets is of who made it', async () => {
      const made = await api.made('/api/v1/namespaces', { metadata: { name: fresh('labelled') } })
      expect(managed(made)).toContain('"f:kubernetes.io/metadata.name":{}')
    })
    test.concurrent('what is always written in a template has no owner', async () => {
      const name = fresh('managed')
      const made = await api.made(deployments(), {
        metadata: { name },
        spec: { selector: { matchLabels: { app: name } }, template: template(name) },
      })
      expect(managed(made)).toContain('"f:containers":{"k:{\\"name\\":\\"main\\"}"')
    })
    test.concurrent('an element without its key is one with an empty key, and refused as that', async () => {
      const name = fresh('keyless')
      const applied = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name },
        spec: {
          selector: { matchLabels: { app: name } },
          template: { metadata: { labels: { app: name } }, spec: { containers: [{ image: 'i' }] } },
        },
      }
      expect(said(await api.patch('apply', `${deployments()}/${name}?fieldManager=one`, applied))).toEqual([
        422,
        has('spec.template.spec.containers[0].name: Required value'),
      ])
    })
  })

  describe('reading', () => {
    test.concurrent('a list at any version has no pages', async () => {
      const path = core('secrets')
      for (let i = 0; i < 3; i++) await api.made(path, { metadata: { name: fresh('page'), labels: { of: 'three' } } })
      const list = async (query: string) => (await api.get(`${path}?labelSelector=of%3Dthree&limit=2${query}`)).body
      expect((await list('')).items?.length).toBe(2)
      await vi.waitFor(async () => expect((await list('&resourceVersion=0')).items?.length).toBe(3), 60_000)
    })
    test.concurrent('a field selector that cannot be read', async () =>
      expect(said(await api.get(`${core('configmaps')}?fieldSelector=metadata.name`))).toEqual([
        400,
        "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
      ]))
    test.concurrent('a table that is asked for with strange objects in it', async () => {
      const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
      expect(said(await api.get(`${core('configmaps')}?includeObject=Bad`, { headers }))).toEqual([
        400,
        has(`includeObject: Invalid value: "Bad": must be 'Metadata', 'Object', 'None', or empty`),
      ])
    })
    test.concurrent('YAML is sorted by its keys, and its lists are not indented', async () => {
      const name = fresh('yaml')
      await api.made(core('configmaps'), { metadata: { name, labels: { b: '1', a: '2' } }, data: { k: 'v' } })
      const { body } = await api.get(`${core('configmaps')}/${name}`, { headers: { accept: 'application/yaml' } })
      expect(body.message).toMatch(/^apiVersion: v1\ndata:\n {2}k: v\nkind: ConfigMap\nmetadata:\n/)
      expect(body.message).toMatch(/\n {2}labels:\n {4}a: "2"\n {4}b: "1"\n {2}managedFields:\n {2}- apiVersion: v1\n/)
    })
    test.concurrent.each([
      ['curl looks at it', { headers: { 'user-agent': 'curl/8.5.0' } }, ''],
      ['it is asked for', {}, '?pretty=true'],
    ])('JSON is indented when %s, but not watches', async (_, options, query) => {
      const name = fresh('pretty')
      await api.made(core('configmaps'), { metadata: { name }, data: { k: '<v>' } })
      const text = await api.text(`${core('configmaps')}/${name}${query}`, options)
      expect(text).toMatch(/^\{\n {2}"kind": "ConfigMap",\n {2}"apiVersion": "v1",\n {2}"metadata": \{\n {4}"name": /)
      expect(text).toContain('\n  "data": {\n    "k": "\\u003cv\\u003e"\n  }\n}')
      expect(await api.text(`${core('configmaps')}/none${query}`, options)).toMatch(/^\{\n {2}"kind": "Status",\n/)
      expect(await api.text(`${core('configmaps')}?limit=1${query.replace('?', '&')}`, options)).toMatch(
        /^\{\n {2}"kind": "ConfigMapList",\n/,
      )
    })
    test.concurrent('JSON is one line for programs, and for who wants it so', async () => {
      const path = '/api/v1/namespaces/default'
      const headers = { 'user-agent': 'curl/8.5.0' }
      for (const text of [await api.text(path), await api.text(`${path}?pretty=false`, { headers })])
        expect(text.trimEnd()).not.toContain('\n')
    })
    test.concurrent('the version and the list of paths are indented for everybody', async () => {
      for (const path of ['/version', '/']) expect(await api.text(path)).toMatch(/^\{\n {2}"/)
    })
    test.concurrent('health says its checks when it is asked for them', async () => {
      for (const kind of ['livez', 'readyz'])
        expect(await api.text(`/${kind}?verbose`)).toMatch(
          new RegExp(`^\\[\\+\\]ping ok\n[^]*\n${kind} check passed\n$`),
        )
    })
    test.concurrent('tables of fairness and of claims have their columns', async () => {
      const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
      const columns = async (path: string) => {
        const { body } = await api.get(path, { headers })
        return (body['columnDefinitions'] as readonly { readonly name: string }[]).map((c) => c.name).join(' ')
      }
      const flow = '/apis/flowcontrol.apiserver.k8s.io/v1'
      expect([
        await columns(`${flow}/flowschemas`),
        await columns(`${flow}/prioritylevelconfigurations`),
        await columns(inGroup('resource.k8s.io/v1', 'resourceclaims')),
      ]).toEqual([
        'Name PriorityLevel MatchingPrecedence DistinguisherMethod Age MissingPL',
        'Name Type NominalConcurrencyShares Queues HandSize QueueLengthLimit Age',
        'Name State Age',
      ])
    })
    test.concurrent('a bookmark says a version and no time', async () => {
      const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
      const watch = await api.watch(`${core('services')}?${query}`)
      const lines = await watch.until((l) => l.some((x) => x.type === 'BOOKMARK'))
      watch.close()
      const metadata = lines.find((l) => l.type === 'BOOKMARK')?.object.metadata ?? {}
      expect(Object.keys(metadata).toSorted()).toEqual(['annotations', 'resourceVersion'])
    })
    test.concurrent.each([
      [
        'the present state at an exact version',
        'sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1',
        'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]',
      ],
      [
        'the rest of a list',
        'continue=abc',
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
      ],
    ])('no watch of %s', async (_, query, message) =>
      expect(said(await api.get(`${core('configmaps')}?watch=true&${query}`))).toEqual([422, message]),
    )
  })

  describe('writing and deleting', () => {
    test.concurrent('a dry run of nothing', async () =>
      expect(said(await api.post(`${core('configmaps')}?dryRun=`, { metadata: { name: fresh('dry') } }))).toEqual([
        422,
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: supported values: "All"',
      ]))
    test.concurrent('a collection is deleted page by page', async () => {
      const path = core('configmaps')
      const of = fresh('page')
      for (let i = 0; i < 3; i++) await api.made(path, { metadata: { name: `${of}-${i}`, labels: { of } } })
      const { body } = await api.send('DELETE', `${path}?labelSelector=of%3D${of}&limit=2`)
      expect([body.items?.length, (body.metadata as { continue?: string }).continue]).toEqual([2, expect.any(String)])
      expect((await api.get(`${path}?labelSelector=of%3D${of}`)).body.items?.length).toBe(1)
    })
    test.concurrent('what is made by a PUT has no version before', async () => {
      const path = inGroup('coordination.k8s.io/v1', 'leases')
      const name = fresh('lease')
      expect((await api.put(`${path}/${name}`, { metadata: { name, resourceVersion: '1' }, spec: {} })).code).toBe(201)
    })
    test.concurrent('an owner whose version is no version', async () => {
      const ownerReferences = [{ apiVersion: 'a/b/c', kind: 'K', name: 'n', uid: 'u' }]
      expect(said(await api.post(core('configmaps'), { metadata: { name: fresh('owned'), ownerReferences } }))).toEqual(
        [422, has('metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty')],
      )
    })
    test.concurrent('a name that is no label is refused with the cause', async () => {
      expect(said(await api.post('/api/v1/namespaces', { metadata: { name: 'A.b' } }))).toEqual([
        422,
        has('a lowercase RFC 1123 label must consist of'),
      ])
      expect(said(await api.post('/api/v1/namespaces', { metadata: { name: 'a.b' } }))).toEqual([
        422,
        has('must not contain dots'),
      ])
    })
    test.concurrent('what is wrong with the metadata of a node comes first, and its taints are said to be there', async () => {
      const node = { metadata: { name: 'N_o' }, spec: { taints: [{ key: 'a', effect: 'X' }] } }
      expect((await api.post('/api/v1/nodes', node)).body.message).toMatch(
        /^Node "N_o" is invalid: \[metadata\.name: .*, metadata\.taints\[0\]\.effect: Unsupported value: "X"/,
      )
    })
    test.concurrent.each(['"text"', 'nojson', '[]'])('credentials for images that are %s', async (text) => {
      const stringData = { '.dockerconfigjson': text }
      const secret = { metadata: { name: fresh('docker') }, type: 'kubernetes.io/dockerconfigjson', stringData }
      expect(said(await api.post(core('secrets'), secret))).toEqual([
        422,
        has('data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '),
      ])
    })
    test.concurrent('a lease without an election keeps nothing of one', async () => {
      const spec = { holderIdentity: 'me', strategy: 'Foo', preferredHolder: 'you' }
      const made = await api.made(inGroup('coordination.k8s.io/v1', 'leases'), { metadata: { name: fresh('l') }, spec })
      expect(made['spec']).toEqual({ holderIdentity: 'me' })
    })
  })

  describe('pods', () => {
    const pod = async (more: object = {}) => {
      const name = fresh('pod')
      await api.made(core('pods'), { metadata: { name }, spec: { ...podSpec, ...more } })
      return `${core('pods')}/${name}`
    }
    test.concurrent('get no container after they were made', async () => {
      const spec = { containers: [{ name: 'other', image: 'i' }] }
      expect(said(await api.patch('strategic', await pod(), { spec }))).toEqual([
        422,
        has('spec.containers: Forbidden: pod updates may not add or remove containers'),
      ])
    })
    test.concurrent.each([
      [20, 'spec.activeDeadlineSeconds: Invalid value: 20: must be less than or equal to previous value'],
      [null, 'spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value'],
    ])('get no more time than they had: %j', async (activeDeadlineSeconds, message) => {
      const path = await pod({ activeDeadlineSeconds: 10 })
      expect(said(await api.patch('merge', path, { spec: { activeDeadlineSeconds } }))).toEqual([422, has(message)])
    })
    test.concurrent('that are gated say so, get no more gates, and no node', async () => {
      const path = await pod({ schedulingGates: [{ name: 'a.b/c' }] })
      const { body } = await api.get(path)
      expect(body['status']).toMatchObject({ conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] })
      const more = { spec: { schedulingGates: [{ name: 'a.b/c' }, { name: 'd' }] } }
      expect(said(await api.patch('merge', path, more))).toEqual([
        422,
        has("spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'd'"),
      ])
      const binding = { metadata: { name: body.metadata.name }, target: { kind: 'Node', name: 'n' } }
      expect(said(await api.post(`${path}/binding`, binding))).toEqual([
        409,
        has('has non-empty .spec.schedulingGates'),
      ])
    })
    test.concurrent('are of the same generation once they have a node', async () => {
      const path = await pod()
      const name = path.slice(path.lastIndexOf('/') + 1)
      await api.made(`${path}/binding`, { metadata: { name }, target: { kind: 'Node', name: 'n' } })
      expect((await api.get(path)).body.metadata.generation).toBe(1)
    })
    test.concurrent('have one address and a list of it', async () => {
      const { body } = await api.patch('merge', `${await pod()}/status`, { status: { podIP: '1.2.3.4' } })
      expect(body['status']).toMatchObject({ podIP: '1.2.3.4', podIPs: [{ ip: '1.2.3.4' }] })
    })
  })

  describe('workloads', () => {
    test.concurrent('no selector is one thing, an empty one another', async () => {
      const name = fresh('d')
      const spec = { template: template(name) }
      expect(said(await api.post(deployments(), { metadata: { name }, spec }))).toEqual([
        422,
        has('is invalid: [spec.selector: Required value, spec.template.metadata.labels: Invalid value: {"app":"'),
      ])
      expect(said(await api.post(deployments(), { metadata: { name }, spec: { ...spec, selector: {} } }))).toEqual([
        422,
        has('spec.selector: Invalid value: {}: empty selector is invalid for deployment'),
      ])
    })
    test.concurrent.each([
      [{ maxSurge: 'x%' }, 'spec.strategy.rollingUpdate.maxSurge: Invalid value: "x%": a valid percent string must be'],
      [
        { maxUnavailable: '150%' },
        'rollingUpdate.maxUnavailable: Invalid value: "150%": must not be greater than 100%',
      ],
    ])('a share that is none: %j', async (rollingUpdate, message) => {
      const name = fresh('d')
      const spec = { selector: { matchLabels: { app: name } }, template: template(name), strategy: { rollingUpdate } }
      expect(said(await api.post(deployments(), { metadata: { name }, spec }))).toEqual([422, has(message)])
    })
    test.concurrent('claims of a stateful set say what they are', async () => {
      const name = fresh('s')
      const claim = {
        metadata: { name: 'v' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
      }
      const made = await api.made(inGroup('apps/v1', 'statefulsets'), {
        metadata: { name },
        spec: {
          serviceName: name,
          replicas: 0,
          selector: { matchLabels: { app: name } },
          template: template(name),
          volumeClaimTemplates: [claim],
        },
      })
      expect(made['spec']).toMatchObject({
        volumeClaimTemplates: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' }],
      })
    })
    test.concurrent('a job says that it chooses its selector itself', async () => {
      const inner = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } }
      const made = await api.made(inGroup('batch/v1', 'jobs'), {
        metadata: { name: fresh('j') },
        spec: { suspend: true, template: inner },
      })
      expect(made['spec']).toMatchObject({ manualSelector: false })
    })
    test.concurrent.each([
      [{ schedule: '* * *' }, 'spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]'],
      [{ timeZone: 'Mars/X' }, 'spec.timeZone: Invalid value: "Mars/X": unknown time zone Mars/X'],
      [
        { concurrencyPolicy: 'Foo' },
        'spec.concurrencyPolicy: Unsupported value: "Foo": supported values: "Allow", "Forbid", "Replace"',
      ],
    ])('a cron job that never runs: %j', async (more, message) => {
      const inner = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } }
      const spec = { schedule: '0 0 * * *', jobTemplate: { spec: { template: inner } }, ...more }
      expect(said(await api.post(inGroup('batch/v1', 'cronjobs'), { metadata: { name: fresh('c') }, spec }))).toEqual([
        422,
        has(message),
      ])
    })
    test.concurrent('a node port is in its range, and of one service', async () => {
      const service = (nodePort: number) =>
        api.post(core('services'), {
          metadata: { name: fresh('svc') },
          spec: { type: 'NodePort', ports: [{ port: 80, nodePort }] },
        })
      expect(said(await service(80))).toEqual([422, has('The range of valid ports is 30000-32767')])
      expect((await service(31_777)).code).toBe(201)
      expect(said(await service(31_777))).toEqual([422, has('31777: provided port is already allocated')])
    })
    test.concurrent('a name of a priority that only the system has', async () => {
      const name = fresh('system-x')
      expect(
        (await api.post('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value: 2e9 })).body.message,
      ).toBe(
        `PriorityClass.scheduling.k8s.io "${name}" is invalid: metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`,
      )
    })
  })

  describe('custom resources', () => {
    const group = `${fresh('details')}.example.org`
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const definition = (plural: string, kind: string, spec: object = {}, of = group) => ({
      metadata: { name: `${plural}.${of}` },
      spec: {
        group: of,
        scope: 'Namespaced',
        names: { plural, kind },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  spec: { type: 'object', properties: { size: { type: 'integer' } } },
                  status: { type: 'object', properties: { size: { type: 'integer' } } },
                },
              },
            },
            subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } },
          },
        ],
        ...spec,
      },
    })
    const widgets = () => inGroup(`${group}/v1`, 'widgets')
    const widget = (name: string, kind = 'Widget') => ({ apiVersion: `${group}/v1`, kind, metadata: { name } })
    beforeAll(async () => {
      await api.made(definitions, definition('widgets', 'Widget'))
      await vi.waitFor(async () => expect((await api.get(widgets())).code).toBe(200), 60_000)
    })

    test.concurrent('a PUT without a version is refused before anything else, in the name of the resource', async () => {
      const name = fresh('w')
      await api.made(widgets(), widget(name))
      expect(said(await api.put(`${widgets()}/${name}`, widget(name)))).toEqual([
        422,
        `widgets.${group} "${name}" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
      ])
    })
    test.concurrent('a strategic patch is answered with the supported types', async () => {
      const name = fresh('w')
      await api.made(widgets(), widget(name))
      expect(said(await api.patch('strategic', `${widgets()}/${name}`, {}))).toEqual([
        415,
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
      ])
    })
    test.concurrent('another kind is refused in its own name', async () =>
      expect(said(await api.post(widgets(), widget('g', 'Gadget')))).toEqual([
        422,
        `Gadget.${group} "g" is invalid: kind: Invalid value: "Gadget": must be Widget`,
      ]))
    test.concurrent('a scale without its field', async () => {
      const name = fresh('w')
      await api.made(widgets(), widget(name))
      expect(said(await api.get(`${widgets()}/${name}/scale`))).toEqual([
        500,
        'Internal error occurred: the spec replicas field ".spec.size" does not exist',
      ])
    })
    test.concurrent('are discovered in an order of their own', async () => {
      const { body } = await api.get(`/apis/${group}/v1`)
      const resources = body['resources'] as readonly { readonly name: string; readonly verbs: readonly string[] }[]
      expect(resources.map((r) => r.name)).toEqual(['widgets', 'widgets/status', 'widgets/scale'])
      expect(resources[0]?.verbs).toEqual([
        'delete',
        'deletecollection',
        'get',
        'list',
        'patch',
        'create',
        'update',
        'watch',
      ])
    })
    test.concurrent('a group of the community asks for an approval', async () => {
      const of = `${fresh('x')}.k8s.io`
      const wanted = definition('gizmos', 'Gizmo', {}, of)
      expect(said(await api.post(`${definitions}?dryRun=All`, wanted))).toEqual([
        422,
        has(
          'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation',
        ),
      ])
      const approved = (text: string) => ({
        ...wanted,
        metadata: { ...wanted.metadata, annotations: { 'api-approved.kubernetes.io': text } },
      })
      expect((await api.post(`${definitions}?dryRun=All`, approved('nobody'))).code).toBe(422)
      for (const text of ['unapproved, a trial', 'https://example.org/1'])
        expect((await api.post(`${definitions}?dryRun=All`, approved(text))).code).toBe(201)
    })
    test.concurrent.each([
      [{ preserveUnknownFields: true }, 'spec.preserveUnknownFields: Invalid value: true: cannot set to true'],
      [
        { conversion: { strategy: 'Webhook' } },
        '[spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook, spec.conversion.conversionReviewVersions: Required value]',
      ],
    ])('a definition with %j', async (more, message) =>
      expect(said(await api.post(`${definitions}?dryRun=All`, definition('gizmos', 'Gizmo', more)))).toEqual([
        422,
        has(message),
      ]),
    )
  })

  describe('who a user is, and may do', () => {
    test.concurrent('is answered with the time and without the question', async () => {
      const { body } = await api.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {})
      expect([typeof body.metadata.creationTimestamp, body['spec']]).toEqual(['string', undefined])
    })
    test.concurrent('the rules of a user are answered without the question', async () => {
      const asked = { spec: { namespace: space } }
      const { body } = await api.post('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', asked)
      expect([body['spec'], body.metadata.managedFields]).toEqual([{}, undefined])
    })
    test.concurrent('tokens: of no other account, and valid for their audiences', async () => {
      const name = fresh('account')
      await api.made(core('serviceaccounts'), { metadata: { name } })
      const tokens = `${core('serviceaccounts')}/${name}/token`
      expect(said(await api.post(tokens, { metadata: { name: 'other' }, spec: {} }))).toEqual([
        422,
        has('metadata.name: Invalid value: "other": must match the service account name if specified'),
      ])
      const { status } = (await api.made(tokens, { spec: { audiences: ['elsewhere'] } })) as unknown as {
        readonly status: { readonly token: string }
      }
      const { body } = await api.post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: status.token } })
      expect(body['status']).toMatchObject({
        error: has('[invalid bearer token, token audiences ["elsewhere"] is invalid for the target audiences ["'),
      })
    })
    test.concurrent('roles that came with the server are marked as kept up to date', async () => {
      const { body } = await api.get('/apis/rbac.authorization.k8s.io/v1/clusterroles/system:discovery')
      expect(body.metadata.annotations).toEqual({ 'rbac.authorization.kubernetes.io/autoupdate': 'true' })
    })
    test.concurrent('a policy that says nothing', async () => {
      const spec = {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        },
      }
      expect(
        said(
          await api.post('/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies', {
            metadata: { name: fresh('p') },
            spec,
          }),
        ),
      ).toEqual([
        422,
        has('spec.validations: Required value: validations or auditAnnotations must contain at least one item'),
      ])
    })
  })
})
