import { describe, expect, test } from 'vitest'
import { CONDITIONS, REASONS } from './catalogue.ts'
import { PHASES } from './phases.ts'
import { KINDS } from './kinds.ts'

const WORD = /^[A-Z][A-Za-z0-9]{0,63}$/

const entries = [
  ...Object.entries(CONDITIONS).map(([name, e]) => ['condition', name, e.doc] as const),
  ...Object.entries(REASONS).map(([name, e]) => ['reason', name, e.doc] as const),
  ...Object.entries(PHASES).flatMap(([table, phases]) =>
    Object.entries(phases).map(([name, doc]) => [`phase of ${table}`, name, doc] as const),
  ),
]

describe('the catalogue', () => {
  test('names everything with one CamelCase word that a status accepts', () =>
    expect(entries.filter(([, name]) => !WORD.test(name))).toEqual([]))

  test('says in one sentence what each means', () =>
    expect(entries.filter(([, , doc]) => !/^[A-Z].*\.$/.test(doc) || doc.length > 160)).toEqual([]))

  test('lists no condition that no kind has', () => {
    const used = new Set(KINDS.flatMap((k) => k.definition.conditions ?? []))
    expect(Object.keys(CONDITIONS).filter((c) => !used.has(c as keyof typeof CONDITIONS))).toEqual([])
  })

  // test/repo/honest-kinds.test.ts says which kinds have a status that nothing writes.
  test('gives every kind that has conditions Ready; a permit says the same by its phase', () => {
    const without = KINDS.filter(({ definition: { conditions } }) => conditions && !conditions.includes('Ready'))
    expect(without.map((k) => k.kind)).toEqual(['OperationPermit'])
  })
})
