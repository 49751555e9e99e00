// Finds the comments of a TypeScript file. Consecutive line comments are one comment, because their sentences run over the lines.
import { parseSync } from 'rolldown/utils'

export interface Comment {
  readonly line: number
  readonly text: string
}

/** Instructions to tools, not sentences. */
const DIRECTIVE = /^\s*(oxlint-|eslint-|@ts-|\/ <reference)/

const isBlank = (text: string): boolean => text.trim() === ''
const withoutStars = (text: string): string => text.replace(/\s*\n\s*\*? */g, ' ').replace(/^\*/, '')

export function commentsIn(path: string, code: string): readonly Comment[] {
  const { comments, errors } = parseSync(path, code)
  if (errors.length > 0) throw new Error(`cannot read ${path}: ${errors[0]?.message ?? ''}`)
  const found: { line: number; text: string; end: number; isLine: boolean }[] = []
  for (const { type, value, start, end } of comments) {
    if (DIRECTIVE.test(value)) continue
    const isLine = type === 'Line'
    const last = found.at(-1)
    if (isLine && last?.isLine === true && isBlank(code.slice(last.end, start))) {
      last.text += ` ${value.trim()}`
      last.end = end
    } else {
      found.push({ line: code.slice(0, start).split('\n').length, text: withoutStars(value).trim(), end, isLine })
    }
  }
  return found.map(({ line, text }) => ({ line, text }))
}
