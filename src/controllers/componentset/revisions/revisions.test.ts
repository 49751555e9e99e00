import { expect, test } from 'vitest'
import { ANNOTATIONS } from '#api/names.ts'
import { fleet } from '#test/support/fleets/rollout-story.ts'
import { type ControllerRevision, readableRevisions } from './revisions.ts'

const damaged = (r: ControllerRevision | undefined): ControllerRevision =>
  ({ ...r, data: { components: 'lost' } }) as unknown as ControllerRevision

test('the record of what is declared is mended from the declaration, and other damaged records are left out', () => {
  const model = fleet(3)
  model.declare({ beacon: '1.1.0' }, { maxUnavailable: 3 })
  model.settle()
  const [first, second] = model.revisions
  expect(readableRevisions(model.set, model.revisions)).toBe(model.revisions)
  const [mended, ...others] = readableRevisions(model.set, [damaged(first), damaged(second)])
  expect([others, mended?.data, mended?.revision]).toEqual([[], second?.data, second?.revision])
})

test('S25 what a damaged or planted record says of the declared version is not believed', () => {
  const model = fleet(3)
  const [declared] = model.revisions
  const text = JSON.stringify({ beacon: { version: '1.0.0', digest: 'a'.repeat(64), at: '2026-01-05T10:00:00Z' } })
  const annotations = { [ANNOTATIONS.completed]: text }
  const planted = damaged({ ...declared, metadata: { ...declared?.metadata, annotations } } as ControllerRevision)
  const [mended] = readableRevisions(model.set, [planted])
  expect([mended?.data, mended?.metadata.annotations]).toEqual([declared?.data, {}])
  // The set that owns it was deleted, or never existed.
  expect(readableRevisions(model.set, [{ ...planted, metadata: { name: planted.metadata.name ?? '' } }])).toEqual([])
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
