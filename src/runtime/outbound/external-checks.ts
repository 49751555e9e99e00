// Checks external systems that a declaration names: a URL that must return a status, or a Prometheus query that must return a number within bounds. Each check
// has a deadline and a size limit. An unreadable answer fails with its reason. Only the status, the number or the query's error is shown, never other content.
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
  /** PEM of the CA for the server's certificate, replacing this host's CAs. */
  readonly ca?: string
}

interface QueryCheck {
  readonly query: string
  readonly min?: string | undefined
  readonly max?: string | undefined
}

export interface ChecksConfig {
  /** Base URL of the Prometheus for queries. */
  readonly prometheus?: string
  /** Origins that may be called although they lead to this host, its local network or a Kubernetes program. */
  readonly allow?: readonly string[]
  /** Hosts of the API servers that this program works for. */
  readonly apiServers?: readonly string[]
}

export interface ExternalChecks {
  readonly hasPrometheus: boolean
  page(check: PageCheck, signal: AbortSignal): Promise<CheckResult>
  query(check: QueryCheck, signal: AbortSignal): Promise<CheckResult>
}

const DEADLINE_MS = 5_000
/** A health page is short. */
const MAX_PAGE_BYTES = 64 * 1024
const MAX_QUERY_BYTES = 1024 * 1024
/** Part of a status; a hostname may be long. */
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
      // The operator who configures the program sets Prometheus' address.
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
  // A division by zero is not a measurement, even if only the other side is bounded.
  return { holds: Number.isFinite(value) && !isAbove && !isBelow, seen: `value ${value}, expected ${bounds}` }
}

/** Undefined if it is not JSON or is nested too deeply to parse cheaply. */
function bodyIn(text: string): unknown {
  if (isDeeperJson(Buffer.from(text))) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Only errors about the query, which its author wrote, are shown; other errors quote series. */
function refusalIn(status: number, body: unknown): string {
  const { errorType, error } = isObject(body) ? body : {}
  return errorType === 'bad_data' && typeof error === 'string'
    ? `Prometheus refused the query: ${error.replace('invalid parameter "query": ', '')}`
    : `Prometheus returned HTTP ${status}`
}

/** Prefix of PromQL errors: about the query's form, not about missing data. */
const ABOUT_QUERY = 'PromQL '

/** A server that could not query all of its stores still answers; the stores' errors do not count as a value. */
const isPartial = ({ warnings }: Readonly<Record<string, unknown>>): boolean =>
  Array.isArray(warnings) && warnings.some((w) => typeof w !== 'string' || !w.startsWith(ABOUT_QUERY))

/** One number, or why there is none. */
function valueOf(body: unknown): number | string {
  if (body === undefined) return 'Prometheus returned invalid JSON'
  const data = isObject(body) ? body['data'] : undefined
  // Answers with status `error` may contain partial data.
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

/** A sample is a time and a number as text. Text that JavaScript would coerce, such as an empty string, is not a value. */
const numberIn = ([, text]: readonly unknown[]): number | string =>
  typeof text === 'string' && NUMBER.test(text)
    ? Number(text.replace(/inf$/i, 'Infinity').replace(/^nan$/i, 'NaN'))
    : 'the query returned no value'
