// The files of a new fleet repository: the release's template with this fleet's names and keys.
import { mkdirSync, readFileSync, rmSync, writeFileSync, chmodSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { anchorOf, judgeTrust, trustBytes, type SignedTrust } from '#api/trust/trust-document.ts'
import type { Signer } from '#api/trust/keys.ts'
import { signStatement } from '#api/trust/statement.ts'
import { entriesBelow } from '#lib/entries-below.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { packFolder } from '#artifacts/authoring/pack.ts'
import { LIBRARY_FILES } from './library-rules.ts'
import { readUnpackedStatement, writeJson } from '#artifacts/authoring/statement-file.ts'
import { lockOf } from '../package/manifest.ts'
import type { PackedRelease } from '../package/pack.ts'

export interface NewFleet {
  /** The repository's name, in npm's format. */
  readonly name: string
  readonly cluster: string
  readonly keyFile: string
  readonly signer: Signer
  readonly now: number
  /** Packs kubenode itself into this folder. */
  readonly pack: (folder: string) => Promise<PackedRelease>
}

const TEMPLATE = 'template'
/** The CI jobs of pull requests: two that post a plan, and one that tries the commit on a cluster of its own. */
const PLAN_JOBS = 'deploy/ci/github'
const WORKFLOWS = '.github/workflows'
const VENDOR = 'vendor'
const COMPONENT = { name: 'hello', version: '1.0.0' } as const
const TRUST = 'fleet/components/trust/trust.json'
const PROGRAMS = /\.sh$/
const YEAR_MS = 365 * 24 * 3_600_000

/** The folder is empty and belongs to this run. */
export async function writeFiles(folder: string, fleet: NewFleet): Promise<void> {
  const from = join(releaseRoot(), TEMPLATE)
  const words = {
    name: fleet.name,
    cluster: fleet.cluster,
    keyFile: fleet.keyFile,
    keyId: fleet.signer.publicKey.keyId,
  }
  for (const path of LIBRARY_FILES) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), readFileSync(join(releaseRoot(), path)))
  }
  for (const { kind, path } of entriesBelow(from)) {
    if (kind !== 'File') continue
    // npm leaves out files that begin with a dot.
    const to = join(folder, path.replace(/^dot-/, '.'))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, filled(readFileSync(join(from, path), 'utf8'), words))
    if (PROGRAMS.test(path)) chmodSync(to, 0o755)
  }
  copyPlanJobs(folder)
  await signComponent(folder, fleet.signer)
  writeTrust(join(folder, TRUST), fleet)
  await addPackage(folder, fleet)
}

function copyPlanJobs(folder: string): void {
  const from = join(releaseRoot(), PLAN_JOBS)
  mkdirSync(join(folder, WORKFLOWS), { recursive: true })
  for (const { kind, path } of entriesBelow(from))
    if (kind === 'File') writeFileSync(join(folder, WORKFLOWS, path), readFileSync(join(from, path)))
}

const filled = (text: string, words: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => words[name] ?? whole)

async function signComponent(folder: string, signer: Signer): Promise<void> {
  const { name, version } = COMPONENT
  const statement = join(folder, `fleet/components/${name}-${version}.json`)
  const tar = join(folder, `${name}-${version}.tar`)
  const { sha256, size } = await packFolder(join(folder, `fleet/components/${name}/${version}`), tar)
  rmSync(tar)
  const entry = { os: 'linux', arch: 'any', url: `${name}-${version}.tar`, sha256, size }
  const unsigned = readUnpackedStatement(statement, entry)
  writeJson(statement, {
    ...unsigned,
    spec: signStatement(unsigned.spec as Parameters<typeof signStatement>[0], signer),
  })
}

function writeTrust(path: string, { signer, now }: NewFleet): void {
  const document = {
    sequence: 1,
    expires: new Date(now + YEAR_MS).toISOString(),
    threshold: 1,
    keys: [signer.publicKey],
    revoked: [],
    floors: {},
  }
  const signed: SignedTrust = { document, signatures: [signer.sign(trustBytes(document))] }
  const judged = judgeTrust({ ...anchorOf(document), sequence: 0 }, signed, now)
  if (judged.kind === 'Refused') throw new Error(`the new trust document is refused: ${judged.reason}`)
  mkdirSync(dirname(path), { recursive: true })
  writeJson(path, signed)
}

/** kubenode itself, and what `npm ci` needs to install it without a registry. */
async function addPackage(folder: string, { name, pack }: NewFleet): Promise<void> {
  const { file, integrity, entries } = await pack(join(folder, VENDOR))
  const path = file.slice(folder.length + 1)
  const dependencies = { kubenode: `file:${path}` }
  const scripts = { check: './check.sh' }
  writeJson(join(folder, 'package.json'), {
    name,
    private: true,
    type: 'module',
    scripts,
    devDependencies: dependencies,
  })
  writeJson(join(folder, 'package-lock.json'), lockOf({ name, dependencies }, entries, { path, integrity }))
}
