import { expect, test } from 'vitest'
import { fleet } from '#test/support/fleets/rollout-story.ts'

test.each(['0s', '1ms', '9s'])(
  'a progress deadline of %s is reported before the first machine is touched',
  (progressDeadline) => {
    const model = fleet(4)
    model.settle()
    const before = [...model.machines.values()].map((m) => m.spec.components)
    model.declare({ beacon: '1.1.0' }, { progressDeadline })
    model.settle()
    const stalled = model.set.status?.conditions?.find((c) => c.type === 'Stalled')
    expect([stalled?.status, stalled?.reason]).toEqual(['True', 'InvalidSpec'])
    expect(stalled?.message).toContain(`progressDeadline ${progressDeadline}`)
    expect(stalled?.message).toContain('minimum 10s')
    expect([...model.machines.values()].map((m) => m.spec.components)).toEqual(before)
  },
)
