// A slice has the same name everywhere: in the status of its set and in the permits that it runs under.
import { expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { fullPartName, partOfPermit, sliceName } from '#api/protocol/part.ts'
import { fleet } from '#test/support/fleets/rollout-story.ts'
import { storyLines } from '../finding.ts'
import { whyLines } from '../why.ts'
import { setStory } from './status.ts'

test('each permit of a rollout is named after a slice of the status that is written with it', () => {
  const model = fleet(30)
  const named: string[] = []
  model.onPlan = ({ actions, status }) => {
    const slices = (status.slices ?? []).map((slice) => `set/base ${sliceName(slice)}`)
    const lines = storyLines(setStory({ ...model.set, status }, { now: model.now }))
    for (const action of actions) {
      if (action.kind !== 'RequestPermit') continue
      const permit = { kind: 'OperationPermit', metadata: { name: action.permit }, spec: action.request }
      const decided = partOfPermit(action.request)
      const part = decided === undefined ? '' : fullPartName(decided)
      expect(slices).toContain(part)
      expect(lines.join('\n')).toContain(part.slice('set/base '.length))
      expect(whyLines(permit as unknown as OperationPermit, model.now)[0]).toContain(part)
      named.push(part)
    }
  }
  model.declare({ beacon: '1.1.0' })
  model.settle()
  expect(named.slice(0, 2)).toEqual(['set/base beacon 1.1.0 step 1 slice 1', 'set/base beacon 1.1.0 step 2 slice 1'])
  expect(new Set(named).size).toBe(named.length)
})
