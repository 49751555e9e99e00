// Checks other systems that a declaration names: a URL that must return a status, a query to Prometheus that must return a number within bounds.
// Each has a deadline and a size limit. What cannot be read does not hold, and says why; nothing of an answer is shown but its status, its number or what is wrong with a query.
import { defined } from '#lib/defined.ts'
import { isDeeperJson, isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { type HttpAnswer, type HttpLimits, ask } from './get.ts'

export interface CheckResult {
  readonly holds: boolean
  readonly seen: string
}

export interface PageCheck {
  readonly url: string
  readonly expectedStatus: number
  /** Sent as a bearer token. */
  readonly token?: string
  /** PEM: who signs the certificate of the server, instead of the authorities of this host. */
  readonly ca?: string
}

interface QueryCheck {
  readonly query: string
  readonly min?: string | undefined
  readonly max?: string | undefined
}

export interface ChecksConfig {
  /** Base URL of the Prometheus that queries go to. */
  readonly prometheus?: string
  /** Origins that may be asked although they lead to this host, its link or a program of Kubernetes. */
  readonly allow?: readonly string[]
  /** Hosts of API servers that the program works for. */
  readonly apiServers?: readonly string[]
}

export interface ExternalChecks {
  readonly hasPrometheus: boolean
  page(check: PageCheck, signal: AbortSignal): Promise<CheckResult>
  query(check: QueryCheck, signal: AbortSignal): Promise<CheckResult>
}

const DEADLINE_MS = 5_000
/** A page that says that all is well is short. */
const MAX_PAGE_BYTES = 64 * 1024
const MAX_QUERY_BYTES = 1024 * 1024
/** Part of a status; the name of a host may be long. */
const MAX_SEEN_CHARS = 160

export function createChecks(config: ChecksConfig, resolve?: HttpLimits['resolve']): ExternalChecks {
  const allow = new Set((config.allow ?? []).map(originOf))
  const limits = { deadlineMs: DEADLINE_MS, apiServers: config.apiServers ?? [], ...defined({ resolve }) }
  const { prometheus } = config
  return {
    hasPrometheus: prometheus !== undefined,
    async page({ token, ca, ...check }, signal) {
      const secrets = defined({ token, ca })
      return shown(
        pageResult(await ask(check.url, { ...limits, ...secrets, allow, maxBytes: MAX_PAGE_BYTES, signal }), check),
      )
    },
    async query(check, signal) {
      if (prometheus === undefined)
        return { holds: false, seen: 'no Prometheus is configured: start with --prometheus-url' }
      const url = queryUrl(prometheus, check.query)
      // The operator who configures the program names the address of Prometheus.
      const trusted = new Set([new URL(url).origin])
      return shown(queryResult(await ask(url, { ...limits, allow: trusted, maxBytes: MAX_QUERY_BYTES, signal }), check))
    },
  }
}

const shown = ({ holds, seen }: CheckResult): CheckResult => ({
  holds,
  seen: printableLine(seen).slice(0, MAX_SEEN_CHARS),
})

const originOf = (url: string): string => new URL(url).origin

function queryUrl(base: string, query: string): string {
  const url = new URL(`${withoutEnd(base, /\//)}/api/v1/query`)
  url.searchParams.set('query', query)
  return url.href
}

function pageResult(answer: HttpAnswer, { url, expectedStatus }: PageCheck): CheckResult {
  const { host } = URL.parse(url) ?? { host: 'the URL' }
  if (answer.kind !== 'Answered') return { holds: false, seen: `${host}: ${answer.message}` }
  return {
    holds: answer.status === expectedStatus,
    seen: `${host} answers ${answer.status}, ${expectedStatus} is expected`,
  }
}

function queryResult(answer: HttpAnswer, { min, max }: QueryCheck): CheckResult {
  if (answer.kind !== 'Answered') return { holds: false, seen: `Prometheus: ${answer.message}` }
  const body = bodyIn(answer.text)
  if (answer.status !== 200) return { holds: false, seen: refusalIn(answer.status, body) }
  const value = valueOf(body)
  if (typeof value === 'string') return { holds: false, seen: value }
  const isAbove = min !== undefined && !(value >= Number(min))
  const isBelow = max !== undefined && !(value <= Number(max))
  const bounds = `between ${min ?? 'any'} and ${max ?? 'any'}`
  // A division by zero is no measurement, also where only the other side has a bound.
  return { holds: Number.isFinite(value) && !isAbove && !isBelow, seen: `value ${value}, expected ${bounds}` }
}

/** Undefined where it is no JSON, or nested too deeply to be worth a second of the loop, which is no value either. */
function bodyIn(text: string): unknown {
  if (isDeeperJson(Buffer.from(text))) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What is wrong with the query is said of nothing but the query, which its author wrote; other errors quote series. */
function refusalIn(status: number, body: unknown): string {
  const { errorType, error } = isObject(body) ? body : {}
  return errorType === 'bad_data' && typeof error === 'string'
    ? `Prometheus refused the query: ${error.replace('invalid parameter "query": ', '')}`
    : `Prometheus returned HTTP ${status}`
}

/** Of PromQL itself: about the form of the query, not about data that is missing. */
const ABOUT_QUERY = 'PromQL '

/** A server that could not ask all of its stores answers all the same, and errors of the others are not counted. */
const isPartial = ({ warnings }: Readonly<Record<string, unknown>>): boolean =>
  Array.isArray(warnings) && warnings.some((w) => typeof w !== 'string' || !w.startsWith(ABOUT_QUERY))

/** One number, or why there is none. */
function valueOf(body: unknown): number | string {
  if (body === undefined) return 'Prometheus returned invalid JSON'
  const data = isObject(body) ? body['data'] : undefined
  // Answers that say `error` may have partial data.
  if (!isObject(body) || body['status'] === 'error' || !isObject(data) || !Array.isArray(data['result']))
    return 'Prometheus returned no result'
  if (isPartial(body)) return 'Prometheus answered with a warning: the result may be partial'
  const { resultType, result } = data as { resultType?: unknown; result: readonly unknown[] }
  if (resultType === 'scalar') return numberIn(result)
  if (resultType !== 'vector') return 'the query must return a scalar or a vector'
  if (result.length !== 1) return `the query returned ${result.length} values (1 expected)`
  const [only] = result
  return isObject(only) && Array.isArray(only['value']) ? numberIn(only['value']) : 'the query returned no value'
}

const NUMBER = /^([+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?Inf|NaN)$/i

/** A sample is a time and a number as text; what JavaScript makes of other text, such as an empty one, is no value. */
const numberIn = ([, text]: readonly unknown[]): number | string =>
  typeof text === 'string' && NUMBER.test(text)
    ? Number(text.replace(/inf$/i, 'Infinity').replace(/^nan$/i, 'NaN'))
    : 'the query returned no value'
