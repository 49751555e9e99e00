// Formats values in a fleet's output. Node.js's own inspect reads weak collections, whose content depends on the garbage collector, and exposes itself.
import { inspect, type InspectOptions } from 'node:util'

export type Print = (text: string) => unknown

const CHOICES = ['depth', 'compact', 'breakLength', 'maxArrayLength', 'maxStringLength', 'sorted'] as const

export function show(value: unknown, options?: unknown): string {
  const chosen: Record<string, unknown> = {}
  if (typeof options === 'object' && options !== null)
    for (const name of CHOICES) {
      const choice = (options as Record<string, unknown>)[name]
      if (typeof choice === 'number' || typeof choice === 'boolean' || choice === null) chosen[name] = choice
    }
  return inspect(value, { ...(chosen as InspectOptions), customInspect: false, showHidden: false, colors: false })
}

/** Replaces Node's `util.format`. */
export function format(...args: readonly unknown[]): string {
  const [first, ...rest] = args
  if (typeof first !== 'string') return args.map(word).join(' ')
  let at = 0
  const text = first.replace(/%[sdifjoOc%]/g, (sign) => {
    if (sign === '%%') return rest.length === 0 ? sign : '%'
    return at < rest.length ? written(sign, rest[at++]) : sign
  })
  return [text, ...rest.slice(at).map(word)].join(' ')
}

const word = (value: unknown): string => (typeof value === 'string' ? value : show(value))

function written(sign: string, value: unknown): string {
  switch (sign) {
    case '%s':
      return typeof value === 'object' && value !== null ? show(value, { depth: 0 }) : printable(value)
    case '%d':
    case '%i':
    case '%f':
      return number(sign, value)
    case '%j':
      return JSON.stringify(value) ?? 'undefined'
    case '%c':
      return ''
    default:
      return show(value, sign === '%o' ? { depth: 4 } : {})
  }
}

const printable = (value: unknown): string => (typeof value === 'bigint' ? `${value}n` : String(value))

function number(sign: string, value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'symbol' || typeof value === 'object') return 'NaN'
  return String(sign === '%i' ? Number.parseInt(String(value), 10) : Number(value))
}

export function plainConsole(out: Print, error: Print): object {
  let indent = ''
  const counts = new Map<string, number>()
  const line = (print: Print) => (args: readonly unknown[]) =>
    void print(`${indent}${format(...args).replaceAll('\n', `\n${indent}`)}\n`)
  const [logged, warned] = [line(out), line(error)]
  const log = (...args: readonly unknown[]) => logged(args)
  const warn = (...args: readonly unknown[]) => warned(args)
  const none = () => undefined
  const group = (...args: readonly unknown[]) => {
    if (args.length > 0) logged(args)
    indent += '  '
  }
  return {
    log,
    info: log,
    debug: log,
    table: log,
    dirxml: log,
    warn,
    error: warn,
    trace: warn,
    time: none,
    timeEnd: none,
    timeLog: none,
    timeStamp: none,
    profile: none,
    profileEnd: none,
    dir: (value: unknown, options?: unknown) => logged([show(value, options)]),
    assert: (isTrue?: unknown, ...args: readonly unknown[]) =>
      isTrue ? undefined : warned(args.length === 0 ? ['Assertion failed'] : ['Assertion failed:', ...args]),
    count: (name: unknown = 'default') => {
      const label = String(name)
      counts.set(label, (counts.get(label) ?? 0) + 1)
      logged([`${label}: ${counts.get(label)}`])
    },
    countReset: (name: unknown = 'default') => void counts.delete(String(name)),
    group,
    groupCollapsed: group,
    groupEnd: () => void (indent = indent.slice(0, -2)),
  }
}
