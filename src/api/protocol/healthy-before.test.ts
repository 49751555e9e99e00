import { describe, expect, test } from 'vitest'
import { renderedConfig } from '../kinds/component-config.ts'
import { ANNOTATIONS } from '../names.ts'
import { type Completed, completedIn, completedText, healthyBefore, wasHealthy, withHealthy } from './healthy-before.ts'
import { type RevisedComponent, revisionNameOf, writeSetRevision } from './set-revision.ts'
import { defined } from '#lib/defined.ts'

const digest = 'a'.repeat(64)
/** With the components that its text names, as a set writes it. */
const revision = (text: string, components: readonly RevisedComponent[] = [BEACON, SCRIBE]) => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: { name: revisionNameOf('base', components), annotations: { [ANNOTATIONS.completed]: text } },
  ...writeSetRevision(1, components),
})
const BEACON = { name: 'beacon', version: '1.0.0' }
const SCRIBE = { name: 'scribe', version: '1.0.0', values: { level: 'debug' } }
const SCRIBE_CONFIG = renderedConfig(SCRIBE)?.object ?? ''
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
      ['scribe', { ...one, config: SCRIBE_CONFIG }],
      ['beacon', one],
    ])
    expect(new Map(completedIn(revision(completedText(entries))))).toEqual(entries)
    expect(completedText(entries)).toBe(completedText(new Map([...entries].toReversed())))
  })

  test('is cut at 64 components', () => {
    const many = new Map(Array.from({ length: 100 }, (_, i) => [`c-${i}`, one]))
    const components = [...many.keys()].map((name) => ({ name, version: '1.0.0' }))
    expect(completedIn(revision(completedText(many), components)).size).toBe(64)
    expect(completedIn(revision(JSON.stringify(Object.fromEntries(many)), components)).size).toBe(64)
  })

  test.each<[string, object, string?]>([
    ['another version', { ...one, version: '2.0.0' }],
    ['another configuration', { ...one, config: 'beacon.0d1f' }],
    ['no configuration of one that has one', one, 'scribe'],
    ['a component that it lacks', one, 'other'],
  ])('S25 is nothing where it speaks of %s than the record has', (_, entry, name = 'beacon') => {
    expect([...completedIn(revision(JSON.stringify({ [name]: entry })))]).toEqual([])
  })

  test('S25 is nothing in a record that is not named by what is in it', () => {
    const made = revision(JSON.stringify({ beacon: one }))
    expect(completedIn(made).size).toBe(1)
    expect(completedIn({ ...made, metadata: { ...made.metadata, name: 'base-0123456789ab' } }).size).toBe(0)
    // The same text in another object's record.
    expect(completedIn({ ...revision('{}', [SCRIBE]), metadata: made.metadata }).size).toBe(0)
  })
})

describe('the versions that were healthy on a set', () => {
  const of = (...entries: Readonly<Record<string, string>>[]) =>
    healthyBefore(
      entries.map((e) => revision(JSON.stringify({ beacon: e }), [{ ...BEACON, version: e['version'] ?? '' }])),
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
  const version = (v: string, config?: string) => ({ version: v, digest, ...defined({ config }) })

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
