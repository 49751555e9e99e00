// Logging as a dependency: a constant message, with variable parts as keys. Possible secrets are masked here, whatever writes the line.

export type LogFields = Readonly<Record<string, unknown>>
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** A logger that adds these fields to each line. */
  with(fields: LogFields): Logger
}

/** Receives one finished line. */
export type LogSink = (level: LogLevel, message: string, fields: LogFields) => void

export function loggerTo(sink: LogSink, bound: LogFields = {}): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      sink(level, message, maskSecrets({ ...bound, ...fields }))
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => loggerTo(sink, { ...bound, ...fields }),
  }
}

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** JSON lines without a library, for programs where every megabyte counts. */
export const lineLogger = (lines: { write(line: string): void }, least: LogLevel = 'info'): Logger =>
  loggerTo((level, message, fields) => {
    if (ORDER.indexOf(level) < ORDER.indexOf(least)) return
    lines.write(`${JSON.stringify({ level, time: new Date().toISOString(), msg: message, ...fields })}\n`)
  })

export const silentLogger: Logger = loggerTo(() => undefined)

/** Names of fields that hold secrets in Kubernetes objects and kubeconfigs. References to a secret (`secretRef`) are not secret. */
const SECRET_NAME =
  /(^|[-_.])(token|password|passwd|authorization|cookie|privatekey|stringdata)$|token$|password$|(client-)?key-data$/i

/** Deeper values are rarely worth logging and may be circular. */
const DEEPEST_FIELD = 4

const MASK = '[secret]'

function maskSecrets(fields: LogFields): LogFields {
  return maskIn(fields, DEEPEST_FIELD)
}

function maskIn(fields: LogFields, depth: number): LogFields {
  const entries = Object.entries(fields).map(([name, value]) => [name, masked(name, value, depth)])
  return Object.fromEntries(entries)
}

function masked(name: string, value: unknown, depth: number): unknown {
  if (typeof value === 'string' && SECRET_NAME.test(name)) return MASK
  // JSON has no bigint.
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return errorFields(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return '[deep]'
  if (Array.isArray(value)) return value.map((v) => masked(name, v, depth - 1))
  return maskIn(value as LogFields, depth - 1)
}

/** An error as fields: message, code, and cause. */
function errorFields(error: Error, depth = DEEPEST_FIELD): LogFields {
  const code = 'code' in error ? { code: error.code } : {}
  const cause = error.cause instanceof Error && depth > 0 ? { cause: errorFields(error.cause, depth - 1) } : {}
  return { name: error.name, message: error.message, ...code, ...cause }
}
