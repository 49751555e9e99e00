// Tests that an export is complete and imports unchanged, that a redacted one has no names, and that a sample contains every incident.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { CLUSTER, HistoryWorld } from '#test/support/worlds/history-world.ts'
import { HistoryReader } from '../ask/reader.ts'
import { exported } from './export.ts'
import { readLines, writeLines } from './file.ts'
import { imported } from './import.ts'
import { EXPORT_FORMAT, type HistoryLine, lineText, parsedLine } from './line.ts'
import { redactedLines } from './redacted.ts'
import { incidentNodes, inSample } from './sample.ts'

const NODES = 300
let w: HistoryWorld
let folder: string
const file = () => join(folder, 'history.jsonl.gz')
/** All tests read the same history, and write to folders of their own. */
beforeAll(async () => {
  w = new HistoryWorld()
  for (let n = 0; n < NODES; n++) w.plantNode(`prod-node-${n}`)
  const part = await w.recorder()
  await w.clock.advance(60_000)
  w.setReady('prod-node-7', 'False')
  w.kube.plant(operationalHold, {
    ...operationalHold.example,
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationalHold',
    spec: { ...operationalHold.example.spec, author: 'ada@example.org', reason: 'prod-node-7 is broken' },
  })
  await w.clock.advance(60_000)
  w.setReady('prod-node-7', 'True')
  await w.clock.advance(5_000)
  await part.stop()
  await (await w.recorder()).stop()
})
afterAll(() => w.end())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-lines-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const lines = (more: object = {}): readonly HistoryLine[] =>
  w.read((r) => [...exported(r, { from: r.span()?.begins ?? 0, to: (r.span()?.ends ?? 0) + 1, ...more })])

const whole = (reader: HistoryReader) => ({
  nodes: reader
    .subjects('Node')
    .map((s) => [s.name, reader.rowsOf(s).map((t) => [t.observed, t.reported, t.topic, t.value])]),
  gaps: reader.gaps().map((g) => [g.starts, g.ends, g.why, g.kind]),
  deeds: [...reader.deeds()],
})

test('an import of an export is the same history', async () => {
  expect(await writeLines(lines(), file())).toBe(true)
  const to = join(folder, 'copy')
  const [done] = await imported(readLines(file()), { folder: to, file: file(), now: Date.now() })
  expect(done?.cluster).toBe(CLUSTER)
  const copy = new HistoryReader(to, CLUSTER)
  try {
    expect(whole(copy)).toEqual(w.read(whole))
  } finally {
    copy.close()
  }
})

test('lines are in the order in which they were observed, and name an object before its rows', () => {
  const all = lines()
  const observed = all.flatMap((l) => (l.line === 'row' ? [l.observed] : l.line === 'deed' ? [l.deed.observed] : []))
  expect(observed).toEqual(observed.toSorted((a, b) => a - b))
  const known = new Set<number>()
  for (const line of all) {
    if (line.line === 'subject') known.add(line.id)
    if (line.line === 'row') expect(known).toContain(line.subject)
  }
})

test('an export of a later time begins with what was known before', () => {
  const from = w.read((r) => r.span()?.begins ?? 0) + 30_000
  const rows = lines({ from }).filter((l) => l.line === 'row')
  expect(rows[0]?.observed).toBe(from)
  expect(rows.filter((l) => l.topic === 'exists').length).toBeGreaterThanOrEqual(NODES)
})

test('a redacted export names no node and no person, and the same node always alike', async () => {
  await writeLines(redactedLines(lines, { key: new Uint8Array(32) }), file())
  const text = gunzipSync(readFileSync(file())).toString()
  for (const word of ['prod-node-', 'ada@example.org', CLUSTER]) expect(text).not.toContain(word)
  const [again] = [...redactedLines(lines, { key: new Uint8Array(32) })].filter((l) => l.line === 'subject')
  expect(text).toContain(again?.line === 'subject' ? again.name : 'a name')
})

const UID = 'c0ffee00-0000-4000-8000-000000000000'

