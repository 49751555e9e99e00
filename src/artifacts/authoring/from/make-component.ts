// Builds a MachineComponent and its artifact from a download. The same download and options give the same bytes, so anyone can verify what was signed.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readSync,
  openSync,
  closeSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { defined } from '#lib/defined.ts'
import { ELF_BYTES, parseElf } from '#lib/elf.ts'
import { machineComponent, type MachineComponentInput } from '#api/kinds/machine-component.ts'
import { Signer } from '#api/trust/keys.ts'
import { signStatement } from '#api/trust/statement.ts'
import { ownerOfPath, ownerOfUnit } from '#api/reserved-paths.ts'
import { createValidator } from '#api/validate.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { canonicalJson } from '#lib/json.ts'
import { componentObjectName } from '#lib/names.ts'
import { printableLine } from '#lib/printable.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { artifactErrors } from '../artifact-errors.ts'
import { packFolder, type Packed } from '../pack.ts'
import { readStatement, readText, readUnpackedStatement, writeJson, type ArtifactEntry } from '../statement-file.ts'
import { chosenFrom, type Choice, type ComponentChoices } from './choose.ts'
import type { Recipe } from './recipes.ts'
import { copyFiles, type Source } from './source.ts'

export interface MakeOptions {
  readonly choices: ComponentChoices
  readonly component: string | undefined
  readonly version: string | undefined
  readonly arch: string | undefined
  readonly requires: readonly { readonly component: string; readonly range: string }[]
  /** Folder of statements. */
  readonly statements: string
  /** Folder of archives. */
  readonly artifacts: string
  /** URL of the archive for agents; relative to their artifact base if not absolute. */
  readonly url: string | undefined
  readonly key: string | undefined
  readonly isDryRun: boolean
}

export interface Made {
  readonly statement: MachineComponentInput
  readonly statementFile: string
  readonly artifactFile: string
  readonly packed: Packed
  readonly choice: Choice
  readonly arch: string
  /** The existing statement names exactly this artifact. */
  readonly isSame: boolean
  /** Fields of the existing statement that these options would change. */
  readonly differing: readonly string[]
  readonly isSigned: boolean
}

/** Same as an agent's limit of links. */
const MAX_PROGRAMS = 32
const MAX_FILES = 64
const SCRATCH = { parent: tmpdir(), prefix: 'kubenode-artifact-from-', maxAgeMs: 6 * 3_600_000 }

/** A temporary folder for the work. Removes those of killed runs first. */
export async function withScratch<T>(work: (folder: string) => Promise<T>): Promise<T> {
  sweepOwnedFolders(SCRATCH)
  const folder = makeOwnedFolder(SCRATCH)
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export async function makeComponent(source: Source, options: MakeOptions, scratch: string): Promise<Made> {
  const { recipe } = options.choices
  const component = options.component ?? recipe?.component ?? source.facts.component
  const version = options.version ?? source.facts.version
  if (component === undefined) throw missing(source, 'name', '--component NAME')
  if (version === undefined) throw missing(source, 'version', '--as VERSION')
  const choice = chosen(source, options.choices)
  const content = join(scratch, 'content')
  await copyFiles(
    source,
    choice.programs.map(({ file, to }) => ({ file, to: join(content, to) })),
  )
  for (const { to, mode } of choice.programs) chmodSync(join(content, to), Number.parseInt(mode, 8) | 0o600)
  const arch = archOf(source, choice, content, options.arch)
  const file = `${component}/${component}-${version}-${arch}.tar`
  const packedFile = join(scratch, 'artifact.tar')
  const packed = await packFolder(content, packedFile)
  const entry: ArtifactEntry = { os: 'linux', arch, url: options.url ?? file, sha256: packed.sha256, size: packed.size }
  const statementFile = join(options.statements, `${component}-${version}.json`)
  const artifactFile = join(options.artifacts, file)
  const fresh = createValidator().parse(machineComponent, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineComponent',
    metadata: { name: componentObjectName(component, version) },
    spec: specOf({ component, version, entry, choice, recipe, requires: options.requires }),
  })
  const { statement, isSame } = beside(statementFile, fresh, entry)
  const signed = options.key === undefined || isSame ? statement : signedWith(statement, options.key)
  if (!options.isDryRun) {
    mkdirSync(dirname(artifactFile), { recursive: true })
    movedTo(packedFile, artifactFile)
    mkdirSync(options.statements, { recursive: true })
    if (!isSame) writeJson(statementFile, signed)
  }
  const isSigned = (signed.spec.signatures ?? []).length > 0
  const differing = isSame ? differingFields(statement, fresh) : []
  return { statement: signed, statementFile, artifactFile, packed, choice, arch, isSame, differing, isSigned }
}

/** Among signed fields. Additional platforms do not count as a difference. */
function differingFields({ spec: a }: MachineComponentInput, { spec: b }: MachineComponentInput): readonly string[] {
  const { artifacts: _a, signatures: _s, ...made } = { ...b }
  const { artifacts: _b, signatures: _t, ...there } = { ...a }
  const names = new Set([...Object.keys(made), ...Object.keys(there)])
  const of = (spec: object, name: string): string => canonicalJson((spec as Record<string, unknown>)[name] ?? null)
  return [...names].filter((name) => of(made, name) !== of(there, name))
}

