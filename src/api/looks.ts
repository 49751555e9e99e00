// Requests and queries to other systems that users may declare as conditions for the next step. Sets and pipelines share them.
import { fallback, int, obj, optional, str } from './build.ts'
import { url } from './fields.ts'

/** `by` is the program that calls. */
export const httpLook = (by: string) =>
  obj('A request that must return this status.', {
    url: url(`URL to call; only hosts that ${by} is configured to reach.`),
    expectedStatus: fallback(int('The status code.', { min: 100, max: 599 }), 200),
  })

const decimal = (doc: string) =>
  str(doc, { min: 1, max: 32, pattern: '^-?[0-9]+(\\.[0-9]+)?$', says: 'a decimal number' })

export const queryLook = () =>
  obj('A query whose result must be within bounds.', {
    query: str('The PromQL query; it must return a single value.', { min: 1, max: 4_096 }),
    min: optional(decimal('Smallest accepted value, as text.')),
    max: optional(decimal('Largest accepted value, as text.')),
  })
