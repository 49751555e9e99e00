// What the command prints and how it exits: a history that its base explains is judged, and one that it does not explain is not.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { PAST_START, PastLines, remedierOf } from '#test/support/worlds/past-lines.ts'
import { readLines, writeLines } from '#history/lines/file.ts'
import { type HistoryLine, lineText, parsedLine } from '#history/lines/line.ts'
import { redactedLines } from '#history/lines/redacted.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { Exit } from '#lib/terminal/exit.ts'
import { parsedExpression } from './expression.ts'
import { type BacktestAsked, showBacktest } from './show-backtest.ts'

const MINUTE = 60_000
const folder = mkdtempSync(join(tmpdir(), 'kubenode-backtest-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const none = remedierOf('flaky', 'Flaky', { mode: 'Shadow' })
const reboots = remedierOf('flaky', 'Flaky', {
  for: '0s',
  ladder: [{ operations: [{ reboot: {} }], timeout: '20m', verify: { stableFor: '1m' } }],
})
writeFileSync(join(folder, 'none.json'), JSON.stringify(none))
writeFileSync(join(folder, 'reboots.json'), JSON.stringify(reboots))

const OLD_HEAD: Readonly<Record<string, object>> = { head: { format: 'kubenode-history/1' } }
const past = new PastLines()
for (let n = 0; n < 10; n++) past.node(PAST_START, `n${n}`)
for (let n = 1; n < 30; n++) {
  past.condition(PAST_START + n * 60 * MINUTE, `n${n % 10}`, 'Flaky', 'True')
  past.condition(PAST_START + n * 60 * MINUTE + MINUTE, `n${n % 10}`, 'Flaky', 'False')
}
const history = join(folder, 'past.jsonl.gz')
await writeLines(past.file(PAST_START + 40 * 60 * MINUTE), history)

// As an earlier version exported it: values are texts of JSON.
const old = past.file(PAST_START + 40 * 60 * MINUTE).map((line) => ({ ...line, ...OLD_HEAD[line.line] }))
writeFileSync(join(folder, 'old.jsonl.gz'), gzipSync(old.map((line) => `${JSON.stringify(line)}\n`).join('')))

async function asked(more: Partial<BacktestAsked>) {
  const out: string[] = []
  const err: string[] = []
  const io = {
    cwd: folder,
    isTerminal: false,
    out: (t: string) => void out.push(t),
    err: (t: string) => void err.push(t),
  }
  const options: BacktestAsked = {
    history: 'past.jsonl.gz',
    commit: 'HEAD',
    path: '.',
    seeds: 2,
    usual: '30d',
    failOn: [],
    gates: true,
    output: 'text',
    weakCage: 'refuse',
    weakCageNote: '',
    baseRules: 'none.json',
    rules: 'reboots.json',
    ...more,
  }
  const ended = await showBacktest(
    options,
    () => expect.unreachable(),
    io as unknown as Parameters<typeof showBacktest>[2],
  ).then(
    () => 'passed',
    (e: unknown) => (e instanceof Exit ? `exit ${e.code}` : isKubeNodeError(e) ? e.message : String(e)),
  )
  return { out: out.join(''), err: err.join(''), ended }
}

describe('a rule that reboots what ends by itself', () => {
  test('is refused, with its figures and examples that can be explained', async () => {
    const { out, err, ended } = await asked({})
    expect(ended).toBe('exit 1')
    expect(err).toContain('--fail-on: needless.share > 10% and added.needless >= 3')
    expect(out).toMatch(/^flaky +0 → 29 +29 +0 +0 +0 +0 → 29 +0 +0 → 29/m)
    expect(out).toContain('kubenode why node/n1 --at 2026-10-01T01:00:00Z --history past.jsonl.gz')
  })

  test('is refused alike on a history that an earlier version exported', async () => {
    const [before, now] = [await asked({ history: 'old.jsonl.gz' }), await asked({})]
    expect(before.ended).toBe('exit 1')
    expect(before.out).toBe(now.out.replaceAll('past.jsonl.gz', 'old.jsonl.gz'))
  })

  test('as a comment, and as a test report', async () => {
    const { out } = await asked({ output: 'markdown' })
    expect(out).toContain('<!-- kubenode-backtest -->')
    expect(out).toContain('**✖ Refused**')
    const { out: report } = await asked({ output: 'junit' })
    expect(report).toMatch(/tests="7" failures="2"/)
    expect(report).toContain('<testcase classname="kubenode rules backtest" name="calibration"></testcase>')
  })

  test('passes where the shipped gates are left out, unless a condition of the user is true', async () => {
    expect((await asked({ gates: false })).ended).toBe('passed')
    expect((await asked({ gates: false, failOn: ['added.reboots > 5 or missed > 0'] })).ended).toBe('exit 1')
    expect((await asked({ gates: false, failOn: ['added.reboots > 50'] })).ended).toBe('passed')
  })
})

test('a rule that cannot be evaluated is refused: judged, it would be one that never fires', async () => {
  const wrong = structuredClone(reboots) as unknown as { spec: { when: object } }
  wrong.spec.when = { all: [{ fact: 'conditions', path: '/Flaky/status', operator: 'equals', value: 'True' }] }
  writeFileSync(join(folder, 'wrong.json'), JSON.stringify(wrong))
  expect((await asked({ rules: 'wrong.json' })).ended).toMatch(
    /^KN1346: cannot read wrong.json as rules: NodeRemedier flaky: .*unknown operator "equals"; did you mean equal\?/,
  )
})

test('a base that does not explain the recorded repairs is not trusted, and judges nothing', async () => {
  // The base would have rebooted 29 times, and no job did.
  const { out, ended } = await asked({ baseRules: 'reboots.json' })
  expect(out).toContain('Not to be trusted')
  expect(ended).toMatch(/^KN1343: cannot judge the change: the rules of the base reproduce 0% of the recorded repairs/)
})

test('the documented sample is read, and its rules explain its repairs', async () => {
  const sample = join(import.meta.dirname, '../../../rules/history/repairs.jsonl.gz')
  const { out } = await asked({ history: sample, baseRules: undefined, gates: false, seeds: 0 })
  expect(out).toContain('Calibration: the base asks for 13 repairs, 13 were recorded, 13 are the same (100%)')
})

describe('what would pass as no change is refused:', () => {
  const broken = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return name
  }
  test.each([
    ['a file without an object', '', 'it has no NodeRemedier or DefenderPolicy'],
    [
      'objects of other kinds',
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }),
      'it has no NodeRemedier or DefenderPolicy',
    ],
    [
      'a kind that is misspelled',
      JSON.stringify({ ...reboots, kind: 'NodeRemidier' }),
      'line 1: no kind "NodeRemidier" in kubenode.io/v1alpha1 (did you mean NodeRemedier?)',
    ],
    ['one name twice', `${JSON.stringify(reboots)}\n---\n${JSON.stringify(none)}\n`, 'it has NodeRemedier flaky twice'],
    [
      'an item without a kind',
      JSON.stringify({ kind: 'List', items: [reboots, { metadata: { name: 'b' } }] }),
      'line 1: it is no object with a kind and metadata',
    ],
  ])('%s', async (_, text, why) => {
    const rules = broken('wrong.yaml', text)
    expect((await asked({ rules })).ended).toContain(`KN1346: cannot read wrong.yaml as rules: ${why};`)
    expect((await asked({ baseRules: rules })).ended).toContain('KN1346')
  })
})

