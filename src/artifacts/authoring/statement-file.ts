// Reads and writes statements (signed MachineComponents) and other small JSON files of the artifact commands.
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { parseDocuments } from '#lib/documents.ts'
import { isObject } from '#lib/json.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentInput } from '#api/kinds/machine-component.ts'
import { createValidator } from '#api/validate.ts'
import { artifactErrors } from './artifact-errors.ts'

/** For artifacts that name none. */
const DEFAULT_OS = 'linux'

export function readText(path: string, what: string): string {
  try {
    return readBoundedText(path)
  } catch (cause) {
    throw new KubeNodeError(artifactErrors.KN1011_input({ what, path, why: systemTrouble(cause) }), { cause })
  }
}

export function readJson(path: string, what: string): unknown {
  const { documents, problems } = parseDocuments(readText(path, what))
  const [problem] = problems
  if (problem !== undefined || documents.length !== 1) {
    throw new KubeNodeError(
      artifactErrors.KN1014_detail({
        what,
        path,
        detail:
          problem === undefined ? 'one document is expected' : `${problem.line}:${problem.column}: ${problem.message}`,
      }),
    )
  }
  return documents[0]?.value
}

export const readStatement = (path: string): MachineComponentInput =>
  createValidator().parse(machineComponent, readJson(path, 'statement'))

export interface ArtifactEntry {
  readonly os: string
  readonly arch: string
  readonly url: string
  readonly sha256: string
  readonly size: number
}

/** Replaces an earlier artifact of the same platform: only packing determines digest and size. */
export function readUnpackedStatement(path: string, entry: ArtifactEntry): MachineComponentInput {
  const raw = readJson(path, 'statement')
  const spec = isObject(raw) && isObject(raw['spec']) ? raw['spec'] : undefined
  if (!isObject(raw) || spec === undefined) return createValidator().parse(machineComponent, raw)
  const before: readonly unknown[] = Array.isArray(spec['artifacts']) ? spec['artifacts'] : []
  const isSame = (a: unknown): boolean =>
    isObject(a) && (a['os'] ?? DEFAULT_OS) === entry.os && a['arch'] === entry.arch
  // Old signatures cover different bytes.
  const { signatures: _signatures, ...rest } = spec
  const artifacts = [...before.filter((a) => !isSame(a)), entry]
  return createValidator().parse(machineComponent, { ...raw, spec: { ...rest, artifacts } })
}

/** Writes atomically. */
export function writeJson(path: string, value: unknown, mode = 0o644): void {
  writeWholeFile(path, `${JSON.stringify(value, null, 2)}\n`, { mode })
}
