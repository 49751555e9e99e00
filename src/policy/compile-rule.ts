// Compiles a rule in json-rules-engine's form (all, any, not over leaves) against a vocabulary, or reports everything that is wrong with it. A rule that
// compiles can only be false or unknown because of the observed facts, never because of how it was written.
import { cloneJson, isObject } from '#lib/json.ts'
import type { Json } from '#lib/json.ts'
import { compileLeaf, reportUnknownFields } from './compile-leaf.ts'
import type { Report } from './compile-leaf.ts'
import { MAX_PROBLEMS, MAX_RULE_DEPTH, MAX_RULE_LEAVES, MAX_RULE_REGEX_PROGRAM, MAX_VALUE_CHARS } from './limits.ts'
import { measureRule } from './measure.ts'
import { show } from './operators/operator.ts'
import { RULE_CODES } from './problem.ts'
import type { RuleProblem } from './problem.ts'
import type { CompiledRule, Term } from './rule.ts'
import type { Vocabulary } from './vocabulary.ts'

export type RuleCompilation =
  | { readonly ok: true; readonly rule: CompiledRule }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] }

const GROUPS = ['all', 'any', 'not'] as const
const GROUP_FIELDS = [...GROUPS, 'name']

export function compileRule(name: string, definition: unknown, vocabulary: Vocabulary): RuleCompilation {
  if (name === '' || name.length > MAX_VALUE_CHARS)
    return refused([{ code: RULE_CODES.badName, pointer: '', message: 'a rule needs a name that is not too long' }])
  const tooMuch = measureRule(definition)
  if (tooMuch !== undefined) return refused([tooMuch])
  const own = cloneJson(definition) as Json
  const problems: RuleProblem[] = []
  const report: Report = (p) => {
    if (problems.length < MAX_PROBLEMS) problems.push(p)
  }
  const compilation = { vocabulary, report, leaves: 0 }
  const root = isGroup(own) ? compileTerm(own, '', 0, compilation) : undefined
  if (!isGroup(own))
    report({
      code: RULE_CODES.shape,
      pointer: '',
      message: `a rule is {all: […]}, {any: […]} or {not: …}, not ${show(own)}`,
    })
  if (compilation.leaves > MAX_RULE_LEAVES) {
    const message = `the rule has ${compilation.leaves} leaves, at most ${MAX_RULE_LEAVES}; split it`
    report({ code: RULE_CODES.tooManyLeaves, pointer: '', message })
  }
  if (root !== undefined && regexCost(root) > MAX_RULE_REGEX_PROGRAM) {
    const message = 'the regexes of the rule are too large when expanded; use fewer or shorter ones'
    report({ code: RULE_CODES.badValue, pointer: '', message })
  }
  if (problems.length > 0 || root === undefined) return refused(problems)
  return { ok: true, rule: { name, definition: own, root, leafCount: leavesOf(root) } }
}

const refused = (problems: readonly RuleProblem[]): RuleCompilation => ({ ok: false, problems })

function leavesOf(term: Term): number {
  if (term.kind === 'leaf') return 1
  const children = term.kind === 'not' ? [term.child] : term.children
  return children.reduce((sum, child) => sum + leavesOf(child), 0)
}

function regexCost(term: Term): number {
  if (term.kind === 'leaf') return term.against.kind === 'value' ? (term.against.bound.cost ?? 0) : 0
  const children = term.kind === 'not' ? [term.child] : term.children
  return children.reduce((sum, child) => sum + regexCost(child), 0)
}

interface Compilation {
  readonly vocabulary: Vocabulary
  readonly report: Report
  leaves: number
}

const isGroup = (v: unknown): boolean => isObject(v) && GROUPS.some((g) => Object.hasOwn(v, g))

function compileTerm(written: unknown, pointer: string, depth: number, c: Compilation): Term | undefined {
  if (depth > MAX_RULE_DEPTH) {
    c.report({ code: RULE_CODES.tooDeep, pointer, message: `more than ${MAX_RULE_DEPTH} levels of all, any and not` })
    return undefined
  }
  if (!isObject(written)) {
    c.report({ code: RULE_CODES.shape, pointer, message: `a condition is an object, not ${show(written)}` })
    return undefined
  }
  if (isGroup(written)) return compileGroup(written, pointer, depth, c)
  if (Object.hasOwn(written, 'condition')) {
    const message = 'conditions by name are not supported; write the condition out'
    c.report({ code: RULE_CODES.unknownField, pointer: `${pointer}/condition`, message })
    return undefined
  }
  const term = compileLeaf(written, pointer, c.vocabulary, c.report)
  c.leaves += 1
  return term
}

function compileGroup(
  written: Record<string, unknown>,
  pointer: string,
  depth: number,
  c: Compilation,
): Term | undefined {
  reportUnknownFields(written, GROUP_FIELDS, pointer, c.report)
  const kinds = GROUPS.filter((g) => Object.hasOwn(written, g))
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1) {
    c.report({
      code: RULE_CODES.shape,
      pointer,
      message: `only one of ${kinds.join(' and ')} is allowed here; nest them`,
    })
    return undefined
  }
  const name = typeof written['name'] === 'string' ? { name: written['name'] } : {}
  const inner = written[kind]
  if (kind === 'not') {
    if (Array.isArray(inner)) {
      c.report({
        code: RULE_CODES.shape,
        pointer: `${pointer}/not`,
        message: 'not takes one condition; write not: {any: […]} or not: {all: […]}',
      })
      return undefined
    }
    const child = compileTerm(inner, `${pointer}/not`, depth + 1, c)
    return child && { kind, child, ...name }
  }
  if (!Array.isArray(inner) || inner.length === 0) {
    const message = Array.isArray(inner)
      ? `${kind} of nothing would always hold or never`
      : `${kind} takes a list of conditions, not ${show(inner)}`
    c.report({
      code: Array.isArray(inner) ? RULE_CODES.emptyGroup : RULE_CODES.shape,
      pointer: `${pointer}/${kind}`,
      message,
    })
    return undefined
  }
  const children = inner.map((child: unknown, i) => compileTerm(child, `${pointer}/${kind}/${i}`, depth + 1, c))
  return children.every((child) => child !== undefined) ? { kind, children, ...name } : undefined
}
