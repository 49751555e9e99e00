// Reviews the rules of a recorded history, beside the monitors of a fleet if one is named, and prints the review.
import { shownJson } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { type FleetConditions, fleetConditions } from '#declared/unset-conditions.ts'
import { DeclaredSides, type FleetAsked } from '../backtest/declared.ts'
import {
  type HistoryAsked,
  type OneHistory,
  type WithReaders,
  checkTimes,
  withOneHistory,
} from '../backtest/one-history.ts'
import { reviewFindings } from './findings.ts'
import { reviewMarkdown, reviewText } from './forms.ts'
import type { ReviewResult } from './result.ts'
import { Review } from './review.ts'

export interface ReviewAsked extends FleetAsked, HistoryAsked {
  /** Whose monitors are compared; none if left out. */
  readonly commit?: string | undefined
  readonly dirty?: true | undefined
  readonly output: 'text' | 'json' | 'markdown'
}

export async function showReview(asked: ReviewAsked, withReaders: WithReaders, io: Io): Promise<void> {
  checkTimes(asked)
  await withOneHistory(
    asked,
    withReaders,
    async (past) => {
      const { cluster } = past
      const fleet = await fleetOf(asked, cluster, io)
      const review = new Review({
        cluster,
        windowMs: past.to - past.asked,
        asked: past.asked,
        fleet: fleet?.conditions,
      })
      const result = await withProgress(io, `reading the history of ${cluster}`, reviewed(review, past))
      show(result, fleet?.name, asked, io)
    },
    io,
  )
}

interface NamedFleet {
  readonly name: string
  readonly conditions: FleetConditions
}

async function fleetOf(asked: ReviewAsked, cluster: string, io: Io): Promise<NamedFleet | undefined> {
  const { commit, dirty = false } = asked
  if (commit === undefined && !dirty) return undefined
  const { name, objects } = await new DeclaredSides(asked, io).objects({ commit, isDirty: dirty }, cluster)
  return { name, conditions: fleetConditions(objects) }
}

async function reviewed(review: Review, { to, lines }: OneHistory): Promise<ReviewResult> {
  for await (const line of lines) if (line.line !== 'head') await review.take(line)
  return review.end(to)
}

function show(
  result: ReviewResult,
  fleet: string | undefined,
  { output, history, cluster }: ReviewAsked,
  io: Io,
): void {
  const found = reviewFindings(result, { history, cluster, fleet })
  switch (output) {
    case 'json': {
      const unset = result.unset && Object.fromEntries(result.unset)
      io.out(shownJson({ ...result, unset, fleet, findings: found.findings }))
      return
    }
    case 'markdown':
      io.out(reviewMarkdown(found))
      return
    case 'text':
      io.out(reviewText(found, io.width?.()))
  }
}
