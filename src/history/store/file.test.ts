// Files in a history's folder that no recorder made: readers refuse them, and a recorder moves them aside.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { historyFile, openForReading, openForRecording } from './file.ts'

const ENDLESS = `CREATE VIEW subject AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)
  SELECT n AS id, 'Node' AS kind, '' AS namespace, 'n-1' AS name, 'u' AS uid FROM r`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-history-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
})

test.each([
  ['a view without an end in place of a table', `DROP TABLE subject; ${ENDLESS}`, 'it has no table subject'],
  ['no rows', 'DROP TABLE row', 'it has no table row'],
  ['a trigger', 'CREATE TRIGGER t AFTER INSERT ON row BEGIN DELETE FROM deed; END', 'it has views or triggers'],
])('a file with %s is not read, and moved aside by the next recorder', (_, change, why) => {
  openForRecording(folder, 'c', 0).db.close()
  const db = new DatabaseSync(historyFile(folder, 'c'))
  db.exec(change)
  db.close()
  expect(() => openForReading(folder, 'c')).toThrow(why)
  const next = openForRecording(folder, 'c', 0)
  expect(next.setAside?.why).toContain(why)
  next.db.close()
  openForReading(folder, 'c').close()
})

test('a pipe in place of a file is refused, not waited for', () => {
  execFileSync('mkfifo', [historyFile(folder, 'c')])
  expect(() => openForReading(folder, 'c')).toThrow('it is no plain file')
})
