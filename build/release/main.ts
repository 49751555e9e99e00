// `npm run release -- --dry-run`: makes everything that a version consists of in dist/release. Without --dry-run it refuses what is not fit to be released, and ends
// with the commands that publish; it publishes nothing.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readText } from '#artifacts/authoring/statement-file.ts'
import { processIo } from '#cli/process-io.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { VERSION } from '#lib/program-version.ts'
import { releaseRoot } from '#lib/release-root.ts'
import type { Io } from '#lib/terminal/io.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { makeOutline } from '../make-outline.ts'
import { readCheckout } from './checkout.ts'
import { notesOf } from './notes.ts'
import { PART_NAMES, type PartName } from './parts.ts'
import type { ReleasedFile } from './provenance.ts'
import { publishing, whyNotReleased } from './readiness.ts'
import { makeRelease } from './release.ts'

const OPTIONS = {
  /** Makes everything, also of a commit that may not be released. */
  'dry-run': { type: 'boolean', default: false },
  key: { type: 'string' },
  out: { type: 'string', default: 'dist/release' },
  /** Some of the parts, joined by commas. */
  only: { type: 'string', default: PART_NAMES.join() },
  /** URI of who builds, for the provenance. */
  builder: { type: 'string', default: 'https://kubenode.io/builder/by-hand' },
  mirror: { type: 'string' },
  cache: { type: 'string' },
} as const
const KB = 1_000
const MB = KB * KB

async function main(args: readonly string[], io: Io): Promise<number> {
  const flags = parseArgs({ args: [...args], options: OPTIONS }).values
  const root = releaseRoot()
  const parts = flags.only.split(',').map((name) => partNamed(name.trim()))
  const checkout = readCheckout(root)
  const notes = notesOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), VERSION)
  if (notes === undefined) throw new Error(`CHANGELOG.md has no section of ${VERSION}; write what is new`)
  const isDry = flags['dry-run']
  const why = whyNotReleased({
    version: VERSION,
    hasKey: flags.key !== undefined,
    ...checkout,
    date: notes.date,
    omitted: PART_NAMES.filter((name) => !parts.includes(name)),
  })
  if (!isDry && why.length > 0) {
    io.err(`cannot release ${VERSION}; --dry-run makes the files anyway\n${why.map((line) => `- ${line}\n`).join('')}`)
    return 1
  }
  const key = flags.key === undefined ? undefined : readText(resolve(io.cwd, flags.key), 'signing key')
  // Of this commit: git does not keep it, and the one at hand may be of another.
  await makeOutline()
  const folder = resolve(io.cwd, flags.out)
  const files = await makeRelease({
    root,
    folder,
    cache: flags.cache ?? join(io.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'kubenode/image'),
    ...defined({ mirror: flags.mirror, key }),
    parts,
    checkout,
    notes,
    builder: flags.builder,
    io,
  })
  io.out(`${tableOf(files)}\n`)
  const shown = relative(io.cwd, folder)
  const next = isDry ? ['this was a dry run:', ...why] : ['next, to publish it:', ...publishing(VERSION, shown)]
  io.err(`\n${next.join('\n- ')}\n`)
  return 0
}

function partNamed(name: string): PartName {
  const part = PART_NAMES.find((known) => known === name)
  if (part === undefined) throw new Error(`a release has no part "${name}"; name some of ${PART_NAMES.join(', ')}`)
  return part
}

const sizeOf = (bytes: number): string => (bytes < MB ? `${Math.ceil(bytes / KB)} kB` : `${(bytes / MB).toFixed(1)} MB`)

const tableOf = (files: readonly ReleasedFile[]): string =>
  alignedRows([
    ['FILE', 'SIZE', 'SHA-256'],
    ...files.map(({ name, bytes, sha256 }) => [name, sizeOf(bytes), sha256]),
    [`${files.length} files`, sizeOf(files.reduce((sum, { bytes }) => sum + bytes, 0)), ''],
  ])

const stop = new AbortController()
const io = processIo(stop.signal)
process.exitCode = await main(process.argv.slice(2), io).catch((e: unknown) => {
  io.err(`cannot make the release: ${messageOf(e)}\n`)
  return 1
})
