// Finds and loads the scenarios of a fleet. The files may be untrusted code, so they run in the cage; only their exports arrive here.
import { existsSync } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import type { Scenario } from '#api/scenario.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Cage } from '#sync/render/cage.ts'
import { loadModules } from '#sync/render/load-modules.ts'
import { below } from '../rules/below.ts'
import { scenarioOf } from './scenario-problems.ts'
import { simulationErrors } from './simulation-errors.ts'

const ENDING = '.scenario.ts'

export interface NamedScenario {
  readonly name: string
  readonly scenario: Scenario
}

/** `folder`: parent of `fleet/`. `wanted`: files by path from `cwd`, or by name; all of the fleet if empty. */
export async function scenarioFiles(
  folder: string,
  wanted: readonly string[],
  { cwd, cage }: { readonly cwd: string; readonly cage: () => Promise<Cage> },
): Promise<readonly NamedScenario[]> {
  const root = resolve(folder, 'fleet')
  const all = existsSync(root)
    ? below(root)
        .filter((f) => f.isFile && f.path.endsWith(ENDING))
        .map((f) => f.path)
        .toSorted()
    : []
  const chosen = wanted.length === 0 ? all : wanted.map((one) => chosenOf(one, all, { root, cwd }))
  if (chosen.length === 0) throw new KubeNodeError(simulationErrors.KN1347_none({ folder: root, ending: ENDING }))
  const modules = await loadModules(root, chosen, { cage: await cage(), shown: 'fleet' })
  return chosen.map((file) => {
    const module = modules.get(file)
    const wrong = (why: string) => new KubeNodeError(simulationErrors.KN1347({ file: `fleet/${file}`, why }))
    if (module === undefined || 'error' in module) {
      const { message = 'it was not loaded', at } = module?.error ?? {}
      throw wrong(at === undefined ? message : `${message} (${at})`)
    }
    const { scenario } = isObject(module.exports) ? module.exports : {}
    if (scenario === undefined) throw wrong('it does not export scenario')
    const read = scenarioOf(scenario)
    if ('problem' in read) throw wrong(`scenario ${read.problem}`)
    return { name: basename(file, ENDING), scenario: read }
  })
}

function chosenOf(
  one: string,
  all: readonly string[],
  { root, cwd }: { readonly root: string; readonly cwd: string },
): string {
  const path = relative(root, resolve(cwd, one))
  const found = all.find((file) => file === path || basename(file, ENDING) === one)
  if (found !== undefined) return found
  throw new KubeNodeError(
    simulationErrors.KN1347({
      file: one,
      why:
        all.length === 0
          ? `${dirname(root)} has no scenario`
          : `the fleet has ${all.map((f) => basename(f, ENDING)).join(', ')}`,
    }),
  )
}
