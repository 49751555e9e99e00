import { expect, test } from 'vitest'
import { fleet } from '#test/support/rollout-story.ts'
import { type ControllerRevision, readableRevisions } from './revisions.ts'

const damaged = (r: ControllerRevision | undefined): ControllerRevision =>
  ({ ...r, data: { components: 'lost' } }) as unknown as ControllerRevision

test('the record of what is declared is mended from the declaration, and other damaged records are left out', () => {
  const model = fleet(3)
  model.declare({ beacon: '1.1.0' }, { maxUnavailable: 3 })
  model.settle()
  const [first, second] = model.revisions
  expect(readableRevisions(model.set, model.revisions)).toBe(model.revisions)
  expect(readableRevisions(model.set, [damaged(first), damaged(second)])).toEqual([second])
})

test('F21 a damaged record neither stops a set nor removes components from its machines', () => {
  const model = fleet(3)
  model.declare({ beacon: '1.1.0' }, { maxUnavailable: 3 })
  model.settle()
  model.revisions = readableRevisions(model.set, model.revisions.map(damaged))
  model.declare({ beacon: '1.2.0' })
  model.settle()
  expect(model.versions('beacon')).toEqual({ '1.2.0': 3 })
})
