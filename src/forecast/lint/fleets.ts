// Lints a fleet's TypeScript as sync will read it: renders it in the cage, with each problem at the line that made the object.
import { existsSync, statSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Validator } from '#api/validate.ts'
import { type ErrorCode, isKubeNodeError, type KubeNodeError } from '#lib/errors.ts'
import { refText } from '#delivery/object-ref.ts'
import { isOfTheFleet, renderFolder } from '#sync/render/render.ts'
import type { Renderer } from '#sync/render/renderer.ts'
import { type Finding, markOf } from './finding.ts'
import { lintErrors } from './lint-errors.ts'

const MAIN = 'main.ts'
const FLEET = 'fleet'

/** The folders above `fleet/` for paths that name a fleet, its main.ts, or the repository around it. */
export function fleetsIn(paths: readonly string[], cwd: string): readonly string[] {
  const found = paths.map((path) => resolve(cwd, path)).flatMap((path) => rootOf(path) ?? [])
  return [...new Set(found)]
}

function rootOf(path: string): string | undefined {
  const holds = (folder: string) => existsSync(join(folder, FLEET, MAIN))
  if (basename(path) === MAIN && basename(dirname(path)) === FLEET && holds(dirname(dirname(path))))
    return dirname(dirname(path))
  if (!existsSync(path) || !statSync(path).isDirectory()) return undefined
  if (basename(path) === FLEET && holds(dirname(path))) return dirname(path)
  return holds(path) ? path : undefined
}

interface FleetOptions {
  readonly renderer: Renderer
  readonly validator: Validator
  readonly cwd: string
}

export interface FleetResult {
  readonly findings: readonly Finding[]
  readonly checked: number
}

export async function lintFleet(root: string, { renderer, validator, cwd }: FleetOptions): Promise<FleetResult> {
  const at = placedIn(relative(cwd, root))
  try {
    const { targets, problems } = await renderFolder(root, { renderer, validator })
    const all = [...targets.values()]
    const rejected = all.flatMap((t) => t.rejected)
    return {
      checked: all.reduce((n, t) => n + t.objects.length, rejected.length),
      findings: [
        ...replacedFiles(root, cwd),
        ...rejected.map(({ ref, place, problem }) => ({
          ...at(place),
          ...codedText(problem),
          object: refText(ref),
        })),
        ...problems.map(({ place, code, message, object, pointer, ...problem }) => ({
          ...at(place),
          code,
          // The line is that of the construct, so the field needs its own place.
          message: pointer === '' ? message : `at ${pointer}: ${message}`,
          object,
          pointer,
          ...markOf(problem),
        })),
      ],
    }
  } catch (error) {
    if (!isKubeNodeError(error) || !isOfTheFleet(error)) throw error
    return { checked: 0, findings: [failureOf(error, at)] }
  }
}

type Where = Pick<Finding, 'file' | 'line' | 'column'>

const PLACE = /^(?<file>.+?):(?<line>\d+)(?::(?<column>\d+))?(?<rest>$|,)/s

/** For a problem without a line: the file that declares the fleet. */
const placedIn =
  (folder: string) =>
  (place: unknown): Where => {
    const found = typeof place === 'string' ? PLACE.exec(place)?.groups : undefined
    const file = join(folder, found?.['file'] ?? join(FLEET, MAIN))
    return { file, line: Number(found?.['line'] ?? 1), column: Number(found?.['column'] ?? 1) }
  }

/** An object's problem is a text that starts with its number. */
function codedText(problem: string): { readonly code: ErrorCode; readonly message: string } {
  const [, code, message] = /^(KN\d{4}): (.*)$/s.exec(problem) ?? []
  return { code: (code ?? 'KN5000') as ErrorCode, message: message ?? problem }
}

function failureOf(error: KubeNodeError, at: (place: unknown) => Where): Finding {
  const { why } = error.data
  const { code, message } = codedText(error.message)
  return { ...at(error.data['at']), code, message: typeof why === 'string' ? why : message }
}
const FOLDER = 'fleet/clusters'
const BY = 'clusters.json'
/** With the replacement in `clusters.json` for each. */
const REPLACED: Readonly<Record<string, string>> = {
  'size.json': 'the number of nodes is "nodes" of each cluster there',
  'registered.json': 'a cluster that exists already has "registered": true there',
}
/** A demo has a dozen files. */
const MOST_FILES = 200

/** A fleet copied from an older demo may still have them. Nothing reads them, so a size in them would only seem declared. */
function replacedFiles(root: string, cwd: string): readonly Finding[] {
  const at = (name: string) => join(root, FOLDER, name)
  const left = Object.keys(REPLACED).filter((name) => existsSync(at(name)))
  if (left.length === 0 || !existsSync(at(BY))) return []
  const code = globSync('**/*.ts', { cwd: join(root, 'fleet') })
    .slice(0, MOST_FILES)
    .map((file) => readFileSync(join(root, 'fleet', file), 'utf8'))
  return left
    .filter((name) => !code.some((text) => text.includes(name)))
    .map((name) => {
      const { code: number, text } = lintErrors.KN1026({
        file: `${FOLDER}/${name}`,
        by: `${FOLDER}/${BY}`,
        instead: REPLACED[name] ?? '',
      })
      return { file: relative(cwd, at(name)), line: 1, column: 1, code: number, message: text }
    })
}
