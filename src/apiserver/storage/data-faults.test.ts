// Damage to a server's files by disks, crashes and people: noticed at the next start, with an error number and a remedy.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backupData } from './backup.ts'
import { checkData } from './check-data.ts'
import { DATA_FORMAT, PAGE_BYTES, upgradeFormat } from './data-format.ts'
import type { Change } from './port.ts'
import { REVISION_STEP, restoreData } from './restore.ts'
import { sqliteStorage } from './sqlite.ts'

let root = ''
let folder = ''
let file = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-data-'))
  folder = join(root, 'data')
  file = join(folder, 'objects.db')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** A clock that says nothing. */
const NEVER = { now: 0 }

const bytesOf = (name: string, revision: number) =>
  Buffer.from(JSON.stringify({ metadata: { name, resourceVersion: String(revision) }, fill: 'x'.repeat(400) }))
const change = (name: string, revision: number): Change => ({
  resource: '/configmaps',
  namespace: 'default',
  name,
  revision,
  bytes: bytesOf(name, revision),
})
const many = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => change(`n${from + i}`, from + i))

/** The files as a kill leaves them: the log is not folded in, nothing was closed. */
async function killedAfter(batches: readonly (readonly Change[])[]): Promise<void> {
  const elsewhere = join(root, 'running', 'objects.db')
  const storage = sqliteStorage(elsewhere)
  for (const batch of batches) await storage.commit(batch)
  // the mark is written right after the answer, not before
  await expect.poll(() => readFileSync(`${elsewhere}.mark`, 'latin1')).toContain(String(batches.flat().length))
  cpSync(join(root, 'running'), folder, { recursive: true })
  await storage.close()
}

async function closedAfter(changes: readonly Change[]): Promise<void> {
  const storage = sqliteStorage(file)
  await storage.commit(changes)
  await storage.close()
}

async function served(): Promise<{ readonly revision: number; readonly names: number }> {
  const storage = sqliteStorage(file)
  try {
    const { revision, objects } = storage.load()
    return { revision, names: [...objects].length }
  } finally {
    await storage.close()
  }
}

/** Wherever the text is found: pages keep old copies in their free space. */
function flipByte(path: string, text: string): void {
  const bytes = readFileSync(path)
  expect(bytes.includes(text)).toBe(true)
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at)) bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(path, bytes)
}

