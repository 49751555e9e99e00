// Amounts as Kubernetes writes them (500m, 1Gi, 1e9): read into an exact number, written in the one canonical form.

export interface Quantity {
  /** Billionths, rounded up, as the real server keeps nothing finer. */
  readonly nano: bigint
  readonly form: 'decimal' | 'binary' | 'exponent'
}

const SYNTAX = /^([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?$/
const NANO = 1_000_000_000n
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const SUFFIX_OF: ReadonlyMap<number, string> = new Map(Object.entries(DECIMAL).map(([s, e]) => [e, s]))
/** Beyond ±18 the number is capped or zero anyway; a bound keeps powers small. */
const MAX_EXPONENT = 100
/** 2^63-1 whole units: larger amounts are capped there. */
const LARGEST = (2n ** 63n - 1n) * NANO

export const QUANTITY_PATTERN = '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'

export function parseQuantity(text: string): Quantity | undefined {
  const m = SYNTAX.exec(text)
  if (m === null) return undefined
  const [, sign = '', digits = '0', suffix = ''] = m
  const [whole = '', fraction = ''] = digits.split('.')
  const mantissa = BigInt(`${whole}${fraction}` || '0')
  const { exponent, factor, form } = unitOf(suffix)
  const scale = exponent - fraction.length + 9
  const scaled = mantissa * factor * (scale >= 0 ? 10n ** BigInt(Math.min(scale, MAX_EXPONENT)) : 1n)
  const nano = scale >= 0 ? scaled : dividedUp(scaled, 10n ** BigInt(Math.min(-scale, MAX_EXPONENT)))
  const capped = nano > LARGEST ? LARGEST : nano
  return { nano: sign === '-' ? -capped : capped, form }
}

function unitOf(suffix: string): {
  readonly exponent: number
  readonly factor: bigint
  readonly form: Quantity['form']
} {
  const binary = BINARY.indexOf(suffix)
  if (binary > 0) return { exponent: 0, factor: 1024n ** BigInt(binary), form: 'binary' }
  const decimal = DECIMAL[suffix]
  if (decimal !== undefined) return { exponent: decimal, factor: 1n, form: 'decimal' }
  return { exponent: Number(suffix.slice(1)), factor: 1n, form: 'exponent' }
}

const dividedUp = (a: bigint, b: bigint): bigint => (a + b - 1n) / b

/** The form with the largest unit that leaves a whole number. */
export function formatQuantity({ nano, form }: Quantity): string {
  if (nano === 0n) return '0'
  const sign = nano < 0n ? '-' : ''
  const size = nano < 0n ? -nano : nano
  if (form === 'binary' && size % NANO === 0n && size / NANO >= 1024n) {
    let units = size / NANO
    let step = 0
    while (units % 1024n === 0n && step < BINARY.length - 1) {
      units /= 1024n
      step++
    }
    return `${sign}${units}${BINARY[step]}`
  }
  let units = size
  let exponent = -9
  while (units % 1_000n === 0n && exponent < 18) {
    units /= 1_000n
    exponent += 3
  }
  if (form === 'exponent') return `${sign}${units}${exponent === 0 ? '' : `e${exponent}`}`
  return `${sign}${units}${SUFFIX_OF.get(exponent) ?? ''}`
}

export function canonicalQuantity(text: string): string | undefined {
  const q = parseQuantity(text)
  return q === undefined ? undefined : formatQuantity(q)
}

/** Negative, zero or positive; both texts must be quantities. */
export function compareQuantities(a: string, b: string): number {
  const difference = (parseQuantity(a)?.nano ?? 0n) - (parseQuantity(b)?.nano ?? 0n)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
