// Finds a folder's rules with their cases and compiles them. The files may be untrusted code, so they run in the cage.
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { formatProblem } from '#api/problem.ts'
import type { RuleCase } from '#api/rule-case.ts'
import { createValidator } from '#api/validate.ts'
import { KubeNodeError, numbered } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { conditionHint, conditionsIn, isKnownCondition, meantCondition, verifiedConditions } from '#declared/rules.ts'
import { declaredErrors } from '#declared/declared-errors.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { policyErrors } from '#policy/policy-errors.ts'
import { describeProblem } from '#policy/problem.ts'
import type { CompiledRule, Term } from '#policy/rule.ts'
import { neverTrue } from '#policy/satisfiable.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { Cage } from '#sync/render/cage.ts'
import { loadModules } from '#sync/render/load-modules.ts'
import type { LoadedModule } from '#sync/render/protocol.ts'
import { type Below, below } from './below.ts'
import { conditionsOfFleet } from './fleet-conditions.ts'
import { harmIn, type Ladder, testOf } from './ladder-harm.ts'
import { malformedCases } from './case-problems.ts'
import { rulesErrors } from './rules-errors.ts'

const ENDING = '.cases.ts'

export interface RuleFile {
  /** Path below the folder without extension, used as the rule's name here. */
  readonly name: string
  /** Relative path of the rule's file, where its problems are fixed. */
  readonly path: string
  /** The file with its cases, possibly the same one. */
  readonly casesPath: string
  readonly cases: readonly RuleCase[]
  readonly spec: NodeRemedier['spec'] | undefined
  readonly compiled: CompiledRule | undefined
  /** Why it is not a rule, or a poor one. */
  readonly problems: readonly string[]
  /** Problems of the cases. */
  readonly caseProblems: readonly string[]
  /** Possible mistakes that may be intended. */
  readonly notes: readonly string[]
}

/** Names without characters that object names do not allow. */
const objectName = (name: string): string => name.replaceAll('/', '-').toLowerCase()

/** The files' code runs in the cage, as in a render; only its exports arrive here. */
export async function ruleFiles(folder: string, cwd: string, cage: () => Promise<Cage>): Promise<readonly RuleFile[]> {
  const root = resolve(cwd, folder)
  if (!existsSync(root)) throw new KubeNodeError(rulesErrors.KN1011_rules({ folder }))
  const all = below(root)
  // Includes links: the cage reports that it has no such file.
  const files = all
    .map((f) => f.path)
    .filter((f) => f.endsWith(ENDING))
    .toSorted()
  if (files.length === 0) throw new KubeNodeError(rulesErrors.KN1341({ folder, ending: ENDING }))
  const reported = conditionsOfFleet(join(root, '..', 'fleet'))
  const modules = await loadModules(root, files, { cage: await cage(), shown: folder })
  const names = new Set(all.filter((f) => f.isFile).map((f) => f.path))
  const loaded = files.map((file) => ruleFile(file, modules.get(file), { root, cwd, reported, names }))
  return [...loaded, ...withoutCases(root, all, cwd)]
}

/** Relative to the user's working folder. */
function shownPath(cwd: string, path: string): string {
  const below = relative(cwd, path)
  return below.startsWith('..') ? path : below
}

