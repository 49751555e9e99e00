import { expect, test } from 'vitest'
import { MAX_NAMES, MAX_USED_RIGHTS, usedRights, type UsedRight } from './used-rights.ts'

const user = { name: 'ada', groups: ['ops'] }
const get = { verb: 'get', group: '', resource: 'pods', subresource: '', namespace: 'x', name: 'p' }
const parsed = (lines: readonly string[]) => lines.map((l) => JSON.parse(l) as UsedRight)

test('a right that is used twice is written once, with who used it', () => {
  const lines: string[] = []
  const onAllowed = usedRights((l) => lines.push(l))
  onAllowed(user, get)
  onAllowed(user, { ...get, fieldSelector: 'a=b' })
  onAllowed(user, { ...get, subresource: 'log' })
  expect(parsed(lines)).toEqual([
    { user: 'ada', groups: ['ops'], ...get },
    { user: 'ada', groups: ['ops'], ...get, subresource: 'log' },
  ])
})

test('what an earlier run wrote is not written again', () => {
  const before: string[] = []
  usedRights((l) => before.push(l))(user, get)
  const lines: string[] = []
  usedRights((l) => lines.push(l), before)(user, get)
  expect(lines).toEqual([])
})

test('names of objects beyond the bound become one line without a name, and lines are bounded too', () => {
  const lines: string[] = []
  const onAllowed = usedRights((l) => lines.push(l))
  for (let n = 0; n < MAX_NAMES + 5; n++) onAllowed(user, { ...get, name: `p-${n}` })
  expect(lines).toHaveLength(MAX_NAMES + 1)
  expect(parsed(lines).at(-1)?.name).toBe('')
  for (let n = 0; n < MAX_USED_RIGHTS + 5; n++) onAllowed({ name: `u-${n}`, groups: [] }, get)
  expect(lines).toHaveLength(MAX_USED_RIGHTS)
})
