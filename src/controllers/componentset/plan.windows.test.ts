import { describe, expect, test } from 'vitest'
import { fleet, holdOn } from '#test/support/fleets/rollout-story.ts'
import { openingOf } from '#permits/windows.ts'

const window = (more: object = {}) => ({ cron: '0 10 * * *', duration: '1h', timeZone: 'UTC', ...more })

describe('F21 an unreadable window, which a server without our admission takes', () => {
  test.each([
    ['no cron', { cron: 'banana' }],
    ['no time zone', { timeZone: 'Mars/Phobos' }],
  ])('(%s) opens nothing, and the set says what to correct', (_, more) => {
    expect(openingOf([window(), window(more)], Date.parse('2026-01-05T10:30:00Z'))).toMatchObject({ isOpen: false })
    const model = fleet(4)
    model.onPlan = () => undefined
    model.declare({ beacon: '1.1.0' }, { windows: [window(more)] })
    for (let i = 0; i < 5; i++) model.round()
    expect(model.permits.size).toBe(0)
    expect(model.set.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Stalled',
        status: 'True',
        reason: 'InvalidSpec',
        message: expect.stringMatching(/correct spec\.rollout\.windows$/),
      }),
    )
    model.holds = [holdOn(model, 'Pause')]
    model.round()
  })

  test('is mended by an edit', () => {
    const model = fleet(4)
    model.onPlan = () => undefined
    model.declare({ beacon: '1.1.0' }, { windows: [window({ cron: 'banana' })] })
    model.round()
    model.declare({ beacon: '1.1.0' }, { windows: [window()], maxUnavailable: 4, steps: [4] })
    model.settle()
    expect(model.versions('beacon')).toEqual({ '1.1.0': 4 })
  })
})