test('a redacted export names nobody in a message, a path or a topic, also before the object and in another cluster', () => {
  const told = { message: 'eu-1: workers-a2 (and 1 more), pod agent-workers-a2.x on 127.0.0.1; by Ada Low' }
  const row = { line: 'row', observed: 1, subject: 1 } as const
  const all: readonly HistoryLine[] = [
    { line: 'head', format: EXPORT_FORMAT, cluster: 'hub', from: 0, to: 9, isRedacted: false, isSample: false },
    { line: 'subject', id: 1, kind: 'Release', namespace: 'kubenode-system', name: 'fleet-1', uid: UID },
    { ...row, topic: 'status/conditions/Ready', value: JSON.stringify(told) },
    { ...row, topic: 'status/slices/workers-a2,0', value: JSON.stringify({ folder: '/data/nodes/workers-a2/x' }) },
    { ...row, topic: 'status/stages/eu-1', value: JSON.stringify({ gates: [{ name: 'more', phase: 'Waiting' }] }) },
    { ...row, topic: 'spec/author', value: '"Ada Low <ada@example.org>"' },
    { line: 'head', format: EXPORT_FORMAT, cluster: 'eu-1', from: 0, to: 9, isRedacted: false, isSample: false },
    { line: 'subject', id: 1, kind: 'Node', namespace: '', name: 'workers-a2', uid: UID },
  ]
  const redacted = [...redactedLines(() => all, { key: new Uint8Array(32) })]
  const text = redacted.map((l) => JSON.stringify(l)).join('\n')
  for (const word of ['workers-a2', 'Ada', 'ada@example.org', UID]) expect(text).not.toContain(word)
  const node = redacted.at(-1)
  const message = redacted.flatMap((l) => (l.line === 'row' ? [l.value ?? ''] : []))[0] ?? ''
  expect(message).toContain(`: ${node?.line === 'subject' ? node.name : ''} (and 1 more), pod agent-`)
  expect(message).not.toContain('eu-1')
})

test('a redacted export has no address, no host of a URL and no name of a stage', () => {
  const planted = ['10.17.3.9', 'fd00:17::9', 'git.corp.example', 'canary-west']
  const told = {
    message:
      'stage canary-west waits for stage other: dial https://git.corp.example:8443/x via 10.17.3.9:6443, [fd00:17::9]:6443; kubelet 1.36.1 at 12:30:05',
  }
  const row = { line: 'row', observed: 1, subject: 1 } as const
  const all: readonly HistoryLine[] = [
    { line: 'head', format: EXPORT_FORMAT, cluster: 'hub', from: 0, to: 9, isRedacted: false, isSample: false },
    { line: 'subject', id: 1, kind: 'Release', namespace: 'kubenode-system', name: 'fleet-1', uid: UID },
    { ...row, topic: 'status/conditions/Ready', value: JSON.stringify(told) },
    { ...row, topic: 'status/stages', value: '["canary-west"]' },
    { ...row, topic: 'status/stages/canary-west', value: '{"name":"canary-west","phase":"Waiting"}' },
    { ...row, topic: 'status/clusters/a', value: '{"name":"a","stage":"canary-west","phase":"Healthy"}' },
    { ...row, topic: 'spec', value: '{"stages":[{"name":"canary-west","gates":[]}]}' },
    { ...row, topic: 'metadata/labels/kubenode.io~1stage', value: '"canary-west"' },
  ]
  const redacted = [...redactedLines(() => all, { key: new Uint8Array(32) })]
  const text = redacted.map(lineText).join('\n')
  for (const word of planted) expect(text).not.toContain(word)
  expect(text).toContain('kubelet 1.36.1 at 12:30:05')
  // The same stage has the same name in a topic, a list and a message.
  const stage = /status\/stages\/(x[0-9a-f]+)/.exec(text)?.[1]
  expect(text).toContain(`["${stage}"]`)
  expect(text).toContain(`stage ${stage} waits for stage other`)
})

