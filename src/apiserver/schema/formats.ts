// Which `format`s of a schema are checked, and what each accepts; the others are ignored, as the API server does.
import { isIPv4, isIPv6 } from 'node:net'

type Check = (text: string) => boolean

const matches =
  (pattern: RegExp): Check =>
  (text) =>
    pattern.test(text)

/** Names without their dashes: `date-time` and `datetime` are one format. */
const STRING_FORMATS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['bsonobjectid', matches(/^[0-9a-fA-F]{24}$/)],
  ['uri', isRequestUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', (text) => isIPv6(text) && !text.includes('%')],
  ['cidr', isCidr],
  ['mac', isMac],
  ['uuid', uuidOf('', '')],
  ['uuid3', uuidOf('3', '')],
  ['uuid4', uuidOf('4', '[89ab]')],
  ['uuid5', uuidOf('5', '[89ab]')],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', matches(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', isRgbColor],
  ['byte', isBase64],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDurationText],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => text.length <= 63 && SHORT_NAME.test(text)],
  ['k8slongname', (text) => text.length <= 253 && text.split('.').every((part) => SHORT_NAME.test(part))],
])

const SHORT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

/** The check of a string format; undefined when the format is not one the server knows. */
export const stringFormat = (format: string): Check | undefined => STRING_FORMATS.get(format.replaceAll('-', ''))

/** `format` as it takes effect on a value of this type; empty where it is ignored. */
export function effectiveFormat(type: string | undefined, format: string): string {
  if (type === undefined || type === 'string') return stringFormat(format) ? format : ''
  if (type === 'integer') return format === 'int32' || format === 'int64' ? format : ''
  if (type === 'number') return format === 'float' || format === 'double' ? format : ''
  return ''
}

/** Dashes are optional one by one; version and variant constrain the digit at their position. */
function uuidOf(version: string, variant: string): Check {
  const digits = (n: number, first = '') => (first === '' ? `[0-9a-f]{${n}}` : `${first}[0-9a-f]{${n - 1}}`)
  const groups = [digits(8), digits(4), digits(4, version), digits(4, variant), digits(12)]
  return matches(new RegExp(`^${groups.join('-?')}$`, 'i'))
}

/** Dotted, with leading zeros tolerated; an IPv4 inside an IPv6 address counts too. */
function isIpv4(text: string): boolean {
  if (!text.includes('.')) return false
  if (text.includes(':')) return isIPv6(text) && !text.includes('%')
  return isIPv4(text.replaceAll(/\b0+(?=\d)/g, ''))
}

function isCidr(text: string): boolean {
  const slash = text.indexOf('/')
  if (slash < 0) return false
  const address = text.slice(0, slash)
  const bits = text.slice(slash + 1)
  const most = address.includes(':') ? 128 : 32
  const valid = address.includes(':') ? isIPv6(address) && !address.includes('%') : isIpv4(address)
  return valid && /^\d{1,4}$/.test(bits) && Number(bits) <= most
}

const MAC_FORMS = [/^[0-9a-f]{2}(:[0-9a-f]{2})+$/i, /^[0-9a-f]{2}(-[0-9a-f]{2})+$/i, /^[0-9a-f]{4}(\.[0-9a-f]{4})+$/i]
/** 48-bit, 64-bit and 160-bit addresses. */
const MAC_BYTES: ReadonlySet<number> = new Set([6, 8, 20])

function isMac(text: string): boolean {
  return MAC_FORMS.some((form) => form.test(text)) && MAC_BYTES.has(text.replaceAll(/[^0-9a-f]/gi, '').length / 2)
}

const LABEL_RUNE = /^[a-zA-Z0-9\p{S}\p{L}]$/u
const TOP_LEVEL = /^[a-zA-Z\p{L}]{2,63}$/u

/** Stricter than DNS in one place: a name of one label has a hyphen in second place only. */
function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > 255) return false
  const labels = text.split('.')
  if (labels.some((label) => Buffer.byteLength(label) > 63)) return false
  const top = labels.at(-1) ?? ''
  if (labels.length === 1) return isSingleLabel([...top])
  return TOP_LEVEL.test(top) && labels.slice(0, -1).every((label) => isInnerLabel([...label]))
}

function isSingleLabel(runes: readonly string[]): boolean {
  const rest = runes[1] === '-' ? [runes[0] ?? '', ...runes.slice(2)] : runes
  return rest.length > 0 && rest.length <= 63 && rest.every((r) => LABEL_RUNE.test(r))
}

