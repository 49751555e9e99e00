import { describe, expect, test } from 'vitest'
import { applyDefaults } from '../schema/default.ts'
import type { ApiKind } from '../kind.ts'
import { componentCanary } from '../kinds/component-canary.ts'
import { defenderPolicy } from '../kinds/defender-policy.ts'
import { machineComponentSet } from '../kinds/machine-component-set.ts'
import { machineComponent } from '../kinds/machine-component.ts'
import { machineSet } from '../kinds/machine-set.ts'
import { nodeRemedier } from '../kinds/node-remedier.ts'
import { ANNOTATIONS } from '../names.ts'
import { contentOf, editDigest, isRolloutKind, keptContent, readKept } from './committed.ts'

const KINDS: readonly ApiKind[] = [machineSet, machineComponentSet, componentCanary, nodeRemedier, defenderPolicy]
type Loose = Record<string, unknown>
const specOf = (kind: ApiKind): Loose => kind.example.spec as Loose

describe.each(KINDS.map((k) => [k.kind, k] as const))('the content of a %s', (kind, type) => {
  const declared = { kind, spec: specOf(type) }

  test('is the same with the defaults of the server and without them', () => {
    const schema = type.schema.properties?.['spec']
    const filled = { kind, spec: applyDefaults(schema ?? {}, specOf(type)) }
    expect(filled.spec).not.toEqual(declared.spec)
    expect(contentOf(filled)).toEqual(contentOf(declared))
  })

  test('is the same with a field of a newer release', () => {
    expect(contentOf({ kind, spec: { ...declared.spec, later: { x: 1 } } })).toEqual(contentOf(declared))
  })

  test('is read back from the annotation, with defaults', () => {
    const annotations = { [ANNOTATIONS.committed]: keptContent(declared) ?? '' }
    const kept = readKept({ apiVersion: 'x', kind, metadata: { annotations } })
    expect(kept?.content).toEqual(contentOf(declared))
    expect(contentOf({ kind, spec: kept?.spec })).toEqual(contentOf(declared))
  })
})

const set = specOf(machineComponentSet)
const digest = (kind: string, spec: Loose) => contentOf({ kind, spec })?.digest

test('replicas are distinguished from the other fields', () => {
  const spec = specOf(machineSet)
  const { replicas: _, ...rest } = spec
  expect(contentOf({ kind: 'MachineSet', spec: { ...rest, replicas: 7 } })).toEqual({
    digest: digest('MachineSet', rest),
    replicas: 7,
  })
  expect(contentOf({ kind: 'MachineSet', spec: rest })).toEqual({ digest: digest('MachineSet', rest) })
  expect(editDigest({ digest: 'a', replicas: 1 })).not.toBe(editDigest({ digest: 'a', replicas: 2 }))
})

test.each<[string, Loose]>([
  ['another version', { components: [{ name: 'beacon', version: '9.9.9' }] }],
  ['a field that was left to its default', { priority: 99 }],
  ['another selector', { selector: { matchLabels: { pool: 'other' } } }],
])('%s is another content', (_, change) => {
  expect(digest('MachineComponentSet', { ...set, ...change })).not.toBe(digest('MachineComponentSet', set))
})

test('a field that is set to its default is no change, nor is the order of entries with names', () => {
  const two = { ...set, components: [...(set['components'] as Loose[]), { name: 'aaa', version: '1.0.0' }] }
  const turned = { ...two, components: two.components.toReversed() }
  expect(digest('MachineComponentSet', turned)).toBe(digest('MachineComponentSet', two))
  expect(digest('MachineComponentSet', { ...set, priority: 0 })).toBe(digest('MachineComponentSet', set))
})

test('the configuration of agents has content, which no annotation keeps', () => {
  const map = (text: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'kubenode-system', name: 'kubenode-agent-config' },
    data: { 'agent.json': text },
  })
  expect(contentOf(map('{}'))).toEqual(contentOf({ ...map('{}'), metadata: { ...map('').metadata, uid: 'u' } }))
  expect(contentOf(map('{}'))).not.toEqual(contentOf(map('{"lease":"1s"}')))
  expect(keptContent(map('{}'))).toBeUndefined()
})

test('what cannot roll out by an edit has no content, and broken annotations are none', () => {
  expect(isRolloutKind(machineComponent.kind)).toBe(false)
  expect(contentOf({ kind: 'ConfigMap', spec: {} })).toBeUndefined()
  expect(contentOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: 'b' } })).toBeUndefined()
  for (const text of ['{', '[]', '"x"', 'x'.repeat(70_000)]) {
    const metadata = { annotations: { [ANNOTATIONS.committed]: text } }
    expect(readKept({ apiVersion: 'x', kind: 'MachineSet', metadata })).toBeUndefined()
  }
  expect(keptContent({ kind: 'MachineSet', spec: { x: 'y'.repeat(70_000) } })).toBeUndefined()
})
