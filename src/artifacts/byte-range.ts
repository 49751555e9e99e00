// Parses the byte range of a request. Pure.

export type Wanted =
  | { readonly kind: 'Whole' }
  /** Inclusive on both ends. */
  | { readonly kind: 'Part'; readonly from: number; readonly to: number }
  | { readonly kind: 'Unsatisfiable' }

const SINGLE = /^bytes=(\d{0,15})-(\d{0,15})$/

/** Multiple ranges and unknown units get the whole file, as HTTP allows. */
export function wantedBytes(range: string | undefined, size: number): Wanted {
  const [, first = '', last = ''] = SINGLE.exec(range?.replaceAll(' ', '') ?? '') ?? []
  if (first === '' && last === '') return { kind: 'Whole' }
  if (first === '') {
    const count = Math.min(Number(last), size)
    return count === 0 ? { kind: 'Unsatisfiable' } : { kind: 'Part', from: size - count, to: size - 1 }
  }
  const from = Number(first)
  const to = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < from) return { kind: 'Whole' }
  return from >= size ? { kind: 'Unsatisfiable' } : { kind: 'Part', from, to }
}
