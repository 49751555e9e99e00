// What ends a wait, from the one sentence in a status: a state that must be reached, or a command that a user can type. The only place that tells them apart. Pure.
import { shellWord } from '#lib/shell-word.ts'
import { endLines, type Finding, type WayOn } from './finding.ts'

/** A word that no shell reads as more than a word: statuses and names come from clusters with other owners, and users paste what is shown. */
const WORD = String.raw`(?:[\w./:@=+,~^%-]+|"[\w ./:@=+,-]*"|'[^'\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*')`
const OWN = String.raw`(?:kubenode|kubectl)(?: ${WORD})+`
/** Only the git commands that statuses recommend: other git commands can run programs given in their options. */
const GIT = String.raw`git revert --no-edit(?: -m \d+)?(?: [0-9a-f]{4,64})+(?: && git push)?`
const LINE = `(?:${OWN}|${GIT})`
const TYPED = new RegExp(`^${LINE}(?:; to [a-z ]+, (?:run )?${LINE})*$`, 'u')

/** Whether the line can be pasted into a terminal unchanged. */
export const isTyped = (line: string): boolean => TYPED.test(line)

/** The verdicts of a permit are read with its name, which says nothing in a sentence. */
const DETAILS = new RegExp(`^(.*); for details run (${OWN})$`, 'u')

export function unblockOf(sentence: string): WayOn {
  const [, ends, details] = DETAILS.exec(sentence) ?? []
  if (ends !== undefined && details !== undefined)
    return { ends, command: { line: details, does: 'see each gate of its permit' } }
  const line = sentence.replace(/^run (?=kubenode |git )/, '')
  const isOwn = /^(?:kubenode|git) /.test(line)
  return isOwn && isTyped(line) ? { command: { line } } : sentence === '' ? {} : { ends: sentence }
}

/** If sync reads the repository in place, it follows a commit immediately, and there may be no remote to push to. */
export const withoutPush = (text: string): string => text.replaceAll(' && git push', '')

/** The sentence for users ends with a command that can be pasted. */
export function endsInCommand(ends: string): boolean {
  const at = ends.lastIndexOf(': ')
  return at !== -1 && isTyped(ends.slice(at + 2)) && !ends.slice(at).includes(', then ')
}

/** A command within a sentence: in brackets after the number of an error, or followed by a second one. */
const COMMAND_WITHIN = /\(KN\d{4}: kubenode |: kubenode .*, then kubenode /

/** Whether the sentence has commands that need the cluster they are for. */
export const hasCommand = (ends: string): boolean => endsInCommand(ends) || COMMAND_WITHIN.test(ends)

/** Between the commands of a sentence, and before its only one. */
const BEFORE_COMMAND = /(; to [a-z ]+, (?:run )?|, then (?:run )?|: )(?=kubenode |kubectl |git )/
/** Commands that read a repository and contact no cluster; neither does a thaw on the node itself. */
const OF_REPOSITORY = /^kubenode (?:diff|lint|plan|rules (?:coverage|lint|test)|simulate)(?: |$)/
const OF_CLUSTER = /^(?:kubenode|kubectl) (?!thaw --node-folder |.* --context )/

/** Ends a command that is in brackets, or that a sentence continues after. */
const AFTER_COMMAND = /\)|, (?=then )|$/

/** The sentence with a cluster for each command: pasted, it must not reach the context that happens to be selected. */
export const inContext = (sentence: string, cluster: string): string =>
  sentence
    .split(BEFORE_COMMAND)
    .map((part) =>
      OF_CLUSTER.test(part) && !OF_REPOSITORY.test(part)
        ? part.replace(isTyped(part) ? /$/ : AFTER_COMMAND, (after) => ` --context ${shellWord(cluster)}${after}`)
        : part,
    )
    .join('')

/** The finding, with a cluster for each command of it and below it. */
export const findingInContext = <F extends Finding>(finding: F, cluster: string): F => ({
  ...finding,
  ...(finding.command !== undefined && {
    command: { ...finding.command, line: inContext(finding.command.line, cluster) },
  }),
  ...(finding.ends !== undefined && hasCommand(finding.ends) && { ends: inContext(finding.ends, cluster) }),
  ...(finding.below !== undefined && { below: finding.below.map((each) => findingInContext(each, cluster)) }),
})

export const unblockLines = (sentence: string): readonly string[] => endLines(unblockOf(sentence))