const isInnerLabel = (runes: readonly string[]): boolean =>
  runes.length > 0 &&
  runes.length <= 63 &&
  runes.every((r, i) => LABEL_RUNE.test(r) || (r === '-' && i > 0 && i < runes.length - 1))

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/
const BAD_ESCAPE = /%(?![0-9a-fA-F]{2})/

/** An absolute path or an absolute URL, as a request line may carry. */
function isRequestUri(text: string): boolean {
  if (text === '' || CONTROL.test(text)) return false
  if (text === '*') return true
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text)
  const rest = scheme ? text.slice(scheme[0].length) : text
  const path = rest.split('?', 1)[0] ?? ''
  if (!path.startsWith('/') || BAD_ESCAPE.test(path)) return false
  return !scheme || !path.startsWith('//') || isAuthority(path.slice(2).split('/', 1)[0] ?? '')
}

function isAuthority(text: string): boolean {
  const at = text.lastIndexOf('@')
  const user = text.slice(0, Math.max(at, 0))
  const host = text.slice(at + 1)
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) return false
  if (host.startsWith('[')) return /^\[[^\]]*\](:\d*)?$/.test(host)
  return /^[^\s"\\^`{}|/?#%]*$/.test(host) && /^[^:]*(:\d*)?$/.test(host)
}

const ATOM = /^[\w!#$%&'*+/=?^`{|}~\-\u0080-\u{10ffff}]+(\.[\w!#$%&'*+/=?^`{|}~\-\u0080-\u{10ffff}]+)*$/u
const QUOTED = /^"([^"\\\r\n]|\\.)*"$/
const DISPLAY_NAME = /^[^<>]*<([^<>]+)>$/

/** `user@host`, or with a name before it in angle brackets. */
function isEmail(text: string): boolean {
  const trimmed = text.trim()
  const address = DISPLAY_NAME.exec(trimmed)?.[1] ?? trimmed
  const at = address.lastIndexOf('@')
  if (at < 1) return false
  const local = address.slice(0, at)
  const domain = address.slice(at + 1)
  return (ATOM.test(local) || QUOTED.test(local)) && (ATOM.test(domain) || /^\[[^\][\\]+\]$/.test(domain))
}

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function isDate(text: string): boolean {
  const m = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (!m) return false
  const [year, month, day] = [Number(m[1]), Number(m[2]), Number(m[3])]
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const last = month === 2 && !leap ? 28 : (DAYS[month - 1] ?? 0)
  return day >= 1 && day <= last
}

/** No leap second; the zone is checked for its form only. */
function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t')
  if (time === undefined || !isDate(date)) return false
  const m = /^(\d{2}):(\d{2}):(\d{2})(.\d+)?(z|([+-]\d{2}:\d{2}))$/.exec(time)
  return m !== null && (m[1] ?? '') <= '23' && (m[2] ?? '') <= '59' && (m[3] ?? '') <= '59'
}

const GO_DURATION = /^[-+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/
const DURATION_PART = /\d\s*([A-Za-zµ]+)/g
const UNITS = /^(ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i

/** Go's form (`1h30m`), or words as Scala writes them anywhere in the text (`2 days`). */
function isDurationText(text: string): boolean {
  if (text === '0' || text === '+0' || text === '-0' || GO_DURATION.test(text)) return true
  return [...text.matchAll(DURATION_PART)].some(([, unit = '']) => UNITS.test(unit))
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]+/g, '')
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  const sum = [...digits].reduce((total, c, i) => total + (i + 1) * (c === 'X' ? 10 : Number(c)), 0)
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]+/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  return [...digits].reduce((total, c, i) => total + Number(c) * (i % 2 === 0 ? 1 : 3), 0) % 10 === 0
}

/** First digits, and how many digits a card that begins so has. */
const CARDS: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^4/, [13, 16]],
  [/^5[1-5]/, [16]],
  [/^(6011|65)/, [16]],
  [/^3[47]/, [15]],
  [/^(30[0-5]|36|38)/, [14]],
  [/^(2131|1800)/, [15]],
  [/^35/, [16]],
]

/** Any other characters may stand between the digits; the last digit is a check sum. */
function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '')
  if (!CARDS.some(([prefix, lengths]) => prefix.test(digits) && lengths.includes(digits.length))) return false
  const sum = [...digits].toReversed().reduce((total, c, i) => {
    const doubled = Number(c) * (i % 2 === 0 ? 1 : 2)
    return total + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return sum % 10 === 0
}

function isRgbColor(text: string): boolean {
  const m = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text)
  return m !== null && m.slice(1).every((n) => String(Number(n)) === n && Number(n) <= 255)
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
}
