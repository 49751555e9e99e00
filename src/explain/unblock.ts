// What ends a wait, as statuses say it in one sentence: a state that has to come, or a command that a user can type. The one place that tells them apart. Pure.
import { endLines, type WayOn } from './finding.ts'

/** No shell reads more than words in it: statuses and names come from clusters that others own, and users paste what they see. */
const WORD = String.raw`(?:[\w./:@=+,~^%-]+|"[\w ./:@=+,-]*"|'[^'\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*')`
const OWN = String.raw`(?:kubenode|kubectl)(?: ${WORD})+`
/** Of git only what statuses advise: other commands of git run programs that their options name. */
const GIT = String.raw`git revert --no-edit(?: -m \d+)?(?: [0-9a-f]{4,64})+(?: && git push)?`
const LINE = `(?:${OWN}|${GIT})`
const TYPED = new RegExp(`^${LINE}(?:; to [a-z ]+, (?:run )?${LINE})*$`, 'u')

/** Whether it can be pasted into a terminal as it stands. */
export const isTyped = (line: string): boolean => TYPED.test(line)

export function unblockOf(sentence: string): WayOn {
  const line = sentence.replace(/^run (?=kubenode |git )/, '')
  const isOwn = /^(?:kubenode|git) /.test(line)
  return isOwn && isTyped(line) ? { command: { line } } : sentence === '' ? {} : { ends: sentence }
}

/** Where sync reads a repository in place, a commit is followed at once, and there may be no remote to push to. */
export const withoutPush = (text: string): string => text.replaceAll(' && git push', '')

/** What time does not end: its sentence names who acts, and what is to be done. */
export const isForPeople = (ends: string): boolean => /^a (?:commit|person) /.test(ends)

/** The command that the sentence for people ends with can be pasted. */
export function endsInCommand(ends: string): boolean {
  const at = ends.lastIndexOf(': ')
  return at !== -1 && isTyped(ends.slice(at + 2)) && !ends.slice(at).includes(', then ')
}

export const unblockLines = (sentence: string): readonly string[] => endLines(unblockOf(sentence))
