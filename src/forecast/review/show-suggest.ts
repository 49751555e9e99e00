// Prints drafts of rules for what people repaired by hand again and again, each with its numbers. Applies nothing.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { formatDuration } from '#lib/duration.ts'
import { printableLine, shownJson } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { wrapped } from '#lib/terminal/wrap.ts'
import {
  type HistoryAsked,
  type OneHistory,
  type WithReaders,
  askedAgain,
  checkTimes,
  withOneHistory,
} from '../backtest/one-history.ts'
import { draftCode, draftOf } from './draft.ts'
import { type Handmade, Handwork, type HandworkResult } from './handwork.ts'

export interface SuggestAsked extends HistoryAsked {
  readonly output: 'text' | 'json' | 'rules'
}

const COLUMNS = 80
const MOST_PEOPLE = 5

export async function showSuggest(asked: SuggestAsked, withReaders: WithReaders, io: Io): Promise<void> {
  checkTimes(asked)
  const suggest = async (past: OneHistory): Promise<void> => {
    const result = await withProgress(io, `reading the history of ${past.cluster}`, followed(past))
    if (asked.output === 'text') io.out(suggestText(result, past, asked, io.width?.()))
    else if (asked.output === 'rules') io.out(shownJson(rulesToTry(result)))
    else io.out(shownJson(result.found.map((made) => ({ ...made, draft: draftOf(made) }))))
  }
  await withOneHistory(asked, withReaders, suggest, io)
}

async function followed({ lines }: OneHistory): Promise<HandworkResult> {
  const handwork = new Handwork()
  for await (const line of lines) if (line.line !== 'head') handwork.take(line)
  return handwork.end()
}

/** The rules in force and the drafts, which repair here: a backtest of a dry run would show no repair. */
export function rulesToTry({ found, remediers }: HandworkResult): object {
  const drafts = found.flatMap((made) => draftOf(made) ?? [])
  const object = (name: string, spec: object) => ({
    apiVersion: API_GROUP_VERSION,
    kind: 'NodeRemedier',
    metadata: { name },
    spec,
  })
  const items = [
    ...remediers.map(({ metadata: { name = '' }, spec }) => object(name, spec)),
    ...drafts.map(({ name, spec }) => object(name, { ...spec, mode: 'Enforce' })),
  ]
  return { apiVersion: 'v1', kind: 'List', items }
}

export function suggestText(
  { found, isEmpty }: HandworkResult,
  { cluster, to }: Pick<OneHistory, 'cluster' | 'to'>,
  asked: Pick<HistoryAsked, 'history' | 'cluster'>,
  width = COLUMNS,
): string {
  const prose = (text: string): string => wrapped(printableLine(text), width).join('\n')
  if (isEmpty) return `${prose(`Nothing was recorded of any node in cluster ${cluster} until ${timestamp(to)}`)}\n`
  const title = prose(
    `Repairs by hand in cluster ${cluster} until ${timestamp(to)}: ${counted(found.length, 'condition')} that people followed with a cordon at least 3 times`,
  )
  const parts = found.map((made) => {
    const draft = draftOf(made)
    const numbers = numbersOf(made).map(prose).join('\n')
    return draft === undefined ? `${numbers}\n${prose(whyNone(made))}` : `${numbers}\n\n${draftCode(draft).trimEnd()}`
  })
  const source = askedAgain(asked)
  const drafts = found.filter((made) => draftOf(made) !== undefined).length
  const next =
    drafts === 0
      ? []
      : [
          [
            prose(
              'Try the drafts beside the rules in force, before you commit one. Whether pods were drained is not recorded, so each draft drains:',
            ),
            `  kubenode rules suggest${source} -o rules > suggested.json`,
            `  kubenode rules backtest${source} --rules suggested.json`,
          ].join('\n'),
        ]
  return `${[title, ...parts, ...next].join('\n\n')}\n`
}

function numbersOf({ type, episodes, selfEnded, longestMs }: Handmade): readonly string[] {
  const people = [...new Set(episodes.map((e) => e.who))]
  const shown = people.slice(0, MOST_PEOPLE).join(', ')
  const more = people.length > MOST_PEOPLE ? ` and ${people.length - MOST_PEOPLE} more` : ''
  const delays = episodes.map((e) => e.delayMs).toSorted((a, b) => a - b)
  const of = (is: (e: Handmade['episodes'][number]) => boolean) => `${episodes.filter(is).length} of ${episodes.length}`
  const nodes = new Set(episodes.map((e) => e.node)).size
  return [
    `${type}: cordoned by hand ${counted(episodes.length, 'time')} on ${counted(nodes, 'node')}, by ${shown}${more}`,
    `  ${formatDuration(delays[Math.floor(delays.length / 2)] ?? 0)} after the condition began (median); rebooted ${of((e) => e.isRebooted)} times; over afterwards ${of((e) => e.isOver)} times`,
    selfEnded === 0
      ? '  It never ended by itself'
      : `  It ended by itself ${counted(selfEnded, 'time')}, after at most ${formatDuration(longestMs)}`,
  ]
}

const whyNone = ({ rules }: Handmade): string =>
  rules.length === 0
    ? '  No draft: the name of the condition is no plain word'
    : `  No draft: ${rules.join(', ')} reads it already. See what it does with kubenode rules review`
