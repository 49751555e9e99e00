import { expect, test } from 'vitest'
import { Heartbeats, LOST_AFTER_MS, SILENT_AFTER_MS } from './heartbeats.ts'
import { IdleReconciles } from './idle-reconciles.ts'

const BOUNDS = [SILENT_AFTER_MS, LOST_AFTER_MS]

/** A machine with a recent heartbeat, and a reconcile that found nothing to do. */
function looked(otherMs?: number) {
  let now = 0
  const heartbeats = new Heartbeats(() => now)
  let count = 0
  const heartbeat = () => void heartbeats.note('agent', String(++count))
  heartbeat()
  heartbeat()
  const looks = new IdleReconciles(() => now)
  const look = () => {
    looks.begin('m')
    looks.note('m', { heartbeats: () => [heartbeats.read('agent')], bounds: BOUNDS, otherMs }, [
      heartbeats.read('agent'),
    ])
  }
  look()
  return { looks, look, beat: heartbeat, pass: (ms: number) => void (now += ms) }
}

test('while it beats, the look that was due for a silence is put off until the next could be', () => {
  const { looks, beat: heartbeat, pass } = looked()
  expect(looks.left('m')).toBe(SILENT_AFTER_MS)
  pass(10_000)
  heartbeat()
  pass(30_000)
  expect(looks.left('m')).toBe(10_000)
})

test('each silence is looked at once', () => {
  const { looks, look, pass } = looked()
  pass(SILENT_AFTER_MS)
  expect(looks.left('m')).toBeUndefined()
  look()
  expect(looks.left('m')).toBe(LOST_AFTER_MS - SILENT_AFTER_MS)
  pass(LOST_AFTER_MS - SILENT_AFTER_MS)
  expect(looks.left('m')).toBeUndefined()
})

test('what wakes a machine is looked at, also when it came while it was being looked at', () => {
  const { looks, look, beat: heartbeat } = looked()
  looks.over('m')
  expect(looks.left('m')).toBeUndefined()
  looks.begin('m')
  looks.over('m')
  looks.note('m', { heartbeats: () => [], bounds: BOUNDS, otherMs: undefined }, [])
  expect(looks.left('m')).toBeUndefined()
  look()
  looks.allOver()
  heartbeat()
  expect(looks.left('m')).toBeUndefined()
})

test('what else is due is not put off, and now and then a machine is looked at anyhow', () => {
  const due = looked(15_000)
  expect(due.looks.left('m')).toBe(15_000)
  due.pass(15_000)
  due.beat()
  expect(due.looks.left('m')).toBeUndefined()

  const idle = looked()
  for (let s = 0; s < 300; s += 10) {
    expect(idle.looks.left('m'), `after ${s} s`).toBeGreaterThan(0)
    idle.pass(10_000)
    idle.beat()
  }
  expect(idle.looks.left('m')).toBeUndefined()
})

test('a look that failed or was never made puts nothing off', () => {
  const { looks } = looked()
  looks.begin('m')
  expect(looks.left('m')).toBeUndefined()
  expect(looks.left('another')).toBeUndefined()
})

test('a silence that begins while a look is under way is looked at: an agent renews its two Leases one right after the other', () => {
  let now = 0
  const heartbeats = new Heartbeats(() => now)
  const read = () => [heartbeats.read('agent'), heartbeats.read('node')]
  const looks = new IdleReconciles(() => now)
  for (const renewal of ['1', '2']) {
    heartbeats.note('agent', renewal)
    now += 5
    heartbeats.note('node', renewal)
  }
  now = LOST_AFTER_MS + 6
  looks.begin('m')
  const seen = read()
  expect(seen.map((b) => b.kind === 'Heard' && b.agoMs >= LOST_AFTER_MS)).toEqual([true, false])
  now += 9
  looks.note('m', { heartbeats: read, bounds: BOUNDS, otherMs: undefined }, seen)
  expect(looks.left('m')).toBeUndefined()
})
