// What is wrong with an object by its conditions: each message once, with its meaning, its runbook and who ends it. Pure.
import { REASONS, runbookPath } from '#api/catalogue.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { fieldsOf, objectsIn } from '#lib/fields.ts'
import { HOLD_REASONS } from '#permits/holds/names.ts'
import { type Fields, type Moment, since, text, wordOf } from './any-object.ts'
import { isGoodCondition } from './conditions.ts'
import { causeOf, type Finding, notesOf } from './finding.ts'
import { endOfRefusal } from './refused-commit.ts'
import { thawOnNode } from './repairs/blocker.ts'
import { peopleSentence } from './ways-out.ts'

const isGood = (kind: string, c: Fields): boolean =>
  isGoodCondition(kind, { type: text(c['type']), status: text(c['status']), reason: text(c['reason']) })

/** Errors of a source: one commit may have several, each longer than a condition's message. */
function errorsOf({ status }: KubeObject): readonly string[] {
  const errors = fieldsOf(status)['renderErrors']
  return Array.isArray(errors) ? errors.map(text) : []
}

/** A condition has only the beginning of the error. */
const wholeOf = (message: string, errors: readonly string[]): string =>
  (message.endsWith('…') && errors.find((e) => e.startsWith(message.slice(0, -1)))) || message

/** A release that a newer one replaced, and that waits for nothing, is history and needs no action. */
const REPLACED = 'NewerRelease'

/** Used when none of the object's waits names who must act. The explanation must not recommend itself. */
function peopleEnd(reason: string, word: string): Pick<Finding, 'ends'> {
  const sentence = peopleSentence(reason, word)?.replace(`: kubenode why ${word}`, '')
  return sentence === undefined ? {} : { ends: sentence }
}

function endOfReason(object: KubeObject, reason: string): Pick<Finding, 'ends'> {
  const ends = object.kind === 'FleetSource' ? endOfRefusal((object as FleetSource).status ?? {}, reason) : undefined
  return ends === undefined ? peopleEnd(reason, wordOf(object)) : { ends }
}

/** A file on the node is no hold: only removing it there lifts it. */
function endOfFreezeFile({ kind, status }: KubeObject, type: string): Pick<Finding, 'ends'> | undefined {
  if (kind !== 'Machine' || type !== 'Frozen') return undefined
  const folder = text(fieldsOf(fieldsOf(status)['agent'])['folder'])
  return { ends: `a person lifts the freeze, on the node itself: ${thawOnNode(folder === '' ? undefined : folder)}` }
}

/** A message that several conditions, or a condition and a wait, share is shown once. */
export function conditionFindings(object: KubeObject, { now, holdEnds }: Moment): readonly Finding[] {
  const bad = objectsIn(fieldsOf(object['status'])['conditions']).filter((c) => !isGood(object.kind, c))
  const { predicate, seen } = fieldsOf(fieldsOf(object['status'])['waitingFor'])
  const wait = [`${text(predicate)}: ${text(seen)}`, `${text(predicate)}: waiting for ${text(seen)}`]
  const [messages, reasons] = [new Set(wait), new Set<string>()]
  const errors = errorsOf(object)
  return bad.flatMap((c) => {
    const reason = text(c['reason'])
    const message = wholeOf(text(c['message']), errors)
    const known = reasons.has(reason) ? undefined : REASONS[reason as keyof typeof REASONS]
    const isOver = reason === REPLACED && predicate === undefined
    const isShown = messages.has(`${reason}: ${message}`)
    reasons.add(reason)
    messages.add(`${reason}: ${message}`)
    const runbook = known === undefined ? undefined : runbookPath(known.runbook)
    return {
      cause: causeOf(wordOf(object), reason),
      text: `${text(c['type'])} is ${text(c['status'])}${since(c['lastTransitionTime'], now)}: ${reason}${isShown ? '' : `: ${message}`}`,
      // A condition that is bad when True, such as a node fault, is a finding; a pause is a wait.
      ...(!isOver && { urgency: text(c['type']) === 'Paused' ? ('Waiting' as const) : ('Failed' as const) }),
      ...(known !== undefined && {
        below: notesOf([
          ...(isShown ? [] : errors.slice(errors.indexOf(message) + 1 || errors.length)),
          isOver ? known.doc : `${known.doc} See ${runbook}.`,
        ]),
      }),
      ...(runbook !== undefined && !isOver && { runbook }),
      // A hold over the cluster is not lifted by the command that the reason has for a hold on this object.
      ...(text(c['type']) === 'Paused' && HOLD_REASONS.has(reason) && holdEnds !== undefined
        ? holdEnds
        : (endOfFreezeFile(object, text(c['type'])) ??
          (known !== undefined && !isOver && predicate === undefined && endOfReason(object, reason)))),
    }
  })
}
