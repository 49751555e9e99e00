// Finds the form of `kubenode history` that a command line uses.
import { KubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { historyErrors } from '#history/history-errors.ts'
import { type HistoryCommandOptions, isRecorded, showLife, showWho } from './show-recorded.ts'

/** The most words of each form, with the first. */
const USAGE: ReadonlyMap<string, { readonly words: number; readonly text: string }> = new Map([
  ['who', { words: 2, text: 'who [NAME]' }],
  ['recorded', { words: 1, text: 'recorded' }],
  ['export', { words: 2, text: 'export FILE' }],
  ['sample', { words: 2, text: 'sample FILE' }],
  ['import', { words: 3, text: 'import FILE FOLDER' }],
])

export async function showHistory(what: readonly string[], options: HistoryCommandOptions, io: Io): Promise<void> {
  const [first = '', second, third] = what
  const usage = USAGE.get(first)
  const extra = usage === undefined ? undefined : what[usage.words]
  if (usage !== undefined && extra !== undefined) throw tooMany(first, extra, usage.text)
  if (options.redact === true && first !== 'export' && first !== 'sample')
    throw new KubeNodeError(historyErrors.KN17010_redact())
  switch (first) {
    case 'who':
      return showWho(second, options, io)
    case 'recorded':
      return (await import('./show-spans.ts')).showRecorded(options, io)
    case 'export':
    case 'sample': {
      if (second === undefined) throw missing(first, 'the file to write', 'FILE')
      const { exportRecorded, sampleRecorded } = await import('./save-recorded.ts')
      return first === 'export' ? exportRecorded(second, options, io) : sampleRecorded(second, options, io)
    }
    case 'import': {
      if (second === undefined || third === undefined)
        throw missing(first, 'the file to read, or the folder', 'FILE FOLDER')
      return (await import('./save-recorded.ts')).importRecorded(second, third, io)
    }
    default:
      if (!isRecorded(what, options)) return showCommits(what, options, io)
      if (first.includes('/') && second !== undefined) throw tooMany('of an object', second, first)
      return showLife(what, options, io)
  }
}

async function showCommits(
  what: readonly string[],
  { output, ...options }: HistoryCommandOptions,
  io: Io,
): Promise<void> {
  if (output === 'lines') throw new KubeNodeError(historyErrors.KN17010_lines())
  const { showFleetHistory } = await import('./show-history.ts')
  const form = output === undefined ? options : { ...options, output }
  return showFleetHistory(what.length === 0 ? undefined : what.join('/'), form, io)
}

const tooMany = (form: string, word: string, usage: string): KubeNodeError =>
  new KubeNodeError(historyErrors.KN17010_word({ form, word, usage }))

const missing = (form: string, what: string, usage: string): KubeNodeError =>
  new KubeNodeError(historyErrors.KN17010({ form, what, usage }))
