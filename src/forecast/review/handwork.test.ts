// What counts as a repair by hand, and that each draft is a rule that a backtest can read.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { PAST_START, PastLines, remedierOf } from '#test/support/worlds/past-lines.ts'
import { timestamp } from '#lib/clock.ts'
import { DeclaredSides } from '../backtest/declared.ts'
import { draftCode, draftOf } from './draft.ts'
import { Handwork, type HandworkResult } from './handwork.ts'
import { rulesToTry, suggestText } from './show-suggest.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const folder = mkdtempSync(join(tmpdir(), 'kubenode-suggest-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function handwork(past: PastLines): HandworkResult {
  const found = new Handwork()
  for (const line of past.lines()) found.take(line)
  return found.end()
}

function fleet(): PastLines {
  const past = new PastLines()
  for (let n = 0; n < 5; n++) past.node(PAST_START, `n${n}`)
  return past
}

function boot(past: PastLines, at: number, node: string, bootID: string): void {
  past.put(at, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: node, uid: `machine-${node}`, creationTimestamp: timestamp(PAST_START) },
    spec: { pool: 'workers' },
    status: { phase: 'Ready', bootID, nodeRef: { name: node, uid: `uid-${node}` } },
  })
}

/** After so many minutes a person cordons the node and, if asked, reboots it; half an hour later it is well. */
function byHand(past: PastLines, at: number, node: string, { after = 10, who = 'alice', reboots = true } = {}): void {
  past.condition(at, node, 'FanStuck', 'True')
  const cordoned = at + after * MINUTE
  past.deed(cordoned, who, node, 'cordoned')
  if (reboots) {
    boot(past, cordoned + MINUTE, node, `${at}-a`)
    boot(past, cordoned + 5 * MINUTE, node, `${at}-b`)
  }
  past.condition(cordoned + 20 * MINUTE, node, 'FanStuck', 'False')
  past.deed(cordoned + 30 * MINUTE, who, node, 'uncordoned')
}

function thrice(): PastLines {
  const past = fleet()
  byHand(past, PAST_START + 3 * HOUR, 'n1')
  byHand(past, PAST_START + 9 * HOUR, 'n2', { who: 'bob' })
  byHand(past, PAST_START + 20 * HOUR, 'n1')
  past.condition(PAST_START + 30 * HOUR, 'n3', 'FanStuck', 'True')
  past.condition(PAST_START + 30 * HOUR + 7 * MINUTE, 'n3', 'FanStuck', 'False')
  return past
}

describe('what people did three times', () => {
  test('becomes a draft, with a hold-down above the time in which the condition ends by itself', () => {
    const [made] = handwork(thrice()).found
    expect(made).toMatchObject({ type: 'FanStuck', selfEnded: 1, longestMs: 7 * MINUTE, rules: [] })
    expect(made?.episodes).toMatchObject([
      { node: 'n1', who: 'alice', delayMs: 10 * MINUTE, isRebooted: true, isOver: true },
      { node: 'n2', who: 'bob' },
      { node: 'n1', who: 'alice' },
    ])
    const draft = made && draftOf(made)
    expect(draft?.spec).toMatchObject({ mode: 'DryRun', for: '10m' })
    expect(draft?.spec.ladder[0]?.operations.map((o) => Object.keys(o)[0])).toEqual([
      'collectEvidence',
      'cordon',
      'drain',
      'reboot',
    ])
    expect(draft && draftCode(draft)).toContain("export const fanStuck: NodeRemedierInput['spec'] = {")
  })

  test('is read by a backtest beside the rules in force, and would repair there', async () => {
    const past = thrice()
    past.put(PAST_START, remedierOf('dead', 'Dead'))
    writeFileSync(join(folder, 'suggested.json'), JSON.stringify(rulesToTry(handwork(past))))
    const io = { cwd: folder, isTerminal: false, out: () => undefined, err: () => undefined }
    const asked = { path: '.', weakCage: 'refuse', weakCageNote: '' } as const
    const sides = new DeclaredSides(asked, io as unknown as ConstructorParameters<typeof DeclaredSides>[1])
    const { declared } = await sides.read({ file: 'suggested.json' }, 'prod-1')
    expect(declared.rules?.map((r) => `${r.metadata.name} ${r.spec.mode}`)).toEqual([
      'dead Enforce',
      'fan-stuck Enforce',
    ])
  })

  test('has no reboot where people did not reboot, and no draft where a rule reads it', () => {
    const past = fleet()
    for (const n of [1, 2, 3]) byHand(past, PAST_START + n * 5 * HOUR, `n${n}`, { reboots: n === 1 })
    const [made] = handwork(past).found
    expect(JSON.stringify(made && draftOf(made))).not.toContain('reboot')
    past.put(PAST_START, remedierOf('fans', 'FanStuck'))
    const again = handwork(past)
    expect(again.found.map(draftOf)).toEqual([undefined])
    expect(suggestText(again, { cluster: 'prod-1', to: PAST_START }, {})).toContain('fans reads it already')
  })
})

describe('does not count', () => {
  const twiceAnd = (third: (past: PastLines, at: number) => void) => {
    const past = fleet()
    byHand(past, PAST_START + 3 * HOUR, 'n1')
    byHand(past, PAST_START + 9 * HOUR, 'n2')
    third(past, PAST_START + 20 * HOUR)
    return handwork(past).found
  }
  test.each([
    ['a cordon more than an hour later', (past: PastLines, at: number) => byHand(past, at, 'n3', { after: 61 })],
    ['a cordon by KubeNode', (past: PastLines, at: number) => byHand(past, at, 'n3', { who: 'kubenode-remedyjob' })],
    [
      'a cordon after a gap',
      (past: PastLines, at: number) => {
        past.gap(at + MINUTE, at + 2 * MINUTE)
        byHand(past, at, 'n3')
      },
    ],
  ])('%s', (_, third) => expect(twiceAnd(third)).toEqual([]))
})

test('text has the numbers, the draft and how to try it', () => {
  const text = suggestText(
    handwork(thrice()),
    { cluster: 'prod-1', to: PAST_START },
    { history: 'week.jsonl.gz', cluster: 'prod-1' },
  )
  expect(text).toContain('FanStuck: cordoned by hand 3 times on 2 nodes, by alice, bob')
  expect(text).toContain('It ended by itself 1 time, after at most 7m')
  expect(text).toContain('  kubenode rules suggest --history week.jsonl.gz --cluster prod-1 -o rules > suggested.json')
})
