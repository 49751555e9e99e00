// Makes everything that a version consists of in one folder: its parts, and what lists, describes and signs them.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Signer } from '#api/trust/keys.ts'
import { LOCK_FILE, readDebianLock } from '#install/image/debian-lock.ts'
import { defined } from '#lib/defined.ts'
import { VERSION } from '#lib/program-version.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import type { Io } from '#lib/terminal/io.ts'
import { sha256OfFile } from '#lib/whole-file.ts'
import type { Checkout } from './checkout.ts'
import { debianComponents, npmComponents } from './components.ts'
import type { Notes } from './notes.ts'
import { PARTS, type PartName } from './parts.ts'
import { provenanceOf, type ReleasedFile } from './provenance.ts'
import { spdxOf } from './spdx.ts'

export interface ReleaseOptions {
  readonly root: string
  /** Replaced as a whole. */
  readonly folder: string
  readonly cache: string
  readonly mirror?: string
  readonly parts: readonly PartName[]
  readonly checkout: Checkout
  readonly notes: Notes
  readonly builder: string
  /** PEM of an ed25519 key; nothing is signed without. */
  readonly key?: string
  readonly io: Io
}

/** A scratch folder is its user's alone. */
const FOLDER_MODE = 0o755
/** As shells report an end by Ctrl-C. */
const INTERRUPTED = 130
const SUMS = 'SHA256SUMS'
const PROVENANCE = 'kubenode.provenance.json'

export async function makeRelease(options: ReleaseOptions): Promise<readonly ReleasedFile[]> {
  const { folder, key } = options
  const signer = key === undefined ? undefined : new Signer(key)
  if (existsSync(folder) && !existsSync(join(folder, SUMS)) && readdirSync(folder).length > 0)
    throw new Error(`${folder} is not the folder of a release: remove it, or name another one with --out`)
  mkdirSync(dirname(folder), { recursive: true })
  // Beside it: what was there before stays until all of the new one is there.
  const scratch = mkdtempSync(join(dirname(folder), '.release-'))
  const giveUp = () => {
    rmSync(scratch, { recursive: true, force: true })
    process.exit(INTERRUPTED)
  }
  process.once('SIGINT', giveUp)
  try {
    await fill(scratch, options)
    const sums = filesIn(scratch).map(({ name, sha256 }) => `${sha256}  ${name}\n`)
    writeFileSync(join(scratch, SUMS), sums.join(''))
    if (signer !== undefined) {
      const { value } = signer.sign(readFileSync(join(scratch, SUMS)))
      writeFileSync(join(scratch, `${SUMS}.sig`), Buffer.from(value, 'base64'))
    }
    chmodSync(scratch, FOLDER_MODE)
    rmSync(folder, { recursive: true, force: true })
    renameSync(scratch, folder)
    return filesIn(folder)
  } finally {
    process.off('SIGINT', giveUp)
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function fill(scratch: string, options: ReleaseOptions): Promise<void> {
  const { root, cache, mirror, parts, checkout, notes, builder, io } = options
  for (const [i, name] of parts.entries()) {
    const { what, make } = PARTS[name]
    const step = `${i + 1} of ${parts.length}: ${what}`
    const began = performance.now()
    await withProgress(io, step, make({ root, folder: scratch, cache, ...defined({ mirror }), io }))
    io.err(`${step}, ${Math.ceil((performance.now() - began) / 1_000)}s\n`)
  }
  const write = (name: string, value: string | object) =>
    writeFileSync(join(scratch, name), typeof value === 'string' ? value : `${JSON.stringify(value, undefined, 2)}\n`)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { readonly packages: object }
  const npm = npmComponents({ ...lock.packages })
  const components = [...npm, ...debianComponents(readDebianLock(root))]
  const { revision, time } = checkout
  write('release-notes.md', notes.text)
  write('kubenode.spdx.json', spdxOf({ version: VERSION, revision, time, components }))
  const locks = ['package-lock.json', LOCK_FILE].map((name) => fileAt(root, name))
  const files = filesIn(scratch)
  const node = process.version
  write(PROVENANCE, provenanceOf({ version: VERSION, revision, builder, parts, node, files, locks, components }))
}

const fileAt = (folder: string, name: string): ReleasedFile => {
  const path = join(folder, name)
  return { name, bytes: statSync(path).size, sha256: sha256OfFile(path) }
}

const filesIn = (folder: string): readonly ReleasedFile[] =>
  readdirSync(folder)
    .toSorted()
    .map((name) => fileAt(folder, name))
