// What `kubenode local status --wait` reports when it stops before the fleet is in sync.
import { expect, test } from 'vitest'
import { endOfWait } from './show-status.ts'

test('a wait that ends too early says why: nothing more comes, or its time is over', () => {
  expect(endOfWait('release r is Paused', true, '5m')).toBe('no longer waiting: release r is Paused')
  expect(endOfWait(undefined, true, '5m')).toBe(
    'timed out waiting after 5m: the fleet continues; to wait longer, add --timeout',
  )
  expect(endOfWait(undefined, false, '5m')).toBeUndefined()
})
