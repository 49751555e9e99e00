// Which addons a Cluster may name, their supported Kubernetes minors, and the properties of their objects.
import { describe, expect, test } from 'vitest'
import { dnsAddress } from './coredns.ts'
import { addonObjects, addonProblem, ADDONS, type DeclaredAddon, minorsText, unfitAddons } from './table.ts'

const IMAGE = `example.test/dns@sha256:${'a'.repeat(64)}`
const NETWORK = { services: '10.96.0.0/16', domain: 'cluster.local' }
const coredns = (more: Partial<DeclaredAddon> = {}): DeclaredAddon => ({
  name: 'coredns',
  version: '1.12.1',
  values: { image: IMAGE },
  ...more,
})

test('an addon with an image and a tested version has no problem', () => {
  expect(addonProblem(coredns())).toBeUndefined()
  expect(addonProblem(coredns({ version: 'v1.12.1' }))).toBeUndefined()
  expect(addonProblem({ name: 'dashboard', version: '0.35.0', values: { image: IMAGE } })).toBeUndefined()
})

test.each<[string, DeclaredAddon, string]>([
  ['an unknown name', coredns({ name: 'constructor' }), 'addon constructor is unknown; known are coredns, dashboard'],
  [
    'an unknown version',
    coredns({ version: '9.9.9' }),
    'addon coredns 9.9.9 is not tested; tested are 1.11, 1.12, 1.13, 1.14',
  ],
  ['a version that is no version', coredns({ version: '1.12.1\nx' }), 'is not tested'],
  ['no values', { name: 'coredns', version: '1.12.1' }, 'addon coredns: values.image must be an image with a digest'],
  ['an image by tag', coredns({ values: { image: 'coredns:1.12.1' } }), 'values.image must be an image with a digest'],
  ['a value that nothing reads', coredns({ values: { image: IMAGE, replica: 2 } }), 'values.replica is unknown'],
  ['too many replicas', coredns({ values: { image: IMAGE, replicas: 6 } }), 'a number from 1 to 5'],
  ['half a replica', coredns({ values: { image: IMAGE, replicas: 1.5 } }), 'a number from 1 to 5'],
  [
    'an upstream that adds a plugin',
    coredns({ values: { image: IMAGE, upstream: '1.1.1.1\n erratic' } }),
    'values.upstream must be an IP address',
  ],
])('%s is refused in words', (_, addon, says) => {
  expect(addonProblem(addon)).toContain(says)
})

test('every tested version covers a minor and the one after it, so that an upgrade has it on both sides', () => {
  for (const [name, { versions }] of Object.entries(ADDONS))
    for (const [line, [first, last]] of Object.entries(versions)) expect(last, `${name} ${line}`).toBeGreaterThan(first)
})

test('one that is not tested with a minor is named with those that it is tested with', () => {
  expect(unfitAddons([coredns({ version: '1.11.4' }), coredns()], 35)).toEqual(['coredns 1.11.4 (1.32 to 1.34)'])
  expect([minorsText([36, 36]), minorsText([34, 36])]).toEqual(['1.36 only', '1.34 to 1.36'])
  expect(unfitAddons([coredns({ version: '1.11.4' }), coredns()], 34)).toEqual([])
})

test('the address of the Service is the tenth of the range, which is what kubelets are given', () => {
  expect(dnsAddress('10.96.0.0/16')).toBe('10.96.0.10')
  expect(dnsAddress('fd00:1::/108')).toBe('fd00:1::a')
})

describe.each(Object.keys(ADDONS))('the objects of %s', (name) => {
  const [line = ''] = Object.keys(ADDONS[name]?.versions ?? {})
  const objects = addonObjects({ name, version: `${line}.0`, values: { image: IMAGE, replicas: 3 } }, NETWORK)

  test('are the same for the same declaration, and no two have one name', () => {
    expect(addonObjects({ name, version: `${line}.0`, values: { replicas: 3, image: IMAGE } }, NETWORK)).toEqual(
      objects,
    )
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name ?? ''}`)
    expect(new Set(names).size).toBe(names.length)
  })

  test('run the declared image without privileges, as a user other than root', () => {
    const [deployment] = objects.filter(({ kind }) => kind === 'Deployment')
    const spec = deployment?.['spec'] as { replicas: number; template: { spec: Record<string, unknown> } }
    const { containers, securityContext } = spec.template.spec
    expect(spec.replicas).toBe(3)
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    for (const container of Array.isArray(containers) ? containers : [])
      expect(container).toMatchObject({
        image: IMAGE,
        securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      })
  })

  test('give no account a right to write, and none to read Secrets', () => {
    for (const role of objects.filter(({ kind }) => kind.endsWith('Role')))
      for (const rule of role['rules'] as readonly Record<string, readonly string[]>[]) {
        expect(rule['verbs']?.every((verb) => verb === 'list' || verb === 'watch')).toBe(true)
        expect(rule['resources']).not.toContain('secrets')
      }
  })
})