test.each([
  ['cut off', (whole: Buffer) => whole.subarray(0, -100), /line \d+: the file is not gzip, or is cut off/],
  ['not gzip', () => Buffer.from('hello'), /line 1: the file is not gzip, or is cut off/],
])('a history that is %s is refused as such', async (_, of, why) => {
  writeFileSync(join(folder, 'damaged.jsonl.gz'), of(readFileSync(history)))
  const { ended } = await asked({ history: 'damaged.jsonl.gz' })
  expect(ended).toMatch(/^KN17007: cannot read damaged.jsonl.gz as a history/)
  expect(ended).toMatch(why)
})

test('a history without a node judges nothing, in any form of output', async () => {
  const [head] = past.file(PAST_START + MINUTE)
  writeFileSync(join(folder, 'empty.jsonl'), `${JSON.stringify(head)}\n`)
  const empty = { history: 'empty.jsonl', baseRules: undefined }
  const { out, ended } = await asked(empty)
  expect(out).toContain('2026-10-01T00:01:00Z: nothing was recorded')
  expect(ended).toMatch(/^KN1343: cannot judge the change: the history of prod-1 has no node/)
  expect((await asked({ ...empty, output: 'junit' })).out).toMatch(/tests="7" failures="1"/)
  expect((await asked({ ...empty, output: 'markdown' })).out).toContain('**✖ Not to be trusted**')
  expect((await asked({ ...empty, gates: false })).ended).toBe('passed')
})

