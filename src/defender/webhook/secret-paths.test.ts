import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { OVERLAP_MS, pathOf, ROTATE_MS, SecretPaths } from './secret-paths.ts'

function paths() {
  const clock = new VirtualClock(0)
  let made = 0
  return { clock, paths: new SecretPaths(clock, () => `token-${++made}`) }
}

test('S30 nothing is accepted before a path was proposed, and nothing but that path afterwards', () => {
  const { paths: p } = paths()
  expect(p.doorOf('/token-1/admit')).toBeUndefined()
  expect(p.propose()).toBe('token-1')
  expect([p.doorOf('/token-1/admit'), p.doorOf('/token-1/deletions')]).toEqual(['kinds', 'deletions'])
  for (const path of ['', '/', '/admit', '/deletions', '/token-1', '/token-1/', '/token-2/admit', '/token-1/admit/'])
    expect(p.doorOf(path)).toBeUndefined()
})

test('S30 a write whose answer was lost is tried again under the same path', () => {
  const { paths: p } = paths()
  expect([p.propose(), p.propose()]).toEqual(['token-1', 'token-1'])
})

test('S30 the path is replaced every day; the new one is accepted before it is written, the old one for a bounded time after', async () => {
  const { clock, paths: p } = paths()
  p.adopt(p.propose())
  expect([p.isRotationDue, p.propose()]).toEqual([false, 'token-1'])
  await clock.advance(ROTATE_MS)
  expect([p.isRotationDue, p.propose()]).toEqual([true, 'token-2'])
  expect([p.doorOf(pathOf('token-1', 'kinds')), p.doorOf(pathOf('token-2', 'kinds'))]).toEqual(['kinds', 'kinds'])
  p.adopt('token-2')
  await clock.advance(OVERLAP_MS - 1)
  expect(p.doorOf(pathOf('token-1', 'kinds'))).toBe('kinds')
  await clock.advance(1)
  expect([p.doorOf(pathOf('token-1', 'kinds')), p.doorOf(pathOf('token-2', 'kinds'))]).toEqual([undefined, 'kinds'])
})

test('S30 two processes have different paths', () => {
  const clock = new VirtualClock(0)
  const [a, b] = [new SecretPaths(clock), new SecretPaths(clock)]
  expect(a.propose()).toMatch(/^[\w-]{43}$/)
  expect(a.propose()).not.toBe(b.propose())
})
