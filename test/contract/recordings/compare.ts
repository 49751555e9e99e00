// What differs between an answer on record and the one that came. Strict in all but messages, which are compared by their beginning
// unless the case says exactly.

const shown = (v: unknown): string => {
  const text = v === undefined ? 'nothing' : JSON.stringify(v)
  return text.length > 300 ? `${text.slice(0, 297)}...` : text
}

/** The part that clients and users check first: up to the field of an Invalid, or the first clause. */
function beginning(message: string): string {
  const invalid = /^(?:.*? is invalid: )\[?[^:]{1,120}?(?=:)/.exec(message)
  if (invalid !== null) return invalid[0]
  const end = message.search(/: |; /)
  return (end > 0 ? message.slice(0, end) : message).slice(0, 60)
}

export function differences(want: unknown, got: unknown, exact: boolean, path = ''): readonly string[] {
  if (typeof want === 'string' && typeof got === 'string') {
    if (want === got || (!exact && path.endsWith('.message') && got.startsWith(beginning(want)))) return []
    return [`${path}: want ${shown(want)}, got ${shown(got)}`]
  }
  if (Array.isArray(want) && Array.isArray(got)) {
    const length =
      want.length === got.length ? [] : [`${path}: want ${want.length} entries, got ${got.length}: ${shown(got)}`]
    const common = Math.min(want.length, got.length)
    return [...length, ...want.slice(0, common).flatMap((w, i) => differences(w, got[i], exact, `${path}[${i}]`))]
  }
  if (isMap(want) && isMap(got))
    return [...new Set([...Object.keys(want), ...Object.keys(got)])].flatMap((k) => {
      const at = `${path}.${k}`
      if (!Object.hasOwn(want, k)) return [`${at}: not expected, got ${shown(got[k])}`]
      if (!Object.hasOwn(got, k)) return [`${at}: want ${shown(want[k])}, got nothing`]
      return differences(want[k], got[k], exact, at)
    })
  return want === got ? [] : [`${path}: want ${shown(want)}, got ${shown(got)}`]
}

const isMap = (v: unknown): v is Readonly<Record<string, unknown>> =>
  typeof v === 'object' && v !== null && !Array.isArray(v)
