// The embedded host's state on disk: a folder per control plane with a record of the desired state, its data and its snapshots. Every change is one rename, so
// a killed host finds the state before or after it.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Snapshot } from '../port.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { byCodeUnit } from '#lib/go-text.ts'
import { embeddedErrors } from './embedded-errors.ts'

export interface PlaneRecord {
  readonly id: string
  readonly owner: string
  readonly version: string
  /** Undefined until its first start. */
  readonly port?: number
  readonly isStopped: boolean
  /** The token of the last restore. */
  readonly restored?: string
}

export interface PlaneFolder {
  readonly root: string
  /** Data of the API server. */
  readonly data: string
  readonly snapshots: string
}

/** Each is as large as the control plane's data. */
const MOST_SNAPSHOTS = 10

const RECORD = 'plane.json'
const KEPT = '.kept'
/** Being removed; a killed host removes the rest at its next start. */
const GOING = '.going.'
const KEPT_MS = 7 * 86_400_000
/** `namespace.name`, as Kubernetes allows them: no path leads out of the folder. */
const ID = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

export class PlaneFolders {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  of(id: string): PlaneFolder {
    if (!ID.test(id) || id.includes('..'))
      throw new KubeNodeError(embeddedErrors.KN1090({ id: JSON.stringify(id.slice(0, 100)) }))
    const root = join(this.#root, id)
    return { root, data: join(root, 'data'), snapshots: join(root, 'snapshots') }
  }

  all(): readonly PlaneRecord[] {
    return namesIn(this.#root)
      .filter((name) => ID.test(name))
      .flatMap((name) => this.read(name) ?? [])
  }

  /** An invalid record is damage, not absence: a new control plane must not be created over existing data. */
  read(id: string): PlaneRecord | undefined {
    const file = join(this.of(id).root, RECORD)
    if (!existsSync(file)) return undefined
    const seen = parsed(readFileSync(file, 'utf8'))
    if (isRecord(seen) && seen.id === id) return seen
    throw new KubeNodeError(embeddedErrors.KN1091({ file }))
  }

  write(record: PlaneRecord): void {
    const { root, snapshots } = this.of(record.id)
    mkdirSync(snapshots, { recursive: true, mode: 0o700 })
    writeWholeFile(join(root, RECORD), `${JSON.stringify(record, null, 2)}\n`)
  }

  /** Oldest first. The description is written last: a snapshot without one is incomplete. */
  snapshotsOf(id: string): readonly Snapshot[] {
    const { snapshots } = this.of(id)
    return namesIn(snapshots)
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(join(snapshots, name), 'utf8')) as Snapshot)
      .toSorted((a, b) => byCodeUnit(a.takenAt, b.takenAt) || byCodeUnit(a.name, b.name))
  }

  /** `taken` is the newest, even if the clock was set back before it was taken. */
  keepNewest(id: string, taken: string): void {
    const others = this.snapshotsOf(id).filter(({ name }) => name !== taken)
    this.drop(
      id,
      others.slice(0, Math.max(0, others.length + 1 - MOST_SNAPSHOTS)).map(({ name }) => name),
    )
  }

  /** Deletes the description first: a snapshot without one is incomplete and does not count. */
  drop(id: string, names: readonly string[]): void {
    const { snapshots } = this.of(id)
    for (const { name } of this.snapshotsOf(id).filter((s) => names.includes(s.name)))
      for (const ending of ['json', 'db'])
        rmSync(join(snapshots, `${name}.${ending}`), { recursive: true, force: true })
  }

  remove(id: string, keep: string | undefined, now: number): void {
    const { root, snapshots } = this.of(id)
    const kept = keep === undefined ? undefined : join(snapshots, `${keep}.db`)
    if (kept !== undefined && existsSync(kept)) {
      mkdirSync(join(this.#root, KEPT), { recursive: true, mode: 0o700 })
      renameSync(kept, join(this.#root, KEPT, `${id}-${new Date(now).toISOString().replaceAll(':', '')}.db`))
    }
    const going = join(this.#root, `${GOING}${id}`)
    rmSync(going, { recursive: true, force: true })
    renameSync(root, going)
    rmSync(going, { recursive: true, force: true })
    this.tidy(now)
  }

  /** Removes what a killed host left half removed, and final snapshots older than a week. */
  tidy(now: number): void {
    for (const name of namesIn(this.#root).filter((n) => n.startsWith(GOING)))
      rmSync(join(this.#root, name), { recursive: true, force: true })
    const kept = join(this.#root, KEPT)
    for (const name of namesIn(kept))
      if (now - statSync(join(kept, name)).mtimeMs > KEPT_MS) rmSync(join(kept, name), { recursive: true, force: true })
  }
}

const namesIn = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : [])

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isRecord = (v: unknown): v is PlaneRecord =>
  isObject(v) &&
  typeof v['id'] === 'string' &&
  typeof v['owner'] === 'string' &&
  typeof v['version'] === 'string' &&
  typeof v['isStopped'] === 'boolean' &&
  (v['port'] === undefined || Number.isInteger(v['port'])) &&
  (v['restored'] === undefined || typeof v['restored'] === 'string')
