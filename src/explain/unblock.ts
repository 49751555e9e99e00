// What ends a wait, as statuses say it in one sentence: a state that has to come, or a command that a user can type. The one place that tells them apart. Pure.
import { endLines, type Told } from './told.ts'

const COMMAND = /^(?:run )?((?:kubenode|git) .*)$/s

export function unblockOf(sentence: string): Pick<Told, 'ends' | 'command'> {
  const line = COMMAND.exec(sentence)?.[1]
  return line !== undefined ? { command: { line } } : sentence === '' ? {} : { ends: sentence }
}

export const unblockLines = (sentence: string): readonly string[] => endLines(unblockOf(sentence))
