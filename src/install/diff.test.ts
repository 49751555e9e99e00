import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { PARALLEL } from './act.ts'
import type { InstallContext } from './context.ts'
import { diffOf, differences } from './diff.ts'
import type { InstallPlan } from './plan.ts'
import { VERSION_LABEL } from './release.ts'

const object = (spec: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'x', ...metadata },
  spec,
})

test('fields that differ are named with both values; what a server counts is none', () => {
  const before = object({ replicas: 2, args: ['a'], gone: true }, { resourceVersion: '1', generation: 1 })
  const after = object({ replicas: 3, args: ['a', 'b'], empty: {} }, { resourceVersion: '9', generation: 4 })
  expect(differences(before, after)).toEqual([
    '  .spec.args[1]: (none) → "b"',
    '  .spec.empty: (none) → {}',
    '  .spec.gone: true → (none)',
    '  .spec.replicas: 2 → 3',
  ])
  expect(differences(before, before)).toEqual([])
})

test('long lists and values are cut', () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f${i}`, 'x'.repeat(200)]))
  const lines = differences(object({}), object(many))
  expect(lines).toHaveLength(41)
  expect(Math.max(...lines.map((l) => l.length))).toBeLessThan(160)
})

describe('an upgrade', () => {
  const config = (name: string, version: string, data = 'same'): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'kubenode-system', labels: { [VERSION_LABEL]: version } },
    data: { data },
  })
  /** A server that has `live`, and whose dry run answers with what is applied. */
  async function shown(live: readonly KubeObject[], objects: readonly KubeObject[]) {
    const requests: string[] = []
    let [running, most] = [0, 0]
    const request = async <T>(what: string, answer: T): Promise<T> => {
      requests.push(what)
      most = Math.max(most, ++running)
      await setImmediate()
      running--
      return answer
    }
    const client = {
      get: ({ kind }: { readonly kind: string }, { name }: { readonly name: string }) =>
        request(`get ${kind}`, kind === 'Namespace' ? {} : live.find((o) => o.metadata.name === name)),
      apply: (_: unknown, object: KubeObject) => request('apply', object),
    }
    const types = { of: async (_: string, kind: string) => coreKind(kind as 'ConfigMap') }
    const context = { client, types } as unknown as InstallContext
    const plan = { phases: [{ groups: [objects] }], prunes: [] } as unknown as InstallPlan
    return { lines: await diffOf(context, plan), requests, most: () => most }
  }

  test('shows what changes, and counts what only gets the version of the release or nothing', async () => {
    const live = [config('a', '1'), config('b', '1'), config('c', '1'), config('d', '2')]
    const next = [config('a', '2'), config('b', '2', 'other'), config('c', '2'), config('d', '2'), config('e', '2')]
    expect((await shown(live, next)).lines).toEqual([
      '~ ConfigMap/kubenode-system/b',
      '  .data.data: "same" → "other"',
      '+ ConfigMap/kubenode-system/e',
      '~ 2 objects with the label of the version alone',
      '  1 object unchanged',
    ])
  })

  test('that changes nothing has no lines', async () =>
    expect((await shown([config('a', '1')], [config('a', '1')])).lines).toEqual([]))

  test('is read in parallel within a limit, and each namespace once', async () => {
    const objects = Array.from({ length: 100 }, (_, i) => config(`c-${i}`, '1'))
    const { requests, most } = await shown(objects, objects)
    expect(requests.filter((r) => r === 'get Namespace')).toHaveLength(1)
    expect(requests).toHaveLength(201)
    expect([most() > 1, most() <= PARALLEL]).toEqual([true, true])
  })
})
