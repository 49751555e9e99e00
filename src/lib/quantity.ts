// Kubernetes quantities ("500m", "1Gi", "1e9"): exact values and a server's canonical text.

type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent'

export interface Quantity {
  /** The value times 10^9, rounded away from zero: a nano is the smallest unit. */
  readonly nanos: bigint
  readonly format: QuantityFormat
}

export const QUANTITY_MESSAGE =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

const NANO = 10n ** 9n
const DECIMAL_EXPONENT: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
}
const BINARY_POWER: Readonly<Record<string, number>> = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 }
const TEXT = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE])([+-]?\d{1,4})|([numkMGTPE]|[KMGTPE]i)?)$/
/** Beyond any real amount; larger exponents only cost memory. */
const MAX_EXPONENT = 40
/** Longer mantissas are attacks. */
const MAX_TEXT = 128

const divideAwayFromZero = (n: bigint, d: bigint): bigint => (n % d === 0n ? n / d : n / d + (n < 0n ? -1n : 1n))

/** The exact value; undefined if the text is not a quantity. */
export function parseQuantity(input: unknown): Quantity | undefined {
  const text = typeof input === 'number' || typeof input === 'bigint' ? String(input) : input
  if (typeof text !== 'string' || text.length > MAX_TEXT) return undefined
  const m = TEXT.exec(text)
  if (!m) return undefined
  const [, sign, whole = '', fraction = '', exponentMark, exponentText, suffix = ''] = m
  if (whole === '' && fraction === '') return undefined
  const digits = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n)
  const power = BINARY_POWER[suffix]
  if (power !== undefined) {
    const nanos = divideAwayFromZero(digits * 1024n ** BigInt(power) * NANO, 10n ** BigInt(fraction.length))
    return { nanos, format: 'BinarySI' }
  }
  const exponent = exponentMark === undefined ? (DECIMAL_EXPONENT[suffix] ?? 0) : Number(exponentText)
  if (Math.abs(exponent) > MAX_EXPONENT) return undefined
  const scale = exponent - fraction.length + 9
  const nanos = scale >= 0 ? digits * 10n ** BigInt(scale) : divideAwayFromZero(digits, 10n ** BigInt(-scale))
  return { nanos, format: exponentMark === undefined ? 'DecimalSI' : 'DecimalExponent' }
}

/** A whole mantissa with the largest suffix that keeps it whole; a binary amount below 1 Ki is written in decimal. */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0'
  const size = nanos < 0n ? -nanos : nanos
  if (format === 'BinarySI' && size >= 1024n * NANO) {
    let n = divideAwayFromZero(nanos, NANO)
    let power = 0
    while (power < 6 && n % 1024n === 0n) {
      n /= 1024n
      power++
    }
    return `${n}${['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'][power]}`
  }
  let n = nanos
  let exponent = -9
  while (n % 1000n === 0n && exponent < 18) {
    n /= 1000n
    exponent += 3
  }
  if (format === 'DecimalExponent') return exponent === 0 ? `${n}` : `${n}e${exponent}`
  const suffix = Object.keys(DECIMAL_EXPONENT).find((s) => DECIMAL_EXPONENT[s] === exponent) ?? ''
  return `${n}${suffix}`
}

/** The text that a server stores; undefined if the input is not a quantity. */
export function canonicalQuantity(input: unknown): string | undefined {
  const q = parseQuantity(input)
  return q === undefined ? undefined : formatQuantity(q)
}

/** For comparisons where a double is exact enough; otherwise compare `nanos`. */
export function quantityValue(input: unknown): number | undefined {
  const q = parseQuantity(input)
  return q === undefined ? undefined : Number(q.nanos) / 1e9
}