const missing = ({ name }: Source, what: string, flag: string): KubeNodeError =>
  new KubeNodeError(artifactErrors.KN1002_missing({ file: name, what, flag }))

function chosen(source: Source, choices: ComponentChoices): Choice {
  const found = chosenFrom(source, choices)
  if (!found.ok) throw new KubeNodeError(artifactErrors.KN1133({ file: source.name, why: found.problem }))
  const { programs, files, service } = found.choice
  for (const path of [
    ...programs.map((p) => p.to),
    ...files.map((f) => f.path),
    ...(service?.unit === undefined ? [] : [service.unit]),
  ]) {
    const owner = path.startsWith('/') ? ownerOfPath(path) : ownerOfUnit(path)
    if (owner !== undefined)
      throw new KubeNodeError(artifactErrors.KN1133_hostFile({ file: source.name, path: printableLine(path), owner }))
  }
  if (programs.length > MAX_PROGRAMS || files.length > MAX_FILES)
    throw new KubeNodeError(
      artifactErrors.KN1133_tooMany({
        file: source.name,
        programs: programs.length,
        files: files.length,
        maxPrograms: MAX_PROGRAMS,
        maxFiles: MAX_FILES,
      }),
    )
  return found.choice
}

/** Determined by the programs' own format; names and metadata can be wrong. */
function archOf({ name, facts }: Source, { programs }: Choice, content: string, asked: string | undefined): string {
  const built = new Set(programs.flatMap(({ to }) => elfArch(join(content, to)) ?? []))
  const [one, second] = built
  if (second !== undefined)
    throw new KubeNodeError(
      artifactErrors.KN1133({ file: name, why: `its programs are built for ${[...built].join(' and ')}` }),
    )
  const wanted = asked ?? (one === undefined ? facts.arch : one)
  if (one !== undefined && wanted !== one)
    throw new KubeNodeError(artifactErrors.KN1131({ file: name, wanted: String(wanted), known: one }))
  return wanted ?? 'any'
}

function elfArch(path: string): string | undefined {
  const fd = openSync(path, 'r')
  try {
    const head = Buffer.alloc(ELF_BYTES)
    const elf = parseElf(head.subarray(0, readSync(fd, head, 0, ELF_BYTES, 0)))
    return elf === undefined ? undefined : (elf.arch ?? 'another processor')
  } finally {
    closeSync(fd)
  }
}

interface Parts {
  readonly component: string
  readonly version: string
  readonly entry: ArtifactEntry
  readonly choice: Choice
  readonly recipe: Recipe | undefined
  readonly requires: MakeOptions['requires']
}

function specOf({ component, version, entry, choice, recipe, requires }: Parts): unknown {
  const { programs, files, service, hooks } = choice
  const probes = recipe?.probes ?? (service?.unit === undefined ? [] : [{ name: 'unit', unit: { name: service.unit } }])
  return {
    component,
    version,
    type: 'Package',
    artifacts: [entry],
    install: { binaries: programs.map(({ to, mode }) => ({ source: to.slice(1), path: to, mode })) },
    ...(files.length > 0 && { files }),
    ...defined({ service }),
    ...(probes.length > 0 && { probes }),
    ...defined({ hooks }),
    ...(requires.length > 0 && { requires }),
    ...defined({ skew: recipe?.skew }),
    disruption: recipe?.disruption ?? (service === undefined ? 'None' : 'Restart'),
    ...defined({ drainOn: recipe?.drainOn }),
  }
}

/**
 * An existing statement may have been edited and signed since. It stays if it names this artifact, gets an additional platform if needed, and never gets
 * different content under the same version, because versions are immutable.
 */
function beside(
  file: string,
  fresh: MachineComponentInput,
  entry: ArtifactEntry,
): { readonly statement: MachineComponentInput; readonly isSame: boolean } {
  if (!existsSync(file)) return { statement: fresh, isSame: false }
  const before = readStatement(file)
  const there = (before.spec.artifacts ?? []).find((a) => a.arch === entry.arch && (a.os ?? entry.os) === entry.os)
  if (there === undefined) return { statement: readUnpackedStatement(file, entry), isSame: false }
  if (there.sha256 !== entry.sha256)
    throw new KubeNodeError(
      artifactErrors.KN1135({ statement: file, arch: entry.arch, signed: there.sha256, found: entry.sha256 }),
    )
  return { statement: before, isSame: true }
}

function signedWith(statement: MachineComponentInput, key: string): MachineComponentInput {
  const signer = new Signer(readText(key, 'signing key'))
  return { ...statement, spec: signStatement(statement.spec as Parameters<typeof signStatement>[0], signer) }
}

/** Scratch and target may be on different disks; the target is written atomically. */
function movedTo(from: string, to: string): void {
  const partial = `${to}.partial`
  rmSync(partial, { force: true })
  copyFileSync(from, partial)
  renameSync(partial, to)
}
