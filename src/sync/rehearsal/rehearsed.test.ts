// A fleet of many machines and places on one machine: the same objects, on local hosts.
import { sha256OfJson } from '#lib/sha256.ts'
import { describe, expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { releasePipeline } from '#api/kinds/release-pipeline.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { createValidator } from '#api/validate.ts'
import { type DesiredObject } from '#delivery/desired.ts'
import { refOf } from '#delivery/object-ref.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { DEFAULT_SOAK, DEFAULT_SUCCESS, rehearsed, type Rehearsal } from './rehearsed.ts'

const object = (kind: string, spec: object): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind,
  metadata: { name: 'x', labels: { a: 'b' } },
  spec,
})
const desired = (o: KubeObject): DesiredObject => ({
  ref: refOf(o),
  object: o,
  digest: sha256OfJson(o),
  place: 'fleet/a.ts:1',
})
const here = (o: KubeObject, rehearsal: Rehearsal = { provider: 'process' }): DesiredObject => {
  const target = { objects: [desired(o)], rejected: [] }
  return rehearsed(new Map([['hub', target]]), rehearsal).get('hub')!.objects[0]!
}
const specOf = (o: DesiredObject) => (o.object as unknown as { readonly spec: Record<string, unknown> }).spec
const wasOf = (o: DesiredObject) => o.object.metadata.annotations?.[ANNOTATIONS.rehearsalOf]

const pool = (replicas: number, provider: object, more: object = {}) =>
  object('MachineSet', {
    replicas,
    selector: { matchLabels: { p: 'w' } },
    template: { metadata: { labels: { p: 'w' } }, spec: { provider, pool: 'w', zone: 'z', ...more } },
  })
const sizeOf = (o: DesiredObject) => {
  const { replicas, template } = specOf(o) as { replicas: number; template: { spec: { provider: { name: string } } } }
  return [replicas, template.spec.provider.name]
}

describe('clusters', () => {
  test('a registered one is an embedded one, in its stage', () => {
    const made = here(
      object('Cluster', { kubeconfigSecretRef: { name: 'cluster-x', key: 'kubeconfig' }, stage: 'prod' }),
    )
    expect(specOf(made)).toEqual({
      version: '1.36.0',
      controlPlane: { flavor: 'embedded' },
      deletionPolicy: 'Delete',
      stage: 'prod',
    })
    expect([wasOf(made), made.place, made.object.metadata.labels]).toEqual([
      'registered cluster',
      'fleet/a.ts:1',
      { a: 'b' },
    ])
    expect(made.digest).toBe(sha256OfJson(made.object))
  })
  test('one of Kubernetes keeps its version', () => {
    const made = here(
      object('Cluster', { version: '1.34.2', controlPlane: { flavor: 'kubernetes', replicas: 3 }, stage: 'a' }),
    )
    expect([specOf(made)['version'], specOf(made)['controlPlane']]).toEqual(['1.34.2', { flavor: 'embedded' }])
  })
  test('an embedded one stays as it is', () => {
    const o = object('Cluster', { version: '1.36.0', controlPlane: { flavor: 'embedded' } })
    expect(here(o)).toEqual(desired(o))
  })
})

describe('pools', () => {
  test.each<[string, number, string, Rehearsal, readonly [number, string]]>([
    ['whose hosts are still to join has two machines', 0, 'static', { provider: 'process' }, [2, 'process']],
    ['of a cloud has as many as declared', 3, 'alicloud', { provider: 'process' }, [3, 'process']],
    ['of a thousand has five', 1_000, 'aws', { provider: 'process' }, [5, 'process']],
    ['of this machine is as declared, none included', 0, 'process', { provider: 'process' }, [0, 'process']],
    ['of this machine is bounded too', 50, 'process', { provider: 'process' }, [5, 'process']],
    ['has as many as the command says', 1_000, 'static', { provider: 'process', nodes: 7 }, [7, 'process']],
    ['is of systemd machines when they are made', 2, 'process', { provider: 'nspawn' }, [2, 'nspawn']],
  ])('one %s', (_, replicas, name, rehearsal, expected) =>
    expect(sizeOf(here(pool(replicas, { name }), rehearsal))).toEqual(expected),
  )
  test('says nothing of the place of a host that is elsewhere, and keeps where it counts as being', () => {
    const made = here(
      pool(2, { name: 'aws', params: { subnet: 's' }, offerings: [{ type: 'm5' }] }, { notices: 'AWS' }),
    )
    expect(specOf(made)['template']).toEqual({
      metadata: { labels: { p: 'w' } },
      spec: { provider: { name: 'process' }, pool: 'w', zone: 'z' },
    })
    expect(wasOf(made)).toBe('2 machines of provider aws')
  })
  test('single machines have hosts here too', () => {
    expect(specOf(here(object('Machine', { provider: { name: 'static' }, channel: 'Observe', pool: 'w' })))).toEqual({
      provider: { name: 'process' },
      pool: 'w',
    })
  })
})

test('steps and stages are watched for five seconds at most, and not longer than declared', () => {
  const set = here(object('MachineComponentSet', { rollout: { soak: '15m', inspections: [] } }))
  expect([specOf(set)['rollout'], wasOf(set)]).toEqual([{ soak: '5s', inspections: [] }, 'soak 15m'])
  const stages = [{ name: 'a', minSuccessTime: '10m' }, { name: 'b', minSuccessTime: '0s' }, { name: 'c' }]
  const pipeline = here(object('ReleasePipeline', { stages }))
  expect(specOf(pipeline)['stages']).toEqual([
    { name: 'a', minSuccessTime: '5s' },
    { name: 'b', minSuccessTime: '0s' },
    { name: 'c', minSuccessTime: '5s' },
  ])
  const short = object('MachineComponentSet', { rollout: { soak: '1s' } })
  expect(here(short)).toEqual(desired(short))
})

test('a set that declares no soak is not watched for the ten minutes that the kind has without one', () => {
  const set = here(object('MachineComponentSet', { components: [] }))
  expect([specOf(set)['rollout'], wasOf(set)]).toEqual([{ soak: '5s' }, 'soak 10m'])
  const whole = (type: typeof machineComponentSet | typeof releasePipeline, spec: object) =>
    applyDefaults(type.schema, object(type.kind, spec)) as { readonly spec: Record<string, unknown> }
  expect(whole(machineComponentSet, { rollout: {} }).spec['rollout']).toMatchObject({ soak: DEFAULT_SOAK })
  expect(whole(releasePipeline, { stages: [{ name: 'a' }] }).spec['stages']).toMatchObject([
    { minSuccessTime: DEFAULT_SUCCESS },
  ])
})

test('what the example of each kind becomes is valid, and a second rehearsal changes nothing', () => {
  const validator = createValidator()
  for (const kind of KINDS) {
    const example = (kind as { readonly example?: { readonly spec?: object } }).example
    if (example === undefined) continue
    const o = { apiVersion: 'kubenode.io/v1alpha1', kind: kind.kind, metadata: { name: 'x' }, ...example } as KubeObject
    if (validator.problems(kind, o).length > 0) continue
    const made = here(o)
    expect([kind.kind, validator.problems(kind, made.object)]).toEqual([kind.kind, []])
    expect(specOf(here(made.object))).toEqual(specOf(made))
  }
})
