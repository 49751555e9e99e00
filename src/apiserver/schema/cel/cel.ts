// The entry point of CEL: compiles an expression against declared names, once; evaluates it any number of times, each time within a limit
// of cost. Everything outside the supported language is refused here, with the words of the real compiler.
//
// Not supported, so refused: `sortBy`, names in backticks, raw bytes, a comparison beside == or != without parentheses of its own.
// Costs are those of the real server but for what it lets pass for nothing: deep equality, compiling patterns and matching those
// that are large as machines, time zones, list concatenation and the size of long texts cost what they take.
import { Effort, EffortSpent } from '#lib/effort.ts'
import { VALIDATION_EFFORT } from '../validation-effort.ts'
import { Checker, type FunctionTable, type MessageTypes } from './check.ts'
import { toCel } from './convert.ts'
import { CostExceeded, type Eval, Run } from './functions.ts'
import { FUNCTIONS, TYPE_NAMES } from './library.ts'
import type { Variable } from './macros.ts'
import { Memo } from './memo.ts'
import type { Node } from './node.ts'
import { plan } from './plan.ts'
import { formatIssue, parseCel } from './syntax.ts'
import type { CelType } from './types.ts'
import { substitute } from './unify.ts'
import { CelError, CelList, CelMap, CelObject, CelOpaque, CelOptional, CelTypeValue, type CelValue } from './values.ts'
import { CelDuration, CelTimestamp, CelUint } from './values.ts'

/** What one evaluation may cost at most (a tenth of a second on the real server). */
export const PER_CALL_LIMIT = 1_000_000
/** What all rules of one object may cost together. The real server allows five times as much, on a thread of its own;
 * here every other request waits meanwhile. */
export const RUNTIME_BUDGET = 2_000_000

export interface CelEnv {
  /** The declared names; an expression that reads any other does not compile. */
  readonly variables: Readonly<Record<string, CelType>>
  /** More than every expression may use. */
  readonly library?: CelLibrary
  /** Pays for the literal patterns of the expression. */
  readonly effort?: Effort
}

export interface CelLibrary {
  readonly functions: FunctionTable
  readonly messageTypes: MessageTypes
}

export interface CelProgram {
  readonly expression: string
  readonly type: CelType
  /** The declared names that the expression reads. */
  readonly uses: ReadonlySet<string>
  readonly variables: readonly (readonly [name: string, type: CelType])[]
  readonly run: Eval
  /** What was compiled, for estimates. */
  readonly node: Node
  readonly memo: Memo
}

export type CelCompiled =
  | { readonly ok: true; readonly program: CelProgram }
  /** `ERROR: <input>:1:5: undeclared reference to 'foo' (in container '')` with the line and a mark under the place. */
  | { readonly ok: false; readonly problems: string }

export function compileCel(expression: string, env: CelEnv): CelCompiled {
  const parsed = parseCel(expression)
  if (!parsed.ok) return { ok: false, problems: formatIssue(expression, parsed.issue) }
  const variables = Object.entries(env.variables)
  const { library } = env
  const checker = new Checker(
    library?.functions ?? FUNCTIONS,
    TYPE_NAMES,
    library?.messageTypes,
    variables.length,
    env.effort,
  )
  const scope = new Map(variables.map(([name, type], slot): [string, Variable] => [name, { type, slot }]))
  const node = checker.check(parsed.expr, { variables: scope })
  if (checker.issues.length > 0) {
    const sorted = checker.issues.toSorted((a, b) => a.pos - b.pos)
    return { ok: false, problems: sorted.map((i) => formatIssue(expression, i)).join('\n') }
  }
  const type = substitute(new Map(), checker.resolve(node.type), true)
  const run = plan(node)
  return { ok: true, program: { expression, type, uses: checker.used, variables, run, node, memo: new Memo() } }
}

export type CelOutcome =
  | { readonly ok: true; readonly value: CelValue; readonly cost: number }
  | { readonly ok: false; readonly error: string; readonly exceeded: boolean; readonly cost: number }

export interface CelLimits {
  readonly costLimit?: number
  /** Shared with whatever else the same request makes the server do; its own when left out. */
  readonly effort?: Effort
}

/** Variables are data of the API, or CEL values; reading an absent one is an error. */
export function evaluateCel(
  program: CelProgram,
  variables: Readonly<Record<string, unknown>>,
  { costLimit = PER_CALL_LIMIT, effort = new Effort(VALIDATION_EFFORT) }: CelLimits = {},
): CelOutcome {
  const slots: CelValue[] = []
  program.variables.forEach(([name, type], slot) => {
    if (program.uses.has(name) && Object.hasOwn(variables, name)) slots[slot] = asValue(variables[name], type)
  })
  const run = new Run(slots, costLimit, program.memo, effort)
  try {
    const value = program.run(run)
    const cost = Math.ceil(run.cost)
    return value instanceof CelError
      ? { ok: false, error: value.message, exceeded: false, cost }
      : { ok: true, value, cost }
  } catch (e) {
    const cost = Math.ceil(run.cost)
    if (e instanceof CostExceeded) return { ok: false, error: e.message, exceeded: true, cost }
    if (e instanceof EffortSpent) return { ok: false, error: new CostExceeded().message, exceeded: true, cost }
    throw e
  }
}

const asValue = (v: unknown, type: CelType): CelValue => (isCelValue(v) ? v : toCel(v, type))

const CLASSES = [CelList, CelMap, CelObject, CelOptional, CelOpaque, CelUint, CelTimestamp, CelDuration, CelTypeValue]

const isCelValue = (v: unknown): v is CelValue => CLASSES.some((c) => v instanceof c)
