// A recorder writes down what a cluster is; the administrators of the cluster, or one of its nodes, choose what that is. Whatever they send, the recorders of other
// clusters in the same process have their memory, their disk and their processor time, and what was not recorded is a gap.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { pastFacts } from '#explain/report/history-facts.ts'
import { lifeOf } from '#history/ask/lives.ts'
import { HistoryReader } from '#history/ask/reader.ts'
import { EXISTS, MAX_FACTS, factsOf } from '#history/facts/facts.ts'
import { NOT_REPORTED } from '#history/facts/transition.ts'
import { shapeOfKind } from '#history/facts/shapes.ts'
import { openForRecording } from '#history/store/file.ts'
import { KnownTexts } from '#history/store/known-texts.ts'
import { Names } from '#history/store/names.ts'
import { HistoryWriter } from '#history/store/writer.ts'
import type { KubeClient, ListOptions } from '#kube/client.ts'
import { MIB } from '#lib/bytes.ts'
import { atOnce } from '#lib/steps.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { nodeType } from '#nodes/objects.ts'
import { changedClient } from '#test/doubles/kube/changed-client.ts'
import { CLUSTER, type HistoryWorld, historyWorld as world } from '#test/support/worlds/history-world.ts'

const HOUR_MS = 3_600_000

type List = (type: ResourceType, options: ListOptions) => unknown

/** Answers lists in place of the server; undefined: the server does. */
function hostile(w: HistoryWorld, list: List): KubeClient {
  const real = w.kube.client({ actor: 'history' })
  const own = async (type: ResourceType, options: ListOptions) => list(type, options) ?? real.list(type, options)
  return changedClient(real, { list: own as KubeClient['list'] })
}

const deedsIn = (w: HistoryWorld) => w.read((r) => [...r.deeds()])

describe('a list without an end', () => {
  test('fills no memory: nothing is recorded for an hour, and nothing counts as deleted', async () => {
    const w = world({ bounds: { kept: 200_000 } })
    w.plantNode('n-1')
    let [pages, isEndless] = [0, true]
    const client = hostile(w, ({ plural }) => {
      // Far beyond the bound, so that the test ends without it.
      if (plural !== machine.plural || !isEndless || ++pages > 500) return undefined
      const items = Array.from({ length: 20 }, (_, n) => ({
        kind: 'Machine',
        metadata: { name: `x-${pages}-${n}`, uid: `u-${pages}-${n}`, resourceVersion: '1' },
        spec: { pool: 'x'.repeat(500) },
      }))
      return { items, resourceVersion: '1', continue: String(pages) }
    })
    await w.recorder(w.folder, client)
    expect(pages).toBeLessThan(100)
    isEndless = false
    w.setReady('n-1', 'False')
    await w.clock.advance(HOUR_MS + 5_000)
    w.setReady('n-1', 'Unknown')
    await w.clock.advance(5_000)
    expect(w.readyOf('n-1').at(-1)).toBe('Unknown')
    expect(deedsIn(w).filter(({ object }) => object.startsWith('node/'))).toEqual([])
    expect(w.read((r) => r.gaps()).map(({ why }) => why)).toContain('RecorderAway')
  })
})

test('more than its share of the disk is not written, and after that day it is recorded again', async () => {
  // Ten minutes before the end of a day.
  const w = world({ bounds: { maxBytes: MIB }, startMs: Date.parse('2026-11-20T23:50:00Z') })
  w.plantNode('n-1')
  await w.recorder()
  const sizeOf = () => readdirSync(w.folder).reduce((sum, name) => sum + statSync(join(w.folder, name)).size, 0)
  for (let n = 0; n < 150; n++) {
    w.kube.poke(nodeType, { name: 'n-1' }, { spec: { providerID: `${n} ${'x '.repeat(30_000)}` } })
    await w.clock.advance(1_000)
  }
  // The log of SQLite is beside the file, and has its own bound.
  expect(sizeOf()).toBeLessThan(8 * MIB)
  w.kube.poke(nodeType, { name: 'n-1' }, { spec: { providerID: 'back' } })
  await w.clock.advance(HOUR_MS + 60_000)
  w.setReady('n-1', 'False')
  await w.clock.advance(5_000)
  expect(w.readyOf('n-1').at(-1)).toBe('False')
  expect(w.read((r) => r.gaps()).map(({ why }) => why)).toContain('RecorderAway')
})

test.each([
  ['a name', { name: {} }],
  ['a namespace', { name: 'x', namespace: null }],
  ['a uid', { name: 'x', uid: [1] }],
])('%s that the file does not take stops nothing', async (_, metadata) => {
  const w = world()
  w.plantNode('n-1')
  const real = w.kube.client({ actor: 'history' })
  const client = hostile(w, async (type, options) => {
    const page = await real.list(type, options)
    const own = { apiVersion: 'v1', kind: 'Node', metadata: { uid: 'u', resourceVersion: '1', ...metadata } }
    return type.plural === 'nodes' ? { ...page, items: [...page.items, own as unknown as KubeObject] } : page
  })
  const part = await w.recorder(w.folder, client)
  w.setReady('n-1', 'False')
  await w.clock.advance(5_000)
  await part.stop()
  expect(w.readyOf('n-1')).toEqual(['True', 'False'])
})

