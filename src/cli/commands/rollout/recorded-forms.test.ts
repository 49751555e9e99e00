// Tests what the forms of `kubenode history` answer to odd input, on a small recorded history.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXPORT_FORMAT, type HistoryLine, lineText } from '#history/lines/line.ts'
import { run } from '../../program.ts'

const BEGIN = Date.parse('2026-11-20T12:00:00Z')
const MINUTE = 60_000
let folder: string

const row = (subject: number, topic: string, value: unknown, minute = 0): HistoryLine => ({
  line: 'row',
  observed: BEGIN + minute * MINUTE,
  subject,
  topic,
  value: JSON.stringify(value),
})
const LINES: readonly HistoryLine[] = [
  {
    line: 'head',
    format: EXPORT_FORMAT,
    cluster: 'prod',
    from: BEGIN,
    to: BEGIN + 10 * MINUTE,
    isRedacted: false,
    isSample: false,
  },
  { line: 'subject', id: 1, kind: 'Node', namespace: '', name: 'n-1', uid: 'u-1' },
  row(1, 'exists', true),
  { line: 'subject', id: 2, kind: 'Release', namespace: 'kubenode-system', name: 'fleet-1', uid: 'u-2' },
  row(2, 'exists', true),
  row(2, 'status/phase', 'Progressing'),
  row(2, 'status/phase', 'Succeeded', 9),
  row(2, 'status/conditions/Ready', { type: 'Ready', status: 'False', reason: 'Progressing' }),
  { line: 'subject', id: 3, kind: 'Node', namespace: '', name: 'rack-7', uid: 'u-3' },
  row(3, 'exists', true),
  ...['Node', 'Release', 'Machine'].map((kind): HistoryLine => ({
    line: 'gap',
    starts: BEGIN + MINUTE,
    ends: BEGIN + 2 * MINUTE,
    why: 'RecorderAway',
    kind,
  })),
]

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-forms-'))
  writeFileSync(join(folder, 'a.jsonl'), `${LINES.map(lineText).join('\n')}\n`)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function told(line: string, columns?: number, input?: string): Promise<string> {
  const { out, err } = await answered(line, columns, input)
  return `${err}${out}`
}

async function answered(line: string, columns?: number, input?: string): Promise<{ out: string; err: string }> {
  const text = { out: '', err: '' }
  await run(line.split(' '), {
    out: (more) => void (text.out += more),
    err: (more) => void (text.err += more),
    ...(input !== undefined && { input: () => Readable.from([Buffer.from(input)], { objectMode: false }) }),
    env: {},
    isTerminal: false,
    cwd: folder,
    ...(columns !== undefined && { width: () => columns }),
  })
  return text
}

test.each([
  ['node/n-1 --since 1h --until 2h', 'KN17006: the time from '],
  ['node/n-1 --since 2126-01-01', 'KN17006: the time from 2126-01-01T00:00:00Z to '],
  ['node/n-1 --cluster nope', 'KN17005: nothing was recorded in cluster nope; correct the name; recorded are: prod'],
  ['node/rak-7', 'KN17005: nothing was recorded about node/rak-7; correct the name; recorded are: rack-7, n-1\n'],
  ['who --cluster nope', 'KN17005: nothing was recorded in cluster nope'],
  ['who ada', 'no change by or of ada was recorded in this time'],
  [
    'who ada bob',
    'KN17010: cannot run kubenode history who: bob is one word too many; type kubenode history who [NAME]',
  ],
  ['node/n-1 extra', 'extra is one word too many; type kubenode history node/n-1'],
  ['node/n-1 --redact', 'KN17010: cannot redact this answer: --redact is for export and sample'],
  ['export b.gz --cluster nope', 'KN17005: nothing was recorded in cluster nope'],
])('history %s says what is wrong', async (line, answer) => {
  expect(await told(`history ${line} --history a.jsonl`)).toContain(answer)
  expect(statSync(join(folder, 'b.gz'), { throwIfNoEntry: false })).toBeUndefined()
})

