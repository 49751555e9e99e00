// Tests that the memory of a topic resumes without a gap, shows the past, and stays within its bounds.
import { expect, test } from 'vitest'
import type { CommitsTopic } from '../protocol.ts'
import { makeRoom, TopicLog } from './topic-log.ts'

const HOUR = 3_600_000

const commit = (id: string, source: string) => ({ id, commit: id, source, releases: [] })
const topic = (n: number, at: number, rows: CommitsTopic['rows']): CommitsTopic => ({
  topic: 'commits',
  revision: `s-${n}`,
  at,
  head: {},
  rows,
})

test('each moment is shown as it was, and the first one for what lies before', () => {
  const log = new TopicLog('s', topic(1, 0, []))
  log.putRows(topic(2, 10, [commit('a', 'x')]))
  log.putRows(topic(3, 20, [commit('a', 'y'), commit('b', 'x')]))
  log.putRows(topic(4, 30, [commit('b', 'x')]))
  const rowsAt = (moment: number) => (log.at(moment) as CommitsTopic).rows.map((r) => `${r.id} ${r.source}`)
  expect([-5, 10, 25, 99].map(rowsAt)).toEqual([[], ['a x'], ['a y', 'b x'], ['b x']])
  expect(log.at(25).revision).toBe('s-3')
})

test('a reader gets what it missed, and what is unchanged is not kept', () => {
  const log = new TopicLog('s', topic(1, 0, []))
  log.putRows(topic(2, 10, [commit('a', 'x')]))
  expect(log.putRows(topic(3, 20, [commit('a', 'x')]))).toBeUndefined()
  log.putRows(topic(5, 30, []))
  expect(log.since(1)).toHaveLength(2)
  expect(log.since(2)).toHaveLength(1)
  expect(log.since(5)).toEqual([])
  expect(log.since(0)).toBeUndefined()
})

test('beyond its bytes the oldest changes are forgotten, and the rest is still right', () => {
  const log = new TopicLog('s', topic(1, 0, []), 2_000)
  for (let n = 2; n < 200; n++) log.putRows(topic(n, n, [commit('a', `source-${n}`)]))
  expect(log.since(1)).toBeUndefined()
  expect(log.begins.revision).toBeGreaterThan(100)
  expect((log.at(199) as CommitsTopic).rows[0]?.source).toBe('source-199')
  expect((log.at(0) as CommitsTopic).rows[0]?.source).toBe(`source-${log.begins.revision}`)
})

test('after a day changes are forgotten', () => {
  const log = new TopicLog('s', topic(1, 0, []))
  log.putRows(topic(2, HOUR, [commit('a', 'x')]))
  log.putRows(topic(3, 26 * HOUR, [commit('a', 'y')]))
  expect(log.begins).toEqual({ revision: 2, at: HOUR })
})

test('a clock that was set back leaves no change out of the states that follow', () => {
  const log = new TopicLog('s', topic(1, HOUR, []))
  log.putRows(topic(2, 80 * HOUR, [commit('a', 'x')]))
  log.putRows(topic(3, 2 * HOUR, [commit('a', 'x'), commit('b', 'x')]))
  const rowsAt = (moment: number) => (log.at(moment) as CommitsTopic).rows.map((r) => r.id)
  expect(rowsAt(2 * HOUR)).toEqual(['a', 'b'])
  log.putRows(topic(4, 10, [commit('b', 'x')]))
  expect(log.begins.at).toBe(10)
  expect(rowsAt(HOUR)).toEqual(['b'])
})

test('all together stay within a bound: the largest forgets its older half, a quiet one nothing', () => {
  const filled = (changes: number): TopicLog => {
    const log = new TopicLog('s', topic(1, 0, []))
    for (let n = 2; n < changes + 2; n++) log.putRows(topic(n, n, [commit('a', `source-${n}`)]))
    return log
  }
  const logs = [filled(200), filled(10), filled(150)] as const
  const [busy, quiet] = logs
  const [most, few] = [busy.characters, quiet.characters]
  makeRoom(logs, most)
  expect(logs.reduce((sum, { characters }) => sum + characters, 0)).toBeLessThanOrEqual(most)
  expect(busy.begins.revision).toBeGreaterThan(90)
  expect(quiet).toMatchObject({ characters: few, begins: { revision: 1 } })
  expect((busy.at(201) as CommitsTopic).rows[0]?.source).toBe('source-201')
  makeRoom(logs, 0)
  expect(logs.map(({ characters }) => characters)).toEqual([0, 0, 0])
  expect((quiet.at(11) as CommitsTopic).rows[0]?.source).toBe('source-11')
})