describe('a node with as many labels as it likes', () => {
  const shape = shapeOfKind('Node')
  if (shape === undefined) throw new Error('nodes are recorded')

  test('is some thousand facts', () => {
    const labels = Object.fromEntries(Array.from({ length: 3 * MAX_FACTS }, (_, n) => [`l-${n}`, 'x']))
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels } }
    const facts = factsOf(object, shape)
    expect([facts[0]?.topic, facts.length]).toEqual([EXISTS, MAX_FACTS])
  })

  test('that are others each time adds topics up to a bound, and no more', () => {
    const w = world()
    const { db } = openForRecording(w.folder, CLUSTER, w.clock.now())
    const names = new Names(db, 3)
    expect(['a', 'b', 'c', 'd', 'a'].map((path) => names.topic(path))).toEqual([1, 2, 3, undefined, 1])
    db.close()
  })
})

test('texts in memory have a size, not only a number', () => {
  const texts = new KnownTexts<number, string>(1_000)
  for (let n = 0; n < 40; n++) texts.set(n, 'x'.repeat(MIB))
  const kept = Array.from({ length: 40 }, (_, n) => texts.get(n)).filter((text) => text !== undefined)
  expect(kept.length).toBeGreaterThan(0)
  expect(kept.length).toBeLessThanOrEqual(16)
})

test('the life of a name that was used again and again is read up to a bound', () => {
  const w = world()
  const writer = new HistoryWriter(openForRecording(w.folder, CLUSTER, w.clock.now()).db)
  const [exists, value] = [writer.names.topic(EXISTS) ?? 0, writer.names.value('true')]
  const now = w.clock.now()
  const subjects = Array.from({ length: 300 }, (_, n) =>
    writer.names.subject({ kind: 'Node', namespace: '', name: 'n-1', uid: `u-${n}` }),
  )
  const rows = subjects.flatMap((subject) =>
    Array.from({ length: 600 }, () => ({ subject, topic: exists, value, reported: NOT_REPORTED, observed: now })),
  )
  writer.write({ rows, gaps: [], deeds: [], now })
  writer.close()
  const life = w.read((reader) => atOnce(lifeOf(reader, 'Node', 'n-1', { from: 0, to: now + 1_000 })))
  expect([life.rows.length, life.leftOut]).toEqual([100_000, 20_000])
  expect(life.rows.at(-1)?.subject.uid).toBe('u-299')
})

test('a report of more faults and repairs than fit into memory is refused', () => {
  const w = world()
  const writer = new HistoryWriter(openForRecording(w.folder, CLUSTER, w.clock.now()).db)
  const { names } = writer
  const now = w.clock.now()
  const row = (kind: string, n: number, path: string, value: object | true) => ({
    subject: names.subject({ kind, namespace: '', name: `o-${n}`, uid: `u-${n}` }),
    topic: names.topic(path) ?? 0,
    value: names.value(JSON.stringify(value)),
    reported: NOT_REPORTED,
    observed: now,
  })
  const rows = Array.from({ length: 20 }, (_, n) => [
    row('Node', n, 'status/conditions/Ready', { type: 'Ready', status: 'False' }),
    row('RemedyOperationJob', n, EXISTS, true),
    row('RemedyOperationJob', n, 'spec', { node: { name: 'n-1' }, operations: [], fill: 'x'.repeat(100) }),
  ]).flat()
  writer.write({ rows, gaps: [], deeds: [], now })
  writer.close()
  const asked = (most: { readonly chars: number; readonly faults: number }) =>
    w.read((reader) => atOnce(pastFacts(reader, { from: now - 1, to: now + 1 }, undefined, most)))
  expect(asked({ chars: 10_000, faults: 20 })).toMatchObject({ faults: { length: 20 }, jobs: { length: 20 } })
  expect(() => asked({ chars: 1_000, faults: 20 })).toThrow('more than 1000 characters of kind RemedyOperationJob')
  expect(() => asked({ chars: 10_000, faults: 19 })).toThrow('more than 19 faults of kind Node')
})

test('a moment of a cluster with more facts than fit into memory is refused', () => {
  const w = world()
  const writer = new HistoryWriter(openForRecording(w.folder, CLUSTER, w.clock.now()).db)
  const [exists, value] = [writer.names.topic(EXISTS) ?? 0, writer.names.value('true')]
  const now = w.clock.now()
  const rows = Array.from({ length: 300 }, (_, n) => {
    const subject = writer.names.subject({ kind: 'Node', namespace: '', name: `n-${n}`, uid: `u-${n}` })
    return { subject, topic: exists, value, reported: NOT_REPORTED, observed: now }
  })
  writer.write({ rows, gaps: [], deeds: [], now })
  writer.close()
  for (const [most, isRead] of [
    [300, true],
    [299, false],
  ] as const) {
    const reader = new HistoryReader(w.folder, CLUSTER, most)
    const states = () => [...reader.statesAt('Node', now)].length
    if (isRead) expect(states()).toBe(300)
    else expect(states).toThrow('KN17004: cannot read how prod-1 was: it has more than 299 facts of kind Node')
    reader.close()
  }
})
