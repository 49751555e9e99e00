// The simple JSON paths of printer columns, scale and selectable fields: parsed once, evaluated on many objects.
import { isObject } from '#lib/json.ts'

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'filter'; readonly path: readonly Step[]; readonly operator: string; readonly value: unknown }

/** Longer paths than any schema needs are refused: they would be evaluated for every object. */
const MAX_PATH_CHARS = 1_024

// No two parts that follow each other take the same characters, so that a path is read in one pass.
const STEP =
  /\.([A-Za-z_$][\w$-]*|\*)(?![\w$\\/-])|\[(\d+|\*|-\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]|\[\?\(\s*@([^=!<>]*)(==|!=|<=|>=|<|>)\s*(?:"([^"]*)"|'([^']*)'|([^\s)]+))\s*\)\]|\.((?:[^.[\\]|\\.)+)/y

function parse(path: string): readonly Step[] | undefined {
  const out: Step[] = []
  // one of its own: filters parse paths inside of paths
  const steps = new RegExp(STEP)
  while (steps.lastIndex < path.length) {
    const m = steps.exec(path)
    if (m === null) return undefined
    const [, name, index, single, double, filterPath, operator, text, text2, bare, escaped] = m
    if (name === '*' || index === '*') out.push({ kind: 'all' })
    else if (name !== undefined) out.push({ kind: 'field', name })
    else if (index !== undefined) out.push({ kind: 'index', index: Number(index) })
    else if (operator !== undefined) {
      const below = parse((filterPath ?? '').trimEnd())
      if (below === undefined) return undefined
      out.push({ kind: 'filter', path: below, operator, value: text ?? text2 ?? scalarOf(bare ?? '') })
    } else out.push({ kind: 'field', name: (single ?? double ?? escaped ?? '').replace(/\\(.)/g, '$1') })
  }
  return out
}

const scalarOf = (text: string): unknown =>
  text === 'true' ? true : text === 'false' ? false : text === '' || Number.isNaN(Number(text)) ? text : Number(text)

function follow(values: readonly unknown[], step: Step): readonly unknown[] {
  switch (step.kind) {
    case 'field':
      return values.flatMap((v) => (isObject(v) && Object.hasOwn(v, step.name) ? [v[step.name]] : []))
    case 'index':
      return values.flatMap((v) =>
        Array.isArray(v) && v.at(step.index) !== undefined ? [v.at(step.index) as unknown] : [],
      )
    case 'all':
      return values.flatMap((v) => (Array.isArray(v) ? v : isObject(v) ? Object.values(v) : []))
    case 'filter':
      return values.flatMap((v) => (Array.isArray(v) ? v.filter((item) => passes(item, step)) : []))
    default:
      return []
  }
}

function passes(item: unknown, { path, operator, value }: Step & { readonly kind: 'filter' }): boolean {
  const [found] = path.reduce<readonly unknown[]>(follow, [item])
  switch (operator) {
    case '==':
      return found === value || String(found) === String(value)
    case '!=':
      return String(found) !== String(value)
    case '<':
      return Number(found) < Number(value)
    case '>':
      return Number(found) > Number(value)
    case '<=':
      return Number(found) <= Number(value)
    case '>=':
      return Number(found) >= Number(value)
    default:
      return false
  }
}

export type PathReader = (object: unknown) => readonly unknown[]

/** All values at the path; a path that cannot be read finds nothing. */
export function jsonPathReader(path: string): PathReader {
  if (path.length > MAX_PATH_CHARS) return () => []
  const steps = parse(path.startsWith('.') || path.startsWith('[') ? path : `.${path}`)
  return steps === undefined ? () => [] : (object) => steps.reduce<readonly unknown[]>(follow, [object])
}
