// Runs inspections over the network: a URL, and a query to Prometheus. Each has a deadline and a size limit; a failed one states why.
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { type HttpAnswer, type HttpLimits, ask } from '#runtime/outbound/get.ts'
import type { Inspection, Inspector, Look } from './inspections.ts'

export interface InspectorConfig {
  /** Base URL of the Prometheus that queries go to. */
  readonly prometheus?: string
  /** Origins that may be asked although they lead to this host or its link. */
  readonly allow?: readonly string[]
}

const DEADLINE_MS = 5_000
/** A page that says that all is well is short. */
const MAX_PAGE_BYTES = 64 * 1024
const MAX_QUERY_BYTES = 1024 * 1024

export function createInspector(config: InspectorConfig, resolve?: HttpLimits['resolve']): Inspector {
  const allow = new Set((config.allow ?? []).map(originOf))
  const limits = { deadlineMs: DEADLINE_MS, ...(resolve && { resolve }) }
  return {
    can: { http: true, prometheus: config.prometheus !== undefined, podProbe: true },
    async look({ http, prometheus }, signal) {
      if (http !== undefined) {
        const answer = await ask(http.url, { ...limits, allow, maxBytes: MAX_PAGE_BYTES, signal })
        return pageLook(answer, http)
      }
      if (prometheus === undefined || config.prometheus === undefined)
        return { holds: false, seen: 'not supported by these controllers' }
      const url = queryUrl(config.prometheus, prometheus.query)
      // The operator who configures the controllers names the address of Prometheus.
      const trusted = new Set([new URL(url).origin])
      return queryLook(await ask(url, { ...limits, allow: trusted, maxBytes: MAX_QUERY_BYTES, signal }), prometheus)
    },
  }
}

const originOf = (url: string): string => new URL(url).origin

function queryUrl(base: string, query: string): string {
  const url = new URL(`${base.replace(/\/+$/, '')}/api/v1/query`)
  url.searchParams.set('query', query)
  return url.href
}

function pageLook(answer: HttpAnswer, { url, expectedStatus }: NonNullable<Inspection['http']>): Look {
  const { host } = URL.parse(url) ?? { host: 'the URL' }
  if (answer.kind !== 'Answered') return { holds: false, seen: `${host}: ${answer.message}` }
  return {
    holds: answer.status === expectedStatus,
    seen: `${host} answers ${answer.status}, ${expectedStatus} is expected`,
  }
}

function queryLook(answer: HttpAnswer, { min, max }: NonNullable<Inspection['prometheus']>): Look {
  if (answer.kind !== 'Answered') return { holds: false, seen: `Prometheus: ${answer.message}` }
  if (answer.status !== 200) return { holds: false, seen: `Prometheus returned HTTP ${answer.status}` }
  const value = valueOf(answer.text)
  if (typeof value === 'string') return { holds: false, seen: value }
  const isAbove = min !== undefined && !(value >= Number(min))
  const isBelow = max !== undefined && !(value <= Number(max))
  const bounds = `between ${min ?? 'any'} and ${max ?? 'any'}`
  return { holds: !Number.isNaN(value) && !isAbove && !isBelow, seen: `value ${value}, expected ${bounds}` }
}

/** One number, or why there is none. */
function valueOf(text: string): number | string {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (e) {
    return `Prometheus returned invalid JSON: ${messageOf(e)}`.slice(0, 120)
  }
  const data = isObject(body) ? body['data'] : undefined
  if (!isObject(data) || !Array.isArray(data['result'])) return 'Prometheus returned no result'
  const { resultType, result } = data as { resultType?: unknown; result: readonly unknown[] }
  if (resultType === 'scalar') return numberIn(result)
  if (resultType !== 'vector') return 'the query must return a scalar or a vector'
  if (result.length !== 1) return `the query returned ${result.length} values (1 expected)`
  const [only] = result
  return isObject(only) && Array.isArray(only['value']) ? numberIn(only['value']) : 'the query returned no value'
}

/** A sample is a time and a number as text. */
const numberIn = ([, text]: readonly unknown[]): number | string =>
  typeof text === 'string' ? Number(text.replace('Inf', 'Infinity')) : 'the query returned no value'
