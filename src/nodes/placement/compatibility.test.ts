// Requirements of components on each other on one machine.
import { describe, expect, test } from 'vitest'
import { readSliceTarget } from '#api/protocol/component-order.ts'
import { component } from '#test/support/fleets/rollout-fleet.ts'
import { compatibilityOf, mixesOf, specsIn } from './compatibility.ts'

const specs = [
  component('kubelet', '1.34.0', { requires: [{ component: 'containerd', range: '<2.2' }] }),
  component('kubelet', '1.35.0', { requires: [{ component: 'containerd', range: '>=2.1' }] }),
  component('kubelet', '1.36.0', { requires: [{ component: 'containerd', range: '>=2.2' }] }),
  ...['2.0.0', '2.1.0', '2.2.0'].map((v) => component('containerd', v)),
]
const specOf = specsIn(new Map(specs.map((c) => [c.metadata.name ?? '', c])))

describe('a component on a machine', () => {
  const to = (name: string, version: string) =>
    compatibilityOf(readSliceTarget({ component: name, version }), specOf, mixesOf(specOf))
  test.each([
    ['goes where what it needs runs', 'kubelet', '1.35.0', 'containerd 2.1.0\nkubelet 1.34.0', undefined],
    ['waits for what it needs', 'kubelet', '1.35.0', 'containerd 2.0.0', 'requires containerd >=2.1, running: 2.0.0'],
    [
      'waits for what is not there at all',
      'kubelet',
      '1.35.0',
      'scribe 1.0.0',
      'requires containerd >=2.1, running: none',
    ],
    [
      'is not taken back while another needs it',
      'containerd',
      '2.0.0',
      'containerd 2.1.0\nkubelet 1.35.0',
      'kubelet 1.35.0, which is running, requires containerd >=2.1',
    ],
    [
      'does not leave while another needs it',
      'containerd',
      '',
      'containerd 2.1.0\nkubelet 1.35.0',
      'kubelet 1.35.0, which is running, requires containerd >=2.1',
    ],
    ['may mend what is broken already', 'containerd', '2.1.0', 'containerd 2.2.0\nkubelet 1.34.0', undefined],
    ['may be placed where no rule applies', 'containerd', '2.2.0', 'containerd 2.0.0', undefined],
  ])('%s', (_, name, version, runs, why) => {
    expect(to(name, version)(runs)).toBe(why)
    expect(to(name, version)(runs)).toBe(why)
  })
})