describe('F27 files that were damaged are seen at the start', () => {
  test('F27 what a kill leaves is whole', async () => {
    await killedAfter([many(1, 50), many(51, 60)])
    expect(await served()).toEqual({ revision: 60, names: 60 })
  })

  test('F27 a log that was deleted', async () => {
    await killedAfter([many(1, 50), many(51, 60)])
    rmSync(`${file}-wal`)
    await expect(served()).rejects.toThrow(/^KN6108: .*60 was acknowledged.*objects\.db-wal deleted.*backup/)
  })

  test('F27 a log that was cut, at whatever length', async () => {
    await killedAfter([many(1, 50), many(51, 60), many(61, 70)])
    const whole = readFileSync(`${file}-wal`)
    for (const part of [0, 0.2, 0.5, 0.8, 0.999]) {
      writeFileSync(`${file}-wal`, whole.subarray(0, Math.floor(whole.length * part)))
      rmSync(`${file}-shm`, { force: true })
      await expect(served()).rejects.toThrow(/^KN6108: .*70 was acknowledged/)
    }
  })

  test('F27 a log with a byte that changed', async () => {
    await killedAfter([many(1, 50)])
    flipByte(`${file}-wal`, '"name":"n7"')
    await expect(served()).rejects.toThrow(/^KN6108/)
  })

  test('F27 the file of objects itself is gone', async () => {
    await closedAfter(many(1, 10))
    rmSync(file)
    await expect(served()).rejects.toThrow(/^KN6108: .*it ends at revision 0, but 10 was acknowledged/)
    // and again: the first check does not hide it
    await expect(served()).rejects.toThrow(/^KN6108/)
  })

  test('F27 an older copy of the file was put back alone', async () => {
    await closedAfter(many(1, 10))
    cpSync(file, join(root, 'old.db'))
    await closedAfter(many(11, 20))
    cpSync(join(root, 'old.db'), file)
    await expect(served()).rejects.toThrow(/^KN6108: .*it ends at revision 10, but 20 was acknowledged/)
  })

  test('F27 one bit of one object', async () => {
    await closedAfter(many(1, 10))
    flipByte(file, '"name":"n7"')
    await expect(served()).rejects.toThrow(/^KN6102: .*the check sum of \/configmaps default n7 is wrong.*check/)
  })

  test('a folder that cannot be read is not kept locked', async () => {
    await closedAfter(many(1, 10))
    flipByte(file, '"name":"n7"')
    for (let i = 0; i < 2; i++) expect(() => [...sqliteStorage(file).load().objects]).toThrow(/^KN6102: /)
  })

  test('F27 a page that was overwritten', async () => {
    await closedAfter(many(1, 200))
    const bytes = readFileSync(file)
    bytes.fill(0xee, PAGE_BYTES * 5, PAGE_BYTES * 6)
    writeFileSync(file, bytes)
    await expect(served()).rejects.toThrow(/^KN6102: /)
  })

  test('F27 a file that was cut in the middle of a page', async () => {
    await closedAfter(many(1, 200))
    truncateSync(file, statSync(file).size - 2_000)
    await expect(served()).rejects.toThrow(/^KN6102: /)
  })

  test('F27 a mark that is garbage', async () => {
    await closedAfter(many(1, 10))
    writeFileSync(`${file}.mark`, 'not a revision at all!!!!!\n')
    await expect(served()).rejects.toThrow(/^KN6102: .*objects\.db\.mark/)
  })

  test.each(['', '\0'.repeat(26)])('F27 a mark that a loss of power left empty (%j) is none', async (text) => {
    await closedAfter(many(1, 10))
    writeFileSync(`${file}.mark`, text)
    expect(await served()).toEqual({ revision: 10, names: 10 })
  })

  test('F27 another program holds the file locked', async () => {
    await closedAfter(many(1, 10))
    const other = new DatabaseSync(file)
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; UPDATE clock SET revision = 11')
    await expect(served()).rejects.toThrow(/^KN6107: .*another program has locked it/)
    other.exec('ROLLBACK')
    other.close()
    expect((await served()).names).toBe(10)
  })

  test('F27 a lock in the middle of serving refuses that write and no other', async () => {
    const storage = sqliteStorage(file)
    await storage.commit(many(1, 10))
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    await expect(storage.commit([change('refused', 11)])).rejects.toMatchObject({ code: 'KN6107', retry: 'later' })
    other.exec('ROLLBACK')
    other.close()
    await storage.commit([change('taken', 12)])
    await storage.close()
    expect(await served()).toEqual({ revision: 12, names: 11 })
  })
})

