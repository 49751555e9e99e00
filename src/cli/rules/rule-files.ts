// Finds the rules of a folder with the cases beside them, and compiles them. The files are code of the repository that the command is run in.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { NODE_CONDITION_TYPES } from '#api/node-leaves.ts'
import { formatProblem } from '#api/problem.ts'
import type { RuleCase } from '#api/rule-case.ts'
import { createValidator } from '#api/validate.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { describeProblem } from '#policy/problem.ts'
import type { CompiledRule } from '#policy/rule.ts'
import { applyDefaults } from '#schema/default.ts'
import { malformedCases } from './case-problems.ts'
import { cliErrors } from '../cli-errors.ts'

const ENDING = '.cases.ts'

export interface RuleFile {
  /** Path below the folder without its ending, which is the rule's name here. */
  readonly name: string
  /** Path of the case file, as a person would open it. */
  readonly path: string
  readonly cases: readonly RuleCase[]
  readonly spec: NodeRemedier['spec'] | undefined
  readonly compiled: CompiledRule | undefined
  /** Why it is no rule, and what makes it a poor one. */
  readonly problems: readonly string[]
  /** What may be a mistake, and may be meant. */
  readonly notes: readonly string[]
}

/** Names without characters that objects may not have. */
const objectName = (name: string): string => name.replaceAll('/', '-').toLowerCase()

export async function ruleFiles(folder: string, cwd: string): Promise<readonly RuleFile[]> {
  const root = resolve(cwd, folder)
  if (!existsSync(root)) throw new KubeNodeError(cliErrors.KN1340({ folder }))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith(ENDING) && !f.includes('node_modules'))
    .toSorted()
  if (files.length === 0) throw new KubeNodeError(cliErrors.KN1341({ folder, ending: ENDING }))
  const loaded: RuleFile[] = []
  for (const file of files) loaded.push(await ruleFile(join(root, file), file.slice(0, -ENDING.length), cwd))
  return [...loaded, ...withoutCases(root, new Set(files), cwd)]
}

/** As a person would open it from where they are. */
function shownPath(cwd: string, path: string): string {
  const below = relative(cwd, path)
  return below.startsWith('..') ? path : below
}

/** A ladder that no case goes with: nobody has said when it is to be climbed. */
function withoutCases(root: string, caseFiles: ReadonlySet<string>, cwd: string): readonly RuleFile[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.ts') && !f.endsWith(ENDING) && !f.endsWith('.test.ts') && !f.includes('node_modules'))
    .filter(
      (f) => !caseFiles.has(f.replace(/\.ts$/, ENDING)) && /\bladder\s*:/.test(readFileSync(join(root, f), 'utf8')),
    )
    .toSorted()
    .map((f) => {
      const name = f.replace(/\.ts$/, '')
      return notUsable(
        name,
        shownPath(cwd, join(root, f)),
        `it has no cases: write ${basename(name)}${ENDING} beside it`,
      )
    })
}

const notUsable = (name: string, path: string, problem: string): RuleFile => ({
  name,
  path,
  cases: [],
  spec: undefined,
  compiled: undefined,
  problems: [problem],
  notes: [],
})

/** Where a file that is no TypeScript stops being it: the stack begins with the place, the message does not have it. */
function whereOf(error: unknown, root: string): string {
  const [place = ''] = error instanceof Error ? (error.stack ?? '').split('\n', 1) : []
  const found = /^(?:file:\/\/)?(\/[^\s]+:\d+)$/.exec(place.trim())?.[1]
  return found === undefined ? '' : ` (${shownPath(root, found)})`
}

/** One file that cannot be used says so among the others. */
async function ruleFile(path: string, name: string, cwd: string): Promise<RuleFile> {
  const shown = shownPath(cwd, path)
  let module: unknown
  try {
    module = await import(pathToFileURL(path).href)
  } catch (error) {
    return notUsable(
      name,
      shown,
      numbered(cliErrors.KN1342({ file: shown, why: `${messageOf(error)}${whereOf(error, cwd)}` })),
    )
  }
  const { rule, cases } = isObject(module) ? module : {}
  if (!isObject(rule) || !Array.isArray(cases))
    return notUsable(name, shown, numbered(cliErrors.KN1343({ file: shown })))
  const malformed = malformedCases(cases)
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'NodeRemedier',
    metadata: { name: objectName(name) },
    spec: rule,
  }
  const problems = createValidator().problems(nodeRemedier, object)
  const base = { name, path: shown, cases: malformed.length > 0 ? [] : (cases as readonly RuleCase[]), notes: [] }
  if (problems.length > 0)
    return { ...base, spec: undefined, compiled: undefined, problems: [...problems.map(formatProblem), ...malformed] }
  const { spec } = applyDefaults(nodeRemedier.schema, object) as NodeRemedier
  const result = compileRule(objectName(name), spec.when, nodeVocabulary())
  return result.ok
    ? { ...base, spec, compiled: result.rule, problems: [...harmIn(spec), ...malformed], notes: notesOn(spec) }
    : { ...base, spec, compiled: undefined, problems: [...result.problems.map(describeProblem), ...malformed] }
}

const KNOWN: ReadonlySet<string> = new Set(NODE_CONDITION_TYPES)
const isKnown = (type: string): boolean => KNOWN.has(type) || /^(ComponentUnhealthy|LogProblem)(-|$)/.test(type)

function notesOn({ when }: NodeRemedier['spec']): readonly string[] {
  const types = [...JSON.stringify(when).matchAll(/"path":"\/([^/"]+)\/(?:status|reason|message)"/g)].map(
    (m) => m[1] ?? '',
  )
  return [...new Set(types)]
    .filter((t) => !isKnown(t))
    .map((t) => {
      const near = didYouMean(t, NODE_CONDITION_TYPES)
      const meant = near === undefined ? '' : ` (did you mean ${near}?)`
      return `condition ${t} is reported by no detector that is known here${meant}; if one of yours does, this is fine`
    })
}

/** What compiles and will do harm or nothing all the same. */
function harmIn({ ladder }: NodeRemedier['spec']): readonly string[] {
  return ladder.flatMap(({ operations, verify }, rung) => {
    const at = (name: string) => operations.findIndex((o) => Object.hasOwn(o, name))
    return [
      ...(verify.stableFor === '0s' ? [`rung ${rung} calls a repair good at once: stableFor is 0s`] : []),
      ...(at('drain') >= 0 && (at('cordon') < 0 || at('cordon') > at('drain'))
        ? [`rung ${rung} drains a node that is not cordoned: pods come back`]
        : []),
      ...(at('replace') >= 0 && at('replace') < operations.length - 1
        ? [`rung ${rung} goes on after a replace: the node is gone then`]
        : []),
      ...(at('uncordon') >= 0 && at('cordon') < 0 ? [`rung ${rung} uncordons what it did not cordon`] : []),
    ]
  })
}
