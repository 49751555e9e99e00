import { describe, expect, test } from 'vitest'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { endsSlice } from './ends-slice.ts'

const set = (phase: string): MachineComponentSet =>
  ({ status: { slices: [{ component: 'beacon', phase, machines: ['a', 'b'] }] } }) as unknown as MachineComponentSet

interface Told {
  readonly state?: string
  readonly attempt?: number
  readonly isOrdered?: boolean
}

const machine = (name: string, { state = 'Healthy', attempt = 2, isOrdered = false }: Told = {}): Machine =>
  ({
    metadata: { name },
    spec: { components: [{ name: 'beacon', attempt: 2, ...(isOrdered && { switch: { attempt: 2, permit: 'p' } }) }] },
    status: { components: [{ name: 'beacon', state, attempt }] },
  }) as unknown as Machine

const probing = { state: 'Probing', isOrdered: true }

describe('the change of a machine', () => {
  test.each([
    ['that comes last ends the slice', 'Switching', machine('b', probing), machine('b'), machine('a'), true],
    [
      'ends it too when the machine failed',
      'Switching',
      machine('b', probing),
      machine('b', { state: 'RolledBack' }),
      machine('a'),
      true,
    ],
    ['ends it when the other one is gone', 'Switching', machine('b', probing), machine('b'), undefined, true],
    [
      'does not while another one is at work',
      'Switching',
      machine('b', probing),
      machine('b'),
      machine('a', probing),
      false,
    ],
    [
      'ends it while the order is still in its spec',
      'Switching',
      machine('b', probing),
      machine('b', { isOrdered: true }),
      machine('a'),
      true,
    ],
    [
      'does not while the order of another attempt is open',
      'Switching',
      machine('b', probing),
      machine('b', { attempt: 1, isOrdered: true }),
      machine('a'),
      false,
    ],
    [
      'does not with a report of the attempt before',
      'Switching',
      machine('b', probing),
      machine('b', { attempt: 1 }),
      machine('a'),
      false,
    ],
    ['is no news a second time', 'Switching', machine('b'), machine('b'), machine('a'), false],
    ['means nothing before the permit', 'AwaitingPermit', machine('b', probing), machine('b'), machine('a'), false],
    ['means nothing in another machine', 'Switching', machine('c', probing), machine('c'), machine('a'), false],
  ] as const)('%s', (_, phase, before, now, other, ends) => {
    expect(endsSlice(set(phase), before, now, () => other)).toBe(ends)
  })
})
