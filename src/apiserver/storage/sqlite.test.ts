import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Change } from './port.ts'
import { sqliteStorage } from './sqlite.ts'

let dir = ''
let file = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-sqlite-'))
  file = join(dir, 'data', 'objects.db')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const change = (name: string, revision: number, text: string | undefined): Change => ({
  resource: '/configmaps',
  namespace: 'default',
  name,
  revision,
  bytes: text === undefined ? undefined : Buffer.from(text),
})

async function written(changes: readonly Change[]): Promise<void> {
  const storage = sqliteStorage(file)
  await storage.commit(changes)
  await storage.close()
}

function read() {
  const storage = sqliteStorage(file)
  const { revision, objects } = storage.load()
  const found = Array.from(objects, (o) => [o.name, o.revision, o.bytes.toString()])
  return { revision, found, close: () => storage.close() }
}

function plantDatabase(sql: string): void {
  const db = new DatabaseSync(join(dir, 'foreign.db'))
  db.exec(sql)
  db.close()
  file = join(dir, 'foreign.db')
}

describe('what was committed is there again', () => {
  test('puts, overwrites and deletions, and the revision of the last of them', async () => {
    await written([
      change('a', 1, '{"n":1}'),
      change('b', 2, '{}'),
      change('a', 3, '{"n":2}'),
      change('b', 4, undefined),
    ])
    const { revision, found, close } = read()
    await close()
    expect({ revision, found }).toEqual({ revision: 4, found: [['a', 3, '{"n":2}']] })
  })

  test('others cannot read the file, for Secrets are in it', async () => {
    await written([change('a', 1, '{}')])
    expect([statSync(file).mode & 0o077, statSync(join(dir, 'data')).mode & 0o077]).toEqual([0, 0])
  })
})

describe('a folder that cannot be used is refused with a number', () => {
  test('while another server runs on it, and free again when that one has ended', async () => {
    const first = sqliteStorage(file)
    expect(() => sqliteStorage(file)).toThrow(
      `KN6103: cannot use the data folder ${dirname(file)}: another server is running on it`,
    )
    await first.close()
    await sqliteStorage(file).close()
  })

  test.each([
    [
      'no database at all',
      /^KN6102: cannot read the data in .* choose another folder with --data/,
      () => writeFileSync((file = join(dir, 'x.db')), 'these are not the objects'.repeat(100)),
    ],
    [
      'the database of another program',
      /^KN1203: .* of another program, .* choose another folder with --data/,
      () => plantDatabase('CREATE TABLE songs (title TEXT)'),
    ],
    [
      'the format of a later server',
      /^KN6110: .* its format is 99, .* start a newer kubenode/,
      () => plantDatabase('CREATE TABLE object (a); PRAGMA user_version = 99'),
    ],
  ])('%s', (_, message, plant) => {
    plant()
    expect(() => sqliteStorage(file)).toThrow(message)
  })

  test('a truncated database, at the latest when its objects are read', async () => {
    await written(Array.from({ length: 500 }, (_, i) => change(`n${i}`, i + 1, `{"fill":"${'x'.repeat(500)}"}`)))
    truncateSync(file, Math.floor(statSync(file).size / 8192) * 4096)
    expect(() => read()).toThrow(/^KN6102: .*malformed/)
  })

  test('and the files of another program are left as they were', () => {
    plantDatabase('CREATE TABLE songs (title TEXT)')
    expect(() => sqliteStorage(file)).toThrow('KN1203')
    const db = new DatabaseSync(file)
    expect(db.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'songs' }])
    db.close()
  })
})
