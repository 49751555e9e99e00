// Finds and loads the scenarios of a fleet. The files may be untrusted code, so they run in the cage; only their exports arrive here.
import { existsSync } from 'node:fs'
import { basename, relative, resolve } from 'node:path'
import type { Scenario } from '#api/scenario.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError, isKubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { someOf } from '#lib/some-of.ts'
import type { Cage } from '#sync/render/cage.ts'
import { loadModules } from '#sync/render/load-modules.ts'
import { expectationOf } from './figures.ts'
import { below } from '../rules/below.ts'
import { scenarioOf } from './scenario-problems.ts'
import { simulationErrors } from './simulation-errors.ts'

const ENDING = '.scenario.ts'

/** Names in a message. */
const MOST_KNOWN = 20

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
    const unread = unreadIn(read)
    if (unread !== undefined) throw wrong(`scenario ${unread}`)
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
  if (all.length === 0) throw new KubeNodeError(simulationErrors.KN1347_none({ folder: root, ending: ENDING }))
  const names = all.map((file) => basename(file, ENDING))
  const near = didYouMean(basename(one, ENDING), names)
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`
  throw new KubeNodeError(
    simulationErrors.KN1347_unknown({ name: one, hint, folder: root, known: someOf(names, MOST_KNOWN) }),
  )
}

const CODE = /^KN\d+: /

/** The first expectation that cannot be judged. Its advice is for options of a command line. */
function unreadIn({ expect = [] }: Scenario): string | undefined {
  for (const [n, text] of expect.entries())
    try {
      expectationOf(text)
    } catch (e) {
      if (!isKubeNodeError(e)) throw e
      const why = e.message.replace(CODE, '')
      return `expect ${n}: ${why.slice(0, why.lastIndexOf('; '))}; docs/reference/figures.md has the figures`
    }
  return undefined
}
