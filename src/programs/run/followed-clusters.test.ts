// A process follows a file of clusters: a new entry starts, a missing one ends, and a file that cannot be read changes nothing.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { until } from '#test/support/tools/processes.ts'
import { PassThrough } from 'node:stream'
import { entriesIn, runFollowed } from './followed-clusters.ts'
import { fileSource, lineSource } from './follow-source.ts'
import type { RunOptions } from './run-options.ts'

const WITHIN_MS = 60_000

let dir = ''
let file = ''
const running = new Set<string>()
const begun: string[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-followed-'))
  file = join(dir, 'clusters.json')
  running.clear()
  begun.length = 0
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const write = (...clusters: readonly string[]): void =>
  writeFileSync(file, JSON.stringify(clusters.map((name) => ['--cluster', name])))

function follow(signal: AbortSignal, fails?: string) {
  return runFollowed({
    source: fileSource(file),
    log: silentLogger,
    signal,
    read: ([, cluster = '']) => ({ cluster }) as RunOptions,
    run: async ({ cluster = '' }, until) => {
      if (cluster === fails) throw new Error(`${cluster} failed`)
      begun.push(cluster)
      running.add(cluster)
      await new Promise<void>((done) => until.addEventListener('abort', () => done()))
      running.delete(cluster)
      return [{ reason: 'Stopped', left: [] }]
    },
  })
}
const seen = (...names: readonly string[]) =>
  until(`${names.join()} run`, () => [...running].toSorted().join() === names.join() || undefined, WITHIN_MS)

test('clusters come and go with the file, the others run on, and all end with the process', async () => {
  const stop = new AbortController()
  write('a')
  const ended = follow(stop.signal)
  await seen('a')
  write('a', 'b')
  await seen('a', 'b')
  write('b')
  await seen('b')
  writeFileSync(file, '[')
  write('a', 'b')
  await seen('a', 'b')
  expect(begun).toEqual(['a', 'b', 'a'])
  stop.abort()
  expect(await ended).toEqual([])
  expect([...running]).toEqual([])
})

test('one whose kubeconfig was replaced starts again with it, and the others run on', async () => {
  const stop = new AbortController()
  const kubeconfig = join(dir, 'a.kubeconfig')
  writeFileSync(kubeconfig, 'first')
  writeFileSync(
    file,
    JSON.stringify([
      ['--cluster', 'a', '--kubeconfig', `defender=${kubeconfig}`],
      ['--cluster', 'b'],
    ]),
  )
  const ended = follow(stop.signal)
  await seen('a', 'b')
  writeWholeFile(kubeconfig, 'second')
  await until('a starts again', () => begun.length > 2 || undefined, WITHIN_MS)
  await seen('a', 'b')
  expect(begun.toSorted()).toEqual(['a', 'a', 'b'])
  rmSync(kubeconfig)
  write('b')
  await seen('b')
  stop.abort()
  expect(await ended).toEqual([])
})

test('one that fails ends them all, so that the supervisor starts the process again', async () => {
  write('a', 'bad')
  await expect(follow(new AbortController().signal, 'bad')).rejects.toThrow('bad failed')
  expect([...running]).toEqual([])
})

test('one that lost its leadership starts again, and the others run on', async () => {
  const stop = new AbortController()
  write('a', 'b')
  const ended = runFollowed({
    source: fileSource(file),
    log: silentLogger,
    signal: stop.signal,
    read: ([, cluster = '']) => ({ cluster }) as RunOptions,
    run: async ({ cluster = '' }, over) => {
      begun.push(cluster)
      if (cluster === 'b' && begun.filter((name) => name === 'b').length === 1) {
        await until('a runs', () => running.has('a') || undefined, WITHIN_MS)
        return [
          { reason: 'LeadershipLost', left: [] },
          { reason: 'Stopped', left: [] },
        ]
      }
      running.add(cluster)
      await new Promise<void>((done) => over.addEventListener('abort', () => done()))
      return [{ reason: 'Stopped', left: [] }]
    },
  })
  await seen('a', 'b')
  expect(begun).toEqual(['a', 'b', 'b'])
  stop.abort()
  expect(await ended).toEqual([])
})

test.each([
  ['work of it runs on', { reason: 'LeadershipLost', left: ['sync'] }],
  ['it lost a right', { reason: 'RightLost', left: [] }],
] as const)('when %s, the process ends', async (_, how) => {
  write('a')
  const read = () => ({}) as RunOptions
  const { signal } = new AbortController()
  expect(
    await runFollowed({ source: fileSource(file), log: silentLogger, signal, read, run: async () => [how] }),
  ).toEqual([how])
})

test('lines of standard input replace each other, and a cluster that fails there ends no other', async () => {
  const [input, stop] = [new PassThrough(), new AbortController()]
  const ended = runFollowed({
    source: lineSource(input, () => stop.abort()),
    log: silentLogger,
    signal: stop.signal,
    read: ([, cluster = '']) => ({ cluster }) as RunOptions,
    run: async ({ cluster = '' }, over) => {
      begun.push(cluster)
      if (cluster === 'bad') throw new Error('bad failed')
      running.add(cluster)
      await new Promise<void>((done) => over.addEventListener('abort', () => done()))
      running.delete(cluster)
      return [{ reason: 'Stopped', left: [] }]
    },
  })
  input.write('[["--cluster","a"],["--cluster","bad"]]\n[["--clu')
  await until('bad was tried', () => begun.includes('bad') || undefined, WITHIN_MS)
  await seen('a')
  input.write('ster","b"],["--cluster","a"]]\n')
  await seen('a', 'b')
  expect(begun.filter((name) => name === 'a')).toEqual(['a'])
  input.end()
  expect(await ended).toEqual([])
  expect([...running]).toEqual([])
})

test('a file that cannot be read at the start is refused', async () => {
  await expect(follow(new AbortController().signal)).rejects.toThrow(/ENOENT/)
})

test.each([
  ['no JSON', '{', /^KN1002: cannot read the clusters to run from clusters.json: .*JSON/],
  ['no list', '{}', /it is no list of lists of words/],
  ['another list', '["--roles"]', /it is no list of lists of words/],
  ['an empty entry', '[[]]', /it is no list of lists of words/],
  ['too many', JSON.stringify(Array.from({ length: 101 }, (_, n) => [String(n)])), /it has 101 clusters, at most 100/],
])('a file with %s is refused', (_, text, message) => expect(() => entriesIn(text, 'clusters.json')).toThrow(message))
