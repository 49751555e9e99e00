// Policies that mutate writes: merged configurations, JSON patches, reinvocation, and the effect of a failing policy.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { type Reply, Requests } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

const POLICY = '/apis/admissionregistration.k8s.io/v1'
interface More {
  readonly resources?: readonly string[]
  readonly binding?: object
  /** Of the policy. */
  readonly [field: string]: unknown
}
const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } })
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } })
const label = (name: string, value: string) => apply(`Object{metadata: Object.metadata{labels: {"${name}": ${value}}}}`)

describe.each(apiServers)('mutating policies on $name', ({ start }) => {
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
  const space = async (): Promise<{ readonly path: string; readonly name: string }> => {
    const name = await api.namespace('mutating')
    return { path: `/api/v1/namespaces/${name}`, name }
  }
  const specOf = (resources: readonly string[], mutations: readonly unknown[], more: object = {}) => ({
    reinvocationPolicy: 'Never',
    matchConstraints: {
      resourceRules: [{ apiGroups: ['', 'apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources }],
    },
    mutations,
    ...more,
  })
  /** In force for one namespace, which is how a test knows that it is. */
  async function inForce(
    namespace: string,
    mutations: readonly unknown[],
    { resources = ['configmaps'], binding = {}, ...more }: More = {},
    name = fresh('policy'),
  ): Promise<string> {
    await api.made(`${POLICY}/mutatingadmissionpolicies`, {
      metadata: { name },
      spec: specOf(resources, mutations, more),
    })
    await api.made(`${POLICY}/mutatingadmissionpolicybindings`, {
      metadata: { name },
      spec: {
        policyName: name,
        matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } },
        ...binding,
      },
    })
    return name
  }
  /** A real server learns of policies a moment after they were made. */
  const eventually = (act: () => Promise<void>) => vi.waitFor(act, { timeout: 60_000, interval: 100 })
  const make = (path: string, more: object = {}, options?: object): Promise<Reply> =>
    api.post(`${path}/configmaps`, { metadata: { name: fresh('m') }, ...more }, options)
  const labels = (o: KubeObject) => o.metadata.labels ?? {}

  test.concurrent('a configuration is merged into what is made and what is changed', async () => {
    const { path, name } = await space()
    await inForce(name, [label('by', '"policy"'), apply('Object{data: {"added": object.metadata.name}}')])
    await eventually(async () => expect(labels((await make(path)).body)).toEqual({ by: 'policy' }))
    const made = await make(path, { data: { own: 'x' } })
    const at = `${path}/configmaps/${made.body.metadata.name}`
    expect(made.body['data']).toEqual({ own: 'x', added: made.body.metadata.name })
    const changed = await api.patch('merge', at, { metadata: { labels: null }, data: { added: 'other' } })
    expect([labels(changed.body), changed.body['data']]).toEqual([
      { by: 'policy' },
      { own: 'x', added: made.body.metadata.name },
    ])
  })

  test.concurrent('items of lists are merged by their key', async () => {
    const { path, name } = await space()
    await inForce(
      name,
      [
        apply(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
          containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
            name: c.name, imagePullPolicy: "Never"
          }),
          initContainers: [Object.spec.template.spec.initContainers{name: "first", image: "i"}]
        }}}}`),
      ],
      { resources: ['deployments'] },
    )
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: {
        containers: [
          { name: 'one', image: 'i:1' },
          { name: 'two', image: 'i:1', imagePullPolicy: 'Always' },
        ],
      },
    }
    const deploy = () =>
      api.made(`/apis/apps/v1/namespaces/${name}/deployments`, {
        metadata: { name: fresh('d') },
        spec: { selector: { matchLabels: { a: 'b' } }, template },
      })
    interface Made {
      readonly template: {
        readonly spec: {
          readonly containers: readonly {
            readonly name: string
            readonly image: string
            readonly imagePullPolicy: string
          }[]
          readonly initContainers?: readonly { readonly name: string; readonly terminationMessagePath?: string }[]
        }
      }
    }
    await eventually(async () => {
      const { containers, initContainers = [] } = ((await deploy())['spec'] as Made).template.spec
      expect(containers.map((c) => [c.name, c.image, c.imagePullPolicy])).toEqual([
        ['one', 'i:1', 'Never'],
        ['two', 'i:1', 'Never'],
      ])
      // defaults are for what a policy adds too
      expect(initContainers.map((c) => [c.name, c.terminationMessagePath])).toEqual([['first', '/dev/termination-log']])
    })
    expect(path).not.toBe('')
  })

  test.concurrent('a JSON patch adds, replaces and removes; one whose test fails leaves the object alone', async () => {
    const { path, name } = await space()
    await inForce(name, [
      patch(`has(object.data) ? [
        JSONPatch{op: "test", path: "/data/kind", value: "patched"},
        JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("a/b~c"), value: "added"},
        JSONPatch{op: "replace", path: "/data/own", value: object.data.own + "!"},
        JSONPatch{op: "remove", path: "/data/gone"}
      ] : [JSONPatch{op: "add", path: "/data", value: Object.data{none: "before"}}]`),
    ])
    await eventually(async () => expect((await make(path)).body['data']).toEqual({ none: 'before' }))
    const data = async (sent: object) => (await make(path, { data: sent })).body
    const refused = await data({ kind: 'patched', own: 'x', gone: 'x' })
    // a key with a slash is none of a config map: validation comes after
    expect([refused.reason, String(refused.message)]).toEqual(['Invalid', expect.stringContaining('data[a/b~c]')])
    expect((await data({ kind: 'other', own: 'x' }))['data']).toEqual({ kind: 'other', own: 'x' })
  })

  test.concurrent('variables, parameters and conditions are those of validating policies', async () => {
    const { path, name } = await space()
    await api.made(`${path}/secrets`, { metadata: { name: 'param' }, stringData: { x: 'y' } })
    await inForce(name, [label('team', 'variables.team')], {
      paramKind: { apiVersion: 'v1', kind: 'Secret' },
      variables: [{ name: 'team', expression: 'params.metadata.name + "-" + namespaceObject.metadata.name' }],
      matchConditions: [{ name: 'only', expression: '!has(object.metadata.annotations)' }],
      binding: { paramRef: { name: 'param', namespace: name, parameterNotFoundAction: 'Deny' } },
    })
    await eventually(async () => expect(labels((await make(path)).body)).toEqual({ team: `param-${name}` }))
    const left = await make(path, { metadata: { name: 'left', annotations: { a: 'b' } } })
    expect(labels(left.body)).toEqual({})
  })

  test.concurrent('a dry run and an apply are changed too', async () => {
    const { path, name } = await space()
    await inForce(name, [label('by', '"policy"')])
    await eventually(async () => expect(labels((await make(path)).body)).toEqual({ by: 'policy' }))
    const dry = await api.post(`${path}/configmaps?dryRun=All`, { metadata: { name: 'dry' } })
    const applied = await api.patch('apply', `${path}/configmaps/applied?fieldManager=t`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'applied' },
    })
    expect([labels(dry.body), labels(applied.body)]).toEqual([{ by: 'policy' }, { by: 'policy' }])
  })

  test.concurrent('one that asked for it is asked again when another changed the object after it', async () => {
    const { path, name } = await space()
    const count = (who: string) =>
      patch(`[JSONPatch{op: "add", path: "/data/${who}", value: string(size(object.data)) }]`)
    const first = `a-${fresh('policy')}`
    await inForce(name, [count('again')], { reinvocationPolicy: 'IfNeeded' }, first)
    await inForce(name, [count('once')], {}, first.replace('a-', 'b-'))
    await inForce(name, [count('last')], {}, first.replace('a-', 'c-'))
    await eventually(async () => {
      const { body } = await make(path, { data: { k: 'v' } })
      // asked again, it counts itself and the two that came after it
      expect(Object.keys(body['data'] as object)).toHaveLength(4)
      expect((body['data'] as { readonly again: string }).again).toBe('4')
    })
  })

  test.concurrent('policies for one version are asked about writes in another, in the version that they are written for', async () => {
    const { name: namespace } = await space()
    const group = `${fresh('toys')}.example.org`
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', additionalProperties: { type: 'string' } } },
      },
    }
    const versions = ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === 'v1', schema }))
    await api.made('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: `toys.${group}` },
      spec: { group, scope: 'Namespaced', names: { plural: 'toys', singular: 'toy', kind: 'Toy' }, versions },
    })
    const rules = (matchPolicy: string) => ({
      matchPolicy,
      resourceRules: [{ apiGroups: [group], apiVersions: ['v1'], operations: ['CREATE'], resources: ['toys'] }],
    })
    const said = 'object.apiVersion + " of " + request.requestKind.version'
    await inForce(namespace, [apply(`Object{spec: Object.spec{seen: ${said}}}`)], {
      matchConstraints: rules('Equivalent'),
    })
    await inForce(namespace, [apply('Object{spec: Object.spec{exact: "yes"}}')], { matchConstraints: rules('Exact') })
    const refuses = fresh('refuses')
    await api.made(`${POLICY}/validatingadmissionpolicies`, {
      metadata: { name: refuses },
      spec: {
        matchConstraints: rules('Equivalent'),
        validations: [{ expression: "object.metadata.name != 'bad'", messageExpression: said }],
      },
    })
    await api.made(`${POLICY}/validatingadmissionpolicybindings`, {
      metadata: { name: refuses },
      spec: { policyName: refuses, validationActions: ['Deny'] },
    })
    const toy = (version: string, name: string) =>
      api.post(`/apis/${group}/${version}/namespaces/${namespace}/toys`, {
        apiVersion: `${group}/${version}`,
        kind: 'Toy',
        metadata: { name },
        spec: {},
      })
    await eventually(async () => {
      const made = await toy('v2', fresh('toy'))
      expect([made.body.apiVersion, made.body['spec']]).toEqual([`${group}/v2`, { seen: `${group}/v1 of v2` }])
      const own = await toy('v1', fresh('toy'))
      expect(own.body['spec']).toEqual({ seen: `${group}/v1 of v1`, exact: 'yes' })
      const refused = await toy('v2', 'bad')
      expect([refused.code, refused.body.message]).toEqual([
        422,
        expect.stringContaining(`denied request: ${group}/v1 of v2`),
      ])
    })
  })

  describe('one that fails', () => {
    test.concurrent('refuses the write, and says which it is', async () => {
      const { path, name } = await space()
      const policy = await inForce(name, [label('x', 'object.data.missing')])
      await eventually(async () => {
        const { code, body } = await make(path)
        expect([code, body.reason, body.message]).toEqual([
          403,
          'Invalid',
          expect.stringContaining(
            `policy '${policy}' with binding '${policy}' denied request: expression 'Object{metadata: Object.metadata{labels: {"x": object.data.missing}}}' resulted in error: no such key: data`,
          ),
        ])
      })
    })

    test.concurrent('is passed over where its failures are ignored', async () => {
      const { path, name } = await space()
      await inForce(name, [label('x', 'object.data.missing'), label('fine', '"yes"')], { failurePolicy: 'Ignore' })
      await eventually(async () => {
        const { code, body } = await make(path)
        expect([code, labels(body)]).toEqual([201, { fine: 'yes' }])
      })
    })

    test.concurrent.each<[string, string, string]>([
      [
        'merging into a list that is one value',
        'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{tolerations: [Object.spec.template.spec.tolerations{key: "k"}]}}}}',
        'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.tolerations',
      ],
      [
        'an object that was made as another part',
        'Object{spec: Object.status{replicas: 1}}',
        'type mismatch: unexpected type name "Object.status", expected "Object.spec", which matches field name path from root Object type',
      ],
      [
        'a field that is not there',
        'Object{spec: Object.spec{nonsense: 1}}',
        'error applying patch: failed to convert patch object to typed object: .spec.nonsense: field not declared in schema',
      ],
    ])('%s', async (_, expression, problem) => {
      const { name } = await space()
      const policy = await inForce(name, [apply(expression)], { resources: ['deployments'] })
      await eventually(async () => {
        const { code, body } = await api.post(`/apis/apps/v1/namespaces/${name}/deployments`, {
          metadata: { name: fresh('d') },
          spec: {
            selector: { matchLabels: { a: 'b' } },
            template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
          },
        })
        expect([code, body.message]).toEqual([
          403,
          `policy '${policy}' with binding '${policy}' denied request: ${problem}`,
        ])
      })
    })

    test.concurrent('a JSON patch that does not fit', async () => {
      const { path, name } = await space()
      const policy = await inForce(name, [patch('[JSONPatch{op: "remove", path: "/data/x"}]')])
      await eventually(async () => {
        const { code, body } = await make(path)
        expect([code, String(body.message)]).toEqual([
          403,
          expect.stringContaining(`policy '${policy}' with binding '${policy}' denied request: JSON Patch: `),
        ])
      })
    })

    test.concurrent('a parameter that is not there', async () => {
      const { path, name } = await space()
      const policy = await inForce(name, [label('x', '"y"')], {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        binding: { paramRef: { name: 'nothing', namespace: 'default', parameterNotFoundAction: 'Deny' } },
      })
      await eventually(async () => {
        const { code, body } = await make(path)
        expect([code, body.reason, body.message]).toEqual([
          403,
          'Forbidden',
          `policy '${policy}' with binding '${policy}' denied request: failed to configure binding: no params found for policy binding with \`Deny\` parameterNotFoundAction`,
        ])
      })
    })
  })

  describe('is refused when it is written', () => {
    const causes = async (spec: object) => {
      const { code, body } = await api.post(`${POLICY}/mutatingadmissionpolicies`, {
        metadata: { name: fresh('policy') },
        spec,
      })
      const { causes: found = [] } = (body['details'] ?? {}) as {
        readonly causes?: readonly { readonly field: string; readonly message: string }[]
      }
      return [code, ...found.map((c) => `${c.field}: ${c.message}`.split('\n')[0] ?? '')]
    }

    test.concurrent.each<[string, readonly unknown[], object, readonly string[]]>([
      ['without mutations', [], {}, ['spec.mutations: Required value: mutations must contain at least one item']],
      [
        'without a type of patch',
        [{ applyConfiguration: { expression: 'Object{}' } }],
        {},
        ['spec.mutations[0].patchType: Required value'],
      ],
      [
        'with the expression of the other type',
        [{ patchType: 'JSONPatch', applyConfiguration: { expression: 'Object{}' } }],
        {},
        [
          'spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch',
          'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
        ],
      ],
      [
        'without a word on being asked again',
        [apply('Object{}')],
        { reinvocationPolicy: undefined },
        ['spec.reinvocationPolicy: Required value'],
      ],
      [
        'for deletions',
        [apply('Object{}')],
        {
          matchConstraints: {
            resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['pods'] }],
          },
        },
        [
          'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
        ],
      ],
      [
        'whose configuration is no object',
        [apply('{"spec": 1}')],
        {},
        [
          'spec.mutations[0].applyConfiguration.expression: Invalid value: "{\\"spec\\": 1}": must evaluate to Object but got map(string, int)',
        ],
      ],
      [
        'whose patch is no list of operations',
        [patch('["add"]')],
        {},
        [
          'spec.mutations[0].jsonPatch.expression: Invalid value: "[\\"add\\"]": must evaluate to list(JSONPatch) but got list(string)',
        ],
      ],
      [
        'that makes what there is not',
        [apply('Objekt{}')],
        {},
        [
          "spec.mutations[0].applyConfiguration.expression: Invalid value: \"Objekt{}\": compilation failed: ERROR: <input>:1:7: undeclared reference to 'Objekt' (in container '')",
        ],
      ],
    ])('%s', async (_, mutations, more, expected) =>
      expect(await causes({ ...specOf(['configmaps'], mutations), ...more })).toEqual([422, ...expected]),
    )
  })
})