describe('a time', () => {
  const about = async (more: Partial<BacktestAsked>) =>
    (await asked({ gates: false, seeds: 0, ...more })).out.split('\n')[1]

  test('counts back from the end of the history', async () => {
    expect(await about({ since: '10h', until: '5h' })).toMatch(/^2026-10-02T06:00:00Z to 2026-10-02T11:00:00Z/)
    expect(await about({ until: '2026-10-01T12:00:00Z' })).toMatch(/^2026-10-01T00:00:00Z to 2026-10-01T12:00:00Z/)
  })

  test('what was known before it is no recorded change', async () => {
    expect(await about({ since: '1s' })).toContain('10 nodes, 0 recorded changes')
    expect(await about({ since: '12h30m' })).toContain('10 nodes, 4 recorded changes')
  })

  test('that ends before it begins is refused, with what it counts from', async () => {
    const { ended } = await asked({ since: '5m', until: '20m' })
    expect(ended).toMatch(
      /^KN17006: .* from 2026-10-02T15:55:00Z to 2026-10-02T15:40:00Z .* end of the history, 2026-10-02T16:00:00Z$/,
    )
    expect((await asked({ since: 'soon' })).ended).toMatch(/^KN17006: "soon" is not a time/)
  })
})

describe('a change that looks better than it is', () => {
  const misspelled = JSON.stringify(reboots).replaceAll('Flaky', 'Flakky')
  writeFileSync(join(folder, 'misspelled.json'), misspelled)
  writeFileSync(join(folder, 'dry.json'), JSON.stringify({ ...reboots, spec: { ...reboots.spec, mode: 'DryRun' } }))
  const base = { baseRules: 'reboots.json', failOn: [] }

  test('says which condition no node reported, and what it drops', async () => {
    const { out } = await asked({ ...base, rules: 'misspelled.json' })
    expect(out).toContain(
      'Rule flaky of the change can never be true here: no node of the history reported Flakky (did you mean Flaky?).',
    )
    expect(out).toContain('The change repairs nothing that rule flaky repairs 29 times in the base.')
    const { out: comment } = await asked({ ...base, rules: 'misspelled.json', output: 'markdown' })
    expect(comment).toContain('- ⚠ Rule flaky of the change can never be true here')
  })

  test('says what a dry run does not count', async () => {
    expect((await asked({ ...base, rules: 'dry.json' })).out).toContain(
      'In the change, rule flaky is in DryRun: repairs of it are not counted.',
    )
  })

  test('has the same minutes with a fault on both sides, and says what is not measured', async () => {
    const { out } = await asked({ ...base, rules: 'misspelled.json' })
    expect(out).toMatch(/^minutes with a fault +29 \(29\) +29 \(29\)$/m)
    expect(out).toContain(
      'Closed loop of the base: no such repair was recorded (collectEvidence, reboot), so faults that it repairs end as recorded.',
    )
  })
})

