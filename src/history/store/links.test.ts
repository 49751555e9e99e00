// Tests that what is for a node is found by its name, also in a file of the layout before.
import { DatabaseSync } from 'node:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import { type DeedLine, chainProblem } from '../deeds/chain.ts'
import { imported } from '../lines/import.ts'
import { readLines } from '../lines/file.ts'
import { HistoryReader } from '../ask/reader.ts'
import { historyFile, openForRecording } from './file.ts'
import { LAYOUT, pragma } from './layout.ts'
import { namesIn, namesInDeed } from './links.ts'

test.each([
  ['spec', { node: { name: 'n-1', uid: 'x' }, machine: 'm-1', remedierRef: { name: 'r' } }, ['n-1', 'm-1', 'r']],
  ['spec', { target: { kind: 'Machine', name: 'm-1' }, effect: 'Freeze' }, ['m-1']],
  ['spec', { target: { kind: 'Machine', selector: {} } }, []],
  ['spec', { node: { name: 7 }, machine: '' }, []],
  ['spec/targets', [{ name: 'm-1' }, { name: 'm-1' }, {}, 'm-2'], ['m-1']],
  ['spec/targets', 'm-1', []],
  ['spec/machine', 'm-1', ['m-1']],
  ['status/phase', 'm-1', []],
])('%s %j names %j', (topic, value, names) => {
  expect(namesIn(topic, JSON.stringify(value))).toEqual(names)
})

test('a file of an older layout becomes the same as one that is written now', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-links-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = new URL('../../../rules/history/example.jsonl.gz', import.meta.url).pathname
  const [done] = await imported(readLines(file), { folder, file, now: Date.now() })
  const cluster = done?.cluster ?? ''
  const linked = () => {
    const reader = new HistoryReader(folder, cluster)
    try {
      return reader
        .subjects('Node')
        .map((s) => [
          s.name,
          reader.linkedTo('RemedyOperationJob', s.name, 100).map((j) => j.name),
          reader.linkedTo('OperationPermit', s.name, 100).map((p) => p.name),
          reader.deedsAbout([s.name]),
        ])
    } finally {
      reader.close()
    }
  }
  const now = linked()
  expect(now.some(([, jobs = []]) => jobs.length > 0)).toBe(true)
  const db = new DatabaseSync(historyFile(folder, cluster))
  db.exec(
    'DROP TABLE link; DROP TABLE deed_name; ALTER TABLE deed RENAME COLUMN observed TO heard; PRAGMA user_version = 1',
  )
  for (const { n, line } of db.prepare('SELECT n, line FROM deed').all()) {
    const { observed, reported, ...rest } = JSON.parse(String(line)) as DeedLine
    db.prepare('UPDATE deed SET line = ? WHERE n = ?').run(
      JSON.stringify({ ...rest, heard: observed, said: reported }),
      Number(n),
    )
  }
  db.close()
  const again = openForRecording(folder, cluster, Date.now()).db
  expect(pragma(again, 'user_version')).toBe(LAYOUT)
  again.close()
  expect(linked()).toEqual(now)
  const after = new HistoryReader(folder, cluster)
  const deeds = [...after.deeds()]
  after.close()
  expect([deeds.length > 0, chainProblem(deeds)]).toEqual([true, undefined])
})

test('a line of who did what is about its object and those that its text names', () => {
  const names = (object: string, what?: string) => namesInDeed({ object, ...defined({ what }) })
  expect(names('operationalhold/h', 'Freeze machine/n-1 until 2026-12-01T00:00:00Z')).toEqual(['h', 'n-1'])
  expect(names('fleetsource/kubenode-system/fleet')).toEqual(['fleet'])
  expect(names('node/n-1', 'cordon, drain: Succeeded')).toEqual(['n-1'])
})
