// The fields that the files of the kinds declare, where they stand. Read as text: the sources are formatted, and a field is a name before a call or a name.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Place } from '#test/support/tools/language-server.ts'
import { ROOT } from './source-files.ts'

export interface DeclaredField extends Place {
  /** cluster network.podCIDR: the file of the kind, then the names from the constant that contains them. */
  readonly id: string
  /** By a mark on itself or around it. */
  readonly isUnserved: boolean
  /** Declared in `SHARED_FILE`: who uses it there says nothing about one kind. */
  readonly isShared?: true
}

const KINDS_FOLDER = 'src/api/kinds'
/** Hold no kinds: examples of what is refused. */
const NO_KINDS = new Set(['rejected.ts'])
/** A type in a list of parameters is no builder. */
const FIELD =
  /(?<=^\s+|[{,] )(\w+): (?!(?:string|number|boolean|unknown|readonly)\b)(?=(?:[a-z]\w*\.)?[a-z]\w*(?:\(|,|$))/g
const CONSTANT = /^(?:export )?(?:const|let) (\w+) = /

/** Statuses begin and end alike: these fields are declared once, for all kinds whose status is made of them. */
const SHARED_FILE = 'src/api/fields.ts'
const SHARED: Readonly<Record<string, readonly string[]>> = {
  status: ['observedGeneration', 'conditions'],
  waitingStatus: ['observedGeneration', 'waitingFor', 'conditions'],
}
const OF_SHARED = /^const status = f\.(\w+)\(/

export const declaredFields = (): readonly DeclaredField[] =>
  readdirSync(join(ROOT, KINDS_FOLDER))
    .filter((f) => f.endsWith('.ts') && !NO_KINDS.has(f))
    .flatMap((f) => fieldsOf(`${KINDS_FOLDER}/${f}`, readFileSync(join(ROOT, KINDS_FOLDER, f), 'utf8')))

function sharedFields(kind: string, maker: string): readonly DeclaredField[] {
  const lines = readFileSync(join(ROOT, SHARED_FILE), 'utf8').split('\n')
  return (SHARED[maker] ?? []).map((name) => {
    const declared = new RegExp(`\\b${name}: optional\\(${name}\\(\\)\\)`)
    const line = lines.findIndex((l) => declared.test(l))
    const character = lines[line]?.search(declared) ?? -1
    return { id: `${kind} status.${name}`, file: SHARED_FILE, line, character, isUnserved: false, isShared: true }
  })
}

interface Around {
  readonly indent: number
  readonly name: string
  readonly isUnserved: boolean
}

/** Marked by itself, however it is wrapped. */
const isMarked = (rest: string): boolean =>
  /^(?:(?:s\.)?(?:optional|fallback|immutable)|\(|\s)*(?:s\.)?unserved\(/.test(rest)

function fieldsOf(file: string, text: string): DeclaredField[] {
  const kind = /([\w-]+)\.ts$/.exec(file)?.[1] ?? ''
  const found: DeclaredField[] = []
  let around: Around[] = []
  let isSchema = false
  let at = 0
  for (const [line, code] of text.split('\n').entries()) {
    const restFrom = (column: number) => text.slice(at + column)
    const constant = CONSTANT.exec(code)
    // The definition itself, its columns and its example are no fields.
    const maker = OF_SHARED.exec(code)?.[1]
    if (maker !== undefined) found.push(...sharedFields(kind, maker))
    if (constant !== null) {
      isSchema = !code.includes('defineKind(')
      around = [{ indent: -1, name: constant[1] ?? '', isUnserved: isMarked(restFrom(constant[0].length)) }]
    }
    if (/^(export )?(function|type|interface)\b/.test(code)) isSchema = false
    const indent = code.search(/\S/)
    if (indent >= 0) around = around.filter((a) => a.indent < indent)
    for (const m of isSchema ? code.matchAll(FIELD) : []) {
      const name = m[1] ?? ''
      const isUnserved = around.some((a) => a.isUnserved) || isMarked(restFrom(m.index + m[0].length))
      found.push({
        id: `${kind} ${[...around.map((a) => a.name), name].join('.')}`,
        file,
        line,
        character: m.index,
        isUnserved,
      })
      if (m.index === indent) around.push({ indent, name, isUnserved })
    }
    at += code.length + 1
  }
  return found
}