test('in a redacted history, no repair is called another one by its name', async () => {
  const sample = join(import.meta.dirname, '../../../rules/history/repairs.jsonl.gz')
  const lines = []
  for await (const text of readLines(sample)) lines.push(parsedLine(text))
  const whole = lines.filter((line) => line !== undefined)
  await writeLines(
    redactedLines(() => whole, { key: new Uint8Array(32) }),
    join(folder, 'redacted.jsonl'),
  )
  const { out } = await asked({ history: 'redacted.jsonl', baseRules: undefined, gates: false, seeds: 0 })
  expect(out).toMatch(/are the same \(/)
})

describe('a history that an attacker wrote', () => {
  const sample = join(import.meta.dirname, '../../../rules/history/repairs.jsonl.gz')
  const changed = async (file: string, change: (line: HistoryLine) => object) => {
    const lines: HistoryLine[] = []
    for await (const text of readLines(sample)) lines.push(...[parsedLine(text)].filter((line) => line !== undefined))
    const texts = lines.map((line) => lineText({ ...line, ...change(line) }))
    writeFileSync(join(folder, file), `${texts.join('\n')}\n`)
    return { history: file, baseRules: undefined, gates: false, seeds: 0 }
  }

  test('S20 S33 controls no terminal, and begins no line of CI, by the name of a zone', async () => {
    const zone = JSON.stringify('a\u001b[2J\n::error::x')
    const options = await changed('zones.jsonl', (line) =>
      line.line === 'row' && line.topic === 'spec/zone' ? { value: zone } : {},
    )
    for (const output of ['text', 'markdown', 'junit'] as const) {
      const { out } = await asked({ ...options, output })
      expect(out).not.toContain('\u001b')
      expect(out).not.toMatch(/^::error/m)
    }
    expect((await asked(options)).out).toContain('a\ufffd[2J')
  })

  test('S32 has names that are one word where a command is copied', async () => {
    const options = await changed('names.jsonl', (line) =>
      line.line === 'subject' && line.kind === 'Node' ? { name: `x;touch /tmp/a;${line.name}` } : {},
    )
    const { out } = await asked(options)
    expect(out).toMatch(/kubenode why 'node\/x;touch \/tmp\/a;n\d' --at \S+ --history names\.jsonl/)
    expect(out).not.toMatch(/why node\/x/)
  })

  test('is no bug of the program where the members of a list are none', async () => {
    const options = await changed('members.jsonl', (line) =>
      line.line === 'row' && line.topic === 'status/conditions' ? { value: '5' } : {},
    )
    expect((await asked(options)).ended).toBe('passed')
  })
})

describe('a condition', () => {
  const known = ['a.b', 'c', 'd.share', 'added.jobs']
  const figures = { 'a.b': 0.2, c: 3, 'd.share': 0.2, 'added.jobs': -4 }
  test.each([
    ['d.share > 10%', true],
    ['a.b > 0.2', false],
    ['d.share >= 20% and c == 3', true],
    ['added.jobs < -3', true],
    ['not (d.share > 10%) or c < 3', false],
    ['c != 3 or a.b <= 0.2 and c > 2', true],
  ])('%s is %s', (text, expected) => expect(parsedExpression(text, known).isTrue(figures)).toBe(expected))

  test.each([
    ['a.x > 1', 'KN1342: there is no figure a.x (did you mean a.b?); use one of a.b, c, d.share, added.jobs'],
    ['c >', 'KN1342: cannot read the condition "c >": it ends too early'],
    ['c', 'a comparison such as > is missing after c'],
    ['(c > 1', 'a parenthesis is not closed'],
    ['d.share > 10', 'd.share is a share; write 10%'],
    ['10 < d.share', 'd.share is a share; write 10%'],
    ['d.share > 1', 'd.share is never above 100%; did you mean 1%?'],
    ['100% < d.share', 'd.share is never above 100%; did you mean 1%?'],
    ['c > 50%', 'c is no share; write 50'],
    ['c > d.share', 'd.share is a share, and c is none'],
    ['d.share > 110%', '110% is no share'],
    ['c > 1 $', '$ cannot be read'],
    ['c > 1 c', 'c is not expected there'],
  ])('%s is refused', (text, why) => expect(() => parsedExpression(text, known)).toThrow(why))
})
