// What a reason in a status or an event means, and what ends it. Pure.
import { isReason, REASONS, runbookPath } from '#api/catalogue.ts'
import { peopleSentence } from './ways-out.ts'

/** Undefined for a word that is no reason. */
export function reasonLines(word: string): readonly string[] | undefined {
  if (!isReason(word)) return undefined
  const { doc, runbook } = REASONS[word]
  const sentence = peopleSentence(word, 'KIND/NAME')
  return [
    `${word} (reason)`,
    '',
    `Means: ${doc}`,
    `Ends: ${sentence === undefined ? 'by itself' : `when ${sentence}`}`,
    '',
    `Runbook: ${runbookPath(runbook)}`,
  ]
}
