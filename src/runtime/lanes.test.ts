import { expect, test } from 'vitest'
import type { ReconcileContext } from './controller.ts'
import { type Lane, inLane } from './lanes.ts'
import { done, requeueAfter } from './outcome.ts'

const context = {} as ReconcileContext
const JUMP: Lane = { name: 'jump:22', most: 8 }

function turnsOf(laneOf: (name: string) => Lane | undefined) {
  const freed = Promise.withResolvers<void>()
  const begun: string[] = []
  const reconcile = inLane(laneOf, async (name) => {
    begun.push(name)
    await freed.promise
    return done
  })
  const at = (name: string) => reconcile(name, context)
  return { at, begun, freed: () => freed.resolve() }
}

test('the ninth of a lane for eight is tried again later, and has its turn once one has ended', async () => {
  const t = turnsOf(() => JUMP)
  const first = Array.from({ length: 8 }, (_, i) => t.at(`h-${i}`))
  expect(await t.at('h-8')).toEqual(requeueAfter(2_000))
  expect(t.begun).toHaveLength(8)
  t.freed()
  await Promise.all(first)
  expect(await t.at('h-8')).toEqual(done)
})

test('a reconcile without a lane needs no turn, and takes none', async () => {
  const t = turnsOf((name) => (name.startsWith('busy') ? JUMP : undefined))
  const idle = Array.from({ length: 20 }, (_, i) => t.at(`idle-${i}`))
  const busy = Array.from({ length: 8 }, (_, i) => t.at(`busy-${i}`))
  const late = t.at('idle-20')
  expect(t.begun).toHaveLength(29)
  t.freed()
  await Promise.all([...idle, ...busy, late])
})

test('each lane has turns of its own', async () => {
  const t = turnsOf((name) => ({ name: `jump:${name.split('-')[0]}`, most: 8 }))
  const all = Array.from({ length: 16 }, (_, i) => t.at(`${22 + (i % 2)}-${i}`))
  expect(t.begun).toHaveLength(16)
  t.freed()
  await Promise.all(all)
})
