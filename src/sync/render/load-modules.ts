// Loads TypeScript files of a folder in the cage and returns their exports as data: their code has no access to this machine, and none of it runs here.
import { existsSync, lstatSync, readFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { inSlices } from '#lib/slices.ts'
import { answering } from './answered.ts'
import type { Cage } from './cage.ts'
import type { LoadedModule } from './protocol.ts'
import { runCaged, type CageLimits } from './run-caged.ts'
import { syncErrors } from '../sync-errors.ts'

const IMPORTABLE = /\.([cm]?ts|[cm]?js|json)$/
/** Rules may share code with the fleet beside them, as in a render. */
const NEIGHBORS = ['fleet', 'rules']
/** As for a commit: a folder of rules has dozens of files. */
const MAX_FILES = 20_000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_DEPTH = 32

const LINE_AND_COLUMN = /(:\d+){1,2}$/

/** The time of a lint has no influence. */
const NOW = 0
const SEED = 1

/** `entries` are paths below the folder; so are the keys of the answer. Errors name one of the files, from the folder above, or none. */
export async function loadModules(
  folder: string,
  entries: readonly string[],
  options: { readonly cage: Cage; readonly shown: string; readonly limits?: CageLimits },
): Promise<ReadonlyMap<string, LoadedModule>> {
  const name = basename(folder)
  const files = filesOf(dirname(folder), [...new Set([name, ...NEIGHBORS])])
  const entry = entries.map((path) => `${name}/${path}`)
  const end = await runCaged(options.cage, { files, entry, release: '', now: NOW, seed: SEED }, options.limits)
  const { answer } = await inSlices(answering(end, `load the files of ${options.shown}`))
  return new Map(entries.map((path) => [path, moduleOf(answer.modules.get(`${name}/${path}`), files)]))
}

/** Its text was made beside untrusted code: its place may be any path of this machine, and only those of the files are reported. */
function moduleOf(value: unknown, files: Readonly<Record<string, string>>): LoadedModule {
  if (isObject(value) && 'exports' in value) return { exports: value['exports'] }
  const error = isObject(value) && isObject(value['error']) ? value['error'] : {}
  const { message, at } = error
  return {
    error: {
      kind: 'Thrown',
      message: typeof message === 'string' ? message : 'it cannot be loaded',
      ...(typeof at === 'string' && Object.hasOwn(files, at.replace(LINE_AND_COLUMN, '')) && { at }),
    },
  }
}

function filesOf(root: string, folders: readonly string[]): Record<string, string> {
  const files: Record<string, string> = {}
  let [count, bytes] = [0, 0]
  const add = (path: string) => {
    const { size } = lstatSync(join(root, path))
    bytes += size
    if (++count > MAX_FILES || bytes > MAX_BYTES)
      throw new KubeNodeError(
        syncErrors.KN7006({ where: join(root, path), seen: `is beyond ${MAX_FILES} files or ${MAX_BYTES} bytes` }),
      )
    files[path] = readFileSync(join(root, path), 'utf8')
  }
  const look = (path: string, depth: number): void => {
    for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
      const below = `${path}/${entry.name}`
      // A link could lead anywhere: its target is not available to the code.
      if (entry.isDirectory() && entry.name !== 'node_modules' && depth < MAX_DEPTH) look(below, depth + 1)
      else if (entry.isFile() && IMPORTABLE.test(entry.name)) add(below)
    }
  }
  for (const folder of folders)
    if (existsSync(join(root, folder)) && lstatSync(join(root, folder)).isDirectory()) look(folder, 0)
  return files
}
