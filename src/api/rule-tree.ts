// The shape of a rule: all, any and not over leaves {fact, path, operator, value}. A CRD cannot describe a recursive tree, so the validator does, as do
// admission and the controllers. The rule engine defines the facts and operators.
import { defined } from '#lib/defined.ts'
import { isObject, type JsonObject } from '#lib/json.ts'
import { refine, freeform, type Field } from './build.ts'
import type { Finding } from './extras.ts'

export const MAX_RULE_BYTES = 16 * 1024
/** People cannot read deeper rules. */
export const MAX_RULE_DEPTH = 16
/** One evaluation reads all of them for every node. */
export const MAX_RULE_LEAVES = 64

const LEAF_FIELDS = ['fact', 'path', 'operator', 'value', 'for', 'name']
const BRANCHES = ['all', 'any', 'not']

/** A condition tree, which the server stores unchanged. */
export const ruleTree = (doc: string): Field<JsonObject> =>
  refine(
    freeform(doc, { maxBytes: MAX_RULE_BYTES }),
    {},
    {
      expects: 'all, any or not over conditions {fact, operator, value}',
      checks: [{ name: 'rule tree', findings: (value) => ruleTreeFindings(value) }],
    },
  )

export function ruleTreeFindings(tree: unknown): readonly Finding[] {
  if (Buffer.byteLength(JSON.stringify(tree) ?? '') > MAX_RULE_BYTES) return []
  const found: Finding[] = []
  let leaves = 0
  const visit = (node: unknown, pointer: string, depth: number): void => {
    const problem = (message: string, allowed?: string): void => {
      found.push({ pointer, message, ...defined({ allowed }) })
    }
    if (depth > MAX_RULE_DEPTH) return problem('nests too deeply', `${MAX_RULE_DEPTH} levels`)
    if (!isObject(node)) return problem('is not a condition', 'an object with all, any, not, or fact and operator')
    const branches = BRANCHES.filter((b) => Object.hasOwn(node, b))
    if (branches.length > 1) return problem(`has ${branches.join(' and ')}`, 'exactly one of all, any, not')
    const [branch] = branches
    if (branch === undefined && depth === 0) return problem('is not a rule', 'all, any or not at the top')
    if (branch === undefined) {
      leaves++
      found.push(...leafFindings(node, pointer))
      return
    }
    const strays = Object.keys(node).filter((k) => k !== branch && k !== 'name')
    if (strays.length > 0) problem(`has ${strays.join(', ')} next to ${branch}`, `${branch} alone, or with name`)
    const below = node[branch]
    if (branch === 'not') return visit(below, `${pointer}/not`, depth + 1)
    if (!Array.isArray(below) || below.length === 0)
      return problem(`has ${branch} that is not a non-empty list of conditions`, 'a list with at least one')
    below.forEach((b, i) => visit(b, `${pointer}/${branch}/${i}`, depth + 1))
  }
  visit(tree, '', 0)
  if (leaves > MAX_RULE_LEAVES)
    found.push({ pointer: '', message: `has ${leaves} conditions`, allowed: `at most ${MAX_RULE_LEAVES}` })
  return found
}

function leafFindings(leaf: Record<string, unknown>, pointer: string): readonly Finding[] {
  const found: Finding[] = []
  for (const key of Object.keys(leaf))
    if (!LEAF_FIELDS.includes(key))
      found.push({
        pointer: `${pointer}/${key}`,
        message: 'is not a field of a condition',
        allowed: LEAF_FIELDS.join(', '),
      })
  for (const key of ['fact', 'operator'] as const)
    if (typeof leaf[key] !== 'string' || leaf[key] === '')
      found.push({ pointer: `${pointer}/${key}`, message: 'is required and must be a string' })
  const { path } = leaf
  if (path !== undefined && !(typeof path === 'string' && (path === '' || path.startsWith('/'))))
    found.push({
      pointer: `${pointer}/path`,
      message: 'is not a JSON pointer',
      allowed: 'a path such as /status/phase',
    })
  return found
}
