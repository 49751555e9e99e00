// Whether the rules of a schema are too expensive to be accepted: each for itself, and all together, by the most that each can cost
// times the most often that its place can occur in one object.
import { type FieldError, forbidden } from '../field-error.ts'
import type { Schema } from '#api/schema/schema.ts'
import { MAX_REQUEST_BYTES, type Sized } from './cost-size.ts'

const EXPRESSION_LIMIT = 10_000_000
const SCHEMA_LIMIT = 100_000_000
/** How many of the most expensive expressions are named. */
const MOST_EXPENSIVE = 4

/** How often a place can occur; undefined where nothing but the size of a request bounds it. */
export type Cardinality = number | undefined

/** How often the parts of a value of this schema can occur. */
export function partsOf(schema: Schema, often: Cardinality): Cardinality {
  if (often === undefined) return undefined
  if (schema.type === 'array') return schema.maxItems === undefined ? undefined : often * Math.max(0, schema.maxItems)
  if (schema.type !== 'object' || typeof schema.additionalProperties !== 'object') return often
  return schema.maxProperties === undefined ? undefined : often * Math.max(0, schema.maxProperties)
}

/** One comma between values at least. */
export const occurrences = (often: Cardinality, sized: Sized): number =>
  often ?? Math.floor(MAX_REQUEST_BYTES / (sized.minBytes + 1))

/** Adds up what the expressions of one schema can cost. */
export class CostTotal {
  #total = 0
  readonly #expensive: { readonly path: string; readonly cost: number }[] = []

  /** A problem when the expression alone is too expensive. */
  add(path: string, what: string, cost: number): FieldError[] {
    this.#total += cost
    if (cost >= SCHEMA_LIMIT / 100) this.#expensive.push({ path, cost })
    return cost > EXPRESSION_LIMIT ? [forbidden(path, over(`estimated ${what} cost`, cost, EXPRESSION_LIMIT))] : []
  }

  problems(path: string): FieldError[] {
    if (this.#total <= SCHEMA_LIMIT) return []
    const worst = this.#expensive.toSorted((a, b) => b.cost - a.cost).slice(0, MOST_EXPENSIVE)
    const share = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
    return [...worst.map((w) => forbidden(w.path, share)), forbidden(path, over(what, this.#total, SCHEMA_LIMIT))]
  }
}

function over(what: string, cost: number, limit: number): string {
  const factor = cost / limit
  const text = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`
  const advice =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared'
  return `${what} exceeds budget by factor of ${text} (${advice})`
}
