// kubectl with custom resources: the definitions that we ship, and one of every feature that a definition can have.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { inFullAll } from '#test/support/tools/full.ts'
import { documents, fresh, Kubectl } from '#test/support/tools/kubectl.ts'

const CRDS = join(import.meta.dirname, '../../deploy/crds')
const NS = 'toys'
const N = `-n ${NS}`

const GADGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.toys.example.org' },
  spec: {
    group: 'toys.example.org',
    scope: 'Namespaced',
    names: { kind: 'Gadget', plural: 'gadgets', singular: 'gadget', shortNames: ['gd'], categories: ['all', 'toys'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.selector',
          },
        },
        additionalPrinterColumns: [
          { name: 'Size', type: 'string', jsonPath: '.spec.size' },
          { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
          { name: 'Note', type: 'string', jsonPath: '.spec.note', priority: 1 },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        selectableFields: [{ jsonPath: '.spec.size' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A thing to play with.',
            properties: {
              spec: {
                type: 'object',
                description: 'What it shall be.',
                required: ['size'],
                properties: {
                  size: { type: 'string', enum: ['small', 'large'], description: 'How big it is.' },
                  replicas: { type: 'integer', minimum: 0, maximum: 10, default: 1 },
                  note: { type: 'string', maxLength: 20 },
                  port: { 'x-kubernetes-int-or-string': true },
                  serial: {
                    type: 'string',
                    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'serial is immutable' }],
                  },
                  parts: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, colour: { type: 'string' } },
                    },
                  },
                  anything: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
                'x-kubernetes-validations': [
                  {
                    rule: "self.size == 'large' || self.replicas < 5",
                    message: 'small gadgets come in fours at most',
                  },
                ],
              },
              status: {
                type: 'object',
                properties: {
                  replicas: { type: 'integer' },
                  selector: { type: 'string' },
                  phase: { type: 'string' },
                  conditions: {
                    type: 'array',
                    items: {
                      type: 'object',
                      properties: { type: { type: 'string' }, status: { type: 'string' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
}

type Gadget = KubeObject & { readonly spec: Readonly<Record<string, unknown>>; readonly status?: unknown }
const gadget = (name: string, spec: Readonly<Record<string, unknown>> = { size: 'small' }) => ({
  apiVersion: 'toys.example.org/v1',
  kind: 'Gadget',
  metadata: { name },
  spec,
})

/** What a spec is refused for. */
const REFUSED: readonly (readonly [name: string, spec: Readonly<Record<string, unknown>>, message: RegExp])[] = [
  ['a required field that is missing', {}, /spec.size: Required value/],
  [
    'a value that is none of those allowed',
    { size: 'tiny' },
    /spec.size: Unsupported value: "tiny": supported values: "small", "large"/,
  ],
  [
    'a number out of bounds',
    { size: 'large', replicas: 11 },
    /spec.replicas: Invalid value: 11: .*less than or equal to 10/,
  ],
  ['a text that is too long', { size: 'small', note: 'x'.repeat(21) }, /spec.note: Too long: may not be more than 20/],
  [
    'a wrong type',
    { size: 'small', replicas: 'many' },
    /spec.replicas: Invalid value: "string": .*must be of type integer/,
  ],
  ['a rule in CEL', { size: 'small', replicas: 7 }, /small gadgets come in fours at most/],
  [
    'two items of one key',
    { size: 'small', parts: [{ name: 'a' }, { name: 'a' }] },
    /spec.parts\[1\]: Duplicate value/,
  ],
]

describe.each(apiServers)('kubectl with custom resources of $name', ({ start }) => {
  let server: RunningServer
  let kubectl: Kubectl
  const read = (name: string) => kubectl.json<Gadget>(`get gadget ${name} ${N}`)
  beforeAll(async () => {
    server = await start()
    kubectl = new Kubectl(server)
    await kubectl.ok(`create namespace ${NS}`)
    await kubectl.ok(`apply --server-side -f ${CRDS}`)
    await kubectl.apply([GADGETS])
    await kubectl.ok('wait crd --all --for=condition=Established --timeout=50s')
    // discovery follows the condition a moment later on a real server
    await vi.waitFor(() => kubectl.ok(`get gadgets ${N}`), { timeout: 60_000 })
  })
  afterAll(() => server?.stop())

  describe('the definitions that are shipped', () => {
    test.concurrent('are applied on the client side too, and again without a change', async () => {
      await kubectl.ok(`apply -f ${CRDS}`)
      const again = await kubectl.ok(`apply -f ${CRDS}`)
      expect(again.split('\n').filter((l) => l !== '' && !l.endsWith('unchanged'))).toEqual([])
    })

    test.concurrent('keep words that old YAML takes for booleans', async () => {
      const path = '{.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.drift.enum}'
      expect(await kubectl.ok(`get crd fleetsources.kubenode.io -o jsonpath=${path}`)).toBe(
        '["Detect","Correct","Off"]',
      )
    })

    test.concurrent('are all found with their short names', async () => {
      const out = await kubectl.ok('api-resources --api-group=kubenode.io --no-headers')
      const found = new Map(
        out
          .trim()
          .split('\n')
          .map((l): [string, string[]] => [l.split(/\s+/).at(-1) ?? '', l.split(/\s+/)]),
      )
      expect(KINDS.filter((k) => !found.has(k.kind)).map((k) => k.kind)).toEqual([])
      expect(found.get('Machine')).toContain('km')
    })

    test.concurrent.each(inFullAll(KINDS, 5).map((k) => [k.kind, k.plural] as const))(
      '%s is explained',
      async (kind, plural) => {
        const out = await kubectl.ok(`explain ${plural} --api-version=kubenode.io/v1alpha1 --recursive`)
        expect(out).toMatch(new RegExp(`GROUP: +kubenode.io[\\s\\S]*KIND: +${kind}[\\s\\S]*FIELDS:[\\s\\S]*spec\t<`))
      },
    )

    test.concurrent('a machine: applied, described, shown in its columns', async () => {
      const machine = KINDS.find((k) => k.kind === 'Machine')
      const example = machine?.example as unknown as KubeObject
      const name = fresh('machine')
      await kubectl.apply([
        { ...example, apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { ...example.metadata, name } },
      ])
      expect(await kubectl.ok(`get km ${name}`)).toMatch(new RegExp(`^NAME .*AGE\n${name} `))
      expect(await kubectl.ok(`describe machines.kubenode.io ${name}`)).toMatch(/API Version: +kubenode.io\/v1alpha1/)
    })

    test.concurrent('a machine set is scaled', async () => {
      const example = KINDS.find((k) => k.kind === 'MachineSet')?.example as unknown as KubeObject
      const name = fresh('set')
      await kubectl.apply([
        { ...example, apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', metadata: { ...example.metadata, name } },
      ])
      await kubectl.ok(`scale machinesets.kubenode.io ${name} --replicas=7`)
      expect(await kubectl.ok(`get kms ${name} -o jsonpath={.spec.replicas}`)).toBe('7')
    })
  })

  describe('validation', () => {
    test.concurrent.each(REFUSED)('refused: %s', async (_, spec, message) => {
      const stdin = JSON.stringify(gadget(fresh('bad'), spec))
      expect(await kubectl.refused(`apply -f - ${N}`, [], { stdin })).toMatch(message)
    })

    test.concurrent('a transition rule holds what was', async () => {
      const name = fresh('gadget')
      await kubectl.apply([gadget(name, { size: 'small', serial: 'one' })], N)
      const stdin = JSON.stringify(gadget(name, { size: 'small', serial: 'two' }))
      expect(await kubectl.refused(`apply -f - ${N}`, [], { stdin })).toContain('serial is immutable')
    })

    test.concurrent.each([
      ['on the client side', ''],
      ['on the server side', '--server-side'],
    ])('an unknown field is refused %s', async (_, flags) => {
      const stdin = JSON.stringify(gadget(fresh('bad'), { size: 'small', colour: 'red' }))
      expect(await kubectl.refused(`apply -f - ${N} ${flags}`, [], { stdin })).toMatch(
        /unknown field "(spec.)?colour"|spec.colour: field not declared/,
      )
    })

    test.concurrent('an unknown field is pruned without validation, but kept where all is allowed', async () => {
      const name = fresh('gadget')
      const spec = { size: 'small', colour: 'red', anything: { goes: { here: [1, 'two'] } } }
      await kubectl.ok(`apply -f - ${N} --validate=false`, [], { stdin: JSON.stringify(gadget(name, spec)) })
      expect((await read(name)).spec).toEqual({ size: 'small', replicas: 1, anything: { goes: { here: [1, 'two'] } } })
    })

    test.concurrent('defaults are filled in, a number or a text stays what it was', async () => {
      const [number, text] = [fresh('gadget'), fresh('gadget')]
      await kubectl.apply(
        [gadget(number, { size: 'small', port: 80 }), gadget(text, { size: 'small', port: 'http' })],
        N,
      )
      expect((await read(number)).spec).toEqual({ size: 'small', replicas: 1, port: 80 })
      expect((await read(text)).spec['port']).toBe('http')
    })
  })

  describe('reading', () => {
    test.concurrent('columns of the definition, wide ones too', async () => {
      const name = fresh('gadget')
      await kubectl.apply([gadget(name, { size: 'large', note: 'hello' })], N)
      expect(await kubectl.ok(`get gd ${name} ${N}`)).toMatch(
        new RegExp(`^NAME +SIZE +REPLICAS +AGE\n${name} +large +1 +\\d+s\n$`),
      )
      expect(await kubectl.ok(`get gadget ${name} ${N} -o wide`)).toMatch(/NOTE[\s\S]*hello/)
    })

    test.concurrent('by category', async () => {
      const name = fresh('gadget')
      await kubectl.apply([gadget(name)], N)
      expect(await kubectl.ok(`get toys ${N} -o name`)).toContain(`gadget.toys.example.org/${name}`)
      expect(await kubectl.ok(`get all ${N} -o name`)).toContain(`gadget.toys.example.org/${name}`)
    })

    test.concurrent('by a selectable field', async () => {
      const [small, large] = [fresh('gadget'), fresh('gadget')]
      await kubectl.apply([gadget(small), gadget(large, { size: 'large' })], N)
      const out = await kubectl.ok(`get gadgets ${N} --field-selector=spec.size=large -o name`)
      expect([out.includes(large), out.includes(small)]).toEqual([true, false])
    })

    test.concurrent('explain knows descriptions, types, and what is required', async () => {
      expect(await kubectl.ok('explain gadget.spec')).toMatch(
        /What it shall be[\s\S]*size\t<string> -required-\n +enum: small, large\n +How big it is/,
      )
    })

    test.concurrent('watching sees changes of the status', async () => {
      const name = fresh('gadget')
      await kubectl.apply([gadget(name)], N)
      const watching = kubectl.follow(`get gadget ${name} ${N} -w -o jsonpath={.status.phase};`)
      try {
        await watching.until(/;/)
        await kubectl.ok(`patch gadget ${name} ${N} --subresource=status --type=merge -p`, [
          '{"status":{"phase":"Done"}}',
        ])
        expect(await watching.until(/Done/)).toBe(';Done;')
      } finally {
        await watching.stop()
      }
    })
  })

  describe('writing', () => {
    test.concurrent('a status is written through its subresource alone', async () => {
      const name = fresh('gadget')
      await kubectl.apply([{ ...gadget(name), status: { phase: 'Lost' } }], N)
      expect((await read(name)).status).toBeUndefined()
      await kubectl.ok(`patch gadget ${name} ${N} --subresource=status --type=merge -p`, [
        '{"status":{"phase":"Kept"},"spec":{"size":"large"}}',
      ])
      const { spec, status, metadata } = await read(name)
      expect({ size: spec['size'], status, generation: metadata.generation }).toEqual({
        size: 'small',
        status: { phase: 'Kept' },
        generation: 1,
      })
    })

    test.concurrent('scale', async () => {
      const name = fresh('gadget')
      await kubectl.apply([gadget(name)], N)
      await kubectl.ok(`scale gadget ${name} ${N} --replicas=3`)
      expect((await read(name)).spec['replicas']).toBe(3)
      expect(await kubectl.refused(`scale gadget ${name} ${N} --replicas=9`)).toContain('small gadgets come in fours')
    })

    test.concurrent('wait for a condition and for a value of the status', async () => {
      const name = fresh('gadget')
      await kubectl.apply([gadget(name)], N)
      const both = Promise.all([
        kubectl.ok(`wait gadget/${name} ${N} --for=condition=Ready --timeout=30s`),
        kubectl.ok(`wait gadget/${name} ${N} --for=jsonpath={.status.phase}=Done --timeout=30s`),
      ])
      await kubectl.ok(`patch gadget ${name} ${N} --subresource=status --type=merge -p`, [
        '{"status":{"phase":"Done","conditions":[{"type":"Ready","status":"True"}]}}',
      ])
      expect((await both).map((o) => o.includes('condition met'))).toEqual([true, true])
    })

    test.concurrent('a strategic merge patch is refused with the types that are allowed', async () => {
      const name = fresh('gadget')
      await kubectl.apply([gadget(name)], N)
      expect(
        await kubectl.refused(`patch gadget ${name} ${N} --type=strategic -p`, ['{"spec":{"size":"large"}}']),
      ).toContain(
        'accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
      )
    })

    test.concurrent('two managers share a list by its keys', async () => {
      const name = fresh('gadget')
      const part = (p: string) => documents([gadget(name, { size: 'small', parts: [{ name: p, colour: 'red' }] })])
      await kubectl.ok(`apply -f - ${N} --server-side --field-manager=one`, [], { stdin: part('wheel') })
      await kubectl.ok(`apply -f - ${N} --server-side --field-manager=two`, [], { stdin: part('bell') })
      expect((await read(name)).spec['parts']).toEqual([
        { name: 'wheel', colour: 'red' },
        { name: 'bell', colour: 'red' },
      ])
    })

    test.concurrent('a diff shows what would change', async () => {
      const name = fresh('gadget')
      await kubectl.apply([gadget(name)], N)
      const { code, out } = await kubectl.run(`diff -f - ${N}`, [], {
        stdin: documents([gadget(name, { size: 'large' })]),
      })
      expect({ code, change: /-\s+size: small\n\+\s+size: large/.test(out) }).toEqual({ code: 1, change: true })
    })
  })

  test('a definition that goes takes its objects and its kind along', async () => {
    const definition = {
      ...GADGETS,
      metadata: { name: 'brief.toys.example.org' },
      spec: { ...GADGETS.spec, names: { kind: 'Brief', plural: 'brief', singular: 'brief' } },
    }
    await kubectl.apply([definition])
    await kubectl.ok('wait crd brief.toys.example.org --for=condition=Established --timeout=30s')
    await expect.poll(() => kubectl.run(`get brief ${N}`)).toMatchObject({ code: 0 })
    await kubectl.apply([{ ...gadget('one'), kind: 'Brief' }], N)
    await kubectl.ok('delete crd brief.toys.example.org --wait --timeout=30s')
    await expect
      .poll(() => kubectl.run(`get --raw /apis/toys.example.org/v1/namespaces/${NS}/brief`))
      .toMatchObject({ code: 1 })
    await kubectl.apply([definition])
    await kubectl.ok('wait crd brief.toys.example.org --for=condition=Established --timeout=30s')
    await expect.poll(() => kubectl.run(`get brief.toys.example.org ${N} -o name`)).toMatchObject({ code: 0, out: '' })
  })

  test.concurrent('a definition without a structural schema is refused', async () => {
    const [version] = GADGETS.spec.versions
    const stdin = documents([
      {
        ...GADGETS,
        metadata: { name: 'loose.toys.example.org' },
        spec: {
          ...GADGETS.spec,
          names: { kind: 'Loose', plural: 'loose' },
          versions: [
            {
              ...version,
              selectableFields: undefined,
              additionalPrinterColumns: undefined,
              subresources: {},
              schema: { openAPIV3Schema: { properties: { spec: { properties: {} } } } },
            },
          ],
        },
      },
    ])
    expect(await kubectl.refused('apply -f -', [], { stdin })).toMatch(/type: Required value: must not be empty/)
  })
})
