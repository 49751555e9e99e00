// Reads and writes statements (signed MachineComponents) and other small JSON files of the artifact commands.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { parseDocuments } from '#lib/documents.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentInput } from '#api/kinds/machine-component.ts'
import { createValidator } from '#api/validate.ts'
import { cliErrors } from '../cli-errors.ts'

export function readText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new KubeNodeError(cliErrors.KN1104({ what, path, why: messageOf(cause) }), { cause })
  }
}

export function readJson(path: string, what: string): unknown {
  const { documents, problems } = parseDocuments(readText(path, what))
  const [problem] = problems
  if (problem !== undefined || documents.length !== 1) {
    throw new KubeNodeError(
      cliErrors.KN1105({
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

/** Whole or not at all. */
export function writeJson(path: string, value: unknown, mode = 0o644): void {
  writeFileSync(`${path}.partial`, `${JSON.stringify(value, null, 2)}\n`, { mode })
  renameSync(`${path}.partial`, path)
}