/** A ladder without cases: no test shows when it should be climbed. */
function withoutCases(root: string, all: readonly Below[], cwd: string): readonly RuleFile[] {
  const names = new Set(all.map((f) => f.path))
  return all
    .filter(({ isFile, path }) => isFile && path.endsWith('.ts') && !/\.(cases|test)\.ts$/.test(path))
    .map((f) => f.path)
    .filter((f) => !names.has(f.replace(/\.ts$/, ENDING)) && hasLadder(join(root, f)))
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

/** Hand-written texts are shorter. */
const MAX_RULE_BYTES = 1024 * 1024

const hasLadder = (path: string): boolean =>
  lstatSync(path).size <= MAX_RULE_BYTES && /\bladder\s*:/.test(readFileSync(path, 'utf8'))

const notUsable = (name: string, path: string, problem: string): RuleFile => ({
  name,
  path,
  casesPath: path,
  cases: [],
  spec: undefined,
  compiled: undefined,
  problems: [problem],
  caseProblems: [],
  notes: [],
})

interface Roots {
  readonly root: string
  readonly cwd: string
  /** Conditions that the agents' configuration reports. */
  readonly reported: ReadonlySet<string>
  /** All files below the root. Nothing else is checked: the report must not reveal whether a link leads to something. */
  readonly names: ReadonlySet<string>
}

/** An unusable file is reported next to the others. */
function ruleFile(file: string, module: LoadedModule | undefined, { root, cwd, reported, names }: Roots): RuleFile {
  const name = file.slice(0, -ENDING.length)
  const shown = shownPath(cwd, join(root, file))
  const beside = `${name}.ts`
  if (module === undefined || 'error' in module) {
    const { message = 'it was not loaded', at } = module?.error ?? {}
    // Relative to the parent folder, because the file to fix may be one of the fleet's.
    const [, path = '', line = ''] = /^(.*?)(:\d+)(?::\d+)?$/.exec(at ?? '') ?? []
    const broken = path === '' ? shown : shownPath(cwd, join(root, '..', path))
    const why = `${message}${line === '' ? '' : ` (${broken}${line})`}`
    return notUsable(name, broken, numbered(rulesErrors.KN1014_rule({ file: broken, why })))
  }
  const { rule, cases } = isObject(module.exports) ? module.exports : {}
  if (!isObject(rule) || !Array.isArray(cases))
    return notUsable(name, shown, numbered(rulesErrors.KN1341_exports({ file: shown })))
  const malformed = malformedCases(cases)
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'NodeRemedier',
    metadata: { name: objectName(name) },
    spec: rule,
  }
  const problems = createValidator().problems(nodeRemedier, object)
  const base = {
    name,
    path: names.has(beside) ? shownPath(cwd, join(root, beside)) : shown,
    casesPath: shown,
    cases: malformed.length > 0 ? [] : (cases as readonly RuleCase[]),
    caseProblems: malformed,
    notes: [],
  }
  if (problems.length > 0)
    return { ...base, spec: undefined, compiled: undefined, problems: problems.map(formatProblem) }
  const { spec } = applyDefaults(nodeRemedier.schema, object) as NodeRemedier
  const vocabulary = nodeVocabulary()
  const result = compileRule(objectName(name), spec.when, vocabulary)
  if (!result.ok) return { ...base, spec, compiled: undefined, problems: result.problems.map(describeProblem) }
  const never = neverTrue(result.rule.root, vocabulary)
  const impossible = never === undefined ? [] : [numbered(policyErrors.KN4001_never({ why: never.message }))]
  return {
    ...base,
    spec,
    compiled: result.rule,
    problems: [...impossible, ...harmIn(result.rule.root, spec)],
    notes: [...notesOn(result.rule.root, spec, reported), ...spec.ladder.flatMap(testNote)],
  }
}

function notesOn(root: Term, { ladder }: NodeRemedier['spec'], reported: ReadonlySet<string>): readonly string[] {
  const asked = conditionsIn(root).map((c) => c.type)
  const types = new Set([...asked, ...verifiedConditions(ladder).map((v) => v.type)])
  return [...types].flatMap((type) => {
    const near = meantCondition(type, asked, reported)
    if (near !== undefined) return [declaredErrors.KN3066_verified({ type, near }).text]
    return isKnownCondition(type, reported)
      ? []
      : [declaredErrors.KN3066({ type, hint: conditionHint(type, reported) }).text]
  })
}

/** Whether a provider has power switches is not in the rule. */
const testNote = ({ operations, verify }: Ladder[number], rung: number): readonly string[] =>
  testOf(verify) !== undefined && operations.some((o) => o.fence !== undefined)
    ? [
        `rung ${rung} has a verify.${testOf(verify)} after fence: it runs only if the provider switches the machine on again`,
      ]
    : []
