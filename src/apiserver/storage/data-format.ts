// The layout of the file of objects: its tables, the check sum of each row, and the steps from older layouts to this one.
import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'

/** Raised when the layout changes; an older server refuses a newer file, a newer one takes the steps below. */
export const DATA_FORMAT = 3

/** Of a new file: most objects fit on one page. */
export const PAGE_BYTES = 8_192

/** An object is on one page as far as it fits, its key in an index: a change writes one page. In the tree of keys it was split, and a change wrote three. */
const OBJECT_COLUMNS = `(
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, bytes BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (resource, namespace, name)
  )`

export const TABLES = `
  CREATE TABLE object ${OBJECT_COLUMNS};
  CREATE TABLE clock (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL);
  INSERT INTO clock VALUES (1, 0);`

/** The key is part of it: bytes under a wrong name are as bad as wrong bytes. */
export function checksumOf(key: readonly [string, string, string], revision: number, bytes: Uint8Array): number {
  return crc32(bytes, crc32(`${key.join('\n')}\n${revision}`))
}

/** Each runs in one transaction together with the new number, so that a crash leaves the old layout or the new one. */
const STEPS: Readonly<Record<number, (db: DatabaseSync, onRow: () => void) => void>> = {
  1: (db, onRow) => {
    db.function(
      'object_checksum',
      { deterministic: true, useBigIntArguments: false },
      (resource, namespace, name, revision, bytes) => {
        onRow()
        return checksumOf([String(resource), String(namespace), String(name)], Number(revision), bytes as Uint8Array)
      },
    )
    db.exec(`ALTER TABLE object ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
      UPDATE object SET checksum = object_checksum(resource, namespace, name, revision, bytes);`)
  },
  2: (db, onRow) => {
    db.exec(`CREATE TABLE object_moved ${OBJECT_COLUMNS};
      INSERT INTO object_moved SELECT resource, namespace, name, revision, bytes, checksum FROM object;`)
    onRow()
    db.exec('DROP TABLE object; ALTER TABLE object_moved RENAME TO object;')
  },
}

/** Brings a file of an older layout up to this one. `onRow` is for tests that stop in the middle. */
export function upgradeFormat(db: DatabaseSync, from: number, onRow: () => void = () => undefined): void {
  for (let format = from; format < DATA_FORMAT; format++) {
    db.exec('BEGIN IMMEDIATE')
    try {
      STEPS[format]?.(db, onRow)
      db.exec(`PRAGMA user_version = ${format + 1}; COMMIT`)
    } catch (e) {
      if (db.isTransaction) db.exec('ROLLBACK')
      throw e
    }
  }
}