test('a name alone is the object that was recorded under it', async () => {
  expect(await told('history n-1 --history a.jsonl')).toMatch(/^node\/n-1 in prod, /m)
  expect(await told('history nope --history a.jsonl')).toContain('KN17005: nothing was recorded about machine/nope; ')
})

test('--at wants an object, and a time when it existed', async () => {
  expect(await told('why --at 3d --history a.jsonl')).toContain('as in kubenode why node/NAME --at 3d')
  expect(await told('why node/n-1 --at 2026-11-19 --history a.jsonl')).toContain(
    'KN17006: cannot tell what was known at 2026-11-19T00:00:00Z: nothing had been recorded yet; give a later time; recorded are: prod from 2026-11-20T12:00:00Z',
  )
  expect(await told('why node/n-1 --at 2126-11-19 --history a.jsonl')).toContain(
    'KN17006: cannot tell what was known at 2126-11-19T00:00:00Z: that is in the future',
  )
  expect(await told('why node/n-2 --at 2026-11-20T12:05:00Z --history a.jsonl')).toContain(
    'KN17005: nothing was recorded about node/n-2 at 2026-11-20T12:05:00Z; correct the name, or give a time when it existed',
  )
})

test.each(['why node/n-1', 'why-not n-1', 'trace node/n-1'])('%s --at answers in one form of JSON', async (line) => {
  const { out, err } = await answered(`${line} --at 2026-11-20T12:01:30Z -o json --history a.jsonl`)
  expect(err).toBe(
    'as recorded in cluster prod at 2026-11-20T12:01:30Z\nwarning: not recorded from 2026-11-20T12:01:00Z to 2026-11-20T12:02:00Z (no recorder ran); what follows was known before\n',
  )
  expect(JSON.parse(out)).toEqual([
    {
      cluster: 'prod',
      at: '2026-11-20T12:01:30Z',
      object: 'node/n-1',
      notRecorded: [{ from: '2026-11-20T12:01:00Z', to: '2026-11-20T12:02:00Z', why: 'no recorder ran' }],
      answer: expect.anything(),
    },
  ])
})

test('the rows of a life have data as values, and objects by name', async () => {
  const { out } = await answered('history release/fleet-1 --history a.jsonl -o json')
  const [life] = JSON.parse(out) as readonly { readonly rows: readonly object[]; readonly gaps: readonly object[] }[]
  expect(life?.rows).toContainEqual({
    observed: BEGIN + 9 * MINUTE,
    object: 'release/kubenode-system/fleet-1',
    uid: 'u-2',
    topic: 'status/phase',
    value: 'Succeeded',
  })
  expect(life?.gaps).toContainEqual({
    starts: BEGIN + MINUTE,
    ends: BEGIN + 2 * MINUTE,
    kind: 'Release',
    why: 'no recorder ran',
  })
})

test('an export to a pipe is imported from one', async () => {
  const { out } = await answered('history export - --history a.jsonl')
  expect(out.split('\n')[0]).toContain(EXPORT_FORMAT)
  expect(await told('history import - copy', undefined, out)).toBe('ask with --history copy\nprod: 6 rows\n')
  const again = await answered('history export - --history copy')
  expect(again.out).toBe(out)
  expect(await told('history import - copy')).toContain('KN17010: cannot import from a terminal')
})

test('one interruption is one gap and one line, though each kind has its own', async () => {
  expect(await told('history recorded --history a.jsonl')).toMatch(/prod .* 1 +1m\n/)
  const life = await told('history release/fleet-1 --history a.jsonl')
  expect(life.match(/not recorded for 1m/g)).toHaveLength(1)
})

test('work in progress is not drawn as a problem', async () => {
  expect(await told('history release/fleet-1 --history a.jsonl')).toMatch(/^Ready +·+ +▒+$/m)
})

test('a life names its own object without a prefix, and its legend fits a narrow window', async () => {
  const life = await told('history release/fleet-1 --history a.jsonl', 60)
  expect(life).toContain('Z  phase Progressing → Succeeded\n')
  expect(life).toContain('─ good  ▒ working  █ bad  ? unknown  · not recorded\n▲ a change by a person or program\n')
})
