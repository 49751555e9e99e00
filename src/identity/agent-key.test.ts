// Which keys a revocation refuses, and which key ends it.
import { ANNOTATIONS, agentKeyGroup } from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { describe, expect, test } from 'vitest'
import {
  type Marked,
  acceptsKey,
  hasAcceptedKey,
  hasLeft,
  isKeyRevoked,
  keyIn,
  keyRecord,
  recordOfLeft,
  recordedKey,
  revocation,
  tokenKeyOf,
} from './agent-key.ts'

const key = (digit: string): string => digit.repeat(64)
const groups = (...digits: readonly string[]) => ['kubenode:agents', ...digits.map((d) => agentKeyGroup(key(d)))]
const machine = (annotations: Record<string, string> = {}, uid = 'u'): Marked => ({ metadata: { uid, annotations } })
const record = (m: Marked, digit: string, by?: string): Marked => ({
  metadata: {
    ...m.metadata,
    annotations: {
      ...m.metadata.annotations,
      [ANNOTATIONS.agentKey]: keyRecord(m, key(digit), { by: by === undefined ? undefined : keyIn(groups(by)) }),
    },
  },
})
const revoked = (m: Marked): Marked => ({
  metadata: { ...m.metadata, annotations: { ...m.metadata.annotations, [ANNOTATIONS.revoked]: revocation(m, 0, '') } },
})
const accepted = (m: Marked) => ['1', '2', '3', '4'].filter((d) => acceptsKey(m, groups(d))).join('')

describe('S26 a key that was revoked', () => {
  const joined = record(machine(), '1')
  test.each<[string, Marked, string]>([
    ['is accepted like any other before it', joined, '1234'],
    ['is refused with all that were never recorded', revoked(joined), ''],
    ['stays refused when the host has a new one', record(revoked(joined), '2'), '2'],
    ['stays refused through renewals, of which the answer may be under way', record(revoked(joined), '3', '2'), '23'],
    ['leaves the chain after two renewals', record(record(revoked(joined), '3', '2'), '4', '3'), '34'],
    ['takes the one that it was asked with along', revoked(record(joined, '2', '1')), ''],
    ['and a second time, with the first forgotten', revoked(record(revoked(joined), '2')), ''],
    ['is refused for another Machine of the name too', { metadata: { ...revoked(joined).metadata, uid: 'v' } }, ''],
    ['is refused by an unreadable mark', machine({ [ANNOTATIONS.revoked]: '{' }), ''],
  ])('%s', (_, m, expected) => {
    expect(accepted(m)).toBe(expected)
    expect(hasAcceptedKey(m)).toBe(expected !== '')
  })

  test('is not made up for by a certificate that names none, or two', () => {
    const back = record(revoked(joined), '2')
    expect([groups(), groups('2', '3'), groups('2')].map((g) => acceptsKey(back, g))).toEqual([false, false, true])
  })

  test('is known by its shortened and its whole name; the record keeps the whole one', () => {
    const back = record(revoked(record(joined, '2', '1')), '3')
    expect(['1', '2', '3'].map((d) => isKeyRevoked(back, key(d)))).toEqual([true, true, false])
    expect(recordedKey(back)).toBe(key('3'))
  })
})

test('S26 who left gets no tokens any more, until its host joins again; the report of before does not count then', () => {
  const left = (publicKey: string, text: string) => ({
    metadata: { uid: 'u', annotations: { [ANNOTATIONS.agentKey]: text } },
    status: { agent: { version: '1.0.0', publicKey, phase: 'Left' } } as NonNullable<Machine['status']>,
  })
  const first = left('sealing-key-1', keyRecord(machine(), key('1'), { tokenKey: 'a' }))
  expect([tokenKeyOf(first), hasLeft(first)]).toEqual(['a', true])
  const gone = left('sealing-key-1', recordOfLeft(first))
  expect([tokenKeyOf(gone), hasLeft(gone), recordedKey(gone)]).toEqual([undefined, false, key('1')])
  const again = left('sealing-key-1', keyRecord(gone, key('2'), { tokenKey: 'b' }))
  expect([tokenKeyOf(again), hasLeft(again)]).toEqual(['b', false])
  expect(hasLeft({ ...again, status: left('sealing-key-2', '').status })).toBe(true)
  expect(tokenKeyOf({ metadata: { ...again.metadata, uid: 'another' } })).toBeUndefined()
})
