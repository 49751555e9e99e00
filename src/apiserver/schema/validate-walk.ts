// Walks a value along its prepared schema and lists the problems, in the order and with the choices of the validator inside kube-apiserver:
// where several schemas could fit (anyOf, oneOf), the findings shown are those of the one that came furthest.
import type { Effort } from '#lib/effort.ts'
import { goJson, goQuote } from '#lib/go-format.ts'
import { isObject } from '#lib/json.ts'
import { tooMany } from './field-error.ts'
import { fieldCorrelation, isUnchanged, itemCorrelation, ownValue, type Correlation } from './ratchet.ts'
import type { SchemaNode } from './validate-node.ts'
import {
  checkNumber,
  enumMismatch,
  formatMismatch,
  kindOf,
  looseProblem,
  nullMismatch,
  problem,
  stringProblem,
  typeMismatch,
  type Problem,
} from './validate-scalar.ts'

/** What was found so far, and what may still be spent on finding more. */
export interface Findings {
  readonly problems: Problem[]
  readonly effort: Effort
}

/** What making a problem costs: it holds a text with the path of its field. */
const REPORT_STEPS = 20

function report({ problems, effort }: Findings, ...found: readonly Problem[]): void {
  effort.spend(REPORT_STEPS * found.length)
  problems.push(...found)
}

/** Values of an enum that are compared in one step. */
const COMPARED = 8

/**
 * Adds findings to `out` and returns a score: how many checks passed on the way. Only anyOf and oneOf use scores.
 * The depth of recursion is that of the schema. Throws EffortSpent.
 */
export function walk(node: SchemaNode, value: unknown, path: string, out: Findings, old?: Correlation): number {
  out.effort.spend(1)
  const start = out.problems.length
  const score = check(node, value, path, out, old)
  if (old && out.problems.length > start && isUnchanged(old)) out.problems.length = start
  return score
}

/** A part of the walk, for values of one shape. */
type Walk<Value> = (node: SchemaNode, value: Value, path: string, out: Findings, old: Correlation | undefined) => number

/** Added to the score by each validator that applies, besides its findings below. */
const APPLIED = 1
const ALWAYS_APPLIED = 4 // combinations (2), enum, the schema itself

const check: Walk<unknown> = (node, value, path, out, old) => {
  const kind = kindOf(value)
  if (kind === 'null') return checkNull(node, path, out)
  let score = ALWAYS_APPLIED
  if (node.types.length > 0 || node.format !== '') {
    const mismatch = typeMismatch(node, value, kind, path)
    score += mismatch ? APPLIED : 2 * APPLIED
    if (mismatch) report(out, mismatch)
  }
  if (node.anyOf.length > 0) score += walkAnyOf(node.anyOf, value, path, out)
  if (node.oneOf.length > 0) score += walkOneOf(node.oneOf, value, path, out)
  if (node.allOf.length > 0) score += walkAllOf(node.allOf, value, path, out)
  if (node.not) walkNot(node.not, value, path, out)
  // A text that did not change may stay as it is, so that its pattern need not be tried again.
  if (typeof value === 'string') score += value === old?.old ? textScore(node) : checkText(node, value, path, out)
  if (typeof value === 'number' || typeof value === 'bigint') {
    const before = out.problems.length
    checkNumber(node, value, path, out.problems)
    out.effort.spend(REPORT_STEPS * (out.problems.length - before))
    score += 2 * APPLIED
  }
  if (Array.isArray(value)) score += walkItems(node, value, path, out, old)
  const notInEnum = checkEnum(node, value, path, out)
  if (notInEnum) report(out, notInEnum)
  if (isObject(value)) score += walkObject(node, value, path, out, old)
  return score
}

function checkNull(node: SchemaNode, path: string, out: Findings): number {
  const mismatch = nullMismatch(node, path)
  if (mismatch) report(out, mismatch)
  const notInEnum = checkEnum(node, null, path, out)
  if (notInEnum) report(out, notInEnum)
  return mismatch ? 0 : APPLIED
}

function checkEnum(node: SchemaNode, value: unknown, path: string, { effort }: Findings): Problem | undefined {
  const allowed = node.enum
  if (allowed === undefined) return undefined
  effort.spend(isObject(value) || Array.isArray(value) ? allowed.length : Math.ceil(allowed.length / COMPARED))
  const mismatch = enumMismatch(allowed, value, path)
  // The message lists them all.
  if (mismatch !== undefined) effort.spend(allowed.length)
  return mismatch
}

function checkText(node: SchemaNode, value: string, path: string, out: Findings): number {
  const wrong = stringProblem(node, value, path, out.effort)
  if (wrong) report(out, wrong)
  const mismatch = formatMismatch(node, value, path)
  if (mismatch) report(out, mismatch)
  return textScore(node)
}

const textScore = (node: SchemaNode): number => (node.formatCheck ? 2 * APPLIED : APPLIED)

interface Attempt {
  readonly score: number
  readonly problems: readonly Problem[]
}

function attempt(node: SchemaNode, value: unknown, path: string, { effort }: Findings): Attempt {
  const problems: Problem[] = []
  return { score: walk(node, value, path, { problems, effort }), problems }
}

/** The first of the best: a later schema must come strictly further to be shown instead. */
const furthest = (attempts: readonly Attempt[]): Attempt | undefined =>
  attempts.reduce<Attempt | undefined>((best, a) => (!best || a.score > best.score ? a : best), undefined)

