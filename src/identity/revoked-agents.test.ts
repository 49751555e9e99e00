import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { shortKey } from './agent-key.ts'
import { LONGEST_LIFE_SECONDS } from './certificate-life.ts'
import { MAX_REVOKED, revokedAgents } from './revoked-agents.ts'

const NOW = Date.UTC(2026, 0, 5)
const YEAR_MS = LONGEST_LIFE_SECONDS * 1_000
const keyOf = (digit: string): string => digit.repeat(64)
const END = timestamp(NOW + YEAR_MS)

interface Said {
  readonly at?: string
  readonly keys?: readonly string[]
  readonly recorded?: readonly string[]
}
const revoked = (name: string, { at = timestamp(NOW), keys = ['1'], recorded = [] }: Said = {}): Machine => {
  const uid = `uid-${name}`
  const [key, by] = recorded.map(keyOf)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: machine.kind,
    metadata: {
      name,
      uid,
      annotations: {
        [ANNOTATIONS.revoked]: JSON.stringify({ uid, at, keys: keys.map(keyOf) }),
        ...(key !== undefined && { [ANNOTATIONS.agentKey]: JSON.stringify({ uid, key, by }) }),
      },
    },
    spec: machine.example.spec,
  } as unknown as Machine
}
const plain = (name: string): Machine => ({ ...revoked(name), metadata: { name, uid: `uid-${name}` } })

describe('S26 the list of revoked agents', () => {
  test('has revoked machines, with the keys that were recorded later, and no other machine', () => {
    const machines = [plain('a'), revoked('b'), revoked('c', { recorded: ['2', '1'] })]
    expect(revokedAgents({}, machines, NOW)).toEqual({
      'uid-b': END,
      'uid-c': `${END} ${shortKey(keyOf('2'))}`,
    })
  })

  test('keeps a machine that was deleted, without its keys, until its certificates have expired', () => {
    const before = revokedAgents({}, [revoked('a', { recorded: ['2'] })], NOW)
    expect(revokedAgents(before, [], NOW + YEAR_MS - 1)).toEqual({ 'uid-a': END })
    expect(revokedAgents(before, [], NOW + YEAR_MS)).toEqual({})
  })

  test('drops a machine whose revocation a person took back, and one that was revoked a year ago', () => {
    const before = revokedAgents({}, [revoked('a')], NOW)
    expect(revokedAgents(before, [plain('a')], NOW)).toEqual({})
    expect(revokedAgents(before, [revoked('a')], NOW + YEAR_MS)).toEqual({})
  })

  test('has a revocation without a time a year long from when it was first read', () => {
    const unreadable = revoked('a', { at: 'yesterday' })
    const before = revokedAgents({}, [unreadable], NOW)
    expect(before).toEqual({ 'uid-a': END })
    expect(revokedAgents(before, [unreadable], NOW + 1_000)).toEqual(before)
  })

  test('believes no time in the future', () => {
    expect(revokedAgents({}, [revoked('a', { at: '2999-01-01T00:00:00Z' })], NOW)).toEqual({ 'uid-a': END })
  })

  test('has an end: the newest stay, and they fit into one object', () => {
    const many = Array.from({ length: MAX_REVOKED + 10 }, (_, i) =>
      revoked(`m-${i}-${'x'.repeat(20)}`, { at: timestamp(NOW - i * 1_000), recorded: ['2', '3'] }),
    )
    const list = revokedAgents({}, many, NOW)
    expect(Object.keys(list)).toHaveLength(MAX_REVOKED)
    expect(list[`uid-m-0-${'x'.repeat(20)}`]).toBeDefined()
    expect(JSON.stringify(list).length).toBeLessThan(1_000_000)
  })

  test('is the same text for the same machines in any order', () => {
    const machines = [revoked('a'), revoked('b'), revoked('c')]
    expect(JSON.stringify(revokedAgents({}, machines, NOW))).toBe(
      JSON.stringify(revokedAgents({}, machines.toReversed(), NOW)),
    )
  })
})