test('a sample has every incident and a few quiet nodes', () => {
  const sample = w.read((r) => {
    const range = { from: r.span()?.begins ?? 0, to: (r.span()?.ends ?? 0) + 1 }
    const incidents = incidentNodes(r, range)
    expect([...incidents]).toEqual(['prod-node-7'])
    return [...exported(r, { ...range, isSample: true, isWanted: inSample(incidents) })]
  })
  const nodes = sample.flatMap((l) => (l.line === 'subject' && l.kind === 'Node' ? [l.name] : []))
  expect(nodes).toContain('prod-node-7')
  expect(nodes.length).toBeLessThan(NODES / 10)
})

test('a file is cut off at a whole line', async () => {
  const plain = join(folder, 'history.jsonl')
  const many = Array.from({ length: 20 }, () => lines()).flat()
  expect(await writeLines(many, plain, 100_000)).toBe(false)
  expect(statSync(plain).size).toBeLessThan(400_000)
  for (const line of readFileSync(plain, 'utf8').trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow()
})

test.each(['../evil', '/tmp/evil', 'a/b', '..', '', 'a\0b', '\u001b[31m', 'a'.repeat(300)])(
  'an import writes nothing for a cluster called %j',
  async (cluster) => {
    const bad = join(folder, 'bad.jsonl')
    const head = { line: 'head', format: EXPORT_FORMAT, cluster, from: 0, to: 1, isRedacted: false, isSample: false }
    writeFileSync(bad, `${JSON.stringify(head)}\n`)
    const to = join(folder, 'in')
    await expect(imported(readLines(bad), { folder: to, file: bad, now: 0 })).rejects.toThrow(
      'line 1: it is not a line',
    )
    expect(readdirSync(folder)).toEqual(['bad.jsonl'])
  },
)

const ROW = { line: 'row', observed: 1, subject: 1, topic: 'exists', value: 'true' } as const
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
test.each([
  lineText({ ...ROW, observed: 1e300 }),
  lineText({ ...ROW, observed: -1 }),
  lineText({ ...ROW, observed: 1.5 }),
  '{"line":"subject","id":1,"kind":"Node","namespace":"","name":"a\\nforged","uid":"u"}',
  '{"line":"deed","deed":{"n":1.5,"observed":1,"who":"a","did":"b","object":"c"}}',
  '{"line":"deed","deed":{"n":1e300,"observed":1,"who":"a","did":"b","object":"c"}}',
  lineText({ ...ROW, value: nested(100_000) }),
  '{"line":"deed","deed":{"n":1,"observed":1,"who":"a"}}',
])('no reader gets to see a bad line (%#)', (line) => {
  expect(parsedLine(line)).toBeUndefined()
  expect(parsedLine(lineText(ROW))).toEqual(ROW)
})

test('a value is data in its line, of every kind of JSON, and the same after an import', () => {
  const value = '{"a":[1,null,"x\\u001b[31m"],"b":{"c":true}}'
  expect(JSON.parse(lineText({ ...ROW, value }))).toMatchObject({ value: { a: [1, null, 'x\u001b[31m'] } })
  for (const one of [value, '"text"', 'null', '3', 'false'])
    expect(parsedLine(lineText({ ...ROW, value: one }))).toEqual({ ...ROW, value: one })
  const { value: _, ...ended } = ROW
  expect(parsedLine(lineText(ended))).toEqual(ended)
})

test('a line has no character that acts where it is shown', () => {
  const value = JSON.stringify('\u009b31m\u202e ##[error]x')
  const text = lineText({ ...ROW, value })
  expect(text).not.toMatch(/[\u0080-\u009f\u202e]|##\[/)
  expect(parsedLine(text)).toEqual({ ...ROW, value })
})

test('a file of the format before, in which values are texts with JSON in them, is imported the same', async () => {
  const plain = join(folder, 'old.jsonl')
  const old = lines().map((l) => JSON.stringify(l.line === 'head' ? { ...l, format: 'kubenode-history/1' } : l))
  writeFileSync(plain, `${old.join('\n')}\n`)
  const to = join(folder, 'copy')
  await imported(readLines(plain), { folder: to, file: plain, now: Date.now() })
  const copy = new HistoryReader(to, CLUSTER)
  try {
    expect(whole(copy)).toEqual(w.read(whole))
  } finally {
    copy.close()
  }
})

test('an export that comes through a pipe is imported, packed or not', async () => {
  await writeLines(lines(), file())
  const packed = readFileSync(file())
  for (const [n, bytes] of [packed, gunzipSync(packed)].entries()) {
    const input = Readable.from([bytes.subarray(0, 1), bytes.subarray(1)], { objectMode: false })
    const [done] = await imported(readLines(input, 'standard input'), {
      folder: join(folder, `${n}`),
      file: '-',
      now: 0,
    })
    expect(done?.rows).toBeGreaterThan(NODES)
  }
})

test.each([
  ['no JSON', 'nonsense', 'line 1: it is not a line'],
  [
    'no head',
    '{"line":"deed","deed":{"n":1,"observed":1,"who":"a","did":"b","object":"c"}}',
    'line 1: the first line has no format',
  ],
  ['another format', '{"line":"head","format":"x","cluster":"a","from":0,"to":1}', 'line 1: it is not a line'],
  ['a name that every object has', '{"line":"__proto__"}', 'line 1: it is not a line'],
  [
    'a time that no date has',
    '{"line":"row","observed":1,"subject":1,"topic":"spec","reported":1e300}',
    'line 1: it is not a line',
  ],
  ['a gap of no kind', '{"line":"gap","starts":1,"why":"RecorderAway","kind":{}}', 'line 1: it is not a line'],
  [
    'a deed without words',
    '{"line":"deed","deed":{"n":1,"observed":1,"who":"a","did":"b","object":"c","what":5}}',
    'line 1: it is not a line',
  ],
  [
    'a later format',
    '{"line":"head","format":"kubenode-history/9","cluster":"a","from":0,"to":1}',
    'line 1: its format is kubenode-history/9, and this version knows none after kubenode-history/2',
  ],
])('a file with %s is refused, and says where', async (_, text, message) => {
  const bad = join(folder, 'bad.jsonl')
  writeFileSync(bad, `${text}\n`)
  await expect(imported(readLines(bad), { folder: join(folder, 'x'), file: bad, now: 0 })).rejects.toThrow(message)
})

test.each([
  ['cut off', (whole: Buffer) => whole.subarray(0, -100)],
  ['empty', () => Buffer.alloc(0)],
  ['not gzip', () => Buffer.from('hello')],
])('a file that is %s is refused as such', async (_, of) => {
  await writeLines(lines(), file())
  writeFileSync(file(), of(readFileSync(file())))
  await expect(imported(readLines(file()), { folder: join(folder, 'x'), file: file(), now: 0 })).rejects.toMatchObject({
    code: 'KN17007',
    message: expect.stringContaining('the file is not gzip, or is cut off'),
  })
})

test('two histories of one cluster are not mixed', async () => {
  await writeLines(lines(), file())
  const to = join(folder, 'copy')
  await imported(readLines(file()), { folder: to, file: file(), now: 0 })
  await expect(imported(readLines(file()), { folder: to, file: file(), now: 0 })).rejects.toMatchObject({
    code: 'KN17008',
  })
})

test('a line that would fill the memory is refused before it does', async () => {
  const bomb = join(folder, 'bomb.jsonl.gz')
  writeFileSync(bomb, gzipSync(`{"line":"head","x":"${'a'.repeat(20 * 1024 * 1024)}`))
  await expect(Array.fromAsync(readLines(bomb))).rejects.toThrow(/KN17007.*line 1.*longer than 16 MiB/)
})

test('lines may end with a carriage return, and the last one with nothing', async () => {
  const plain = join(folder, 'plain.jsonl')
  writeFileSync(plain, 'a\r\nbb\nccc')
  expect(await Array.fromAsync(readLines(plain))).toEqual(['a', 'bb', 'ccc'])
})
