// Finds the form of `kubenode history` that a command line uses.
import { KubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { historyErrors } from '#history/history-errors.ts'
import { type HistoryCommandOptions, isRecorded, showLife, showWho } from './show-recorded.ts'

export async function showHistory(what: readonly string[], options: HistoryCommandOptions, io: Io): Promise<void> {
  const [first = '', second, third] = what
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
      if (isRecorded(what, options)) return showLife(what, options, io)
      return showCommits(what, options, io)
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

const missing = (form: string, what: string, usage: string): KubeNodeError =>
  new KubeNodeError(historyErrors.KN17010({ form, what, usage }))