describe('F23 data of the first format', () => {
  function plantFirst(rows: number): void {
    mkdirSync(folder)
    const db = new DatabaseSync(file)
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA user_version = 1;
      CREATE TABLE object (
        resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, bytes BLOB NOT NULL,
        PRIMARY KEY (resource, namespace, name)
      ) WITHOUT ROWID;
      CREATE TABLE clock (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL);
      INSERT INTO clock VALUES (1, ${rows});`)
    const put = db.prepare('INSERT INTO object VALUES (?, ?, ?, ?, ?)')
    for (const { resource, namespace, name, revision, bytes } of many(1, rows))
      put.run(resource, namespace, name, revision, bytes ?? null)
    db.close()
  }

  test('F23 is upgraded at the start, and holds its objects to their check sums from then on', async () => {
    plantFirst(20)
    expect(await served()).toEqual({ revision: 20, names: 20 })
    expect(checkData(file)).toMatchObject({ format: DATA_FORMAT, revision: 20, objects: 20, problems: [] })
    flipByte(file, '"name":"n7"')
    await expect(served()).rejects.toThrow(/^KN6102/)
  })

  test('F23 an upgrade that ends in the middle leaves the first format, which is upgraded the next time', async () => {
    plantFirst(20)
    const db = new DatabaseSync(file)
    let left = 10
    expect(() =>
      upgradeFormat(db, 1, () => {
        if (left-- === 0) throw new Error('crash')
      }),
    ).toThrow('crash')
    db.close()
    expect(checkData(file)).toMatchObject({ format: 1, objects: 20, problems: [] })
    expect(await served()).toEqual({ revision: 20, names: 20 })
  })

  test('F23 an upgrade from the second format that ends in the middle leaves the second', async () => {
    plantFirst(20)
    const db = new DatabaseSync(file)
    let steps = 0
    // each row is reported in the first step, the move of all in the second
    expect(() =>
      upgradeFormat(db, 1, () => {
        if (++steps === 21) throw new Error('crash')
      }),
    ).toThrow('crash')
    db.close()
    expect(checkData(file)).toMatchObject({ format: 2, objects: 20, problems: [] })
    expect(await served()).toEqual({ revision: 20, names: 20 })
    expect(checkData(file)).toMatchObject({ format: DATA_FORMAT, objects: 20, problems: [] })
  })

  test('can be backed up and looked at without being upgraded', () => {
    plantFirst(20)
    expect(backupData(folder, join(root, 'b'))).toMatchObject({ format: DATA_FORMAT, objects: 20, revision: 20 })
    expect(checkData(file).format).toBe(1)
  })
})

describe('backup, restore, check', () => {
  const withKeys = () => {
    mkdirSync(join(folder, 'pki'), { recursive: true })
    writeFileSync(join(folder, 'pki', 'ca.key'), 'key of the authority', { mode: 0o600 })
  }

  test('a backup of a server at work is all of one moment, and comes back with its keys', async () => {
    withKeys()
    const storage = sqliteStorage(file)
    await storage.commit(many(1, 30))
    const stop = new AbortController()
    const writing = (async () => {
      for (let r = 31; !stop.signal.aborted; r += 2) await storage.commit([change('left', r), change('right', r + 1)])
    })()
    await expect.poll(() => checkData(file).revision).toBeGreaterThan(40)
    const report = backupData(folder, join(root, 'backup.db'))
    stop.abort()
    await writing
    await storage.close()
    expect(report.problems).toEqual([])
    expect(statSync(join(root, 'backup.db')).mode & 0o077).toBe(0)

    const restored = restoreData(join(root, 'backup.db'), join(root, 'again'), NEVER)
    expect(restored).toMatchObject({ objects: report.objects, revision: report.revision + REVISION_STEP })
    expect(readFileSync(join(root, 'again/pki/ca.key'), 'utf8')).toBe('key of the authority')
    expect(statSync(join(root, 'again/pki/ca.key')).mode & 0o077).toBe(0)
    const second = sqliteStorage(join(root, 'again/objects.db'))
    const { revision, objects } = second.load()
    const found = new Map(Array.from(objects, (o) => [o.name, o.revision]))
    await second.close()
    expect(revision).toBe(report.revision + REVISION_STEP)
    expect(found.size).toBe(report.objects)
    expect(found.get('right')).toBe((found.get('left') ?? 0) + 1)
  })

  test('check and backup leave the files of a killed server as they are', async () => {
    await killedAfter([many(1, 50)])
    const before = [readFileSync(file), readFileSync(`${file}-wal`)]
    expect(checkData(file)).toMatchObject({ revision: 50, objects: 50, problems: [] })
    backupData(folder, join(root, 'b'))
    expect([readFileSync(file), readFileSync(`${file}-wal`)]).toEqual(before)
  })

  test('what is left after a loss can be backed up and restored, and its revisions do not come again', async () => {
    await killedAfter([many(1, 50), many(51, 60)])
    truncateSync(`${file}-wal`, Math.floor(statSync(`${file}-wal`).size * 0.9))
    rmSync(`${file}-shm`, { force: true })
    expect(checkData(file).problems).toEqual([expect.stringContaining('60 was acknowledged')])
    const { objects } = backupData(folder, join(root, 'b'))
    expect(objects).toBe(50)
    rmSync(folder, { recursive: true })
    expect(restoreData(join(root, 'b'), folder, NEVER).revision).toBeGreaterThan(60)
    expect((await served()).names).toBe(50)
  })

  test('a backup that is restored twice begins above every revision of its first restore, and of a server whose clock goes back', async () => {
    await closedAfter(many(1, 10))
    backupData(folder, join(root, 'b'))
    const first = restoreData(join(root, 'b'), join(root, 'first'), { now: 1_800_000_000_000 })
    const second = restoreData(join(root, 'b'), join(root, 'second'), { now: 1_800_000_001_000 })
    // A server writes some thousands in a second.
    expect(second.revision - first.revision).toBeGreaterThan(100_000)
    const third = restoreData(join(root, 'b'), join(root, 'third'), { now: 0, above: second.revision + 500 })
    expect(third.revision).toBe(second.revision + 500 + REVISION_STEP)
  })

  test('check names what is damaged', async () => {
    await closedAfter(many(1, 10))
    flipByte(file, '"name":"n7"')
    const { problems, objects } = checkData(file)
    expect({ problems, objects }).toEqual({
      problems: [expect.stringMatching(/^the check sum of \/configmaps default n7 is wrong$/)],
      objects: 9,
    })
    expect(() => backupData(folder, join(root, 'b'))).toThrow(/^KN6113: .*check sum/)
    expect(existsSync(join(root, 'b'))).toBe(false)
  })

  test.each([
    ['a folder without a server', 'KN6111', () => backupData(join(root, 'none'), join(root, 'b'))],
    ['an existing file', 'KN6112', () => backupData(folder, file)],
    ['a folder that is not empty', 'KN6112', () => restoreData(join(root, 'good'), folder, NEVER)],
    ['a file that is not there', 'KN6115', () => restoreData(join(root, 'none'), join(root, 'new'), NEVER)],
    ['a file of objects instead of a backup', 'KN6115', () => restoreData(file, join(root, 'new'), NEVER)],
    [
      'a backup with a changed key',
      'KN6115',
      () => {
        flipByte(join(root, 'good'), 'key of the authority')
        return restoreData(join(root, 'good'), join(root, 'new'), NEVER)
      },
    ],
    [
      'a backup that was cut',
      'KN6115',
      () => {
        truncateSync(join(root, 'good'), 4_096 * 2)
        return restoreData(join(root, 'good'), join(root, 'new'), NEVER)
      },
    ],
  ])('%s is refused with %s, and nothing is written', async (_, code, act) => {
    withKeys()
    await closedAfter(many(1, 10))
    backupData(folder, join(root, 'good'))
    expect(act).toThrow(code)
    expect(readdirSync(root).toSorted()).toEqual(['data', 'good'])
    expect((await served()).names).toBe(10)
  })
})

describe('folding of the log', () => {
  test('happens beside the writes, and the log starts over under steady ones', async () => {
    const storage = sqliteStorage(file)
    const fill = 'x'.repeat(3_000)
    let revision = 0
    for (let round = 0; round < 240; round++)
      await storage.commit(
        Array.from({ length: 50 }, (_, i) => ({
          ...change(`n${i}`, ++revision),
          bytes: Buffer.from(JSON.stringify({ fill, revision })),
        })),
      )
    const log = statSync(`${file}-wal`).size
    await storage.close()
    // hot objects are kept once, however often they were written: 96 MiB of pages with versions of 50 objects
    expect({
      log: log < 40 * 1024 * 1024,
      file: statSync(file).size < 1024 * 1024,
      folded: storage.longestFoldMs > 0,
    }).toEqual({
      log: true,
      file: true,
      folded: true,
    })
  })
})
