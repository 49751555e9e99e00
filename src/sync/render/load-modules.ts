// Loads a folder's TypeScript files in the cage and returns their exports as data: their code has no access to this machine, and none of it runs here.
import { basename, dirname } from 'node:path'
import { isObject } from '#lib/json.ts'
import { inSlices } from '#lib/slices.ts'
import { answering } from './answered.ts'
import type { Cage } from './cage.ts'
import { folderFiles } from './folder-files.ts'
import type { LoadedModule } from './protocol.ts'
import { runCaged, type CageLimits } from './run-caged.ts'

/** Rules may share code with the fleet next to them, as in a render. */
const NEIGHBORS = ['fleet', 'rules']
const LINE_AND_COLUMN = /(:\d+){1,2}$/

/** The time does not matter for a lint. */
const NOW = 0
const SEED = 1

/** `entries` are paths below the folder; so are the answer's keys. Errors name one of the files, from the parent folder, or none. */
export async function loadModules(
  folder: string,
  entries: readonly string[],
  options: { readonly cage: Cage; readonly shown: string; readonly limits?: CageLimits },
): Promise<ReadonlyMap<string, LoadedModule>> {
  const name = basename(folder)
  const files = folderFiles(dirname(folder), [...new Set([name, ...NEIGHBORS])])
  const entry = entries.map((path) => `${name}/${path}`)
  const end = await runCaged(options.cage, { files, entry, release: '', now: NOW, seed: SEED }, options.limits)
  // A file that exceeds a limit ends the run of all of them: which one, only a run of each by itself tells.
  if (end.kind !== 'Answered' && entries.length > 1)
    for (const one of entries) await loadModules(folder, [one], options)
  const [one, ...others] = entries
  const what = one !== undefined && others.length === 0 ? `${options.shown}/${one}` : `the files of ${options.shown}`
  const { answer } = await inSlices(answering(end, `load ${what}`))
  return new Map(entries.map((path) => [path, moduleOf(answer.modules.get(`${name}/${path}`), files)]))
}

/** Untrusted code could influence the text, and its place may be any path on this machine: only paths of the files are reported. */
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