function walkAnyOf(nodes: readonly SchemaNode[], value: unknown, path: string, out: Findings): number {
  const failed: Attempt[] = []
  for (const node of nodes) {
    const tried = attempt(node, value, path, out)
    if (tried.problems.length === 0) return tried.score
    failed.push(tried)
  }
  report(out, looseProblem(`${goQuote(path)} must validate at least one schema (anyOf)`))
  return show(furthest(failed), out)
}

function walkOneOf(nodes: readonly SchemaNode[], value: unknown, path: string, out: Findings): number {
  const attempts = nodes.map((node) => attempt(node, value, path, out))
  const valid = attempts.filter((a) => a.problems.length === 0)
  if (valid.length === 1) return valid[0]?.score ?? 0
  const found = valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`
  report(out, looseProblem(`${goQuote(path)} must validate one and only one schema (oneOf). ${found}`))
  return valid.length === 0 ? show(furthest(attempts), out) : 0
}

function show(best: Attempt | undefined, out: Findings): number {
  if (!best) return 0
  out.problems.push(...best.problems)
  return best.score
}

function walkAllOf(nodes: readonly SchemaNode[], value: unknown, path: string, out: Findings): number {
  const attempts = nodes.map((node) => attempt(node, value, path, out))
  for (const a of attempts) out.problems.push(...a.problems)
  const valid = attempts.filter((a) => a.problems.length === 0).length
  if (valid < nodes.length) {
    const none = valid === 0 ? '. None validated' : ''
    report(out, looseProblem(`${goQuote(path)} must validate all the schemas (allOf)${none}`))
  }
  return attempts.reduce((sum, a) => sum + a.score, 0)
}

function walkNot(node: SchemaNode, value: unknown, path: string, out: Findings): void {
  if (attempt(node, value, path, out).problems.length === 0)
    report(out, looseProblem(`${goQuote(path)} must not validate the schema (not)`))
}

const walkItems: Walk<readonly unknown[]> = (node, items, path, out, old) => {
  let score = 2 * APPLIED
  const { items: itemNode, minItems, maxItems } = node
  if (itemNode)
    items.forEach((item, i) => {
      score += walk(itemNode, item, `${path}[${i}]`, out, old && itemCorrelation(old, item))
    })
  if (minItems !== undefined && items.length < minItems)
    report(out, problem(path, `should have at least ${minItems} items`, items.length))
  if (maxItems !== undefined && items.length > maxItems)
    report(out, countProblem(path, `should have at most ${maxItems} items`, items.length, maxItems))
  if (node.uniqueItems && new Set(items.map((item) => goJson(item))).size < items.length)
    report(out, problem(path, "shouldn't contain duplicates", ''))
  return score
}

const countProblem = (path: string, said: string, actual: number, max: number): Problem => ({
  text: `${path} in body ${said}`,
  path,
  toError: (field) => tooMany(field, actual, max),
})

const walkObject: Walk<Readonly<Record<string, unknown>>> = (node, value, path, out, old) => {
  checkSize(node, value, path, out)
  let score = APPLIED
  if (node.additional !== undefined) score += walkAdditional(node, value, path, out, old)
  for (const [name, child] of node.properties) {
    const v = ownValue(value, name)
    if (v === undefined) continue
    const sub = path === '' ? name : `${path}.${name}`
    score += walk(child, v, sub, out, fieldOld(old, path, name, child))
  }
  for (const name of node.required) if (ownValue(value, name) === undefined) report(out, missing(`${path}.${name}`))
  return score
}

/** Changes of the object's own apiVersion and kind are invisible: both sides were converted to one version. */
const fieldOld = (old: Correlation | undefined, path: string, name: string, node: SchemaNode) =>
  old && !(path === '' && (name === 'apiVersion' || name === 'kind')) ? fieldCorrelation(old, name, node) : undefined

function missing(path: string): Problem {
  return {
    text: `${path} in body is required`,
    path,
    toError: (field) => ({ type: 'FieldValueRequired', field, detail: '' }),
  }
}

function checkSize(node: SchemaNode, value: Readonly<Record<string, unknown>>, path: string, out: Findings): void {
  const { minProperties, maxProperties } = node
  if (minProperties === undefined && maxProperties === undefined) return
  const size = Object.keys(value).filter((k) => value[k] !== undefined).length
  if (minProperties !== undefined && size < minProperties)
    report(out, problem(path, `should have at least ${minProperties} properties`, size))
  if (maxProperties !== undefined && size > maxProperties)
    report(out, countProblem(path, `should have at most ${maxProperties} properties`, size, maxProperties))
}

/** Findings for other names are sorted by name, independent of the order of keys. */
const walkAdditional: Walk<Readonly<Record<string, unknown>>> = (node, value, path, out, old) => {
  let score = 0
  const found: { readonly name: string; readonly problems: readonly Problem[] }[] = []
  for (const name of Object.keys(value)) {
    if (value[name] === undefined || node.properties.has(name)) continue
    const problems: Problem[] = []
    if (node.additional === 'none') report({ problems, effort: out.effort }, forbiddenName(path, name))
    else if (node.additional)
      score += walk(
        node.additional,
        value[name],
        `${path}.${name}`,
        { problems, effort: out.effort },
        fieldOld(old, path, name, node.additional),
      )
    if (problems.length > 0) found.push({ name, problems })
  }
  found.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const f of found) out.problems.push(...f.problems)
  return score
}

function forbiddenName(path: string, name: string): Problem {
  const said = problem(`${path}.${name}`, 'is a forbidden property', name)
  return { ...said, path }
}
