import { describe, expect, test } from 'vitest'
import { ANNOTATIONS } from '../names.ts'
import { type Completed, completedIn, completedText, healthyBefore, wasHealthy, withHealthy } from './healthy-before.ts'

const digest = 'a'.repeat(64)
const revision = (text: string) => ({ metadata: { annotations: { [ANNOTATIONS.completed]: text } } })
const at = '2026-01-05T10:00:00Z'
const later = '2026-01-05T11:00:00Z'
const one = { version: '1.0.0', digest, at }

describe('what a revision says was completed', () => {
  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
    ['an entry without a digest', JSON.stringify({ beacon: { version: '1.0.0', at } })],
    ['a digest that is none', JSON.stringify({ beacon: { ...one, digest: 'x' } })],
    ['an entry without a time', JSON.stringify({ beacon: { version: '1.0.0', digest } })],
    ['a time that is none', JSON.stringify({ beacon: { ...one, at: 'soon' } })],
    ['a configuration that is no name', JSON.stringify({ beacon: { ...one, config: 7 } })],
    ['a name of a property that every object has', JSON.stringify({ __proto__: one })],
  ])('is nothing where it is %s', (_, text) => {
    expect([...completedIn(revision(text))]).toEqual([])
  })

  test('is read back as it was written, whatever the order was', () => {
    const entries = new Map<string, Completed>([
      ['scribe', { ...one, config: 'scribe.0d1f' }],
      ['beacon', one],
    ])
    expect(new Map(completedIn(revision(completedText(entries))))).toEqual(entries)
    expect(completedText(entries)).toBe(completedText(new Map([...entries].toReversed())))
  })

  test('is cut at 64 components', () => {
    const many = new Map(Array.from({ length: 100 }, (_, i) => [`c-${i}`, one]))
    expect(completedIn(revision(completedText(many))).size).toBe(64)
    expect(completedIn(revision(JSON.stringify(Object.fromEntries(many)))).size).toBe(64)
  })
})

describe('the versions that were healthy on a set', () => {
  const of = (...entries: object[]) =>
    healthyBefore(
      entries.map((e) => revision(JSON.stringify({ beacon: e }))),
      'beacon',
    ).map((e) => e.version)

  test('are those of all its revisions, the newest first', () => {
    expect(of(one, { ...one, version: '1.1.0', at: later })).toEqual(['1.1.0', '1.0.0'])
  })

  test('lack what the set went back from, until that is completed again', () => {
    expect(of({ ...one, leftAt: later })).toEqual([])
    expect(of({ ...one, at: later, leftAt: at })).toEqual(['1.0.0'])
  })

  test('lack what was never completed', () => {
    expect(of({ version: '1.0.0', digest, backAt: at })).toEqual([])
  })
})

describe('what a machine remembers', () => {
  const version = (v: string, config?: string) => ({ version: v, digest, ...(config !== undefined && { config }) })

  test('is the last three versions, each once, the newest last', () => {
    const all = ['1', '2', '3', '2', '4']
      .map((v) => version(v))
      .reduce(withHealthy, [] as ReturnType<typeof withHealthy>)
    expect(all.map((v) => v.version)).toEqual(['3', '2', '4'])
  })

  test('tells configurations and contents apart', () => {
    const known = [version('1', 'beacon.aaaa')]
    expect(wasHealthy(known, version('1', 'beacon.aaaa'))).toBe(true)
    expect(wasHealthy(known, version('1'))).toBe(false)
    expect(wasHealthy(known, { ...version('1', 'beacon.aaaa'), digest: 'b'.repeat(64) })).toBe(false)
  })
})
