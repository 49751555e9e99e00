// Adds up what a test run really did, and fails it when a file holds no test or a test was skipped without saying why.
import { appendFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule, TestRunEndReason, SerializedError, Vitest } from 'vitest/node'
import { isFull } from './full.ts'

export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Failed tests named beside the totals. */
const MOST_NAMED = 40

const firstLine = (t: TestCase): string => (t.result().errors?.[0]?.message ?? '').split('\n')[0]?.slice(0, 200) ?? ''

const where = (t: TestCase) => `${t.module.relativeModuleId} > ${t.fullName}`

/** What a run did and what is dishonest about it; pure, so that it can be tested. */
export function judge(
  tests: readonly { name: string; state: string; note: string | undefined }[],
  emptyFiles: readonly string[],
) {
  const count = (state: string) => tests.filter((t) => t.state === state).length
  const silent = tests.filter((t) => t.state === 'skipped' && !t.note?.trim())
  const complaints = [
    ...emptyFiles.map((f) => `no test in ${f}`),
    ...silent.map((t) => `skipped without a reason: ${t.name}; call context.skip('why')`),
    ...tests.filter((t) => t.state === 'pending').map((t) => `never ran: ${t.name}`),
  ]
  const totals: Totals = {
    passed: count('passed'),
    failed: count('failed') + complaints.length,
    skipped: count('skipped') - silent.length,
  }
  return { totals, complaints }
}

export default class HonestReporter implements Reporter {
  #vitest: Vitest | undefined

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[], reason: TestRunEndReason): void {
    // A filtered run (-t, file:line) leaves tests out on purpose.
    if (this.#vitest?.config.testNamePattern !== undefined || reason === 'interrupted') return
    const cases = modules.flatMap((m) => [...m.children.allTests()])
    const tests = cases.map((t) => {
      const result = t.result()
      return { name: where(t), state: result.state, note: result.state === 'skipped' ? result.note : undefined }
    })
    // A file that could not be loaded has no test either; vitest reports its error by itself, here it counts as one failure.
    const broken = modules.filter((m) => m.state() === 'failed' && m.errors().length > 0)
    const empty = modules.filter((m) => !broken.includes(m) && [...m.children.allTests()].length === 0)
    const { totals, complaints } = judge(
      tests,
      empty.map((m) => m.relativeModuleId),
    )
    const failed = totals.failed + broken.length + errors.length
    const failures = cases.filter((t) => t.result().state === 'failed')
    for (const t of tests) if (t.state === 'skipped' && t.note) console.log(` skipped: ${t.name}: ${t.note}`)
    const { shard } = this.#vitest?.config ?? {}
    if (shard !== undefined)
      console.log(
        ` left out: all but share ${shard.index} of ${shard.count} of the layers with servers, programs and seeds: npm test`,
      )
    if (!isFull) console.log(` left out: files called *.full.test.ts: npm run ok:full`)
    for (const c of complaints) console.error(` dishonest: ${c}`)
    // Once more, beside the totals: the reports of the errors stand far above them.
    for (const t of failures.slice(0, MOST_NAMED)) console.log(` failed: ${where(t)}: ${firstLine(t)}`)
    console.log(` Totals  ${totals.passed} passed, ${failed} failed, ${totals.skipped} skipped`)
    if (failed > 0) process.exitCode = 1
    const file = process.env['KUBENODE_TEST_TOTALS']
    if (file !== undefined) appendFileSync(file, `${JSON.stringify({ ...totals, failed })}\n`)
  }
}
