// A machine boots one kernel: two components of type OS over the same machines are refused.
import { machineComponent } from '#api/kinds/machine-component.ts'
import { componentObjectName } from '#lib/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { expect, test } from 'vitest'
import { kernelProblems } from './kernels.ts'

const version = (component: string, type = 'OS') => ({
  ...machineComponent.example,
  metadata: { name: componentObjectName(component, '1.0.0') },
  spec: { component, version: '1.0.0', type },
})
const pool = (name: string) => ({
  kind: 'MachineSet',
  metadata: { name },
  spec: { template: { metadata: { labels: { pool: name } } } },
})
const set = (name: string, pool: string | undefined, ...components: readonly string[]) => ({
  kind: 'MachineComponentSet',
  metadata: { name },
  spec: {
    selector: pool === undefined ? {} : { matchLabels: { pool } },
    components: components.map((c) => ({ name: c, version: '1.0.0' })),
  },
})
const kernels = [version('kernel'), version('rt-kernel'), version('kubelet', 'Package')]
const said = (...objects: readonly object[]) =>
  kernelProblems([...kernels, ...objects] as KubeObject[]).map((p) => [p.code, p.object.metadata.name, p.pointer])

test.each([
  ['in one set', [set('a', 'x', 'kubelet', 'kernel', 'rt-kernel')], [['KN3101', 'a', '/spec/components/2/name']]],
  [
    'of two sets',
    [set('a', 'x', 'kernel'), set('b', undefined, 'rt-kernel')],
    [['KN3101', 'b', '/spec/components/0/name']],
  ],
])('two kernels %s', (_, sets, problems) => expect(said(pool('x'), pool('y'), ...sets)).toEqual(problems))

test.each([
  ['the same kernel in two sets', [set('a', 'x', 'kernel'), set('b', 'x', 'kernel')]],
  ['another kernel for each pool', [set('a', 'x', 'kernel'), set('b', 'y', 'rt-kernel')]],
  ['a kernel beside other components', [set('a', 'x', 'kernel', 'kubelet')]],
])('accepted: %s', (_, sets) => expect(said(pool('x'), pool('y'), ...sets)).toEqual([]))

test('the message names both, the set and the machines', () => {
  const objects = [
    ...kernels,
    pool('x'),
    set('a', 'x', 'kernel'),
    set('b', 'x', 'rt-kernel'),
  ] as unknown as KubeObject[]
  expect(kernelProblems(objects)[0]?.message).toContain(
    'rt-kernel and kernel (of machinecomponentset a) are both of type OS, and both select machineset/x: a machine boots one kernel',
  )
})
