// "%d items".format([…]): the few verbs that CEL has, each strict about what it prints.
import { type Run, traversal } from './functions.ts'
import { formatCelDuration, formatTimestamp } from './time.ts'
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  sizeOf,
} from './values.ts'

/** More digits than a double has. */
const MAX_PRECISION = 100

const VERB = /%(?:\.(\d+))?(.)/gsu

export function formatText(template: string, args: CelList, run: Run): CelValue {
  let next = 0
  let error: CelError | undefined
  const text = template.replace(VERB, (_, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%'
    if (next >= args.length) error ??= new CelError(`index ${next} out of range`)
    if (error !== undefined) return ''
    const out = one(verb, args.at(next++), Math.min(Number(precision ?? 6), MAX_PRECISION), run)
    if (out instanceof CelError) error ??= out
    return typeof out === 'string' ? out : ''
  })
  if (template.replaceAll('%%', '').endsWith('%'))
    return new CelError('could not parse formatting clause: unexpected end of string')
  return error ?? text
}

function one(verb: string, value: CelValue, precision: number, run: Run): string | CelError {
  switch (verb) {
    case 's':
      return display(value, run)
    case 'd':
      return isInteger(value) ? String(whole(value)) : wrong(verb, 'only integers can be formatted')
    case 'f':
      return typeof value === 'number' ? value.toFixed(precision) : wrong(verb, 'only doubles can be formatted')
    case 'e':
      return typeof value === 'number' ? exponent(value, precision) : wrong(verb, 'only doubles can be formatted')
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0'
      return isInteger(value) ? whole(value).toString(2) : wrong(verb, 'only integers and bools can be formatted')
    case 'o':
      return isInteger(value) ? whole(value).toString(8) : wrong(verb, 'only integers can be formatted')
    case 'x':
    case 'X': {
      const text = hex(value)
      return verb === 'X' && typeof text === 'string' ? text.toUpperCase() : text
    }
    default:
      return new CelError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
  }
}

const wrong = (verb: string, what: string): CelError => new CelError(`error during formatting: ${what} with %${verb}`)

const isInteger = (v: CelValue): v is bigint | CelUint => typeof v === 'bigint' || v instanceof CelUint
const whole = (v: bigint | CelUint): bigint => (v instanceof CelUint ? v.value : v)

const SUPERSCRIPT: Readonly<Record<string, string>> = {
  '-': '\u207b',
  '0': '\u2070',
  '1': '\u00b9',
  '2': '\u00b2',
  '3': '\u00b3',
  '4': '\u2074',
  '5': '\u2075',
  '6': '\u2076',
  '7': '\u2077',
  '8': '\u2078',
  '9': '\u2079',
}

/** 3.140000\u00d710\u2070\u2070: an exponent has two digits at least. */
function exponent(n: number, precision: number): string {
  const [mantissa = '', power = '0'] = n.toExponential(precision).split('e')
  if (!Number.isFinite(n)) return mantissa
  const digits = power.replace(/[+-]/, '').padStart(2, '0')
  const raised = Array.from(`${power.startsWith('-') ? '-' : ''}${digits}`, (c) => SUPERSCRIPT[c] ?? c)
  return `${mantissa}\u00d710${raised.join('')}`
}

function hex(value: CelValue): string | CelError {
  if (isInteger(value)) return whole(value).toString(16)
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return wrong('x', 'only integers, byte buffers, and strings can be formatted')
}

function display(value: CelValue, run: Run): string | CelError {
  run.spend(traversal(sizeOf(value)))
  const show = (v: CelValue): string | CelError => display(v, run)
  if (value === null) return 'null'
  if (typeof value !== 'object') return String(value)
  if (value instanceof CelUint) return String(value.value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (value instanceof CelTimestamp) return formatTimestamp(value.nanos)
  if (value instanceof CelDuration) return formatCelDuration(value.nanos)
  if (value instanceof CelTypeValue) return value.name
  if (value instanceof CelList) return joined(value.toArray().map(show), '[', ']')
  if (value instanceof CelMap) {
    const pairs = value.keys().map((k) => [show(k), show(value.get(k) ?? null)] as const)
    const bad = pairs.flat().find((p) => p instanceof CelError)
    return (
      bad ??
      `{${pairs
        .map(([k, v]) => `${String(k)}: ${String(v)}`)
        .sort()
        .join(', ')}}`
    )
  }
  return wrong('s', 'no string form for the value')
}

function joined(parts: readonly (string | CelError)[], open: string, close: string): string | CelError {
  const bad = parts.find((p) => p instanceof CelError)
  return bad ?? `${open}${parts.join(', ')}${close}`
}
